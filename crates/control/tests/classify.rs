//! The flow pattern classifier: the flows that it takes for low-latency elephants, and its robustness under any order
//! of calls.

use airbound_control::classify::{Change, ClassifierConfig, FlowClassifier, Pattern};
use airbound_control::frame::FlowId;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use bolero::TypeGenerator;
use proptest::prelude::*;

const FLOW: FlowId = FlowId(7);

/// Pseudorandom numbers from 0 to 1.
struct Draws(u64);

impl Draws {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn at(millis: f64) -> Instant {
    Instant::ZERO + Span::from_secs_f64(millis / 1000.0)
}

fn packets(from: f64, bytes: f64, mbps: f64) -> impl Iterator<Item = f64> {
    let each = 1500.0 * 8.0 / mbps / 1000.0;
    (0..(bytes / 1500.0).ceil() as u32).map(move |number| from + each * f64::from(number))
}

/// Arrivals in ms of a stream: frames at a rate, each a burst; `jitter` in ms, `skipped` a share of the frames.
fn stream(mbps: f64, fps: f64, burst_mbps: f64, jitter: f64, skipped: f64, seconds: f64) -> Vec<f64> {
    let mut draws = Draws(3);
    let mut times = Vec::new();
    for frame in 0..(fps * seconds) as u32 {
        let from = f64::from(frame) * 1000.0 / fps + jitter * draws.unit();
        let size = mbps * 1e6 / 8.0 / fps * (0.6 + 0.8 * draws.unit());
        if draws.unit() >= skipped {
            times.extend(packets(from, size, burst_mbps));
        }
    }
    times.sort_by(f64::total_cmp);
    times
}

/// Feeds full packets at these times; returns the changes with their times (ms).
fn feed(classifier: &mut FlowClassifier, times: &[f64]) -> Vec<(f64, Change)> {
    let size = ByteCount::new(1500);
    times.iter().filter_map(|time| Some((*time, classifier.on_packet(at(*time), FLOW, size)?))).collect()
}

fn classifier() -> FlowClassifier {
    FlowClassifier::new(ClassifierConfig::default()).expect("valid defaults")
}

fn found(times: &[f64]) -> Option<(f64, Pattern)> {
    feed(&mut classifier(), times).into_iter().find_map(|(time, change)| match change {
        Change::Found(pattern) => Some((time, pattern)),
        Change::Lost => None,
    })
}

#[test]
fn streams_are_found_within_two_seconds_and_described() {
    for (mbps, fps, burst) in [
        (8.0, 30.0, 1000.0),
        (45.0, 30.0, 200.0),
        (45.0, 72.0, 400.0),
        (60.0, 90.0, 200.0),
        (25.0, 60.0, 400.0),
        (50.0, 120.0, 1000.0),
    ] {
        let (time, pattern) = found(&stream(mbps, fps, burst, 2.0, 0.05, 5.0))
            .unwrap_or_else(|| panic!("{mbps} Mb/s in {fps} frames"));
        assert!(time <= 2000.0, "{mbps} Mb/s in {fps} frames: {time} ms");
        assert!((pattern.frame_rate - fps).abs() < 0.5, "{pattern}");
        assert!((pattern.rate.as_mbps_f64() / mbps - 1.0).abs() < 0.2, "{pattern}");
        assert!(pattern.bytes_on_beat > 0.8 && pattern.beats_met > 0.7, "{pattern:?}");
    }
}

#[test]
fn others_are_not_found() {
    let mut draws = Draws(5);
    let evenly = |every: f64| (0..(20_000.0 / every) as u32).map(move |n| f64::from(n) * every);
    // Saturated: a round of the stations' turns, whose errors accumulate.
    let (mut bulk, mut now) = (Vec::new(), 0.0);
    while now < 20_000.0 {
        bulk.extend(packets(now, 60_000.0, 400.0));
        now += 8.0 + 12.0 * draws.unit();
    }
    let mut now = 0.0;
    let poisson: Vec<f64> = std::iter::from_fn(|| {
        now -= (1.0 - draws.unit()).ln();
        (now < 20_000.0).then_some(now)
    })
    .collect();
    // A segment of a film every four seconds, and pages at random times.
    let segments: Vec<f64> = (0..5).flat_map(|n| packets(f64::from(n) * 4000.0, 5e6, 60.0)).collect();
    let mut pages: Vec<f64> =
        (0..40).flat_map(|_| packets(20_000.0 * draws.unit(), 400_000.0, 80.0)).collect();
    pages.sort_by(f64::total_cmp);
    let cases: [(&str, Vec<f64>); 7] = [
        ("constant, a packet at a time", evenly(2.4).collect()),
        ("constant, 25 Mb/s", evenly(0.48).collect()),
        ("a call", evenly(20.0).collect()),
        ("bulk", bulk),
        ("poisson", poisson),
        ("segments", segments),
        ("pages", pages),
    ];
    for (name, times) in cases {
        assert_eq!(found(&times), None, "{name}");
    }
}

#[test]
fn a_mouse_with_a_rhythm_is_no_elephant() {
    assert_eq!(found(&stream(3.0, 30.0, 400.0, 0.0, 0.0, 10.0)), None);
    let config = ClassifierConfig { least_rate: BitRate::from_mbps(2), ..ClassifierConfig::default() };
    let mut classifier = FlowClassifier::new(config).expect("valid");
    assert!(!feed(&mut classifier, &stream(3.0, 30.0, 400.0, 0.0, 0.0, 10.0)).is_empty());
}

#[test]
fn a_stream_that_becomes_a_download_is_lost_and_one_that_pauses_is_kept() {
    let first = stream(45.0, 30.0, 400.0, 1.0, 0.0, 4.0);
    let mut watching = classifier();
    assert!(matches!(feed(&mut watching, &first)[..], [(_, Change::Found(_))]));
    // Two seconds of silence do not change the verdict.
    let later: Vec<f64> = first.iter().map(|time| time + 6000.0).collect();
    assert!(feed(&mut watching, &later).is_empty());
    assert!(watching.pattern(FLOW).is_some());
    let mut draws = Draws(9);
    let (mut bulk, mut now) = (Vec::new(), 10_100.0);
    while now < 30_000.0 {
        bulk.extend(packets(now, 60_000.0, 400.0));
        now += 8.0 + 12.0 * draws.unit();
    }
    let changes = feed(&mut watching, &bulk);
    assert!(matches!(changes[..], [(time, Change::Lost)] if time < 20_000.0), "{changes:?}");
    assert_eq!((watching.pattern(FLOW), watching.found()), (None, 0));
}

#[test]
fn silence_is_noticed_from_outside() {
    let mut watching = classifier();
    assert_eq!(watching.next_deadline(), None);
    feed(&mut watching, &stream(45.0, 30.0, 400.0, 1.0, 0.0, 4.0));
    let deadline = watching.next_deadline().expect("a flow is found");
    assert_eq!(watching.next_silent(deadline - Span::from_nanos(1)), None);
    assert_eq!(watching.next_silent(deadline), Some(FLOW));
    assert_eq!((watching.next_silent(deadline), watching.found(), watching.watched()), (None, 0, 0));
}

#[test]
fn new_flows_replace_the_longest_silent_but_no_found_one() {
    let config = ClassifierConfig { flows: 3, ..ClassifierConfig::default() };
    let mut watching = FlowClassifier::new(config).expect("valid");
    feed(&mut watching, &stream(45.0, 30.0, 400.0, 1.0, 0.0, 4.0));
    for number in 100..200 {
        watching.on_packet(at(4000.0 + f64::from(number)), FlowId(number), ByteCount::new(100));
    }
    assert_eq!((watching.watched(), watching.found()), (3, 1));
    assert!(watching.pattern(FLOW).is_some());
}

#[derive(Debug, Clone, TypeGenerator)]
enum Op {
    /// Packets of a flow at a constant interval in microseconds.
    Packets {
        flow: u8,
        size: u32,
        count: u8,
        micros: u16,
    },
    Pass {
        micros: u32,
    },
    GoBack {
        micros: u32,
    },
    Silent,
}

fn drive(config: ClassifierConfig, ops: &[Op]) {
    let mut classifier = FlowClassifier::new(config).expect("valid");
    let mut now = Instant::from_nanos(1 << 40);
    let mut found = std::collections::BTreeSet::new();
    for op in ops {
        match *op {
            Op::Packets { flow, size, count, micros } => {
                for _ in 0..count {
                    now += Span::from_micros(u64::from(micros));
                    let flow = FlowId(u32::from(flow % 8));
                    match classifier.on_packet(now, flow, ByteCount::new(u64::from(size))) {
                        Some(Change::Found(pattern)) => {
                            assert!(found.insert(flow), "found twice");
                            for share in [pattern.bursts_on_beat, pattern.bytes_on_beat, pattern.beats_met] {
                                assert!((0.0..=1.0).contains(&share), "{pattern:?}");
                            }
                            assert!(pattern.rate >= config.least_rate, "{pattern:?}");
                        }
                        Some(Change::Lost) => assert!(found.remove(&flow), "lost but not found"),
                        None => {}
                    }
                }
            }
            Op::Pass { micros } => now += Span::from_micros(u64::from(micros)),
            Op::GoBack { micros } => now = now - Span::from_micros(u64::from(micros)),
            Op::Silent => {
                while let Some(flow) = classifier.next_silent(now) {
                    assert!(found.remove(&flow), "silent but not found");
                }
            }
        }
        assert_eq!(classifier.found(), found.len());
        assert!(classifier.watched() <= config.flows);
        assert!(found.iter().all(|flow| classifier.pattern(*flow).is_some()));
        assert_eq!(classifier.next_deadline().is_some(), !found.is_empty());
    }
}

/// A configuration that finds almost any flow, with room for few.
fn eager() -> ClassifierConfig {
    ClassifierConfig {
        window: Span::from_millis(500),
        gap: Span::from_micros(100),
        least_rate: BitRate::from_kbps(100),
        found_at: 10.0,
        suspected_at: 10.0,
        found_on_beat: 0.0,
        lost_at: 10.0,
        hold: Span::from_millis(100),
        flows: 5,
        ..ClassifierConfig::default()
    }
}

#[test]
fn no_order_of_calls_upsets_it() {
    bolero::check!().with_type::<Vec<Op>>().for_each(|ops| {
        drive(eager(), ops);
        drive(ClassifierConfig::default(), ops);
    });
}

proptest! {
    /// A stream of any rate, frame rate, burst rate, phase and jitter is found, with its frame rate.
    #[test]
    fn any_stream_is_found(
        mbps in 8.0..60.0_f64,
        fps in 24.0..90.0_f64,
        burst in 200.0..1000.0_f64,
        jitter in 0.0..2.0_f64,
        skipped in 0.0..0.2_f64,
    ) {
        let found = found(&stream(mbps, fps, burst, jitter, skipped, 6.0));
        let (_, pattern) = found.expect("found");
        prop_assert!((pattern.frame_rate - fps).abs() < 0.5, "{}", pattern);
    }
}
