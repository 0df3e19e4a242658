//! Both ends in virtual time: what is lost, reordered, replayed, forged, moved or restarted between them.

use std::net::SocketAddr;

use crate::world::{Way, World, address, key};
use airbound_relay::protocol::{Event, Gone, Hello, Transmit};
use airbound_units::Span;
use proptest::prelude::*;

fn joined(count: usize, way: Way) -> World {
    let mut world = World::new(count, way, 1);
    world.run(Span::from_secs(1));
    assert!((0..count).all(|place| world.joined(place)));
    world
}

#[test]
fn datagrams_travel_both_ways_whole_and_in_halves() {
    let mut world = joined(1, Way::default());
    for length in [0, 1, 1172, 1444, 1445, 1472, 2888] {
        let datagram: Vec<u8> = (0..length).map(|at| at as u8).collect();
        world.down(0, &datagram);
        world.up(0, &datagram);
        world.run(Span::from_millis(100));
        assert_eq!(world.stations[0].last, datagram, "down {length}");
        assert_eq!(world.backend_last, datagram, "up {length}");
    }
    world.down(0, &[0; 2889]);
    world.up(0, &[0; 2889]);
    world.run(Span::from_millis(100));
    assert_eq!((world.row(0).too_large, world.stations[0].client.counts().dropped), (1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Whatever the way does below 30 % loss, an end joins within seconds, and no datagram arrives twice.
    #[test]
    fn a_bad_way_delays_but_does_not_break(loss in 0.0..0.3, jitter in 0_u64..50, delay in 0_u64..200, seed in 1_u64..1000) {
        let way = Way { loss, jitter: Span::from_millis(jitter), delay: Span::from_millis(delay), ..Way::default() };
        let mut world = World::new(2, way, seed);
        let mut waits = 0;
        while !(world.joined(0) && world.joined(1)) && waits < 150 {
            world.run(Span::from_millis(100));
            waits += 1;
        }
        prop_assert!(waits < 150, "not joined after 15 s");
        let before = (world.stations[0].datagrams, world.backend);
        for _ in 0..200 {
            world.down(0, &[1; 100]);
            world.up(1, &[2; 100]);
            world.run(Span::from_millis(5));
        }
        world.run(Span::from_secs(1));
        let (down, up) = (world.stations[0].datagrams - before.0, world.backend - before.1);
        prop_assert!(down <= 200 && up <= 200, "{down} {up}");
        let least = 200.0 * (1.0 - loss) - 40.0;
        prop_assert!(down as f64 >= least && up as f64 >= least, "{down} {up}, {least}");
    }
}

#[test]
fn a_killed_edge_that_starts_again_has_its_clients_back_within_two_seconds() {
    for pause in [200, 1000, 3100, 10_000] {
        let mut world = joined(20, Way::default());
        world.edge = None;
        world.run(Span::from_millis(pause));
        world.start_edge();
        let back = world.now;
        let mut slowest = None;
        while slowest.is_none() && world.now - back < Span::from_secs(5) {
            world.run(Span::from_millis(10));
            if (0..20).all(|place| world.joined(place)) {
                slowest = Some(world.now - back);
            }
        }
        let slowest = slowest.expect("all are back");
        assert!(slowest <= Span::from_secs(2), "after {pause} ms: {slowest}");
        for place in 0..20 {
            world.down(place, b"again");
        }
        world.run(Span::from_millis(200));
        assert!(world.stations.iter().all(|station| station.last == b"again"));
    }
}

#[test]
fn a_client_behind_a_nat_that_binds_anew_is_followed_at_once() {
    let mut world = joined(1, Way::default());
    world.stations[0].address = address(0, 6000);
    world.up(0, b"here");
    world.run(Span::from_millis(50));
    world.down(0, b"there");
    world.run(Span::from_millis(50));
    assert_eq!(world.stations[0].last, b"there");
    let moved = |event: &Event| matches!(event, Event::Moved { to, .. } if *to == address(0, 6000));
    let proven =
        |event: &Event| matches!(event, Event::Proven { address: to, .. } if *to == address(0, 6000));
    assert!(world.edge_events.iter().any(moved) && world.edge_events.iter().any(proven));
}

#[test]
fn an_edge_behind_a_nat_that_binds_anew_is_followed_too() {
    let mut world = joined(1, Way::default());
    // Its packets come from elsewhere, and only there is it reached.
    world.edge_address = SocketAddr::from(([10, 9, 9, 9], 7001));
    world.down(0, b"moved");
    world.run(Span::from_millis(50));
    world.up(0, b"found");
    world.run(Span::from_millis(50));
    assert_eq!((&world.stations[0].last[..], &world.backend_last[..]), (&b"moved"[..], &b"found"[..]));
}

#[test]
fn an_address_that_does_not_answer_gets_three_times_what_came_from_it() {
    let mut world = joined(1, Way::default());
    world.tap = Some(Vec::new());
    world.up(0, b"newest");
    let victim = address(150, 9);
    // An observer on the way holds the packet back and sends it from a victim's address.
    world.way.loss = 1.0;
    world.run(Span::from_millis(1));
    world.way.loss = 0.0;
    let (_, packet) = world.tap.take().expect("tapped").pop().expect("a packet");
    let length = packet.len() as u64;
    let to = world.edge_address;
    world.send(victim, Transmit::now(to, packet));
    world.stations[0].on = false;
    world.run(Span::from_millis(10));
    for _ in 0..1000 {
        world.down(0, &[0; 100]);
        world.run(Span::from_millis(1));
    }
    let sent = world.sent_to.get(&victim).copied().unwrap_or(0);
    assert!(sent > 0 && sent <= 3 * length, "{sent} of {length}");
}

#[test]
fn replayed_and_changed_packets_are_refused_and_strangers_get_no_answer() {
    let mut world = joined(1, Way::default());
    world.tap = Some(Vec::new());
    for _ in 0..50 {
        world.up(0, b"once");
        world.run(Span::from_millis(20));
    }
    let delivered = world.backend;
    let tapped = world.tap.take().expect("tapped");
    let reports = world.row(0).reports;
    let stranger = address(199, 1);
    let to = world.edge_address;
    for (from, packet) in &tapped {
        world.send(*from, Transmit::now(to, packet.clone()));
        world.send(stranger, Transmit::now(to, packet.clone()));
        let mut changed = packet.clone();
        let last = changed.len() - 1;
        changed[last] ^= 1;
        // A number not used yet, so that the tag decides.
        changed[8] = 1;
        world.send(stranger, Transmit::now(to, changed));
    }
    world.run(Span::from_millis(500));
    assert_eq!(world.backend, delivered);
    assert_eq!(world.sent_to.get(&stranger), None);
    let counts = world.edge.as_ref().expect("an edge").counts();
    assert_eq!((counts.replayed, counts.forged), (2 * tapped.len() as u64, tapped.len() as u64));
    assert!(world.row(0).reports - reports <= 6, "replayed reports are not taken");
    assert!(world.joined(0) && world.row(0).refused_reports == 0);
}

#[test]
fn a_flood_of_strangers_leaves_no_state() {
    let mut world = joined(1, Way::default());
    let to = world.edge_address;
    for number in 0..100_000_u64 {
        let mut bytes = vec![(number % 9) as u8; 60 + (number % 3) as usize * 570];
        bytes[1] = 0x10;
        bytes[2..8].copy_from_slice(&world.number().to_be_bytes()[..6]);
        if number % 2 == 0 {
            bytes[2] = 0;
            bytes[3] = 0;
        }
        let from = address((number % 150) as usize + 2, 77);
        world.send(from, Transmit::now(to, bytes));
        if number % 1000 == 0 {
            world.run(Span::from_millis(10));
        }
    }
    world.run(Span::from_millis(100));
    let edge = world.edge.as_ref().expect("an edge");
    assert_eq!((edge.rows().count(), edge.sessions()), (1, 1));
    assert_eq!(world.sent_to.len(), 1, "nobody but the client was sent to");
    assert!(world.joined(0));
}

#[test]
fn an_old_hello_changes_nothing_even_after_a_restart_of_the_edge() {
    let mut world = World::new(1, Way::default(), 1);
    world.tap = Some(Vec::new());
    world.run(Span::from_secs(1));
    let hello = world.tap.take().expect("tapped").swap_remove(0).1;
    assert_eq!(hello.len(), 1200);
    let stranger = address(199, 1);
    let to = world.edge_address;
    world.send(stranger, Transmit::now(to, hello.clone()));
    world.run(Span::from_millis(100));
    assert_eq!(world.sent_to.get(&stranger), None, "known by its time");
    world.start_edge();
    world.send(stranger, Transmit::now(to, hello.clone()));
    world.run(Span::from_secs(3));
    let answered = world.sent_to.get(&stranger).copied().unwrap_or(0);
    assert!(answered < 1200, "an answer at most: {answered}");
    assert!(world.joined(0), "the client is back whatever an old hello has begun");
    world.run(Span::from_secs(12));
    assert!(world.edge.as_ref().expect("an edge").sessions() <= 2);
}

/// A hello of a client's key, as its own clock made it.
fn hello_at(time: u64, nonce: u8) -> Vec<u8> {
    let key = key(0, 0).key;
    Hello { epoch: 0, resumes: false, time, key: key.id(), nonce: [nonce; 16] }.encode(&key, 0)
}

#[test]
fn hellos_of_a_clock_that_was_ahead_keep_a_client_out_for_three_seconds() {
    const DAYS_30: u64 = 30 * 86_400 * 1_000_000;
    let mut world = World::new(1, Way::default(), 1);
    let (stranger, to) = (address(199, 1), world.edge_address);
    world.stations[0].on = false;
    world.send(stranger, Transmit::now(to, hello_at(DAYS_30, 1)));
    world.run(Span::from_millis(100));
    assert_eq!(world.edge.as_ref().expect("an edge").sessions(), 1);
    let begin = world.now;
    world.stations[0] = world.station(0);
    while !world.joined(0) && world.now - begin < Span::from_secs(60) {
        world.run(Span::from_millis(100));
        // Without effect once, it has none again.
        world.send(stranger, Transmit::now(to, hello_at(DAYS_30, 1)));
    }
    // Three seconds, and the distance of two hellos.
    assert!(world.now - begin < Span::from_secs(5), "{}", world.now - begin);
    let answered = world.sent_to.get(&stranger).copied().unwrap_or(0);
    assert!(answered < 60 * 1200, "{answered}");
}

#[test]
fn a_client_that_left_comes_back_with_an_earlier_clock_whoever_replays_its_hello() {
    let mut world = joined(1, Way::default());
    let (stranger, to) = (address(199, 1), world.edge_address);
    for number in 1..=5 {
        let now = world.now;
        world.stations[0].client.close(now);
        world.run(Span::from_millis(50));
        // Later than the client's own clock, as if that had been set back.
        world.send(stranger, Transmit::now(to, hello_at(1_000_000_000_000 + u64::from(number), number)));
        let begin = world.now;
        while !world.joined(0) && world.now - begin < Span::from_secs(60) {
            world.run(Span::from_millis(100));
        }
        assert!(world.now - begin < Span::from_secs(5), "{number}: {}", world.now - begin);
    }
}

/// Bytes that the edge sends to a victim in whose name an observer sends copies: of the first hello, of the first packet after it, or of
/// both. What the victim gets is at most three times what came in its name.
#[test]
fn an_address_of_a_copied_handshake_gets_three_times_what_came_from_it() {
    for (hello_copied, packet_copied) in [(true, true), (false, true), (true, false)] {
        let mut world = World::new(1, Way::default(), 1);
        let (victim, to) = (address(150, 9), world.edge_address);
        world.tap = Some(Vec::new());
        // Hellos, each of which is sent twice, and bytes of other packets, of which the second is a replay.
        let mut came = (0, 0);
        let mut seen = 0;
        for _ in 0..2000 {
            world.run(Span::from_micros(500));
            let tapped = world.tap.as_ref().expect("a tap")[seen..].to_vec();
            seen += tapped.len();
            for (_, packet) in tapped {
                let is_hello = packet.len() == 1200;
                let first = !is_hello && !world.edge_events.iter().any(is_joined);
                if (is_hello && hello_copied) || (first && packet_copied) {
                    if is_hello {
                        came.0 += 2
                    } else {
                        came.1 += packet.len() as u64
                    };
                    // Ahead of the original.
                    let edge = world.edge.as_mut().expect("an edge");
                    assert!(edge.receive(world.now, victim, &packet).is_none());
                    world.send(victim, Transmit::now(to, packet));
                }
            }
            if world.edge_events.iter().any(is_joined) {
                // The client is cut off: only the copies tell the edge where it is.
                world.stations[0].on = false;
                world.down(0, &[0; 1000]);
            }
        }
        let sent = world.sent_to.get(&victim).copied().unwrap_or(0);
        // Each hello gets one answer of 48 bytes, and does not count for more.
        let most = 48 * came.0 + 3 * came.1;
        assert!(most > 0 && sent <= most, "{hello_copied} {packet_copied}: {sent} of {most}");
    }
}

fn is_joined(event: &Event) -> bool {
    matches!(event, Event::Joined { .. })
}

#[test]
fn a_client_sends_little_to_where_a_copied_answer_came_from() {
    let mut world = World::new(1, Way::default(), 1);
    // All that the edge sends arrives in the name of a victim, which is silent.
    let victim = SocketAddr::from(([10, 9, 9, 9], 7001));
    world.stations[0].client.enqueue(world.now, b"early");
    world.edge_address = victim;
    let edge = SocketAddr::from(crate::world::EDGE);
    world.tap = Some(Vec::new());
    world.run(Span::from_millis(1));
    let (from, hello) = world.tap.take().expect("a tap").remove(0);
    let now = world.now;
    let at_edge = world.edge.as_mut().expect("an edge");
    assert!(at_edge.receive(now, from, &hello).is_none());
    let answer = at_edge.transmit(now).expect("an answer");
    let client = &mut world.stations[0].client;
    assert!(client.receive(now, now, None, victim, &answer.bytes).is_none());
    let mut sent = 0;
    for step in 0..500 {
        let now = now + Span::from_millis(step);
        client.tick(now);
        client.enqueue(now, &[0; 500]);
        while let Some(packet) = client.transmit() {
            if packet.to != edge {
                sent += packet.bytes.len();
            }
        }
    }
    assert!(client.is_joined());
    assert!(sent > 0 && sent <= 3 * answer.bytes.len(), "{sent} of {}", answer.bytes.len());
}

#[test]
fn a_mtu_black_hole_is_left_and_large_datagrams_go_on_in_halves() {
    let mut world = joined(1, Way::default());
    world.run(Span::from_secs(3));
    assert_eq!((world.row(0).mtu, world.stations[0].client.mtu()), (1472, 1472));
    world.way.mtu = 1300;
    let mut arrived_after = None;
    let begun = world.now;
    while arrived_after.is_none() && world.now - begun < Span::from_secs(10) {
        world.down(0, &[9; 1400]);
        world.run(Span::from_millis(50));
        if world.stations[0].last.len() == 1400 {
            arrived_after = Some(world.now - begun);
        }
        world.stations[0].last.clear();
    }
    assert!(arrived_after.is_some_and(|after| after <= Span::from_secs(4)), "{arrived_after:?}");
    world.run(Span::from_secs(10));
    assert!((1280..=1300).contains(&world.row(0).mtu), "{}", world.row(0).mtu);
}

#[test]
fn keys_change_without_loss() {
    let mut world = joined(1, Way { jitter: Span::from_millis(3), ..Way::default() });
    world.stations[0].offered = 4;
    world.run(Span::from_secs(2));
    let list = vec![key(0, 0), key(0, 1)];
    let now = world.now;
    world.edge.as_mut().expect("an edge").set_keys(now, &list).expect("few clients");
    world.run(Span::from_millis(500));
    // What the allocation's first seconds cost is not the keys'.
    let (before, dropped) = (world.stations[0].datagrams, world.row(0).dropped);
    world.stations[0].client.set_keys(now, list);
    let mut sent = 0;
    for _ in 0..200 {
        world.up(0, b"up");
        sent += 1;
        world.run(Span::from_millis(10));
    }
    world.run(Span::from_millis(100));
    assert_eq!(world.row(0).epoch, 1);
    assert_eq!(world.backend, sent);
    let rate = (world.stations[0].datagrams - before) as f64 * 9600.0 / 2.1 / 1e6;
    assert!((3.9..4.1).contains(&rate), "{rate} Mb/s");
    assert_eq!(world.row(0).dropped, dropped);
    // The old key is taken away.
    let now = world.now;
    world.edge.as_mut().expect("an edge").set_keys(now, &[key(0, 1)]).expect("few clients");
    world.run(Span::from_secs(2));
    assert!(world.joined(0));
    let now = world.now;
    world.edge.as_mut().expect("an edge").set_keys(now, &[]).expect("few clients");
    world.run(Span::from_secs(2));
    let gone = |event: &Event| matches!(event, Event::Left { why: Gone::NoKey, .. });
    assert!(world.edge_events.iter().any(gone));
}

#[test]
fn a_silent_client_is_forgotten_and_one_that_says_farewell_at_once() {
    let mut world = joined(2, Way::default());
    let now = world.now;
    world.stations[0].client.close(now);
    world.run(Span::from_millis(50));
    let left = |events: &[Event]| -> Vec<Gone> {
        events
            .iter()
            .filter_map(|event| if let Event::Left { why, .. } = event { Some(*why) } else { None })
            .collect()
    };
    assert_eq!(left(&world.edge_events), [Gone::Closed]);
    world.stations[0].on = false;
    world.stations[1].on = false;
    world.run(Span::from_secs(31));
    assert!(matches!(left(&world.edge_events)[..], [Gone::Closed, Gone::Silent(_)]));
    let edge = world.edge.as_ref().expect("an edge");
    assert_eq!((edge.rows().count(), edge.sessions(), edge.next_deadline()), (0, 0, None));
}
