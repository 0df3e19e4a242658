//! Memory of the part that holds packets, with as many stations, flows and packets as a large access point has.

#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "reports the figure")]

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use airbound_agent::engine::{
    Arrival, Carried, Completion, Engine, EngineConfig, Fate, FlowKey, Protected, StationFacts, Ticket,
};
use airbound_agent::http::{serve, status};
use airbound_agent::snapshot::{InterfaceRow, LinkRow, Snapshot};
use airbound_control::queue::{Demand, FqCodelAirtimeConfig, LastPqConfig, QueueConfig};
use airbound_linux::MacAddress;
use airbound_linux::nl80211::Station;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

const STATIONS: u32 = 200;
/// More flows than the agent remembers.
const FLOWS: u64 = 5000;
/// More packets than it holds (4096).
const PACKETS: u32 = 40_000;

fn mac(number: u32) -> MacAddress {
    let [_, _, high, low] = number.to_be_bytes();
    MacAddress([2, 0, 0, 0, high, low])
}

/// Largest resident memory of this process so far, kB.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).expect("kB").parse().expect("a number")
}

/// Packets come four times as fast as they leave, so that all that is bounded is full.
fn busy(engine: &mut Engine) -> Instant {
    let rate = Some(BitRate::from_mbps(433));
    let facts: Vec<StationFacts> = (0..STATIONS)
        .map(|number| StationFacts { station: mac(number), rate, aggregates: true, sent: Some(0) })
        .collect();
    engine.on_stations(Instant::ZERO, &facts);
    let mut now = Instant::from_nanos(1);
    let mut below: VecDeque<(MacAddress, Ticket)> = VecDeque::new();
    for number in 0..PACKETS {
        now += Span::from_micros(20);
        let station = mac(number % STATIONS);
        let arrival = Arrival {
            ticket: Ticket(number),
            station: Some(station),
            flow: FlowKey(u64::from(number) % FLOWS),
            rule: number.is_multiple_of(16).then_some(0),
            category: Category::Be,
            size: ByteCount::new(1500),
            segments: 1,
        };
        engine.on_packet(now, &arrival);
        if number.is_multiple_of(4)
            && let Some((station, ticket)) = below.pop_front()
        {
            let completion = Completion {
                station,
                carried: Carried::Packet(ticket),
                category: Some(Category::Be),
                size: None,
                acknowledged: true,
                rate,
                tries: 1,
                airtime: None,
                at: now,
            };
            engine.on_completion(now, &completion);
        }
        let output = engine.output();
        output.decisions.clear();
        let released = output.verdicts.drain(..).filter(|verdict| verdict.fate == Fate::Release);
        below.extend(released.map(|verdict| (mac(verdict.ticket.0 % STATIONS), verdict.ticket)));
    }
    now
}

#[test]
fn two_hundred_stations_take_less_than_12_mb() {
    let before = peak_kb();
    let demand = Demand::new(Span::from_millis(20), 95.0).expect("valid");
    let linux = FqCodelAirtimeConfig { airtime_queue_limit: None, ..FqCodelAirtimeConfig::default() };
    let queue = QueueConfig::LastPq(Box::new(LastPqConfig { linux, ..LastPqConfig::default() }));
    let rules = vec![Protected { name: "vr".to_owned(), demand, rate: None }];
    let mut engine = Engine::new(EngineConfig { queue, rules, ..EngineConfig::default() }, 1).expect("valid");
    let now = busy(&mut engine);
    let stations = (0..STATIONS).map(|number| {
        let station = Station {
            address: mac(number),
            signal: Some(-60),
            sent_packets: Some(number),
            ..Station::default()
        };
        LinkRow::from(&station)
    });
    let interfaces = vec![InterfaceRow { interface: "phy0-ap0".to_owned(), stations: stations.collect() }];
    let mut snapshot = Snapshot { interfaces, ..Snapshot::default() };
    snapshot.update(now, Instant::ZERO, &engine);
    assert_eq!((snapshot.stations.len(), snapshot.held > 3000), (200, true), "{}", snapshot.held);
    // As the agent does: one snapshot is worked at, another is shown.
    let shared = Arc::new(Mutex::new(Arc::new(snapshot.clone())));
    let address = serve(SocketAddr::from(([127, 0, 0, 1], 0)), shared).expect("loopback");
    assert_eq!(status(address).expect("an answer").stations.len(), 200);
    let metrics = airbound_agent::metrics::text(&snapshot);
    let peak = peak_kb();
    println!(
        "{peak} kB, {before} before; {} flows, {} held, {} B of metrics",
        engine.flows(),
        engine.held(),
        metrics.len()
    );
    // The process that watches takes 2 MB beside it.
    assert!(peak < 10_000, "{peak} kB");
}
