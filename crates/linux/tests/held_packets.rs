//! Packets of a real kernel, held and released, in network namespaces. Skipped with a message where these are not available.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr, reason = "reports what is skipped")]

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::bed::{self, Bed, Rule};
use airbound_linux::nfqueue::{Layer, PacketId, Queue, QueueConfig};
use airbound_linux::packet::Headers;
use airbound_units::ByteCount;

const QUEUE: u16 = 64_901;
const PORT: u16 = 9100;

/// Receives until `count` packets are held, or a second has passed.
fn hold(queue: &mut Queue, count: usize) -> Vec<(PacketId, u8, Headers)> {
    let mut held = Vec::new();
    let begun = Instant::now();
    while held.len() < count && begun.elapsed() < Duration::from_secs(1) {
        queue
            .receive(64, |packet| {
                let headers = Headers::read(packet.head).expect("an IP packet");
                assert_eq!(packet.ethertype, 0x0800);
                assert_eq!(packet.length, ByteCount::new(20 + 8 + 1000));
                assert_eq!(packet.head.len(), 96, "no more bytes than configured are copied");
                assert!(packet.out_interface != 0 && packet.in_interface != 0);
                held.push((packet.id, packet.head[28], headers));
            })
            .expect("to receive");
        std::thread::sleep(Duration::from_millis(1));
    }
    held
}

fn send(socket: &UdpSocket, numbers: std::ops::Range<u8>) {
    for number in numbers {
        socket.send(&[number; 1000]).expect("to send");
    }
}

/// The packets that arrive within the socket's time limit.
fn arrivals(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = [0; 2000];
    std::iter::from_fn(|| socket.recv(&mut buffer).ok().map(|_| buffer[0])).collect()
}

#[test]
fn verdicts_decide_order_and_fate() {
    let bed = match Bed::make('a') {
        Ok(bed) => bed,
        Err(why) => return eprintln!("SKIPPED: {why}"),
    };
    let (sender, receiver) = (bed.sender(PORT), bed.receiver(PORT));
    send(&sender, 0..1);
    assert_eq!(arrivals(&receiver), [0], "the bed carries packets");
    let rule = match bed.hold(QUEUE) {
        Ok(rule) => rule,
        Err(why) => return eprintln!("SKIPPED: no rule sends packets to a queue here: {why}"),
    };
    send(&sender, 1..3);
    assert_eq!(arrivals(&receiver), [1, 2], "without a listener packets bypass the queue");

    let config = QueueConfig { number: QUEUE, ..QueueConfig::default() };
    let mut queue = bed.within(1, || Queue::open(&config)).expect("a queue");
    send(&sender, 10..15);
    let held = hold(&mut queue, 5);
    assert_eq!(held.iter().map(|(_, number, _)| *number).collect::<Vec<u8>>(), [10, 11, 12, 13, 14]);
    assert!(held.iter().all(|(_, _, headers)| headers.ports.is_some_and(|ports| ports.1 == PORT)));
    assert_eq!(arrivals(&receiver), [], "held packets do not arrive");
    let counters = bed.within(1, || queue.kernel_counters()).expect("the kernel counts");
    assert_eq!((counters.held, counters.dropped_full, counters.dropped_socket), (5, 0, 0));

    // The second is dropped, the others come in reverse order.
    for (id, number, _) in held.iter().rev() {
        if *number == 11 { queue.drop(*id) } else { queue.accept(*id, Some(7)) }.expect("a verdict");
    }
    queue.flush().expect("verdicts sent");
    assert_eq!(arrivals(&receiver), [14, 13, 12, 10]);

    // A verdict for an unknown packet is refused, and counted.
    queue.accept(PacketId(u32::MAX), None).expect("a verdict");
    queue.flush().expect("verdicts sent");
    std::thread::sleep(Duration::from_millis(5));
    queue.receive(64, |_| {}).expect("to receive");
    let counters = queue.counters();
    assert_eq!((counters.packets, counters.verdicts, counters.refused), (5, 6, 1));
    assert_eq!((counters.malformed, counters.overruns), (0, 0));

    // A closed queue loses its packets, and later ones bypass it.
    send(&sender, 20..22);
    assert_eq!(hold(&mut queue, 2).len(), 2);
    drop(queue);
    send(&sender, 30..32);
    assert_eq!(arrivals(&receiver), [30, 31]);

    if let Rule::Nft(table) = rule {
        bed.within(1, || {
            assert!(table.is_present().expect("an answer"));
            table.clone().remove().expect("to remove the rules");
            assert!(!table.is_present().expect("an answer"));
            airbound_linux::nftables::remove_leftovers(bed::OUT).expect("nothing to remove is no error");
        });
    } else {
        eprintln!("SKIPPED in part: rules by iptables, this kernel's nftables has no `queue`");
    }
}

#[test]
fn a_full_socket_is_noticed() {
    let bed = match Bed::make('b') {
        Ok(bed) => bed,
        Err(why) => return eprintln!("SKIPPED: {why}"),
    };
    if let Err(why) = bed.hold(QUEUE) {
        return eprintln!("SKIPPED: no rule sends packets to a queue here: {why}");
    }
    let (sender, receiver) = (bed.sender(PORT), bed.receiver(PORT));
    // Room for a few packets, and no reader: the others pass unqueued.
    let config = QueueConfig { number: QUEUE, buffer: 4096, ..QueueConfig::default() };
    let mut queue = bed.within(1, || Queue::open(&config)).expect("a queue");
    send(&sender, 0..100);
    let passed = arrivals(&receiver);
    let held = hold(&mut queue, 100 - passed.len());
    assert!(!passed.is_empty() && !held.is_empty(), "{} passed, {} held", passed.len(), held.len());
    assert_eq!(passed.len() + held.len(), 100, "nothing is lost");
    // The gap is known at the next packet.
    send(&sender, 100..101);
    assert_eq!(hold(&mut queue, 1).len(), 1);
    assert_eq!(queue.counters().overruns, passed.len() as u64);
}

#[test]
fn bridged_frames_name_their_receiver() {
    let bed = match Bed::make_bridged('c') {
        Ok(bed) => bed,
        Err(why) => return eprintln!("SKIPPED: {why}"),
    };
    let (sender, receiver) = (bed.sender(PORT), bed.receiver(PORT));
    send(&sender, 0..1);
    assert_eq!(arrivals(&receiver), [0], "the bed carries packets");
    let table = match bed.hold_bridged(QUEUE) {
        Ok(table) => table,
        Err(why) => return eprintln!("SKIPPED: no rule sends bridged packets to a queue here: {why}"),
    };
    let find = |place, name| {
        bed.within(place, || airbound_linux::interface::Interface::find(name)).expect("an interface")
    };
    let (inside, out) = (find(2, bed::INSIDE), find(1, bed::OUT));
    assert!(out.bridge.is_some(), "it is a port of the bridge");
    let config = QueueConfig { number: QUEUE, ..QueueConfig::default() };
    let mut queue = bed.within(1, || Queue::open(&config)).expect("a queue");
    send(&sender, 1..4);
    let mut held = Vec::new();
    let begun = Instant::now();
    while held.len() < 3 && begun.elapsed() < Duration::from_secs(2) {
        let mut others = Vec::new();
        queue
            .receive(64, |packet| {
                assert_eq!((packet.layer, packet.out_interface), (Layer::Link, out.index));
                assert_eq!(packet.link_header.len(), 14);
                match Headers::read(packet.head) {
                    Some(headers) if headers.ports.is_some_and(|ports| ports.1 == PORT) => {
                        assert_eq!(packet.destination(), Some(inside.address));
                        assert_eq!(packet.length, ByteCount::new(20 + 8 + 1000));
                        held.push((packet.id, packet.head[28]));
                    }
                    // A bridge also forwards ARP and other protocols.
                    _ => others.push(packet.id),
                }
            })
            .expect("to receive");
        for id in others {
            queue.accept(id, None).expect("a verdict");
        }
        queue.flush().expect("verdicts sent");
        std::thread::sleep(Duration::from_millis(1));
    }
    for (id, _) in held.iter().rev() {
        queue.accept(*id, None).expect("a verdict");
    }
    queue.flush().expect("verdicts sent");
    assert_eq!(arrivals(&receiver), [3, 2, 1]);
    bed.within(1, || {
        assert!(table.is_present().expect("an answer"));
        table.remove().expect("to remove the rules");
    });
}
