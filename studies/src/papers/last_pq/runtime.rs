//! Sec. VI, Fig. 10: the demand changes from 25 to 20 to 15 ms while the stream runs, at three places.

use airbound_report::{Chapter, Chart, ChartKind, Line, Lines, Tolerance, ValidationRow};
use airbound_units::Span;

use super::setting::{LAST_PQ, LEAD_S, Place, S6_M, Setting};
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study};

const PLACES: [u32; 3] = [5, 15, S6_M];
const DEMANDS_MS: [f64; 3] = [25.0, 20.0, 15.0];

pub(super) struct Runtime;

/// Returns the measured time for which each demand holds, in s.
const fn phase(effort: Effort) -> u32 {
    effort.seconds(20, 4)
}

fn experiment(metres: u32, effort: Effort) -> Experiment {
    let phase = phase(effort);
    let demand = if effort.quick { QUICK_DEMAND } else { DEMAND };
    let setting = Setting {
        queue: LAST_PQ,
        place: Place::At(metres),
        flows: 3,
        clients: 3,
        demand,
        seconds: 3 * phase,
        ..Setting::USUAL
    };
    Experiment::watching(setting.trial(1), 0)
}

/// The steps of the demand, from the beginning of the run.
const DEMAND: &str = "[[\"0 s\", \"25 ms\"], [\"23 s\", \"20 ms\"], [\"43 s\", \"15 ms\"]]";
const QUICK_DEMAND: &str = "[[\"0 s\", \"25 ms\"], [\"7 s\", \"20 ms\"], [\"11 s\", \"15 ms\"]]";

impl Study for Runtime {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        PLACES.into_iter().map(|metres| experiment(metres, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let phase = f64::from(phase(effort));
        let lead = f64::from(LEAD_S);
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        for metres in PLACES {
            let Some(run) = results.get(&experiment(metres, effort)) else { continue };
            let windows: Vec<(f64, f64)> = run
                .watched
                .percentiles(Span::from_millis(500), 95.0)
                .into_iter()
                .map(|(at, p95)| (at - lead, p95))
                .collect();
            for (number, demand) in DEMANDS_MS.into_iter().enumerate() {
                let from = phase * number as f64;
                // The first second of a phase belongs to the change.
                let inside = |at: f64| at >= from + 1.0 && at < from + phase;
                let of_phase: Vec<f64> =
                    windows.iter().filter(|(at, _)| inside(*at)).map(|(_, p95)| *p95).collect();
                let met = of_phase.iter().filter(|p95| **p95 <= demand).count();
                let share = (!of_phase.is_empty()).then(|| met as f64 / of_phase.len() as f64);
                rows.push(ValidationRow::judged(
                    "runtime-control",
                    format!("share of windows within {demand} ms, {metres} m"),
                    "",
                    Some(0.9),
                    share,
                    Some(Tolerance::AtLeast),
                    false,
                    "\"only a few exceptions\", read as a tenth; windows of 0.5 s",
                ));
            }
            lines.push(Line::whole(format!("{metres} m"), windows));
        }
        let steps = DEMANDS_MS.into_iter().enumerate();
        let steps = steps.flat_map(|(number, demand)| {
            [(phase * number as f64, demand), (phase * (number + 1) as f64, demand)]
        });
        lines.push(Line::whole("demand", steps));
        let kind = ChartKind::Lines(Lines {
            x: "time (s)".to_owned(),
            y: "p95 latency (ms)".to_owned(),
            lines,
            ..Lines::default()
        });
        let chapter = Chapter {
            title: "A demand that changes".to_owned(),
            text: "Three bulk flows at the phone and three other clients; the demand steps from 25 to 20 to 15 ms.".to_owned(),
            tables: Vec::new(),
            charts: vec![Chart { kind, caption: "Fig. 10: 95th percentile of each half second.".to_owned() }],
        };
        Part { rows, chapter }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demands_step_with_the_phases() {
        for (effort, text) in
            [(Effort { quick: true, ..Effort::default() }, QUICK_DEMAND), (Effort::default(), DEMAND)]
        {
            for (number, demand) in DEMANDS_MS.into_iter().enumerate().skip(1) {
                let at = LEAD_S + phase(effort) * number as u32;
                assert!(text.contains(&format!("[\"{at} s\", \"{demand} ms\"]")), "{text}");
            }
        }
    }
}
