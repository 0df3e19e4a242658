//! Fairness of three flows: what makes it last, and what does not.

use super::measure::{Figures, figures};
use super::{CLAIMS, FIFO, WQM};
use crate::Effort;
use crate::papers::experiment::Results;
use crate::papers::{Part, Study, or_empty};

pub(super) struct Fairness;

/// The row of nodes, the flows' TCP, and the length of the run.
const SETTINGS: [[&str; 3]; 17] = [
    ["1 hop", "CUBIC", "5 s"],
    ["1 hop", "CUBIC", "10 s"],
    ["1 hop", "CUBIC", "20 s"],
    ["1 hop", "CUBIC", "40 s"],
    ["1 hop", "CUBIC", "100 s"],
    ["1 hop", "CUBIC, 1 s apart", "100 s"],
    ["1 hop", "CUBIC, 5 s apart", "100 s"],
    ["1 hop", "CUBIC, without HyStart", "100 s"],
    ["1 hop", "Reno", "100 s"],
    ["1 hop", "own socket", "100 s"],
    ["1 hop", "own socket, 7.8 ms below", "100 s"],
    ["1 hop", "own socket, 3.9 ms below", "100 s"],
    ["1 hop", "own socket, 2 ms below", "100 s"],
    ["1 hop", "own socket, 1 ms below", "100 s"],
    ["1 hop", "own socket, 1 ms below", "20 s"],
    ["6.5 Mb/s", "CUBIC", "100 s"],
    ["65 Mb/s", "CUBIC", "100 s"],
];

fn cell([row, tcp, length]: [&'static str; 3], scheme: &'static str) -> [&'static str; 5] {
    [row, "3 flows", tcp, length, scheme]
}

/// The longest mean round-trip time of a flow, ms.
fn longest_mean(figures: &Figures) -> f64 {
    figures.rtt_ms.iter().map(|rtt| rtt.mean).fold(0.0, f64::max)
}

impl Study for Fairness {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("fairness", &[]);
        for setting in SETTINGS {
            let [fifo, wqm] = [FIFO, WQM].map(|scheme| figures(&cell(setting, scheme), effort, results));
            let [fifo, wqm] = [fifo.as_ref(), wqm.as_ref()];
            let values = [
                fifo.map(|figures| figures.jain.mean),
                fifo.map(|figures| figures.jain.low),
                wqm.map(|figures| figures.jain.mean),
                fifo.map(longest_mean),
                wqm.map(longest_mean),
            ];
            let values = values.map(or_empty);
            let row = setting.map(str::to_owned).into_iter().chain(values);
            grid.rows.push(row.map(Into::into).collect());
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("fairness", vec![grid], Vec::new()) }
    }
}
