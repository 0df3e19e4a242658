//! Arbitrary bytes for each parser of this crate.

use std::time::Instant;

use airbound_room::allocator::Allocator;
use airbound_room::http::Request;
use airbound_room::message::Message;
use airbound_room::session::Session;
use airbound_room::token::Secret;
use airbound_senders::conference::room::RoomConfig;

use crate::world::prepare;

#[test]
fn any_bytes_are_a_request_or_an_error() {
    bolero::check!().with_type::<Vec<u8>>().for_each(|bytes| {
        let _ = Request::parse(bytes);
        let mut whole = b"GET /a HTTP/1.1\r\nhost: x\r\n".to_vec();
        whole.extend_from_slice(bytes);
        whole.extend_from_slice(b"\r\n\r\n");
        if let Ok(Some(request)) = Request::parse(&whole) {
            assert_eq!(request.header("host"), Some("x"));
        }
    });
}

#[test]
fn any_bytes_are_a_message_a_token_a_line_or_nothing() {
    let secret = Secret::new(b"a secret of the test");
    bolero::check!().with_type::<Vec<u8>>().for_each(|bytes| {
        let _ = Message::read(bytes);
        let text = String::from_utf8_lossy(bytes);
        assert!(secret.check(&text, 0).is_err(), "no such bytes are signed");
        assert!(Allocator::new(RoomConfig::default()).answer(&text).is_err());
    });
}

#[test]
fn any_datagram_leaves_a_room_as_it_was() {
    prepare();
    let address = "127.0.0.1:5000".parse().expect("an address");
    bolero::check!().with_type::<Vec<u8>>().for_each(|bytes| {
        let now = Instant::now();
        let mut session = Session::new(RoomConfig::default(), address, now).expect("valid");
        session.receive(now, "127.0.0.1:9".parse().expect("an address"), bytes);
        assert_eq!((session.members(), session.poll_datagram()), (0, None));
    });
}
