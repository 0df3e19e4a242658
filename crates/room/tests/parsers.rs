//! Arbitrary bytes for each parser of this crate.

use std::time::Instant;

use airbound_room::allocator::{Allocator, LATEST};
use airbound_room::http::Request;
use airbound_room::message::Message;
use airbound_room::session::Session;
use airbound_room::token::Secret;
use airbound_senders::conference::room::RoomConfig;
use serde_json::{Value, json};

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
        let _ = Request::parse(&[CHUNKED, bytes].concat());
    });
}

const CHUNKED: &[u8] = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn any_body_arrives_as_it_was_in_chunks_of_any_size() {
    bolero::check!().with_type::<(Vec<u8>, u8)>().for_each(|(body, size)| {
        let mut whole = CHUNKED.to_vec();
        for chunk in body.chunks(usize::from(*size) + 1) {
            whole.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            whole.extend_from_slice(chunk);
            whole.extend_from_slice(b"\r\n");
        }
        whole.extend_from_slice(b"0\r\n\r\n");
        let request = Request::parse(&whole).expect("valid").expect("complete");
        assert_eq!(request.body, *body);
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

/// An input of a room, with numbers of any size.
#[derive(Debug, Clone, bolero::TypeGenerator)]
enum Input {
    Join(u8, u16),
    Leave(u8),
    Layers(u8, Vec<u64>, bool),
    Views(u8, Vec<(u8, u8, u8)>),
    Up(u8, u64, Option<u64>),
    Down(u8, u64, Option<u64>),
    Speech(u8),
    Ack(u8, u8),
    Policy(bool),
    Channel(u8, Option<u64>),
    Floor(u8, Option<u64>),
    End,
}

/// The caller's time of a line.
#[derive(Debug, Clone, Copy, bolero::TypeGenerator)]
enum At {
    Own,
    Later(u16),
    Any(u64),
}

fn line(at: Option<u64>, inputs: &[Input]) -> Value {
    let inputs: Vec<Value> = inputs
        .iter()
        .map(|input| match input {
            Input::Join(member, weight) => {
                json!({"join": {"member": member % 8, "weight": f64::from(*weight)}})
            }
            Input::Leave(member) => json!({"leave": {"member": member % 8}}),
            Input::Layers(source, rates, scalable) => {
                json!({"layers": {"source": source % 8, "rates": rates, "scalable": scalable}})
            }
            Input::Views(viewer, views) => {
                let views = views.iter().map(|(from, largest, priority)| {
                    json!({"from": from % 8, "largest": largest % 4, "priority": priority})
                });
                json!({"views": {"viewer": viewer % 8, "views": views.collect::<Vec<_>>()}})
            }
            Input::Up(member, rate, sent) => {
                json!({"up": {"member": member % 8, "rate": rate, "sent": sent}})
            }
            Input::Down(member, rate, sent) => {
                json!({"down": {"member": member % 8, "rate": rate, "sent": sent}})
            }
            Input::Speech(member) => json!({"speech": {"member": member % 8}}),
            Input::Ack(member, sequence) => json!({"ack": {"member": member % 8, "sequence": sequence}}),
            Input::Policy(plum) => {
                json!({"config": {"policy": if *plum { "plum" } else { "layer-suspension" }}})
            }
            Input::Channel(member, sum) => json!({"channel": {"member": member % 8, "sum": sum}}),
            Input::Floor(member, rate) => json!({"floor": {"member": member % 8, "rate": rate}}),
            Input::End => json!({"end": {}}),
        })
        .collect();
    json!({"room": "a", "at": at, "inputs": inputs, "explain": true})
}

/// A line is answered with a bounded number of actions, or, for a time that is too late, refused. Members 0 to 3 see each other from the
/// beginning on narrow links, so that there is something to decide and to hold.
#[test]
fn any_inputs_at_any_time_are_answered() {
    bolero::check!().with_iterations(100).with_type::<Vec<(At, Vec<Input>)>>().for_each(|lines| {
        let mut allocator = Allocator::new(RoomConfig::default());
        let mut begin = Vec::new();
        for member in 0..4 {
            begin.push(Input::Join(member, 1));
            begin.push(Input::Layers(member, vec![120_000, 360_000, 1_000_000], false));
            begin.push(Input::Views(member, (0..4).map(|from| (from, 2, 0)).collect()));
            begin.push(Input::Down(member, 400_000, Some(400_000)));
            begin.push(Input::Up(member, 1_400_000, Some(1_400_000)));
        }
        let mut time = 1000;
        allocator.answer(&line(Some(time), &begin).to_string()).expect("an answer");
        for (at, inputs) in lines {
            let at = match at {
                At::Own => None,
                At::Later(ms) => Some(time + u64::from(*ms)),
                At::Any(ms) => Some(*ms),
            };
            let answer = allocator.answer(&line(at, inputs).to_string());
            if at.is_some_and(|at| at > LATEST) {
                assert!(answer.is_err());
                continue;
            }
            time = time.max(at.unwrap_or(time)).min(LATEST - 100_000);
            let answer = serde_json::to_value(answer.expect("an answer")).expect("JSON");
            let actions = answer["actions"].as_array().map_or(0, Vec::len);
            assert!(actions <= 8 * (8 + 4), "{actions} actions");
        }
    });
}
