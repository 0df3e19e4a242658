//! Points that the paper's words leave open: the free share, and B_min where a rate forbids aggregates.

use super::measure::figures;
use super::{CLAIMS, SCHEMES};
use crate::Effort;
use crate::papers::experiment::Results;
use crate::papers::{Part, Study};

pub(super) struct Open;

fn cells() -> impl Iterator<Item = [&'static str; 3]> {
    let readings = || SCHEMES.into_iter().chain(["WQM, F = 1 - busy", "WQM, B_min of the rate"]);
    ["6.5 Mb/s", "65 Mb/s", "144.4 Mb/s"]
        .into_iter()
        .flat_map(move |rate| readings().map(move |scheme| [rate, scheme, "40 s"]))
}

impl Study for Open {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("open", &[]);
        for cell in cells() {
            let Some(figures) = figures(&cell, effort, results) else { continue };
            let [rtt, p99, goodput, ..] = figures.columns();
            let [rate, scheme, _] = cell.map(str::to_owned);
            grid.rows.push([rate, scheme, rtt, p99, goodput].map(Into::into).to_vec());
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("open", vec![grid], Vec::new()) }
    }
}
