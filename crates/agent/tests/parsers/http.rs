//! Requests over HTTP: any bytes are read or refused.

use super::*;

#[test]
fn any_request_gets_an_answer() {
    let snapshot = Snapshot::default();
    let answer = |request: &[u8]| http::answer_to(request, &|path| respond(path, &snapshot));
    assert_eq!(answer(b"GET /metrics HTTP/1.1\r\n\r\n").0, "200 OK");
    assert_eq!(answer(b"GET /metrics").0, "200 OK");
    assert_eq!(answer(b"POST /metrics HTTP/1.1\r\n").0, "405 Method Not Allowed");
    assert_eq!(answer(b"GET /etc/passwd HTTP/1.1\r\n").0, "404 Not Found");
    airbound_corpus::check!(Vec<u8>, 2000, |bytes| {
        assert!(!answer(bytes).2.is_empty());
    });
}
