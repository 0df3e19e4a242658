//! Sec. 6.1.1, 6.3.2 and 6.3.3, Fig. 15 and 16: gain and interval.

use airbound_report::Line;
use airbound_senders::allocation::{Downlink, Regulated};
use airbound_units::Span;

use super::air::{BITS, downlink_of};
use super::measure::{at, deviation, mean, number, ratio, slot_means};
use super::{CLAIMS, RUNS};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct Gains;

/// The usual gain and interval, and the shadowing in which gains are compared.
const GAIN: &str = "K0 = 1.0";
const INTERVAL: &str = "500 ms";
const PACE: &str = "6 s";
/// Intervals of Fig. 15b; Fig. 16b has those of the axis.
const INTERVALS: [&str; 4] = ["250 ms", "500 ms", "1000 ms", "2000 ms"];

fn runs(cell: &[&str], effort: Effort) -> impl Iterator<Item = Experiment> {
    RUNS.trials(cell, effort).into_iter().map(|trial| Experiment::aggregates(trial, None))
}

/// When the mean level of a slot came to the target within a tenth for the first time, s.
fn converged(run: &Measured, slot: Span) -> Option<f64> {
    slot_means(run, slot).find(|(_, level)| *level > 28.8).map(|(at, _)| at + slot.as_secs_f64())
}

/// Returns the standard deviation of the slot means from `from` (in s) on, when the loop has settled.
fn scatter(run: &Measured, slot: Span, from: f64) -> Option<f64> {
    let settled = slot_means(run, slot).filter(|(at, _)| *at >= from);
    deviation(&settled.map(|(_, level)| level).collect::<Vec<_>>())
}

/// The span that an interval names.
fn span(interval: &str) -> Span {
    Span::from_millis(number(interval) as u64)
}

/// Whether values fall from each to the next.
fn falls(values: &[f64]) -> bool {
    values.len() > 1 && values.windows(2).all(|pair| pair[1] < pair[0])
}

fn list(values: &[f64]) -> String {
    values.iter().map(|value| shown(*value)).collect::<Vec<_>>().join(", ")
}

impl Study for Gains {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let of = |cell: &[&str], value: &dyn Fn(&Measured) -> Option<f64>| {
            let values = runs(cell, effort).filter_map(|run| value(results.get(&run)?));
            mean(&values.collect::<Vec<_>>())
        };
        let over = |names: &[&'static str], value: &dyn Fn(&str) -> Option<f64>| -> Vec<(f64, f64)> {
            names.iter().filter_map(|name| Some((number(name), value(name)?))).collect()
        };
        let (gains, intervals) = (RUNS.names("gain", effort), RUNS.names("interval", effort));
        let slot = span(INTERVAL);
        let by_gain = over(&gains, &|gain| of(&["cold", gain, INTERVAL], &|run| converged(run, slot)));
        let settled = over(&gains, &|gain| of(&["cold", gain, INTERVAL], &|run| scatter(run, slot, 40.0)));
        let noise_by_gain =
            over(&gains, &|gain| of(&["office", gain, INTERVAL, PACE], &|run| scatter(run, slot, 0.0)));
        let by_interval = over(&INTERVALS, &|interval| {
            of(&["cold", GAIN, interval], &|run| converged(run, span(INTERVALS[0])))
        });
        let in_pace = |pace| {
            let noise = |interval: &str| {
                of(&["office", GAIN, interval, pace], &|run| scatter(run, span(interval), 0.0))
            };
            (pace, over(&intervals, &noise))
        };
        let noise: Vec<(&str, Vec<(f64, f64)>)> =
            RUNS.names("pace", effort).into_iter().map(in_pace).collect();
        // The theory, at the values of Sec. 6.1.1 and at those of this air.
        let stated = Downlink::new(200e-6, vec![12_000.0 / 100e6]);
        let stated = stated.and_then(|downlink| downlink.critical_gain(&[8000.0]));
        let here = downlink_of(&RUNS.trial(&["cold"], 1, effort));
        let here = here
            .and_then(|downlink| downlink.critical_gain(&downlink.equal_airtime(32.0, Regulated::Fastest)));
        let times = |points: &[(f64, f64)]| points.iter().map(|(_, time)| *time).collect::<Vec<_>>();
        // K0 = 10 oscillates.
        let by_larger: Vec<f64> = times(&by_gain).into_iter().take(4).collect();
        let by_longer = times(&by_interval);
        let by_shorter: Vec<f64> = by_longer.iter().rev().copied().collect();
        let mut rows = vec![
            CLAIMS.row("critical-as-stated").measured(stated),
            CLAIMS.row("critical-here").told(here.map(|gain| gain * BITS / 1e6)),
            CLAIMS.row("faster-by-gain").with("times", list(&by_larger)).holds(falls(&by_larger)),
            CLAIMS.row("faster-by-interval").with("times", list(&by_longer)).holds(falls(&by_shorter)),
            CLAIMS.row("oscillation").measured(ratio(at(&settled, 10.0), at(&settled, 1.0))),
            CLAIMS.row("no-oscillation").measured(at(&settled, 5.0)),
            CLAIMS
                .row("noise-by-gain")
                .holds(ratio(at(&noise_by_gain, 5.0), at(&noise_by_gain, 1.0)).map(|ratio| ratio > 1.0)),
        ];
        for (pace, points) in &noise {
            let best = points.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
            let ends = points.first().zip(points.last()).zip(best);
            let row = |key| CLAIMS.row(key).with("pace", pace);
            rows.push(row("least-scatter").measured(best.map(|(interval, _)| interval)));
            rows.push(
                row("both-ends")
                    .holds(ends.map(|((first, last), least)| first.1 > least.1 && last.1 > least.1)),
            );
        }
        let paces =
            noise.into_iter().map(|(pace, points)| Line::whole(format!("shadowing over {pace}"), points));
        let mut charts =
            [("time-by-gain", by_gain), ("time-by-interval", by_interval), ("noise-by-gain", noise_by_gain)]
                .map(|(key, points)| CLAIMS.lines(key, &[], vec![Line::whole("mean over seeds", points)]))
                .to_vec();
        charts.push(CLAIMS.lines("noise-by-interval", &[], paces.collect()));
        Part { rows, chapter: CLAIMS.chapter("gains", Vec::new(), charts) }
    }
}
