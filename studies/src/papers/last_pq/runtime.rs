//! Sec. VI, Fig. 10: the demand changes from 25 to 20 to 15 ms while the stream runs, at three places.

use airbound_report::Line;
use airbound_units::Span;

use super::measure::text;
use super::{CLAIMS, FLOOR, LAST_PQ, LEAD_S};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

pub(super) struct Runtime;

const PLACES: [&str; 3] = ["5 m", "15 m", "25 m"];
/// Windows of the table; the last judges. Fig. 10 does not state its own; the controller's has 20 ms.
const WINDOWS: [Span; 3] = [Span::from_millis(20), Span::from_millis(100), Span::from_millis(500)];

fn experiments(distance: &str, effort: Effort) -> Vec<Experiment> {
    let trials = FLOOR.trials(&[LAST_PQ, distance, "3F", "3C", "25 to 15 ms"], effort);
    trials.into_iter().map(|trial| Experiment::watching(trial, 0)).collect()
}

/// The percentile of each window of a run, in s from the beginning of the stream.
fn windows(run: &Measured, length: Span) -> Vec<(f64, f64)> {
    run.watched.percentiles(length, 95.0).into_iter().map(|(at, p95)| (at - LEAD_S, p95)).collect()
}

/// The share of the windows of a phase that are within its demand; `None` without any.
fn share(windows: &[(f64, f64)], (from, to, demand): (f64, f64, f64)) -> Option<f64> {
    let inside = || windows.iter().filter(|(at, _)| (from..to).contains(at));
    let met = inside().filter(|(_, p95)| *p95 <= demand).count();
    (inside().count() > 0).then(|| met as f64 / inside().count() as f64)
}

/// The demands in ms, each with the times in s between which it holds, from the beginning of the stream.
fn phases(effort: Effort) -> Vec<(f64, f64, f64)> {
    let first = experiments(PLACES[0], effort).into_iter().next().map(|run| run.trial.read());
    let Some(Ok(scenario)) = first else { return Vec::new() };
    let steps =
        scenario.flows.first().and_then(|flow| flow.demand.as_ref()).map_or(&[][..], |demand| demand.steps());
    let since = |at: Span| (at.as_secs_f64() - LEAD_S).max(0.0);
    let ends = steps.iter().skip(1).map(|(at, _)| *at).chain([scenario.warm_up + scenario.duration]);
    let phases = steps.iter().zip(ends);
    phases
        .filter_map(|((from, demand), to)| {
            Some((since(*from), since(to), (*demand)?.latency().as_millis_f64()))
        })
        .collect()
}

impl Study for Runtime {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let phases = phases(effort);
        let (mut rows, mut lines) = (Vec::new(), Vec::new());
        let mut grid = CLAIMS.table("runtime", &[]);
        for distance in PLACES {
            let made = experiments(distance, effort);
            let runs: Vec<&Measured> = made.iter().filter_map(|run| results.get(run)).collect();
            for phase in &phases {
                let row = CLAIMS.row("phase").with("demand", phase.2).with("distance", distance);
                let of = |length| runs.iter().filter_map(move |run| share(&windows(run, length), *phase));
                rows.push(row.over(of(WINDOWS[WINDOWS.len() - 1])));
                let means = WINDOWS.map(|length| {
                    let shares: Vec<f64> = of(length).map(|share| 100.0 * share).collect();
                    text((!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64))
                });
                let cells = [distance.to_owned(), phase.2.to_string()].into_iter().chain(means);
                grid.rows.push(cells.map(Into::into).collect());
            }
            lines.extend(
                runs.first().map(|run| Line::whole(distance, windows(run, WINDOWS[WINDOWS.len() - 1]))),
            );
        }
        let steps = phases.iter().flat_map(|(from, to, demand)| [(*from, *demand), (*to, *demand)]);
        lines.push(Line::whole("demand", steps));
        let charts = vec![CLAIMS.lines("runtime", &[], lines)];
        Part { rows, chapter: CLAIMS.chapter("runtime", vec![grid], charts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_windows_of_a_phase_count() {
        let windows = [(0.0, 26.0), (0.5, 25.0), (1.0, 9.0), (1.5, 9.0), (2.0, 30.0)];
        assert_eq!(share(&windows, (0.0, 2.0, 25.0)), Some(0.75));
        assert_eq!(share(&windows, (3.0, 4.0, 25.0)), None);
    }

    #[test]
    fn the_demands_step_in_equal_phases() {
        let phases = phases(Effort::default());
        assert_eq!(phases, [(0.0, 20.0, 25.0), (20.0, 40.0, 20.0), (40.0, 60.0, 15.0)]);
    }
}
