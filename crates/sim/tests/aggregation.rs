//! The low-delay rate allocation in the simulator: paced flows, sensing at stations, reports over the air.

use airbound_scenario::{Overrides, Scenario};
use airbound_sim::Run;
use airbound_units::Span;

fn scenario(sender: &str, stations: &str) -> String {
    format!(
        r#"duration = "4 s"
warm-up = "6 s"
[air]
standard = "vht"
width = "80 MHz"
guard-interval = "800 ns"
[access-point]
preset = "direct"
streams = 2
[scheme]
queue = "round-robin"
rate = "fixed"
sender = {sender}
{stations}
[[flow]]
name = "f"
kind = "paced"
station = "s"
"#
    )
}

fn run(text: &str, seed: u64) -> (airbound_sim::Outcome, Vec<airbound_senders::allocation::Allocation>) {
    let scenario = Scenario::parse(text, "test", &Overrides::default()).expect("valid");
    let mut run = Run::new("test", &scenario, &scenario.scheme, seed).expect("builds");
    while run.advance(Span::from_millis(500)) {}
    let view = run.snapshot();
    (run.finish().expect("packets are conserved").0, view.allocations)
}

const FAST: &str = "[[station]]\nname = \"s\"\ncount = 3\nrate = \"VHT80 MCS9 2SS LGI\"";

#[test]
fn levels_are_held_at_the_target_for_every_share_and_form() {
    for sender in [
        "\"aggregation\"",
        "{ kind = \"aggregation\", share = \"equal-airtime\", interval = \"200 ms\", gain = 2.0, start = \"feedback\" }",
        "{ kind = \"aggregation\", form = \"distributed\" }",
        "{ kind = \"aggregation\", target = 16 }",
    ] {
        let (outcome, allocations) = run(&scenario(sender, FAST), 1);
        assert_eq!(allocations.len(), 3);
        let target = if sender.contains("16") { 16.0 } else { 32.0 };
        for allocation in &allocations {
            let level = allocation.level.expect("reported");
            assert!((level - target).abs() < 0.15 * target, "{sender}: {allocation:?}");
        }
        assert!(outcome.summary.flows.iter().all(|flow| flow.packets.dropped == 0), "{sender}");
        assert_eq!(outcome.summary.scheme.sender.as_deref(), Some("aggregation"));
        // Reports are part of their data flow.
        assert_eq!(outcome.summary.flows.len(), 3);
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let text = scenario("\"aggregation\"", FAST);
    let summary = |seed| format!("{:?}", run(&text, seed).0.summary);
    assert_eq!(summary(3), summary(3));
    assert_ne!(summary(3), summary(4));
}

#[test]
fn stations_that_come_and_go_get_and_leave_their_share() {
    let stations = "[[station]]\nname = \"a\"\nrate = \"VHT80 MCS9 2SS LGI\"\n[[station]]\nname = \"s\"\nrate = \"VHT80 MCS9 2SS LGI\"\n[[flow]]\nname = \"other\"\nkind = \"paced\"\nstation = \"a\"\nstart = \"2 s\"\nstop = \"6 s\"";
    let text = scenario("\"aggregation\"", stations);
    let scenario = Scenario::parse(&text, "test", &Overrides::default()).expect("valid");
    let mut run = Run::new("test", &scenario, &scenario.scheme, 1).expect("builds");
    let mut stations = Vec::new();
    let mut rates = Vec::new();
    while run.advance(Span::from_secs(1)) {
        let view = run.snapshot();
        stations.push(view.allocations.len());
        rates.push(view.allocations.last().map_or(0.0, |last| last.rate.as_mbps_f64()));
    }
    assert_eq!(stations[0], 1);
    assert_eq!(stations[4], 2);
    assert_eq!(stations[7], 1);
    assert!((rates[0] / rates[4] - 2.0).abs() < 0.3 && (rates[7] / rates[4] - 2.0).abs() < 0.3, "{rates:?}");
}

const BOTH_WAYS: &str = "[[station]]\nname = \"s\"\ncount = 3\nrate = \"VHT80 MCS9 2SS LGI\"\n[[flow]]\nname = \"up\"\nkind = \"paced\"\nstation = \"s\"\ndirection = \"up\"";

#[test]
fn uplinks_share_the_air_with_downlinks() {
    for sender in [
        "\"aggregation\"",
        "{ kind = \"aggregation\", share = \"equal-airtime\", interval = \"200 ms\", gain = 2.0, start = \"feedback\" }",
    ] {
        let scenario = Scenario::parse(&scenario(sender, BOTH_WAYS), "test", &Overrides::default());
        let scenario = scenario.expect("valid");
        let mut run = Run::new("test", &scenario, &scenario.scheme, 1).expect("builds");
        let mut levels = Vec::new();
        while run.advance(Span::from_millis(500)) {
            levels.push(
                run.snapshot().allocations.iter().map(|one| one.level.unwrap_or(0.0)).collect::<Vec<_>>(),
            );
        }
        // Both directions are held at or below the target, and one of them at it.
        let settled = &levels[levels.len() - 8..];
        let mean = |place: usize| settled.iter().map(|levels| levels[place]).sum::<f64>() / 8.0;
        let means: Vec<f64> = (0..6).map(mean).collect();
        assert!(means.iter().all(|level| (20.0..=37.0).contains(level)), "{sender}: {means:?}");
        assert!(means.iter().any(|level| *level > 27.0), "{sender}: {means:?}");
        let outcome = run.finish().expect("packets are conserved").0;
        let summary = &outcome.summary;
        assert_eq!(summary.flows.len(), 6, "grants and reports are part of what they are about");
        assert!(summary.flows.iter().all(|flow| flow.packets.dropped == 0), "{sender}");
        assert!(summary.jain.goodput.expect("six flows") > 0.999, "{sender}");
        // No queue grows: all packets sent arrive.
        for flow in &summary.flows {
            assert!((flow.goodput_mbps / flow.offered_mbps - 1.0).abs() < 0.02, "{sender}: {}", flow.name);
        }
    }
}

#[test]
fn an_uplink_that_ends_leaves_its_share_and_nothing_behind() {
    let text = scenario("\"aggregation\"", &format!("{BOTH_WAYS}\nstop = \"5 s\""));
    let (outcome, allocations) = run(&text, 1);
    assert_eq!(allocations.len(), 3);
    let (with, without) = (run(&scenario("\"aggregation\"", BOTH_WAYS), 1).0, outcome);
    let down = |outcome: &airbound_sim::Outcome| {
        let flows = outcome.summary.flows.iter().filter(|flow| flow.name.starts_with('f'));
        flows.map(|flow| flow.goodput_mbps).sum::<f64>()
    };
    // Six streams become three; the downlink gets the time of the uplink.
    assert!(down(&without) > 1.8 * down(&with), "{} {}", down(&without), down(&with));
    let ended = without.summary.flows.iter().filter(|flow| flow.name.starts_with("up"));
    assert!(ended.clone().count() == 3 && ended.clone().all(|flow| flow.packets.queued == 0));
}

#[test]
fn without_an_allocator_a_paced_flow_keeps_its_rate() {
    let text = scenario("\"cubic\"", FAST);
    let (outcome, allocations) = run(&text, 1);
    assert!(allocations.is_empty());
    assert!(outcome.summary.flows.iter().all(|flow| (flow.goodput_mbps - 10.0).abs() < 0.1));
}

#[test]
fn impossible_scenarios_are_refused_with_a_message() {
    let error = |sender: &str, stations: &str| match Scenario::parse(
        &scenario(sender, stations),
        "test",
        &Overrides::default(),
    ) {
        Err(error) => error.to_string(),
        Ok(scenario) => match Run::new("test", &scenario, &scenario.scheme, 1) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{sender} {stations} is refused"),
        },
    };
    let text = error("{ kind = \"aggregation\", target = 0 }", FAST);
    assert!(text.contains("target is 0; allowed is 1 to 256"), "{text}");
    let text = error("{ kind = \"aggregation\", targets = 3 }", FAST);
    assert!(text.contains("targets"), "{text}");
    let text = error(
        "\"aggregation\"",
        &format!("{FAST}\n[[flow]]\nname = \"g\"\nkind = \"paced\"\nstation = \"s-1\""),
    );
    assert!(text.contains("second flow of kind paced"), "{text}");
    let alone = "[[station]]\nname = \"s\"\nrate = \"VHT80 MCS9 2SS LGI\"\n[[station]]\nname = \"a\"\nrate = \"VHT80 MCS9 2SS LGI\"\n[[flow]]\nname = \"g\"\nkind = \"paced\"\nstation = \"a\"\ndirection = \"up\"";
    let text = error("\"aggregation\"", alone);
    assert!(text.contains("needs a flow of kind paced down to the same station"), "{text}");
    let text = error(
        "\"aggregation\"",
        &format!(
            "{FAST}\n[[flow]]\nname = \"g\"\nkind = \"tcp\"\nstation = \"s-1\"\ncongestion = \"aggregation\""
        ),
    );
    assert!(text.contains("allowed are"), "{text}");
}
