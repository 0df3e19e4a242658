//! 802.11a: n saturated senders. Informs only; Bianchi's model is the reference for contention.

use airbound_report::ValidationRow;

use super::super::table::{Row, Table};
use crate::trial::run_all;
use crate::{Effort, Trial, TrialError};

const REFERENCE: &str = include_str!("../../../data/ns3-dcf.csv");

fn trial(reference: &Row<'_>, effort: Effort) -> Trial {
    let scenario = format!(
        r#"
duration = "{seconds} s"
warm-up = "3 s"
[air]
standard = "legacy"
edca = "dcf"
control-rate = "{ack} Mbit/s"
beacons = false
[access-point]
preset = "direct"
[uplink]
queue = {{ kind = "fifo", limit = {{ packets = 200 }} }}
rate = "fixed"
[wire]
rate = "unlimited"
delay = "0 ms"
[[station]]
name = "sender"
count = {n}
rate = "OFDM {rate} Mbit/s"
[[flow]]
name = "up"
kind = "cbr"
direction = "up"
station = "sender"
rate = "{offered} Mbit/s"
size = "1470 B"
"#,
        seconds = effort.seconds(30, 10),
        n = reference.whole("n"),
        ack = reference.whole("ack_rate"),
        rate = reference.whole("data_rate"),
        offered = reference.text("offered_per_sta_mbps"),
    );
    Trial::new(name(reference), scenario, 1)
}

fn name(reference: &Row<'_>) -> String {
    format!("{} Mb/s, n = {}", reference.whole("data_rate"), reference.whole("n"))
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let table = Table::of(REFERENCE);
    let trials: Vec<Trial> = table.rows().map(|reference| trial(&reference, effort)).collect();
    let outcomes = run_all(&trials, effort.jobs)?;
    let rows = table.rows().zip(outcomes).flat_map(|(reference, outcome)| {
        let goodput: f64 = outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).sum();
        let row = |metric: &str, unit: &str, column: &str, measured| {
            let metric = format!("{metric}, {}", name(&reference));
            let note = "informs only: ns-3 loses a slot only when it was idle to its end, and detects some preambles in \
                        collisions";
            let reference = reference.number(column);
            ValidationRow::judged("ns3-dcf", metric, unit, reference, measured, None, note)
        };
        [
            row("goodput", "Mb/s", "goodput_total_mbps", Some(goodput)),
            row("collision probability", "", "collision_prob", outcome.summary.air.collision_rate),
        ]
    });
    Ok(rows.collect())
}
