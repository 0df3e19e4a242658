//! The paper's future work (Sec. VII): selective drop, an adaptive look-around interval, TCP pacing, 802.11ac.

use super::measure::figures;
use super::{CLAIMS, FIFO, WQM};
use crate::Effort;
use crate::papers::experiment::Results;
use crate::papers::{Part, Study};

pub(super) struct FutureWork;

/// Scheme and transmit path of each variant.
const VARIANTS: [[&str; 2]; 8] = [
    [FIFO, "ath9k"],
    [WQM, "ath9k"],
    ["WQM, selective drop", "ath9k"],
    ["WQM, adaptive look-around", "ath9k"],
    ["WQM, paced TCP", "ath9k"],
    [FIFO, "802.11ac"],
    [WQM, "802.11ac"],
    ["WQM, paced TCP", "802.11ac"],
];

fn cell([scheme, path]: [&'static str; 2]) -> [&'static str; 3] {
    [scheme, path, "3 flows"]
}

fn name([scheme, path]: [&str; 2]) -> String {
    match (scheme.strip_prefix("WQM, "), path) {
        (_, "ath9k") => scheme.to_owned(),
        (Some(variant), path) => format!("WQM, {path}, {variant}"),
        (None, path) => format!("{scheme}, {path}"),
    }
}

impl Study for FutureWork {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("beyond", &[]);
        for variant in VARIANTS {
            let Some(figures) = figures(&cell(variant), effort, results) else { continue };
            grid.rows.push([name(variant)].into_iter().chain(figures.columns()).map(Into::into).collect());
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("beyond", vec![grid], Vec::new()) }
    }
}
