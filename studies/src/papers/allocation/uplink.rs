//! Beyond the paper: clients that send too (assumption 1 of Sec. 7), with their uplinks counted and without.

use super::air::{limit, vht};
use super::measure::{cell, goodput, levels, loss, mean, number, ratio};
use super::{CLAIMS, OURS, RUNS};
use crate::Effort;
use crate::papers::aggregates::Aggregate;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct Uplinks;

const NOTHING: &str = "downlinks alone";
const TCP: &str = "not counted: CUBIC";
const CONSTANT: &str = "not counted: a downlink's rate";
const COUNTED: &str = "counted";
/// Traffic that the clients send.
const WAYS: [&str; 4] = [NOTHING, TCP, CONSTANT, COUNTED];

fn experiment(clients: &str, way: &str, effort: Effort) -> Experiment {
    let mut trial = RUNS.trial(&["uplink", OURS, clients, way], 1, effort);
    if way == CONSTANT {
        let count = number(clients);
        let share = limit(vht(9, 2), count as usize, 2.0) / count;
        trial = trial.set("flow.up.rate", format!("\"{share:.1} Mbit/s\""));
    }
    Experiment::aggregates(trial, None)
}

/// One direction of a run.
struct Way {
    goodput: f64,
    delay: Option<f64>,
    /// The largest 99th percentile of any flow, ms.
    tail: Option<f64>,
    level: Option<f64>,
}

impl Way {
    /// Returns the figures of the flows of a name, and the mean level of `frames`.
    fn of(run: &Measured, name: &str, frames: &[Aggregate]) -> Self {
        let flows = || run.outcome.summary.flows.iter().filter(|flow| flow.name.starts_with(name));
        let delays: Vec<f64> = flows().filter_map(|flow| flow.latency_ms.mean).collect();
        Self {
            goodput: flows().map(|flow| flow.goodput_mbps).sum(),
            delay: mean(&delays),
            tail: flows().filter_map(|flow| flow.latency_ms.p99).reduce(f64::max),
            level: mean(&levels(frames)),
        }
    }
}

/// Downlink and uplink.
fn both(run: &Measured) -> (Way, Way) {
    (Way::of(run, "down", &run.aggregates.sent), Way::of(run, "up", &run.aggregates.uplink))
}

impl Study for Uplinks {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("uplink", &[]);
        let mut rows = Vec::new();
        // The 99th percentile for each client: the same for all n if it grows in proportion.
        let mut tails = Vec::new();
        for clients in RUNS.names("clients", effort) {
            let count = number(clients);
            let run = |way| results.get(&experiment(clients, way, effort));
            for way in WAYS {
                let Some(run) = run(way) else { continue };
                let (down, up) = both(run);
                let of_up = |value: Option<f64>| cell(value.filter(|_| way != NOTHING));
                let cells = [
                    count.to_string(),
                    way.to_owned(),
                    cell(down.level),
                    of_up(up.level),
                    cell(down.delay),
                    of_up(up.delay),
                    cell(down.tail),
                    of_up(up.tail),
                    shown(down.goodput),
                    of_up(Some(up.goodput)),
                    cell(run.outcome.summary.jain.goodput),
                    shown(100.0 * loss(run)),
                ];
                grid.rows.push(cells.map(Into::into).to_vec());
            }
            let counted = run(COUNTED);
            let larger = |value: fn(&Way) -> Option<f64>| {
                counted.map(both).and_then(|(down, up)| Some(value(&down)?.max(value(&up)?)))
            };
            if count >= 4.0 {
                tails.extend(larger(|way| way.tail).map(|tail| tail / count));
            }
            let delay = |run: Option<&Measured>| run.and_then(|run| both(run).0.delay);
            let alike = limit(vht(9, 2), 2 * count as usize, 1.0);
            let row = |key| CLAIMS.row(key).with("n", count);
            rows.extend([
                row("uplink-level").measured(larger(|way| way.level)),
                row("uplink-fairness").measured(counted.and_then(|run| run.outcome.summary.jain.goodput)),
                row("uplink-loss").measured(counted.map(loss)),
                row("uplink-goodput")
                    .with("downlinks", 2.0 * count)
                    .told(counted.map(|run| goodput(run) / alike)),
                row("uplink-saving").measured(ratio(delay(run(TCP)), delay(counted))),
            ]);
        }
        let least = tails.iter().copied().reduce(f64::min);
        let most = tails.iter().copied().reduce(f64::max);
        let row = CLAIMS.row("uplink-tail").with("most", shown(most.unwrap_or(0.0)));
        rows.push(row.measured(ratio(most, least)));
        Part { rows, chapter: CLAIMS.chapter("uplink", vec![grid], Vec::new()) }
    }
}
