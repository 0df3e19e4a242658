//! LAST-PQ with `protect = "auto"`: demands follow the pattern of a flow, and never replace configured ones.

use airbound_control::frame::{FlowId, PlainPacket, StationId};
use airbound_control::queue::{AnyQueue, Demand, Protection, Queue, QueueConfig};
use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use crate::queue_calls::Calls as _;

const STREAM: FlowId = FlowId(3);
const OTHER: FlowId = FlowId(4);

fn queue(keys: &str) -> AnyQueue<PlainPacket> {
    let config: QueueConfig = toml::from_str(&format!("kind = \"last-pq\"\n{keys}")).expect("readable");
    config.build(1).expect("values in range")
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// Sends 30 frames a second of 100 packets each, taken out at once; returns the end in ms.
fn stream(queue: &mut AnyQueue<PlainPacket>, from: u64, seconds: u64) -> u64 {
    let mut dropped = Vec::new();
    for frame in 0..seconds * 30 {
        for number in 0..100 {
            let now = at(from) + Span::from_micros(frame * 33_333 + number * 60);
            queue.enqueue(now, PlainPacket::new(StationId(1), STREAM), &mut dropped);
            while let Some(station) = queue.next_station(now, Category::Be) {
                while queue.dequeue(now, station, Category::Be, &mut dropped).is_some() {}
            }
        }
    }
    from + seconds * 1000
}

fn of(queue: &AnyQueue<PlainPacket>) -> Option<Protection> {
    queue.protection(STREAM)
}

#[test]
fn a_flow_with_the_pattern_is_protected_and_the_reason_can_be_read() {
    let mut named = queue("");
    stream(&mut named, 0, 3);
    assert_eq!(of(&named), None, "by name only, unless asked otherwise");

    let mut queue = queue("protect = \"auto\"\nauto = { latency = \"15 ms\", percentile = 90 }");
    stream(&mut queue, 0, 3);
    let protection = of(&queue).expect("found");
    assert_eq!(protection.demand, Demand::new(Span::from_millis(15), 90.0).expect("valid"));
    let (since, pattern) = protection.found.expect("no configured demand");
    assert!(since <= at(2000), "{since}");
    let reason = pattern.to_string();
    assert!((pattern.rate.as_mbps_f64() - 36.0).abs() < 1.0, "{reason}");
    assert!(
        reason.ends_with(
            "in a rhythm of 30.0 Hz: 100 % of its bursts, with 100 % of its bytes, begin on the beat"
        ),
        "{reason}"
    );
}

#[test]
fn a_configured_demand_takes_precedence_until_it_is_removed() {
    let mut queue = queue("protect = \"auto\"");
    let own = Demand::new(Span::from_millis(50), 99.0).expect("valid");
    queue.demands_mut().expect("last-pq").set(at(0), STREAM, Some(own)).expect("possible");
    let now = stream(&mut queue, 0, 3);
    let protection = of(&queue).expect("named");
    assert_eq!((protection.demand, protection.found), (own, None));
    queue.demands_mut().expect("last-pq").set(at(now), STREAM, None).expect("possible");
    let protection = of(&queue).expect("its pattern is still there");
    assert_eq!(protection.demand, Demand::new(Span::from_millis(20), 95.0).expect("valid"));
    assert!(protection.found.is_some());
    queue.demands_mut().expect("last-pq").set(at(now), STREAM, Some(own)).expect("possible");
    assert_eq!(of(&queue).map(|protection| (protection.demand, protection.found)), Some((own, None)));
}

#[test]
fn silence_ends_it_when_anyone_else_sends() {
    let mut queue = queue("protect = \"auto\"");
    let now = stream(&mut queue, 0, 3);
    let mut dropped = Vec::new();
    queue.enqueue(at(now + 4000), PlainPacket::new(StationId(2), OTHER), &mut dropped);
    assert!(of(&queue).is_some(), "not yet");
    queue.enqueue(at(now + 6000), PlainPacket::new(StationId(2), OTHER), &mut dropped);
    assert_eq!(of(&queue), None);
    // It resumes, and is found again.
    stream(&mut queue, now + 10_000, 3);
    assert!(of(&queue).is_some());
}

#[test]
fn nonsense_is_refused() {
    for (keys, sentence) in [
        ("auto = { latency = \"1 ms\" }", "demand.latency is 1 ms; allowed is at least delay.guard-interval"),
        ("auto = { percentile = 0 }", "demand.percentile is 0"),
        ("auto = { classifier = { gap = \"0 ms\" } }", "classifier.gap is 0 ms; allowed is 100 us to 20 ms"),
    ] {
        let config: QueueConfig = toml::from_str(&format!("kind = \"last-pq\"\n{keys}")).expect("readable");
        let error = config.build::<PlainPacket>(1).expect_err("out of range").to_string();
        assert!(error.contains(sentence), "{error}");
    }
    let unknown =
        toml::from_str::<QueueConfig>("kind = \"last-pq\"\nprotect = \"all\"").expect_err("unknown");
    assert!(unknown.to_string().contains("expected `named` or `auto`"), "{unknown}");
}
