//! Both ends under any bytes and any order of calls.

use crate::world::{Way, World, address, key};
use airbound_relay::protocol::{
    Answer, Client, ClientConfig, Edge, EdgeConfig, Entropy, HEADER, HELLO_LENGTH, Header, Hello, Transmit,
};
use airbound_units::{Instant, Span};

/// A packet that was on its way, some of whose bytes are exchanged.
fn changed(packet: &[u8], changes: &[(u16, u8)]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    for (at, value) in changes {
        let length = packet.len();
        packet[usize::from(*at) % length] = *value;
    }
    packet
}

#[test]
fn both_ends_take_any_packet() {
    airbound_corpus::check!(Vec<Vec<u8>>, 500, |packets| {
        let begin = Instant::ZERO + Span::from_secs(1);
        let mut edge = Edge::new(EdgeConfig::default(), &[key(0, 0)], Entropy::new([1; 16])).expect("valid");
        let config = ClientConfig::new(address(0, 1), key(0, 0));
        let mut client = Client::new(begin, config, Entropy::new([2; 16])).expect("a key");
        for (place, packet) in packets.iter().enumerate() {
            let now = begin + Span::from_millis(place as u64);
            assert!(edge.receive(now, address(0, 1), packet).is_none());
            edge.tick(now);
            assert!(edge.transmit(now).is_none() && edge.sessions() == 0);
            assert!(client.receive(now, now, None, address(0, 1), packet).is_none());
            client.tick(now);
            assert!(!client.is_joined());
            // Hellos only.
            while let Some(sent) = client.transmit() {
                assert_eq!(sent.bytes.len(), HELLO_LENGTH);
            }
        }
    });
}

#[test]
fn messages_of_a_handshake_are_read_or_refused() {
    let key = key(0, 0).key;
    airbound_corpus::check!(Vec<u8>, 2000, |bytes| {
        if let Some(header) = Header::read(bytes) {
            let mut again = bytes.clone();
            header.write(&mut again);
            assert_eq!(again[..20], bytes[..20]);
        }
        let _ = (Hello::read(bytes), Hello::is_of(bytes, &key), Answer::decode(bytes, &key, &[0; 16]));
    });
}

#[test]
fn changed_packets_of_a_session_change_nothing() {
    let mut world = World::new(1, Way::default(), 1);
    world.run(Span::from_secs(1));
    world.tap = Some(Vec::new());
    for _ in 0..20 {
        world.up(0, &[1; 50]);
        world.run(Span::from_millis(20));
    }
    let tapped = world.tap.take().expect("tapped");
    let world = std::sync::Mutex::new(world);
    airbound_corpus::check!((u8, Vec<(u16, u8)>), 2000, |(place, changes)| {
        let mut world = world.lock().expect("no panic before");
        let (_, packet) = &tapped[usize::from(*place) % tapped.len()];
        let now = world.now;
        let edge = world.edge.as_mut().expect("an edge");
        let before = edge.rows().next().map(|(_, row)| (row.up, row.reports, row.refused_reports));
        assert!(edge.receive(now, address(7, 7), &changed(packet, changes)).is_none());
        assert_eq!(edge.rows().next().map(|(_, row)| (row.up, row.reports, row.refused_reports)), before);
    });
}

/// A call, or something that happens between two ends.
#[derive(Debug, Clone, bolero::TypeGenerator)]
enum Operation {
    Run(u8),
    Up(u16),
    Down(u16),
    Move(u8),
    Loss(u8),
    Mtu(u8),
    Keys(u8),
    Close,
    Restart,
    StopEdge,
    StartEdge,
    Tell(Vec<u8>),
    /// A stranger's datagram, or one of before.
    Inject(Vec<u8>),
}

#[test]
fn any_order_of_calls_leaves_a_relay_that_works() {
    airbound_corpus::check!(Vec<Operation>, 60, |operations| {
        let mut world = World::new(1, Way::default(), 7);
        for operation in operations.iter().take(64) {
            let now = world.now;
            match operation {
                Operation::Run(millis) => world.run(Span::from_millis(u64::from(*millis) * 8)),
                Operation::Up(length) => world.up(0, &vec![1; usize::from(*length)]),
                Operation::Down(length) => world.down(0, &vec![2; usize::from(*length)]),
                Operation::Move(port) => world.stations[0].address = address(0, 5000 + u16::from(*port)),
                Operation::Loss(part) => world.way.loss = f64::from(*part) / 512.0,
                Operation::Mtu(part) => world.way.mtu = 1200 + usize::from(*part) * 2,
                Operation::Keys(epoch) => {
                    let fresh = key(0, epoch % 16);
                    world.keys[0] = fresh.clone();
                    let keys = world.keys.clone();
                    if let Some(edge) = &mut world.edge {
                        edge.set_keys(now, &keys).expect("few clients");
                    }
                    world.stations[0].client.set_keys(now, vec![fresh]);
                }
                Operation::Close => world.stations[0].client.close(now),
                Operation::Restart => {
                    let station = world.station(0);
                    world.stations[0] = station;
                }
                Operation::StopEdge => world.edge = None,
                Operation::StartEdge => world.start_edge(),
                Operation::Tell(bytes) => world.stations[0].client.tell(now, bytes),
                Operation::Inject(bytes) => {
                    let to = world.edge_address;
                    let bytes = if bytes.is_empty() { vec![0; HEADER] } else { bytes.clone() };
                    world.send(address(9, 9), Transmit::now(to, bytes));
                }
            }
        }
        if world.edge.is_none() {
            world.start_edge();
        }
        world.way = Way::default();
        world.run(Span::from_secs(5));
        assert!(world.joined(0));
        world.up(0, b"up");
        world.down(0, b"down");
        world.run(Span::from_millis(500));
        assert_eq!((&world.backend_last[..], &world.stations[0].last[..]), (&b"up"[..], &b"down"[..]));
        assert!(world.edge.as_ref().expect("an edge").sessions() <= 3);
    });
}
