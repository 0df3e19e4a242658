//! Packets of a caller in a run.

use std::collections::BTreeMap;

use airbound_control::queue::Demand;
use airbound_record::{Direction, Fate};
use airbound_scenario::{Overrides, Scenario};
use airbound_sim::{Event, Events, Kind, Observer, Passed, Plugins, Reach, Run};
use airbound_units::{ByteCount, Instant, Span};

const NETWORK: &str = r#"
duration = "10 s"
warm-up = "1 s"
wire = { delay = "40 ms" }
[air]
standard = "vht"
width = "80 MHz"
[[station]]
name = "near"
[[flow]]
name = "own"
kind = "cbr"
station = "near"
rate = "10 Mbit/s"
[[flow]]
name = "down"
kind = "cbr"
station = "near"
rate = "1 Mbit/s"
[[flow]]
name = "up"
kind = "cbr"
station = "near"
direction = "up"
rate = "1 Mbit/s"
[[flow]]
name = "never"
kind = "cbr"
station = "near"
rate = "1 Mbit/s"
"#;

fn run_of(text: &str, gate: &[(&str, Reach)]) -> Run {
    let scenario = Scenario::parse(text, "test.toml", &Overrides::none()).expect("a scenario");
    let mut plugins = Plugins::default();
    for (flow, reach) in gate {
        plugins.open_gate(*flow, *reach);
    }
    Run::with_plugins("test", &scenario, &scenario.scheme, 1, &plugins).expect("a run")
}

/// Advances event by event, and returns what has passed.
fn advance(run: &mut Run, until: Instant) -> Vec<Passed> {
    let mut passed = Vec::new();
    while run.next_event() <= until {
        let next = run.next_event();
        run.advance_to(next);
        let before = passed.len();
        run.take_passed(&mut passed);
        // A push can drop a packet of a full queue at once.
        let late = passed[before..].iter().find(|one| one.at != next && one.lost.is_none());
        assert_eq!(late, None, "fates are told when they are: {next:?}");
    }
    run.advance_to(until);
    passed
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

#[test]
fn packets_pass_and_are_part_of_the_results() {
    let gate = [("down", Reach::Wire), ("up", Reach::Wire), ("never", Reach::Wire)];
    let mut run = run_of(NETWORK, &gate);
    assert!(advance(&mut run, at(1000)).is_empty());
    run.open_flow(1, "laptop down tcp 443", None).expect("no demand");
    run.open_flow(2, "laptop up tcp 443", None).expect("no demand");
    for number in 0..100 {
        run.push(1, number, 2 * number, ByteCount::new(1500));
        run.push(2, number, 2 * number + 1, ByteCount::new(52));
    }
    let passed = advance(&mut run, at(2000));
    assert_eq!(passed.len(), 200);
    for one in &passed {
        let latency = one.at.since(at(1000));
        assert!(one.lost.is_none() && latency > Span::from_millis(40) && latency < Span::from_millis(80));
    }
    let downs: Vec<u64> = passed.iter().map(|one| one.tag).filter(|tag| tag % 2 == 0).collect();
    assert!(downs.is_sorted(), "a flow keeps its order");
    run.end_now();
    assert_eq!(run.info().flows, ["own", "laptop down tcp 443", "laptop up tcp 443", ""]);
    let (outcome, _) = run.finish().expect("packets are conserved");
    let summary = outcome.summary;
    assert_eq!(summary.duration_s, 1.0);
    let names: Vec<&str> = summary.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["own", "laptop down tcp 443", "laptop up tcp 443"]);
    let [own, down, up] = summary.flows.as_slice() else { panic!("three flows") };
    assert!((own.goodput_mbps - 10.0).abs() < 0.5, "the scenario's own flow goes on: {}", own.goodput_mbps);
    assert_eq!((down.kind.as_str(), down.packets.delivered), ("application", 100));
    assert_eq!(down.goodput_mbps, 100.0 * 1500.0 * 8.0 / 1e6);
    assert_eq!((up.direction, up.packets.delivered), (Direction::Uplink, 100));
}

#[test]
fn a_queue_marks_what_can_be_marked_and_drops_the_rest() {
    // Twice what the channel carries, for three seconds.
    let counts = [Kind::Datagram, Kind::Capable].map(|kind| {
        let text = format!("{NETWORK}[scheme]\nqueue = \"linux\"\n");
        let mut run = run_of(&text.replace("80 MHz", "20 MHz"), &[("down", Reach::Wire)]);
        let (mut lost, mut marked, mut arrived) = (0, 0, 0);
        for number in 0..30_000 {
            run.push_as(kind, 1, number, number, ByteCount::new(1500));
            let until = run.now() + Span::from_micros(100);
            for one in advance(&mut run, until) {
                lost += usize::from(one.lost.is_some());
                marked += usize::from(one.is_marked);
                arrived += usize::from(one.lost.is_none());
            }
        }
        assert!(arrived > 1000);
        (lost, marked)
    });
    let [(dropped, unmarked), (_, marked)] = counts;
    assert!(dropped > 10 && unmarked == 0, "{counts:?}");
    assert!(marked > 10, "{counts:?}");
}

#[test]
fn packets_between_stations_do_not_touch_the_wire() {
    let mut run = run_of(NETWORK, &[("down", Reach::AccessPoint), ("up", Reach::AccessPoint)]);
    advance(&mut run, at(1000));
    run.push(1, 0, 7, ByteCount::new(1500));
    run.push(2, 0, 8, ByteCount::new(1500));
    let passed = advance(&mut run, at(1020));
    let mut tags: Vec<u64> = passed.iter().map(|one| one.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, [7, 8], "within 20 ms, half the delay of the wire");
}

#[test]
fn a_demand_begins_with_its_flow() {
    let text = format!("{NETWORK}[scheme]\nqueue = \"last-pq\"\n");
    let mut run = run_of(&text, &[("down", Reach::Wire)]);
    let demand = Demand::new(Span::from_millis(20), 95.0).expect("a demand");
    run.try_demand(1, demand).expect("LAST-PQ has demands");
    assert_eq!(run.protection(1), None);
    run.open_flow(1, "protected", Some(demand)).expect("LAST-PQ has demands");
    assert_eq!(run.protection(1).map(|state| state.demand), Some(demand));
    for number in 0..3000 {
        run.push(1, number, number, ByteCount::new(1000));
        let until = run.now() + Span::from_millis(1);
        advance(&mut run, until);
    }
    run.end_now();
    let (outcome, _) = run.finish().expect("packets are conserved");
    let flow = outcome.summary.flows.iter().find(|flow| flow.name == "protected").expect("the flow");
    assert!(flow.demand.is_some());
}

#[test]
fn each_network_of_a_scenario_has_its_gate() {
    let text = r#"
duration = "5 s"
[air]
standard = "vht"
[[network]]
name = "left"
[[network]]
name = "right"
[[station]]
name = "l"
network = "left"
[[station]]
name = "r"
network = "right"
[[flow]]
name = "to-l"
kind = "cbr"
station = "l"
rate = "50 Mbit/s"
[[flow]]
name = "to-r"
kind = "cbr"
station = "r"
rate = "1 Mbit/s"
[[flow]]
name = "from-r"
kind = "cbr"
station = "r"
direction = "up"
rate = "1 Mbit/s"
"#;
    let mut run = run_of(text, &[("to-r", Reach::Wire), ("from-r", Reach::Wire)]);
    run.open_flow(1, "down", None).expect("no demand");
    run.open_flow(2, "up", None).expect("no demand");
    let mut passed = Vec::new();
    for number in 0..500 {
        run.push(1, number, number, ByteCount::new(1000));
        run.push(2, number, 1000 + number, ByteCount::new(1000));
        let until = run.now() + Span::from_millis(1);
        passed.extend(advance(&mut run, until));
    }
    let until = run.now() + Span::from_millis(100);
    passed.extend(advance(&mut run, until));
    assert_eq!(passed.iter().filter(|one| one.lost.is_none()).count(), 1000);
    run.end_now();
    let (outcome, _) = run.finish().expect("packets are conserved");
    let names: Vec<&str> = outcome.summary.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["to-l", "down", "up"]);
}

#[test]
fn a_gate_needs_its_flow() {
    let scenario = Scenario::parse(NETWORK, "test.toml", &Overrides::none()).expect("a scenario");
    let mut plugins = Plugins::default();
    plugins.open_gate("sideways", Reach::Wire);
    let error = Run::with_plugins("test", &scenario, &scenario.scheme, 1, &plugins).err().expect("refused");
    assert_eq!(error.to_string(), "no flow is named \"sideways\"");
}

/// Keeps when the record says that packets arrived, by flow and number.
#[derive(Default)]
struct Arrivals(BTreeMap<(u32, u64), Instant>);

impl Observer for Arrivals {
    fn wants(&self) -> Events {
        Events { packets: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        if let Event::Packet(row) = event
            && row.fate == Fate::Delivered
        {
            let number = self.0.range((row.flow, 0)..=(row.flow, u64::MAX)).count() as u64;
            self.0.insert((row.flow, number), row.arrived);
        }
    }
}

/// A packet leaves the simulation when it arrives: at the end of its own MPDU, in aggregates that last 5 ms, behind gaps of a noisy
/// channel (with 9 ms an aggregate of others' packets fills one), and behind a wire that is shorter than an aggregate.
#[test]
fn packets_leave_when_the_record_says_that_they_arrive() {
    for (wire, radio) in [
        ("0 ms", "rate = \"HT20 MCS7 1SS LGI\""),
        ("1 ms", "channel = { kind = \"fixed\", snr = \"15 dB\" }"),
        ("9 ms", "channel = { kind = \"fixed\", snr = \"15 dB\" }"),
    ] {
        let flow = |name: &str, direction: &str, kind: &str| {
            format!("[[flow]]\nname = \"{name}\"\nstation = \"a\"\n{direction}{kind}\n")
        };
        let (tcp, cbr, up) =
            ("kind = \"tcp\"", "kind = \"cbr\"\nrate = \"1 Mbit/s\"", "direction = \"up\"\n");
        let text = format!(
            "duration = \"10 s\"\nwarm-up = \"1 s\"\nwire = {{ delay = \"{wire}\" }}\n[air]\nstandard = \"ht\"\n\
             [[station]]\nname = \"a\"\n{radio}\n{}{}{}{}",
            flow("bulk", "", tcp),
            flow("bulk-up", up, tcp),
            flow("down", "", cbr),
            flow("up", up, cbr)
        );
        let mut run = run_of(&text, &[("down", Reach::Wire), ("up", Reach::Wire)]);
        run.observe(Box::new(Arrivals::default()));
        advance(&mut run, at(1000));
        let mut passed = Vec::new();
        for number in 0..400 {
            run.push(2, number, 2 * number, ByteCount::new(200));
            run.push(3, number, 2 * number + 1, ByteCount::new(200));
            let until = run.now() + Span::from_millis(5);
            passed.extend(advance(&mut run, until));
        }
        passed.retain(|one| one.lost.is_none());
        assert!(passed.len() > 700, "{}", passed.len());
        let (_, observer) = run.finish().expect("packets are conserved");
        let observer: Box<dyn std::any::Any> = observer;
        let Arrivals(record) = *observer.downcast().expect("the observer");
        let mut told = BTreeMap::new();
        for one in &passed {
            let flow = 2 + (one.tag % 2) as u32;
            let number = told.range((flow, 0)..=(flow, u64::MAX)).count() as u64;
            told.insert((flow, number), one.at);
        }
        let differ = told.iter().filter(|(packet, at)| record.get(packet) != Some(at)).count();
        assert_eq!(differ, 0, "of {} with {wire}, {radio}", told.len());
    }
}
