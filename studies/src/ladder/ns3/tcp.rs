//! 802.11n, 40 MHz: TCP CUBIC to n stations over a queueing discipline and a driver's queue.

use airbound_report::{Tolerance, ValidationRow};
use airbound_units::{Instant, Span};

use super::super::delays::DelayWatch;
use super::super::table::{Row, Table};
use super::{circle, compared};
use crate::{Effort, Trial, TrialError};

const REFERENCE: &str = include_str!("../../../data/ns3-tcp.csv");

/// ns-3's HyStart asks for twice the shortest round trip (Linux: an eighth more, 4 to 16 ms), and what it takes for a train of
/// acknowledgements ends at the first gap between aggregates: over this link its slow start mostly ends by loss.
const HYSTART: &str = "off";

fn trial(reference: &Row<'_>, effort: Effort, seed: u64) -> Trial {
    let (n, mcs) = (reference.whole("n"), reference.whole("ht_mcs"));
    let streams = mcs / 8 + 1;
    let queue = match reference.text("qdisc") {
        "fq_codel" => r#"{ kind = "fq-codel" }"#,
        _ => r#"{ kind = "fifo", limit = { packets = 1000 } }"#,
    };
    let scenario = format!(
        r#"
duration = "{seconds} s"
warm-up = "5 s"
[air]
standard = "ht"
width = "40 MHz"
edca = "equal"
control-rate = "24 Mbit/s"
error-model = "{model}"
[access-point]
preset = "direct"
streams = {streams}
[access-point.path]
driver-queue = {below}
[scheme]
queue = {queue}
rate = "fixed"
sender = {{ kind = "cubic", hystart = "{hystart}", send-buffer = "8388608 B" }}
[wire]
rate = "1 Gbit/s"
delay = "10 ms"
queue = 20000
[[station]]
name = "station"
count = {n}
rate = "HT40 MCS{mcs} {streams}SS LGI"
[[flow]]
name = "bulk"
kind = "tcp"
station = "station"
start = "1 s"
stagger = "100 ms"
receive-window = "8388608 B"
{capture}
"#,
        // A single station has nobody to be louder than.
        capture = if n > 1 {
            circle::capture("station", n, 2.0, f64::from(reference.whole("arc_degrees")))
        } else {
            String::new()
        },
        seconds = effort.seconds(10, 4),
        model = if n > 1 { "soft" } else { "nist" },
        hystart = HYSTART,
        below = reference.whole("mac_queue_pkts"),
    );
    Trial::new(format!("TCP {}", name(reference)), scenario, seed)
}

fn name(reference: &Row<'_>) -> String {
    format!(
        "MCS {}, n = {}{}, {} over {}",
        reference.whole("ht_mcs"),
        reference.whole("n"),
        if reference.whole("arc_degrees") == 1 { " in one place" } else { "" },
        reference.text("qdisc"),
        reference.whole("mac_queue_pkts")
    )
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    compared(&Table::of(REFERENCE), effort, compare)
}

fn compare(reference: &Row<'_>, effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let seeds = if effort.quick { 1..=1u64 } else { 1..=5 };
    let runs = seeds.clone().count() as f64;
    let (mut goodput, mut p50, mut p95, mut jain) = (0.0, 0.0, 0.0, 0.0);
    for seed in seeds {
        let watch = DelayWatch::new(reference.whole("n"), Instant::ZERO + Span::from_secs(5));
        let (outcome, watch) = trial(reference, effort, seed).observed(watch)?;
        let delays = watch.delays();
        goodput += outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).sum::<f64>() / runs;
        p50 += delays.quantile(0.5).unwrap_or(f64::NAN) / runs;
        p95 += delays.quantile(0.95).unwrap_or(f64::NAN) / runs;
        jain += outcome.summary.jain.goodput.unwrap_or(f64::NAN) / runs;
    }
    let row =
        |metric: &str, unit: &str, column: &str, measured: f64, tolerance: Option<Tolerance>, note: &str| {
            let metric = format!("{metric}, {}", name(reference));
            let reference = reference.number(column);
            ValidationRow::judged("ns3-tcp", metric, unit, reference, Some(measured), tolerance, note)
        };
    // Five on a circle show what capture is worth.
    let goodput_tolerance =
        if reference.whole("n") > 1 && reference.whole("arc_degrees") > 1 { 0.03 } else { 0.05 };
    Ok(vec![
        row("goodput", "Mb/s", "goodput_mbps", goodput, Some(Tolerance::Relative(goodput_tolerance)), ""),
        row("delay p50", "ms", "delay_p50_ms", p50, Some(Tolerance::Relative(0.2)), ""),
        row("delay p95", "ms", "delay_p95_ms", p95, None, "informs only"),
        row("Jain of goodput", "", "jain", jain, None, "informs only"),
    ])
}
