//! Beyond the paper: the optimum of problem P, the distributed form, and theorem 1 as printed, on the same air.

use airbound_senders::allocation::{Optimum, Regulated, Utility};

use super::air::downlink_of;
use super::measure::{cell, delay, goodput, goodputs, loss};
use super::{CLAIMS, OURS, PAPER, RUNS};
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};
use crate::{Effort, Trial};

pub(super) struct Shares;

const NETWORKS: [&str; 3] = ["780 and 526.5 Mb/s", "780, 390, 117 Mb/s", "eight from 780 to 58.5 Mb/s"];
const DISTRIBUTED: &str = "optimum of P, distributed";
const WAYS: [&str; 5] = ["theorem 1, w_max (printed)", PAPER, "optimum of P", OURS, DISTRIBUTED];

fn trial(network: &str, way: &str, effort: Effort) -> Trial {
    RUNS.trial(&["shares", network, way], 1, effort)
}

/// The sum of the logarithms of the rates.
fn utility(run: &Measured) -> f64 {
    Utility::Proportional.of(&goodputs(run).collect::<Vec<_>>())
}

/// The utility of the optimum over that of theorem 1, by the model.
fn predicted(trial: &Trial) -> Option<f64> {
    let downlink = downlink_of(trial)?;
    let best = Optimum::of(&downlink, 32.0, Utility::Proportional)?;
    let equal = downlink.equal_airtime(32.0, Regulated::Fastest);
    Some(Utility::Proportional.of(&best.rates) - Utility::Proportional.of(&equal))
}

fn largest_level(run: &Measured) -> Option<f64> {
    run.outcome.summary.stations.iter().filter_map(|station| station.mean_ampdu).reduce(f64::max)
}

impl Study for Shares {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("shares", &[]);
        let mut rows = Vec::new();
        for network in NETWORKS {
            let run = |way| results.get(&Experiment::plain(trial(network, way, effort)));
            for way in WAYS {
                let Some(run) = run(way) else { continue };
                let cells = [
                    network.to_owned(),
                    way.to_owned(),
                    shown(goodput(run)),
                    shown(goodputs(run).fold(f64::INFINITY, f64::min)),
                    format!("{:.3}", utility(run)),
                    cell(largest_level(run)),
                    cell(delay(run)),
                    shown(100.0 * loss(run)),
                ];
                grid.rows.push(cells.map(Into::into).to_vec());
            }
            let gain = |way| Some(utility(run(way)?) - utility(run(PAPER)?));
            let row = |key| CLAIMS.row(key).with("network", network);
            rows.extend(
                predicted(&trial(network, OURS, effort))
                    .map(|predicted| row("optimum").reference(predicted).measured(gain(OURS))),
            );
            rows.push(row("distributed").told(gain(DISTRIBUTED)));
            rows.push(row("optimum-level").measured(run(OURS).and_then(largest_level)));
        }
        Part { rows, chapter: CLAIMS.chapter("shares", vec![grid], Vec::new()) }
    }
}
