//! LAST-PQ in complete runs: it meets demands that Linux misses, demands may change, and without demands it equals
//! Linux.

use crate::simulate;
use airbound_record::{DemandSummary, PacketRow};
use airbound_sim::Outcome;
use airbound_units::Span;
use simulate::{flow, observed, run};

/// LAST-PQ's setting (Sec. III): 162 Mb/s to the phone, 405 Mb/s to each client, a VR stream of 45 Mb/s in `category`.
fn setting(queue: &str, demand: &str, category: &str, rest: &str) -> String {
    format!(
        r#"
duration = "12 s"
warm-up = "2 s"
[air]
standard = "ht"
width = "40 MHz"
[access-point]
preset = "ath9k-fq"
streams = 3
[scheme]
queue = {queue}
rate = "fixed"
[[station]]
name = "phone"
streams = 2
rate = "HT40 MCS12 2SS LGI"
[[station]]
name = "client"
count = 3
rate = "HT40 MCS23 3SS LGI"
[[flow]]
name = "vr"
kind = "vr"
station = "phone"
category = "{category}"
rate = "45 Mbit/s"
demand = {demand}
{rest}
"#
    )
}

/// Bulk downloads: three at the phone and one at each client.
const CONGESTION: &str = r#"
[[flow]]
name = "local"
kind = "tcp"
station = "phone"
category = "bk"
count = 3
stagger = "50 ms"
[[flow]]
name = "other"
kind = "tcp"
station = "client"
category = "bk"
stagger = "50 ms"
"#;

fn demand_of(outcome: &Outcome, name: &str) -> DemandSummary {
    flow(outcome, name).demand.expect("a demand was made")
}

fn goodput(outcome: &Outcome, prefix: &str) -> f64 {
    outcome
        .summary
        .flows
        .iter()
        .filter(|flow| flow.name.starts_with(prefix))
        .map(|flow| flow.goodput_mbps)
        .sum()
}

#[test]
fn a_demand_is_met_that_linux_misses() {
    let linux = run(&setting("\"linux\"", "\"20 ms\"", "bk", CONGESTION));
    let last_pq = run(&setting("\"last-pq\"", "\"20 ms\"", "bk", CONGESTION));
    let (before, after) = (demand_of(&linux, "vr"), demand_of(&last_pq, "vr"));
    assert!(before.measured_ms.expect("packets") > 40.0 && before.met_share == Some(0.0), "{before:?}");
    assert!(after.measured_ms.expect("packets") <= 20.0, "{after:?}");
    assert!(after.met_share.expect("packets") >= 0.9, "{after:?}");
    // Every frame arrives, and the clients keep most of their goodput.
    assert!(flow(&linux, "vr").fps.expect("video") < 25.0);
    assert!(flow(&last_pq, "vr").fps.expect("video") > 29.5);
    assert!(goodput(&last_pq, "other") > 0.5 * goodput(&linux, "other"));
}

/// A card whose firmware schedules: what mac80211 has handed down cannot be overtaken.
#[test]
fn the_demand_is_met_above_a_drivers_queue() {
    let above = |queue: &str| {
        let text = setting(queue, "\"20 ms\"", "bk", CONGESTION).replace("ath9k-fq", "mac80211");
        run(&text)
    };
    let p95 = |outcome: &Outcome| demand_of(outcome, "vr").measured_ms.expect("packets");
    let (linux, last_pq) = (above("\"linux\""), above("\"last-pq\""));
    let unbounded = above("{ kind = \"last-pq\", bound-below = false }");
    assert!(p95(&linux) > 40.0 && p95(&unbounded) > 30.0, "{} {}", p95(&linux), p95(&unbounded));
    assert!(p95(&last_pq) <= 20.0, "{}", p95(&last_pq));
    assert!(flow(&last_pq, "vr").fps.expect("video") > 29.5);
    assert!(goodput(&last_pq, "other") > 0.5 * goodput(&linux, "other"));
}

#[test]
fn packets_in_time_by_the_default_order_are_not_prioritised() {
    let (_, linux) = observed(&setting("\"linux\"", "\"20 ms\"", "bk", ""));
    let (_, last_pq) = observed(&setting("\"last-pq\"", "\"20 ms\"", "bk", ""));
    assert!(!linux.packets.is_empty());
    assert_eq!(linux, last_pq);
}

#[test]
fn without_a_demand_it_is_linux() {
    for preset in ["ath9k-fq", "mac80211", "direct"] {
        let outcome = |queue: &str| {
            let text = setting(queue, "\"none\"", "bk", CONGESTION);
            let text = text.replace("ath9k-fq", preset).replace("\"12 s\"", "\"2 s\"");
            observed(&text).1
        };
        assert_eq!(outcome("\"linux\""), outcome("\"last-pq\""), "{preset}");
    }
}

/// The 95th percentile in ms of the Wi-Fi latency of packets acknowledged in some seconds of the run.
fn p95(packets: &[PacketRow], from: f64, to: f64) -> f64 {
    let mut latencies: Vec<f64> = packets
        .iter()
        .filter(|row| row.flow == 0 && (from..to).contains(&row.completed.as_secs_f64()))
        .map(|row| (row.completed - row.enqueued).as_millis_f64())
        .collect();
    latencies.sort_by(f64::total_cmp);
    latencies[latencies.len() * 95 / 100]
}

#[test]
fn a_demand_may_change_while_it_runs() {
    let schedule = "[[\"0 s\", \"25 ms\"], [\"5 s\", \"20 ms\"], [\"8 s\", \"15 ms\"], [\"11 s\", \"none\"]]";
    let (outcome, rows) = observed(&setting("\"last-pq\"", schedule, "bk", CONGESTION));
    // The first second after each change is ignored: TCP's windows have to adapt.
    let (loose, usual, tight, none) = (
        p95(&rows.packets, 2.0, 5.0),
        p95(&rows.packets, 6.0, 8.0),
        p95(&rows.packets, 9.0, 11.0),
        p95(&rows.packets, 12.0, 14.0),
    );
    assert!((18.0..=25.0).contains(&loose), "{loose}");
    assert!((13.0..=20.0).contains(&usual), "{usual}");
    assert!(tight <= 15.0, "{tight}");
    assert!(none > 30.0, "{none}");
    // The last demand.
    let demand = demand_of(&outcome, "vr");
    assert_eq!((demand.latency_ms, demand.percentile), (15.0, 95.0));
}

#[test]
fn the_controller_can_be_watched() {
    let scenario = simulate::scenario(&setting("\"last-pq\"", "\"20 ms\"", "bk", CONGESTION));
    let (mut run, _) = simulate::prepare(&scenario);
    let mut permitted = Vec::new();
    while run.advance(Span::from_millis(100)) {
        let protection = run.protection(0).expect("a demand");
        assert!((Span::from_millis(1)..=Span::from_millis(20)).contains(&protection.permitted));
        assert!(protection.urgent <= protection.packets);
        permitted.push(protection.permitted);
        assert_eq!(run.protection(1), None, "a bulk flow");
    }
    permitted.sort_unstable();
    permitted.dedup();
    assert!(permitted.len() > 50, "it adapts");
    let protection = run.protection(0).expect("a demand");
    // Since the phone is in debt, it is served as urgent or not at all.
    assert!(protection.urgent * 10 > protection.packets * 9, "{protection:?}");
}

#[test]
fn all_flows_of_the_video_category_may_have_demands() {
    // As in Sec. III-C, but within the link's capacity.
    let rest = |queue: &str| {
        let text = setting(
            queue,
            "\"20 ms\"",
            "vi",
            r#"
[[flow]]
name = "second"
kind = "vr"
station = "phone"
category = "vi"
rate = "45 Mbit/s"
start = "17 ms"
demand = { latency = "20 ms", percentile = 95 }
[[flow]]
name = "tcp"
kind = "tcp"
station = "phone"
category = "vi"
limit = "10 Mbit/s"
count = 2
demand = "30 ms"
"#,
        );
        run(&text)
    };
    let (linux, last_pq) = (rest("\"linux\""), rest("\"last-pq\""));
    let measured = |outcome: &Outcome, name: &str| demand_of(outcome, name).measured_ms.expect("packets");
    assert!(measured(&linux, "vr").max(measured(&linux, "second")) > 20.0);
    for (name, limit) in [("vr", 20.0), ("second", 20.0), ("tcp-1", 30.0), ("tcp-2", 30.0)] {
        assert!(measured(&last_pq, name) <= limit, "{name}: {}", measured(&last_pq, name));
    }
}

#[test]
fn stations_may_have_demands_for_what_they_send() {
    let rest = r#"
[[flow]]
name = "camera"
kind = "cbr"
station = "phone"
direction = "up"
category = "bk"
rate = "10 Mbit/s"
demand = "20 ms"
[[flow]]
name = "upload"
kind = "tcp"
station = "phone"
direction = "up"
category = "bk"
count = 4
[uplink]
preset = "ath9k-fq"
queue = "#;
    let text = |queue: &str| setting("\"linux\"", "\"none\"", "bk", &format!("{rest}{queue}"));
    let last_pq = run(&text("\"last-pq\""));
    // Without LAST-PQ at the stations an uplink demand is refused.
    let linux = run(&text("\"linux\"").replace("demand = \"20 ms\"", ""));
    let p95 = |outcome: &Outcome| {
        let place = outcome.summary.flows.iter().position(|flow| flow.name == "camera").expect("is there");
        outcome.wifi_latency[place].p95.expect("packets")
    };
    assert!(p95(&last_pq) < 25.0 && p95(&linux) > 1.5 * p95(&last_pq), "{} {}", p95(&last_pq), p95(&linux));
}
