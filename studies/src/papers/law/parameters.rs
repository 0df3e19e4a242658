//! The values in force, and the points that the paper leaves open, each decided otherwise.

use airbound_control::link::LawConfig;

use super::measure::{Runs, add, percent};
use super::{CLAIMS, JUDGED, LAW, OFFICE};
use crate::papers::Part;

pub(super) fn in_force(_: Runs<'_>) -> Part {
    let law = LawConfig::paper();
    let mut grid = CLAIMS.table("parameters", &[]);
    // Every value of the configuration.
    for line in toml::to_string(&law).unwrap_or_default().lines() {
        if let Some((key, value)) = line.split_once(" = ") {
            grid.rows.push(vec![key.into(), value.trim_matches('"').into()]);
        }
    }
    Part { rows: Vec::new(), chapter: CLAIMS.chapter("parameters", vec![grid], Vec::new()) }
}

pub(super) fn open(runs: Runs<'_>) -> Part {
    let mut grid = CLAIMS.table("open", &[]);
    for name in OFFICE.names("open", runs.effort) {
        let (point, choice) = name.split_once(": ").unwrap_or(("", name));
        let digest = runs.digest(&[LAW, JUDGED, name, "200 s, 1 seed"]);
        let quantiles = [0.99, 0.999, 1.0].map(|share| digest.quantile(share));
        let columns = [percent(digest.loss_rate()), digest.runs_per_second(5)].into_iter().chain(quantiles);
        add(&mut grid, &[point, choice], columns);
    }
    Part { rows: Vec::new(), chapter: CLAIMS.chapter("open", vec![grid], Vec::new()) }
}
