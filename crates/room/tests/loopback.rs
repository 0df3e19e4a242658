//! Synthetic participants and a room over real sockets on loopback.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use airbound_room::driver::{Handle, Request};
use airbound_room::session::Join;
use airbound_room::synthetic::Synthetic;
use airbound_senders::conference::room::RoomConfig;

use crate::world::prepare;

struct Client {
    synthetic: Synthetic,
    socket: UdpSocket,
}

impl Client {
    fn new(room: &Handle, name: &str, slots: usize) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_nonblocking(true).expect("nonblocking");
        let address = socket.local_addr().expect("an address");
        let (mut synthetic, offer) = Synthetic::new(Instant::now(), address, 0.4e6, slots).expect("an offer");
        let join = Join {
            name: name.to_owned(),
            host: false,
            offer,
            resume: None,
            token: format!("token of {name}"),
        };
        let joined = room.join(join).expect("a room").expect("a seat");
        synthetic.accept(joined.answer).expect("the answer fits");
        Self { synthetic, socket }
    }

    fn step(&mut self, buffer: &mut [u8]) {
        while let Ok((length, source)) = self.socket.recv_from(buffer) {
            self.synthetic.receive(Instant::now(), source, &buffer[..length]);
        }
        let now = Instant::now();
        if now >= self.synthetic.next_deadline() {
            self.synthetic.advance(now);
        }
        while let Some((destination, bytes)) = self.synthetic.poll_datagram() {
            let _ = self.socket.send_to(&bytes, destination);
        }
    }
}

fn run(clients: &mut [Client], time: Duration) {
    let (until, mut buffer) = (Instant::now() + time, vec![0; 2048]);
    while Instant::now() < until {
        clients.iter_mut().for_each(|client| client.step(&mut buffer));
        thread::sleep(Duration::from_millis(1));
    }
}

fn start() -> Handle {
    prepare();
    Handle::start("test", "127.0.0.1".parse().expect("an address"), RoomConfig::default()).expect("a room")
}

#[test]
fn twenty_participants_see_each_other() {
    let room = start();
    let mut clients: Vec<Client> = Vec::new();
    for number in 0..20 {
        clients.push(Client::new(&room, &format!("guest {number}"), 19));
        run(&mut clients, Duration::from_millis(50));
    }
    run(&mut clients, Duration::from_secs(12));
    for client in &clients {
        let counts = client.synthetic.counts();
        assert!(client.synthetic.is_connected() && counts.packets > 200 && counts.reasons > 0, "{counts:?}");
    }
    let state: serde_json::Value = serde_json::from_str(&room.published().state).expect("JSON");
    assert_eq!(state["members"].as_array().map(Vec::len), Some(20));
    assert!(room.published().metrics.contains("airbound_room_members{room=\"test\"} 20"));
}

#[test]
fn a_seat_ends_at_once_by_its_token_and_a_panic_ends_one_room_only() {
    let (room, other) = (start(), start());
    let mut clients = vec![Client::new(&room, "one", 2), Client::new(&other, "two", 2)];
    run(&mut clients, Duration::from_secs(1));
    assert!(room.ask(Request::Leave("token of one".to_owned())));
    run(&mut clients, Duration::from_millis(1200));
    assert_eq!((room.published().members, other.published().members), (0, 1));
    assert!(room.ask(Request::Panic));
    let until = Instant::now() + Duration::from_secs(20);
    while room.ask(Request::Leave(String::new())) {
        assert!(Instant::now() < until, "the room has ended");
        thread::sleep(Duration::from_millis(50));
    }
    assert!(other.ask(Request::Leave(String::new())), "the other has not");
}
