//! A demand on latency: packets come in time where a lower rate makes them so, and a path without a queue keeps its rate.

use airbound_senders::stream::{Reason, StreamConfig};
use airbound_units::{BitRate, Span};

use crate::stream_path::{Air, Path};

const LATENCY: Span = Span::from_millis(30);

/// Share of late packets and the mean rate in Mb/s of the last 30 of 45 s, in which the air is slow for 150 ms of each second.
fn slumps(latency: Option<Span>) -> (f64, f64) {
    let told = Some(BitRate::from_mbps(390));
    let mut air =
        Air::with(StreamConfig { latency, ..StreamConfig::default() }, &[Path { told, ..Path::USUAL }]);
    air.late_after = LATENCY;
    let (mut rates, mut before) = (0.0, (0, 0));
    for second in 0..45 {
        if second == 15 {
            before = (air.late(0), air.counts(0).1);
        }
        for (phy, millis) in [(390, 850), (90, 150)] {
            air.path(0).phy = BitRate::from_mbps(phy);
            air.run(Span::from_millis(millis));
            if second >= 15 {
                rates += air.decision(0).rate.as_mbps_f64() / 60.0;
            }
        }
    }
    let packets = (air.counts(0).1 - before.1) as f64;
    ((air.late(0) - before.0) as f64 / packets, rates)
}

#[test]
fn the_rate_falls_until_few_packets_are_late() {
    let (without, whole) = slumps(None);
    let (with, less) = slumps(Some(LATENCY));
    assert!(without > 0.1, "{without}");
    assert!(with < 0.06, "{with} at {less} Mb/s");
    assert!((0.5..0.9).contains(&(less / whole)), "{less} of {whole} Mb/s");
}

#[test]
fn a_path_without_a_queue_keeps_its_rate() {
    let rate = |latency| {
        let mut air = Air::with(StreamConfig { latency, ..StreamConfig::default() }, &[Path::USUAL]);
        air.run(Span::from_secs(10));
        (air.decision(0).rate, air.decision(0).target)
    };
    assert_eq!(rate(Some(LATENCY)), rate(None));
}

#[test]
fn a_queue_that_no_rate_shortens_leaves_the_least_target() {
    // Others take 10 ms after each frame.
    let path = Path { rival: Span::from_millis(10), ..Path::USUAL };
    let latency = Some(Span::from_millis(10));
    let mut air = Air::with(StreamConfig { latency, ..StreamConfig::default() }, &[path]);
    air.run(Span::from_secs(20));
    let mut named = 0;
    for _ in 0..100 {
        air.run(Span::from_millis(100));
        named += u32::from(air.decision(0).reason == Reason::Latency);
    }
    let decision = air.decision(0);
    assert!((decision.target - 2.0).abs() < 1e-9, "{decision:?}");
    assert!(named > 10, "{named} of 100");
    assert!(decision.rate >= StreamConfig::default().least, "{decision:?}");
}
