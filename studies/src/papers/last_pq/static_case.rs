//! Sec. VI, Fig. 11: where the phone can be, 0 to 5 bulk flows at it and 0 to 5 other clients, and what the paper leaves open.

use super::measure::{Value, fps, goodput, largest, mean, runs, text, vr_p95};
use super::{CLAIMS, FLOOR, LAST_PQ, LINUX, SCHEMES};
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study};

/// The places: Sec. IV's own condition is that VR alone meets its demand there.
pub(super) struct Places;

const PLACES: [[&str; 2]; 9] = [
    ["at rest", "10 m"],
    ["at rest", "15 m"],
    ["at rest", "20 m"],
    ["at rest", "25 m"],
    ["at rest", "30 m"],
    ["carried about", "5 m"],
    ["carried about", "10 m"],
    ["carried about", "15 m"],
    ["carried about", "20 m"],
];

impl Study for Places {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        PLACES.iter().flat_map(|cell| FLOOR.experiments(cell, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("places", &[]);
        let mut rows = Vec::new();
        for cell in PLACES {
            let runs = runs(&FLOOR, &cell, effort, results);
            let p95 = mean(&runs, vr_p95);
            let name = cell.join(", ");
            let place = match cell {
                ["at rest", "25 m"] => "S6",
                ["carried about", "10 m"] => "M8",
                _ => "",
            };
            if !place.is_empty() {
                rows.push(CLAIMS.row("place").with("place", place).with("name", &name).measured(p95));
            }
            let [p95, margin, fps, goodput] =
                [p95, p95.map(|p95| 20.0 - p95), mean(&runs, fps), mean(&runs, goodput)].map(text);
            let cells = [name, p95, margin, fps, goodput, place.to_owned()];
            grid.rows.push(cells.map(Into::into).to_vec());
        }
        Part { rows, chapter: CLAIMS.chapter("places", vec![grid], Vec::new()) }
    }
}

/// The matrix of flows and clients.
pub(super) struct Static;

impl Study for Static {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let (flows, clients) = (FLOOR.names("flows", effort), FLOOR.names("clients", effort));
        let cells = SCHEMES.iter().flat_map(|scheme| {
            flows.iter().flat_map(|flows| clients.iter().map(|clients| [*scheme, *flows, *clients]))
        });
        cells.flat_map(|cell| FLOOR.experiments(&cell, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let (flows, clients) = (FLOOR.names("flows", effort), FLOOR.names("clients", effort));
        let of = |cell: [&str; 3], value: Value| mean(&runs(&FLOOR, &cell, effort, results), value);
        let panel = |scheme: &str, value: Value| -> Vec<Vec<Option<f64>>> {
            let row =
                |flows: &&str| clients.iter().map(|clients| of([scheme, *flows, *clients], value)).collect();
            flows.iter().rev().map(row).collect()
        };
        let charts = [
            ("static-p95", "p95 (ms)", vr_p95 as Value),
            ("static-goodput", "VR goodput (Mb/s)", goodput as Value),
        ]
        .map(|(key, title, value)| {
            let columns = clients.iter().map(|name| name.trim_end_matches('C').to_owned()).collect();
            let rows = flows.iter().rev().map(|name| name.trim_end_matches('F').to_owned()).collect();
            let panels = SCHEMES.map(|scheme| (format!("{scheme}: {title}"), panel(scheme, value)));
            CLAIMS.matrix(key, &[], (columns, rows), panels.to_vec())
        });
        let all = |scheme, value| panel(scheme, value).into_iter().flatten().flatten();
        let [linux, ours] = SCHEMES.map(|scheme| of([scheme, "5F", "5C"], vr_p95));
        let both = linux.zip(ours);
        let rows = CLAIMS.each("static", |row, case| {
            let measured = match case["key"].as_str() {
                "ours" => ours,
                "change" => both.map(|(linux, ours)| 100.0 * (ours / linux - 1.0)),
                "longest of Linux" => all(LINUX, vr_p95).reduce(f64::max),
                "longest of LAST-PQ" => all(LAST_PQ, vr_p95).reduce(f64::max),
                "least of Linux" => all(LINUX, goodput).reduce(f64::min),
                _ => all(LAST_PQ, goodput).reduce(f64::min),
            };
            row.trend(both.is_some_and(|(linux, ours)| ours < linux)).measured(measured)
        });
        Part { rows, chapter: CLAIMS.chapter("static", Vec::new(), charts.to_vec()) }
    }
}

/// The most congested case for what the paper leaves open.
pub(super) struct Open;

const OPEN: [&str; 4] =
    ["burst rate 200 Mb/s", "burst rate 400 Mb/s", "burst rate 1000 Mb/s", "background in BE"];

impl Study for Open {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let of = |open| {
            let crowded = SCHEMES
                .iter()
                .flat_map(move |scheme| FLOOR.experiments(&[open, *scheme, "5F", "5C"], effort));
            crowded.chain(FLOOR.experiments(&[open], effort))
        };
        OPEN.into_iter().flat_map(of).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("open", &[]);
        if let Some(scheme) = grid.columns.get_mut(2) {
            scheme.numeric = false;
        }
        for open in OPEN {
            let alone = mean(&runs(&FLOOR, &[open], effort, results), vr_p95);
            for scheme in SCHEMES {
                let runs = runs(&FLOOR, &[open, scheme, "5F", "5C"], effort, results);
                let values =
                    [mean(&runs, vr_p95), largest(&runs, vr_p95), mean(&runs, fps), mean(&runs, goodput)];
                let cells = [open.to_owned(), text(alone), scheme.to_owned()].into_iter();
                grid.rows.push(cells.chain(values.map(text)).map(Into::into).collect());
            }
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("open", vec![grid], Vec::new()) }
    }
}
