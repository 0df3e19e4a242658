//! 802.11n, 20 MHz, one stream: Minstrel-HT and Thompson sampling over distance, with and without fading.

use airbound_report::{Tolerance, ValidationRow};

use super::super::table::{Row, Table};
use crate::trial::run_all;
use crate::{Effort, Trial, TrialError};

/// A rate control, and what ns-3's own manager of it reached.
struct Control {
    id: &'static str,
    rate: &'static str,
    reference: &'static str,
    /// `answer-loss`.
    answers: &'static str,
}

const CONTROLS: [Control; 3] = [
    Control {
        id: "ns3-minstrel",
        rate: "minstrel-ht",
        reference: include_str!("../../../data/ns3-minstrel.csv"),
        answers: "\"signal\"",
    },
    Control {
        id: "ns3-thompson",
        rate: "thompson",
        reference: include_str!("../../../data/ns3-thompson.csv"),
        answers: "\"signal\"",
    },
    // Acknowledgements are never lost.
    Control {
        id: "ns3-thompson-loud",
        rate: "thompson",
        reference: include_str!("../../../data/ns3-thompson-loud.csv"),
        answers: "0",
    },
];
/// Goodput in ns-3 above which a difference counts, in Mb/s.
const COUNTS_ABOVE: f64 = 10.0;

fn trial(control: &Control, reference: &Row<'_>, seed: u64, effort: Effort) -> Trial {
    let metres = reference.whole("distance_m");
    let fading = match reference.whole("nakagami") {
        1 => r#"{ kind = "nakagami", m = "by-distance" }"#,
        _ => r#""none""#,
    };
    let scenario = format!(
        r#"
duration = "{seconds} s"
warm-up = "3 s"
[air]
standard = "ht"
width = "20 MHz"
edca = "equal"
tx-power = "16.0206 dBm"
noise-figure = "7 dB"
sensitivity = "-82 dBm"
[access-point]
preset = "direct"
streams = 1
[scheme]
queue = {{ kind = "fifo", limit = {{ packets = 500 }}, holds-in-flight = true }}
rate = "{rate}"
[wire]
rate = "unlimited"
delay = "0 ms"
[[station]]
name = "station"
streams = 1
channel = {{ kind = "log-distance", distance = "{metres} m", exponent = 3.0, reference-loss = "46.6777 dB", fading = {fading} }}
[[flow]]
name = "stream"
kind = "cbr"
station = "station"
rate = "75 Mbit/s"
size = "1470 B"
[radio]
answer-loss = {loss}
missed-block-ack = "request"
"#,
        loss = control.answers,
        rate = control.rate,
        seconds = effort.seconds(10, 5),
    );
    Trial::new(name(reference), scenario, seed)
}

fn name(reference: &Row<'_>) -> String {
    let fading = if reference.whole("nakagami") == 1 { "Nakagami" } else { "no fading" };
    format!("{} m, {fading}", reference.whole("distance_m"))
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let mut rows = Vec::new();
    for control in &CONTROLS {
        rows.extend(rows_of(control, effort)?);
    }
    Ok(rows)
}

fn rows_of(control: &Control, effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let table = Table::of(control.reference);
    let seeds = if effort.quick { 1..=1u64 } else { 1..=8 };
    let runs = seeds.clone().count();
    let trials: Vec<Trial> = table
        .rows()
        .flat_map(|reference| seeds.clone().map(move |seed| (reference, seed)))
        .map(|(reference, seed)| trial(control, &reference, seed, effort))
        .collect();
    let outcomes = run_all(&trials, effort.jobs)?;
    let goodputs: Vec<f64> =
        outcomes.iter().map(|one| one.summary.flows.iter().map(|flow| flow.goodput_mbps).sum()).collect();
    let rows = table.rows().zip(goodputs.chunks(runs)).map(|(reference, ours)| {
        let ns3 = reference.number("goodput_mean_mbps");
        let metres = reference.whole("distance_m");
        let counts = ns3.is_some_and(|goodput| goodput > COUNTS_ABOVE);
        ValidationRow::judged(
            control.id,
            format!("goodput, {}", name(&reference)),
            "Mb/s",
            ns3,
            Some(ours.iter().sum::<f64>() / runs as f64),
            counts.then_some(Tolerance::Relative(if metres == 40 { 0.1 } else { 0.15 })),
            if counts { "mean over seeds" } else { "informs only: at most 10 Mb/s in ns-3" },
        )
    });
    Ok(rows.collect())
}
