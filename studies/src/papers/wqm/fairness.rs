//! Fairness of three flows: what makes it last, and what does not.

use super::measure::figures;
use super::{CLAIMS, FIFO, RUNS, WQM};
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct Fairness;

/// The row of nodes, the flows' TCP, and the length of the run.
const SETTINGS: [[&str; 3]; 11] = [
    ["1 hop", "CUBIC", "5 s"],
    ["1 hop", "CUBIC", "10 s"],
    ["1 hop", "CUBIC", "20 s"],
    ["1 hop", "CUBIC", "40 s"],
    ["1 hop", "CUBIC", "100 s"],
    ["1 hop", "CUBIC, 1 s apart", "100 s"],
    ["1 hop", "CUBIC, 5 s apart", "100 s"],
    ["1 hop", "CUBIC, without HyStart", "100 s"],
    ["1 hop", "Reno", "100 s"],
    ["6.5 Mb/s", "CUBIC", "100 s"],
    ["65 Mb/s", "CUBIC", "100 s"],
];

fn cell([row, tcp, length]: [&'static str; 3], scheme: &'static str) -> [&'static str; 5] {
    [row, "3 flows", tcp, length, scheme]
}

impl Study for Fairness {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let cells = SETTINGS.into_iter().flat_map(|setting| [FIFO, WQM].map(|scheme| cell(setting, scheme)));
        cells.flat_map(|cell| RUNS.experiments(&cell, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("fairness", &[]);
        for setting in SETTINGS {
            let of = |scheme| figures(&cell(setting, scheme), effort, results).map(|figures| figures.jain);
            let fifo = of(FIFO);
            let values =
                [fifo.map(|jain| jain.mean), fifo.map(|jain| jain.low), of(WQM).map(|jain| jain.mean)];
            let values = values.map(|value| value.map_or(String::new(), shown));
            let row = setting.map(str::to_owned).into_iter().chain(values);
            grid.rows.push(row.map(Into::into).collect());
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("fairness", vec![grid], Vec::new()) }
    }
}
