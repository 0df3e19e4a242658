//! Requests over the control socket: any bytes are read or refused.

use super::*;

#[test]
fn any_request_is_read_or_refused() {
    airbound_corpus::check!((Vec<u8>, String, u8), 2000, |(bytes, text, place)| {
        let _ = read(bytes);
        // Close to a request: a piece of it is replaced.
        let mut near = b"{\"rule\": \"vr\", \"latency\": \"15 ms\", \"percentile\": 95}".to_vec();
        let place = usize::from(*place) % near.len();
        near.splice(place..place + 1, text.bytes());
        if let Ok(request) = read(&near) {
            assert!(request.latency.is_some() || request.percentile.is_some());
        }
    });
}
