//! Sec. 3.2, Fig. 5: rate, delay and loss over the target.

use airbound_report::{Grid, Line};

use super::measure::{at, cell, delay, goodput, line, loss, number, ratio};
use super::{CLAIMS, RUNS};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

pub(super) struct Knee;

/// Targets, and the run of each.
fn runs(effort: Effort) -> impl Iterator<Item = (f64, Experiment)> {
    let run = move |target| Experiment::plain(RUNS.trial(&["knee", target], 1, effort));
    RUNS.names("target", effort).into_iter().map(move |target| (number(target), run(target)))
}

impl Study for Knee {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let runs: Vec<(f64, &Measured)> =
            runs(effort).filter_map(|(target, run)| Some((target, results.get(&run)?))).collect();
        let over = |value: &dyn Fn(&Measured) -> Option<f64>| -> Vec<(f64, f64)> {
            runs.iter().filter_map(|(target, run)| Some((*target, value(run)?))).collect()
        };
        let (rates, delays, losses) =
            (over(&|run| Some(goodput(run))), over(&delay), over(&|run| Some(loss(run))));
        let most = |points: &[(f64, f64)], up_to: f64| {
            points.iter().filter(|(target, _)| *target <= up_to).map(|(_, value)| *value).reduce(f64::max)
        };
        let overflows = losses.iter().any(|(target, loss)| *target >= 60.0 && *loss > 0.0);
        let linear: Vec<(f64, f64)> =
            rates.iter().copied().filter(|(target, _)| (10.0..=40.0).contains(target)).collect();
        let bend = line(&linear).map(|(slope, base)| {
            linear.iter().map(|(x, y)| (y / (base + slope * x) - 1.0).abs()).fold(0.0, f64::max)
        });
        let share = |target: u8| {
            let share = ratio(at(&rates, f64::from(target)), most(&rates, 64.0));
            CLAIMS.row("knee-rate").with("target", target).measured(share)
        };
        let rows = vec![
            CLAIMS.row("knee-loss").measured(most(&losses, 40.0)),
            CLAIMS.row("knee-delay").measured(most(&delays, 40.0)),
            CLAIMS.row("knee-rise").measured(ratio(at(&delays, 64.0), at(&delays, 40.0))),
            CLAIMS.row("knee-overflow").holds((!losses.is_empty()).then_some(overflows)),
            share(30),
            share(40),
            CLAIMS.row("knee-linear").measured(bend),
        ];
        let percent = losses.iter().map(|(x, y)| (*x, 100.0 * y)).collect();
        let charts = [("knee-rate", rates), ("knee-delay", delays), ("knee-loss", percent)]
            .map(|(key, points)| CLAIMS.lines(key, &[], vec![Line::whole("one station", points)]));
        Part {
            rows,
            chapter: CLAIMS.chapter(
                "knee",
                vec![radios(effort, results), shared(effort, results)],
                charts.to_vec(),
            ),
        }
    }
}

/// Traffic that shares the air, and delays that break the pace of the packets.
const DISTURBANCES: [&str; 9] = [
    "air alone",
    "neighbour, 2 Mb/s",
    "neighbour, 10 Mb/s",
    "neighbour, saturated, 54 Mb/s",
    "neighbour, saturated, 24 Mb/s",
    "neighbour, saturated, 12 Mb/s",
    "wire jitter 1 ms",
    "wire jitter 4 ms",
    "wire jitter 10 ms",
];

fn disturbed(disturbance: &str, target: &str, effort: Effort) -> Experiment {
    Experiment::plain(RUNS.trial(&["knee, disturbed", disturbance, target], 1, effort))
}

/// Rates and delays at three targets: Mb/s at 30, 40 and 64, those at 30 and 40 over that at 64, ms at 40 and 64.
fn targets<'a>(run: impl Fn(&str) -> Option<&'a Measured>) -> impl Iterator<Item = String> {
    let rates = ["N_eps = 30", "N_eps = 40", "N_eps = 64"].map(|target| run(target).map(goodput));
    let shares = [0, 1].map(|place| ratio(rates[place], rates[2]));
    let delays = ["N_eps = 40", "N_eps = 64"].map(|target| run(target).and_then(delay));
    rates.into_iter().chain(shares).chain(delays).map(cell)
}

/// The same by the PHY rate of the station, on the air alone.
fn radios(effort: Effort, results: &Results) -> Grid {
    let mut grid = CLAIMS.table("knee-radio", &[]);
    for radio in RUNS.names("radio", effort) {
        let run = |target: &str| {
            let trial = RUNS.trial(&["knee, disturbed", DISTURBANCES[0], radio, target], 1, effort);
            results.get(&Experiment::plain(trial))
        };
        let row = [radio.to_owned()].into_iter().chain(targets(run));
        grid.rows.push(row.map(Into::into).collect());
    }
    grid
}

/// Rate and delay at a target of 40 beside those at 64, on an air that others share and behind a wire with jitter.
fn shared(effort: Effort, results: &Results) -> Grid {
    let mut grid = CLAIMS.table("knee", &[]);
    for disturbance in DISTURBANCES {
        let run = |target: &str| results.get(&disturbed(disturbance, target, effort));
        let row = [disturbance.to_owned()].into_iter().chain(targets(run));
        grid.rows.push(row.map(Into::into).collect());
    }
    grid
}
