//! The table of how exactly emulated runs kept their times.

use airbound_record::{EmulationSummary, Lateness};

use crate::comparison::Comparison;
use crate::grid::{Grid, NOTHING, number};

/// Reads a figure of an emulation as text.
type Read = fn(&EmulationSummary) -> String;

fn micros(lateness: &Lateness) -> String {
    let all = [lateness.p50_us, lateness.p99_us, lateness.p999_us, lateness.max_us];
    all.map(|value| value.map_or(NOTHING.to_owned(), |value| format!("{value:.0}"))).join(" / ")
}

fn percent(share: Option<f64>) -> String {
    share.map_or(NOTHING.to_owned(), |share| format!("{:.2}", 100.0 * share))
}

const ROWS: [(&str, Read); 11] = [
    ("counts", |timing| if timing.counts { "yes" } else { "NO" }.to_owned()),
    ("packets later than 1 ms, %", |timing| percent(timing.late_share)),
    ("first packet of an aggregate late by, us (p50 / p99 / p99.9 / max)", |timing| micros(&timing.first)),
    ("last packet", |timing| micros(&timing.last)),
    ("scheduling class", |timing| timing.class.clone()),
    ("slips (s)", |timing| format!("{} ({:.1})", timing.slips, timing.slipped_s)),
    ("drops at devices", |timing| timing.device_drops.map_or(NOTHING.to_owned(), |drops| drops.to_string())),
    ("packets released", |timing| timing.packets.to_string()),
    ("marked for congestion", |timing| timing.marked.to_string()),
    ("taken by a hypervisor, %", |timing| percent(timing.steal_share)),
    ("processors: all / spinning / system calls", |timing| {
        let system = timing.system.map_or(NOTHING.to_owned(), number);
        format!("{} / {} / {system}", number(timing.processors), number(timing.spinning))
    }),
];

impl Comparison {
    /// Lateness of emulated runs, a column for each; `None` without one.
    #[must_use]
    pub fn timing(&self) -> Option<Grid> {
        let emulated = |run: &crate::Run| run.summary.emulation.clone();
        let runs: Vec<(&str, EmulationSummary)> = self
            .schemes
            .iter()
            .flat_map(|scheme| scheme.runs.iter().map(|run| (scheme.name.as_str(), run)))
            .filter_map(|(name, run)| Some((name, emulated(run)?)))
            .collect();
        if runs.is_empty() {
            return None;
        }
        let mut columns = vec!["real time"];
        columns.extend(runs.iter().map(|(name, _)| *name));
        let mut grid = Grid::new("Timing of the emulation", &columns, 1);
        for (name, read) in ROWS {
            let cells = runs.iter().map(|(_, timing)| read(timing).into());
            grid.rows.push(std::iter::once(name.into()).chain(cells).collect());
        }
        grid.note = if runs.iter().all(|(_, timing)| timing.counts) {
            "A run counts if at most 1 % of its packets were more than 1 ms late.".to_owned()
        } else {
            "A run with more than 1 % of its packets later than 1 ms DOES NOT COUNT.".to_owned()
        };
        Some(grid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::test_runs::one_run;

    #[test]
    fn a_run_that_does_not_count_says_so_on_the_page() {
        let simulated = one_run();
        assert_eq!(simulated.timing(), None);
        let mut emulated = simulated;
        let lateness =
            Lateness { p50_us: Some(3.0), p99_us: Some(70.0), p999_us: None, max_us: Some(1234.0) };
        emulated.schemes[0].runs[0].summary.emulation = Some(EmulationSummary {
            counts: false,
            late_share: Some(0.0123),
            class: "fifo".to_owned(),
            first: lateness,
            last: lateness,
            packets: 1000,
            aggregates: 100,
            slips: 1,
            slipped_s: 30.0,
            device_drops: Some(7),
            marked: 2,
            strays: 0,
            steal_share: Some(0.004),
            processors: 0.5,
            spinning: 0.25,
            system: Some(0.125),
            flows: Vec::new(),
        });
        let text = emulated.timing().expect("a table").to_text(100);
        for expected in ["1.23", "3 / 70 / – / 1234", "DOES NOT COUNT", "1 (30.0)"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert!(emulated.to_html().expect("a page").contains("Timing of the emulation"));
    }
}
