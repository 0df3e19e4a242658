//! Sec. VI, Fig. 11: where the phone can be, 0 to 5 bulk flows at it and 0 to 5 other clients, and what the paper leaves open.

use std::ops::RangeInclusive;

use airbound_report::{Grid, Line};

use super::measure::{Value, fps, goodput, largest, mean, runs, samples, text, vr_p95};
use super::{CLAIMS, FLOOR, LAST_PQ, LINUX, SCHEMES};
use crate::Effort;
use crate::papers::experiment::Results;
use crate::papers::{Part, Study};

/// The places S6 and M8: Sec. IV's own condition is that VR alone meets its demand there.
pub(super) struct Places;

/// A place: its name in the paper, the motion of the phone, the distances of the grid in m, and whether the phone comes through the nearer ones.
struct Place {
    name: &'static str,
    motion: &'static str,
    distances: RangeInclusive<u32>,
    is_walked_to: bool,
}

const PLACES: [Place; 2] = [
    Place { name: "S6", motion: "at rest", distances: 20..=55, is_walked_to: false },
    Place { name: "M8", motion: "carried about", distances: 5..=20, is_walked_to: true },
];
/// The demand, in ms.
const DEMAND_MS: f64 = 20.0;
const BURSTS: [&str; 2] = ["burst rate 200 Mb/s", "burst rate 400 Mb/s"];

impl Place {
    /// The 95th percentile of VR alone at each distance of the grid, as (m, ms).
    fn alone(&self, burst: &str, effort: Effort, results: &Results) -> Vec<(f64, f64)> {
        let p95 = |distance: u32| {
            let cell = [self.motion, &format!("{distance} m"), burst];
            Some((f64::from(distance), mean(&runs(&FLOOR, &cell, effort, results), vr_p95)?))
        };
        self.distances.clone().filter_map(p95).collect()
    }
}

/// Returns the farthest distance of the grid where VR alone meets [`DEMAND_MS`]; of a walk, before the first where it does not.
fn farthest(alone: &[(f64, f64)], is_walked_to: bool) -> Option<f64> {
    let meets = |(_, p95): &&(f64, f64)| *p95 <= DEMAND_MS;
    let found = if is_walked_to { alone.iter().take_while(meets).last() } else { alone.iter().rfind(meets) };
    found.map(|(distance, _)| *distance)
}

impl Study for Places {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let (mut rows, mut charts) = (Vec::new(), Vec::new());
        for place in &PLACES {
            let alone = BURSTS.map(|burst| place.alone(burst, effort, results));
            for (number, (burst, alone)) in BURSTS.iter().zip(&alone).enumerate() {
                let row = CLAIMS.row("place").with("place", place.name).with("motion", place.motion);
                rows.push(
                    row.with("burst", burst)
                        .judging(number == 0)
                        .measured(farthest(alone, place.is_walked_to)),
                );
            }
            let lines = BURSTS.iter().zip(alone).map(|(burst, alone)| Line::whole(*burst, alone)).collect();
            charts.push(CLAIMS.lines("places", &[("motion", place.motion.to_owned())], lines));
        }
        Part { rows, chapter: CLAIMS.chapter("places", vec![crowded(effort, results)], charts) }
    }
}

/// Places around S6 with their burst rates: the crossing under each rate, and its neighbours.
const AROUND: [(&str, &str); 7] = [
    ("35 m", BURSTS[1]),
    ("36 m", BURSTS[1]),
    ("37 m", BURSTS[1]),
    ("36 m", BURSTS[0]),
    ("42 m", BURSTS[0]),
    ("47 m", BURSTS[0]),
    ("48 m", BURSTS[0]),
];

/// Tabulates the most congested case at places around S6.
fn crowded(effort: Effort, results: &Results) -> Grid {
    let mut grid = CLAIMS.table("around", &[]);
    for (distance, burst) in AROUND {
        let alone = mean(&runs(&FLOOR, &[distance, burst], effort, results), vr_p95);
        let crowded =
            SCHEMES.map(|scheme| runs(&FLOOR, &[distance, burst, scheme, "5F", "5C"], effort, results));
        let [linux, ours] = crowded.each_ref().map(|runs| mean(runs, vr_p95));
        let change = linux.zip(ours).map(|(linux, ours)| 100.0 * (ours / linux - 1.0));
        let values = [alone, linux, ours, change, mean(&crowded[1], goodput)].map(text);
        let cells = [burst.to_owned(), distance.to_owned()].into_iter().chain(values);
        grid.rows.push(cells.map(Into::into).collect());
    }
    grid
}

/// The matrix of flows and clients.
pub(super) struct Static;

impl Study for Static {
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
        let crowded = |scheme| runs(&FLOOR, &[scheme, "5F", "5C"], effort, results);
        let worst = SCHEMES.map(|scheme| samples(&crowded(scheme), vr_p95));
        let [linux, ours] = SCHEMES.map(|scheme| of([scheme, "5F", "5C"], vr_p95));
        let lower = linux.zip(ours).is_some_and(|(linux, ours)| ours < linux);
        let changes = worst[0].iter().zip(&worst[1]).map(|(linux, ours)| 100.0 * (ours / linux - 1.0));
        let mut rows = vec![CLAIMS.row("change").baseline(linux).trend(lower).over(changes)];
        rows.extend(CLAIMS.each("static", |row, case| {
            let row = row.trend(lower && case["key"] == "ours");
            let measured = match case["key"].as_str() {
                "ours" => return row.over(worst[1].iter().copied()),
                "goodput" => return row.over(samples(&crowded(LAST_PQ), goodput)),
                "longest of Linux" => all(LINUX, vr_p95).reduce(f64::max),
                "longest of LAST-PQ" => all(LAST_PQ, vr_p95).reduce(f64::max),
                "least of Linux" => all(LINUX, goodput).reduce(f64::min),
                _ => all(LAST_PQ, goodput).reduce(f64::min),
            };
            row.measured(measured)
        }));
        Part { rows, chapter: CLAIMS.chapter("static", Vec::new(), charts.to_vec()) }
    }
}

/// The most congested case for what the paper leaves open.
pub(super) struct Open;

const OPEN: [&str; 4] =
    ["burst rate 200 Mb/s", "burst rate 400 Mb/s", "burst rate 1000 Mb/s", "background in BE"];

impl Study for Open {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farthest_place_may_lie_beyond_one_that_is_worse() {
        let alone = [(28.0, 8.4), (29.0, 20.0), (30.0, 20.9), (31.0, 14.3), (32.0, 20.1)];
        assert_eq!(farthest(&alone, false), Some(31.0));
        assert_eq!(farthest(&alone, true), Some(29.0));
        assert_eq!(farthest(&[(20.0, 20.1)], false), None);
    }

    #[test]
    fn the_runs_use_the_places_that_the_rows_judge() {
        let places = [("S6", &["at rest"][..]), ("M8", &["M1 to M8"]), ("M8", &["M8 to M1"])];
        for (place, cell) in places {
            let judged = CLAIMS.row("place").with("place", place).measured(None::<f64>).reference;
            let trial = FLOOR.trial(cell, 1, Effort::default());
            let last = trial.sets.iter().rfind(|(key, _)| key.starts_with("station.phone.channel"));
            let wanted = format!("\"{} m\"", judged.expect("a place"));
            assert!(last.is_some_and(|(_, value)| value.contains(&wanted)), "{place}: {wanted}");
        }
    }
}
