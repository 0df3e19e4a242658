//! Sec. V-A: the step rule, and how the buffer size moves.

use airbound_report::{Chart, Line};
use airbound_units::Span;

use super::measure::{Figures, figures};
use super::{CLAIMS, RUNS, WQM};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, or_empty};

/// The four rules of Fig. 5, and the variants that have them.
const RULES: [(&str, &str); 4] = [("AIMD", WQM), ("AIAD", "AIAD"), ("MIAD", "MIAD"), ("MIMD", "MIMD")];

pub(super) struct Steps;

/// A run of which buffer size and queue are looked at.
fn looked_at(cell: &[&str], effort: Effort) -> Experiment {
    Experiment::plain(RUNS.trial(cell, 1, effort)).looking(Span::from_millis(50))
}

/// One flow at 65 Mb/s (Fig. 4).
fn watched(effort: Effort) -> Experiment {
    looked_at(&[WQM, "65 Mb/s", "30 s"], effort)
}

/// The mean buffer size of a run.
fn mean_size(run: &Measured) -> Option<f64> {
    let sizes: Vec<f64> =
        run.views.iter().filter_map(|(_, view)| view.buffer_size).map(|size| size as f64).collect();
    (!sizes.is_empty()).then(|| sizes.iter().sum::<f64>() / sizes.len() as f64)
}

/// The buffer size and what waits, over time.
fn adaptation(run: &Measured) -> Chart {
    let size = run.views.iter().filter_map(|(at, view)| Some((*at, view.buffer_size? as f64)));
    let backlog = run.views.iter().map(|(at, view)| (*at, view.backlog.packets as f64));
    let lines = vec![
        Line::whole("buffer size B", size),
        Line::whole("waiting at the sender, driver included", backlog),
    ];
    CLAIMS.lines("adaptation", &[], lines)
}

impl Study for Steps {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let of_rules: Vec<Option<Figures>> =
            RULES.iter().map(|(_, scheme)| figures(&[scheme], effort, results)).collect();
        let mut grid = CLAIMS.table("aimd", &[]);
        let mut lines = Vec::new();
        for ((rule, scheme), figures) in RULES.iter().zip(&of_rules) {
            let Some(figures) = figures else { continue };
            let [rtt, p99, goodput, ..] = figures.columns();
            let size = results.get(&looked_at(&[scheme], effort)).and_then(mean_size);
            let cells = [(*rule).to_owned(), rtt, p99, goodput, or_empty(size)];
            grid.rows.push(cells.map(Into::into).to_vec());
            lines.push(figures.line(rule));
        }
        let aimd = of_rules[0].as_ref().map(Figures::rtt);
        let rows = RULES.iter().zip(&of_rules).skip(1).map(|((rule, _), figures)| {
            let factor = figures.as_ref().map(Figures::rtt).zip(aimd).map(|(other, aimd)| other / aimd);
            CLAIMS.row("step").with("rule", rule).measured(factor)
        });
        let charts = [CLAIMS.lines("aimd", &[], lines)];
        let charts = charts.into_iter().chain(results.get(&watched(effort)).map(adaptation)).collect();
        Part { rows: rows.collect(), chapter: CLAIMS.chapter("aimd", vec![grid], charts) }
    }
}
