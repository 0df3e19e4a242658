//! Sec. VI, Fig. 10: the demand changes from 25 to 20 to 15 ms while the stream runs, at three places.

use airbound_report::Line;
use airbound_units::Span;

use super::{CLAIMS, FLOOR, LAST_PQ, LEAD_S};
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study};

pub(super) struct Runtime;

const PLACES: [&str; 3] = ["5 m", "15 m", "25 m"];

fn experiment(distance: &str, effort: Effort) -> Experiment {
    Experiment::watching(
        FLOOR.trial(&[LAST_PQ, distance, "3F", "3C", "25 to 15 ms"], effort.first_seed, effort),
        0,
    )
}

/// The demands in ms, each with the times in s between which it holds, from the beginning of the stream.
fn phases(effort: Effort) -> Vec<(f64, f64, f64)> {
    let Ok(scenario) = experiment(PLACES[0], effort).trial.read() else { return Vec::new() };
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
        for distance in PLACES {
            let Some(run) = results.get(&experiment(distance, effort)) else { continue };
            let windows = run.watched.percentiles(Span::from_millis(500), 95.0);
            let windows: Vec<(f64, f64)> = windows.into_iter().map(|(at, p95)| (at - LEAD_S, p95)).collect();
            for (from, to, demand) in &phases {
                // The first second of a phase belongs to the change.
                let inside = windows.iter().filter(|(at, _)| *at >= from + 1.0 && at < to);
                let met = inside.clone().filter(|(_, p95)| p95 <= demand).count();
                let share = (inside.clone().count() > 0).then(|| met as f64 / inside.count() as f64);
                let row = CLAIMS.row("phase").with("demand", demand).with("distance", distance);
                rows.push(row.measured(share));
            }
            lines.push(Line::whole(distance, windows));
        }
        let steps = phases.iter().flat_map(|(from, to, demand)| [(*from, *demand), (*to, *demand)]);
        lines.push(Line::whole("demand", steps));
        let charts = vec![CLAIMS.lines("runtime", &[], lines)];
        Part { rows, chapter: CLAIMS.chapter("runtime", Vec::new(), charts) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demands_step_in_equal_phases() {
        let phases = phases(Effort::default());
        assert_eq!(phases, [(0.0, 20.0, 25.0), (20.0, 40.0, 20.0), (40.0, 60.0, 15.0)]);
    }
}
