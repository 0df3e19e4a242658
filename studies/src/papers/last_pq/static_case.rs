//! Sec. VI, Fig. 11: 0 to 5 bulk flows at the VR phone at S6, 0 to 5 other clients, Linux and LAST-PQ.

use airbound_report::{Chapter, Chart, ChartKind, Grid, Matrix, Tolerance, ValidationRow};

use super::measure::{self, Vr};
use super::setting::{Categories, LAST_PQ, LINUX, Setting};
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

const CLAIM: &str = "static-headline";
const SCHEMES: [(&str, &str); 2] = [("Linux", LINUX), ("LAST-PQ", LAST_PQ)];

/// The matrix.
pub(super) struct Static;

/// Numbers of flows and of clients.
fn counts(effort: Effort) -> Vec<u32> {
    if effort.quick { vec![0, 5] } else { (0..=5).collect() }
}

fn cell(queue: &'static str, flows: u32, clients: u32) -> Setting {
    Setting { queue, flows, clients, ..Setting::USUAL }
}

impl Study for Static {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let counts = counts(effort);
        let cells = SCHEMES.iter().flat_map(|(_, queue)| {
            counts.iter().flat_map(|flows| counts.iter().map(|clients| cell(queue, *flows, *clients)))
        });
        cells.flat_map(|setting| measure::runs(setting, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let counts = counts(effort);
        let vr = |queue, flows, clients| measure::vr(cell(queue, flows, clients), effort, results);
        let panel = |queue, value: &dyn Fn(Vr) -> f64| -> Vec<Vec<Option<f64>>> {
            let row =
                |flows: &u32| counts.iter().map(|clients| vr(queue, *flows, *clients).map(value)).collect();
            counts.iter().rev().map(row).collect()
        };
        let names = |counts: &mut dyn Iterator<Item = &u32>| counts.map(u32::to_string).collect::<Vec<_>>();
        let matrix =
            |what: &str, (best, worst): (f64, f64), value: &dyn Fn(Vr) -> f64, caption: &str| Chart {
                kind: ChartKind::Matrix(Matrix {
                    across: "other clients".to_owned(),
                    down: "flows".to_owned(),
                    columns: names(&mut counts.iter()),
                    rows: names(&mut counts.iter().rev()),
                    panels: SCHEMES
                        .map(|(name, queue)| (format!("{name}: {what}"), panel(queue, value)))
                        .to_vec(),
                    best,
                    worst,
                }),
                caption: caption.to_owned(),
            };
        let charts = vec![
            matrix(
                "p95 (ms)",
                (0.0, 60.0),
                &|vr| vr.p95,
                "Fig. 11a, b: 95th percentile of the VR latency, mean over seeds. The paper: Linux up to 99.39 ms, LAST-PQ at most 19.98 ms.",
            ),
            matrix(
                "VR goodput (Mb/s)",
                (45.0, 0.0),
                &|vr| vr.goodput,
                "Fig. 11c, d: goodput of the VR stream. The paper, in heavy cases: Linux 2.06 to 7.30, LAST-PQ 43.65 to 45.27 Mb/s.",
            ),
        ];
        let all = |queue, value: &dyn Fn(Vr) -> f64| -> Vec<f64> {
            panel(queue, value).into_iter().flatten().flatten().collect()
        };
        let most = |values: Vec<f64>| values.into_iter().reduce(f64::max);
        let least = |values: Vec<f64>| values.into_iter().reduce(f64::min);
        let (linux, ours) = (vr(LINUX, 5, 5), vr(LAST_PQ, 5, 5));
        let change = linux.zip(ours).map(|(linux, ours)| 100.0 * (ours.p95 / linux.p95 - 1.0));
        let row = |metric: &str, unit: &str, reference: f64, measured, tolerance, note: &str| {
            let lower = linux.zip(ours).is_some_and(|(linux, ours)| ours.p95 < linux.p95);
            ValidationRow::judged(
                CLAIM,
                metric,
                unit,
                Some(reference),
                measured,
                Some(tolerance),
                lower,
                note,
            )
        };
        let crowded = "5 flows and 5 clients";
        let rows = vec![
            row(
                "p95 of LAST-PQ, most congested",
                "ms",
                20.0,
                ours.map(|vr| vr.p95),
                Tolerance::AtMost,
                crowded,
            ),
            row("change of p95, most congested", "%", -79.89, change, Tolerance::Absolute(10.0), crowded),
            row(
                "change of p95, most congested, the aim",
                "%",
                -75.0,
                change,
                Tolerance::AtMost,
                "the issue's aim",
            ),
            row(
                "largest p95 of Linux",
                "ms",
                99.39,
                most(all(LINUX, &|vr| vr.p95)),
                Tolerance::Factor(1.5),
                "over the matrix",
            ),
            row(
                "largest p95 of LAST-PQ",
                "ms",
                20.0,
                most(all(LAST_PQ, &|vr| vr.p95)),
                Tolerance::AtMost,
                "over the matrix; the paper's largest is 19.98",
            ),
            row(
                "smallest VR goodput of Linux",
                "Mb/s",
                2.06,
                least(all(LINUX, &|vr| vr.goodput)),
                Tolerance::Factor(2.0),
                "over the matrix; the paper's heavy cases have 2.06 to 7.30",
            ),
            row(
                "smallest VR goodput of LAST-PQ",
                "Mb/s",
                42.75,
                least(all(LAST_PQ, &|vr| vr.goodput)),
                Tolerance::AtLeast,
                "over the matrix; 5 % below 45; the paper has 43.65 to 45.27",
            ),
        ];
        let chapter = Chapter {
            title: "Static clients".to_owned(),
            text: "The VR phone rests at S6. Bulk flows at it and other clients, each with one bulk flow, share the access \
                   point."
                .to_owned(),
            tables: Vec::new(),
            charts,
        };
        Part { rows, chapter }
    }
}

/// The most congested case for what the paper leaves open.
pub(super) struct Open;

fn variants() -> Vec<(String, Setting)> {
    let bursts = [200, 400, 1000].map(|burst_mbps| {
        (format!("burst rate {burst_mbps} Mb/s"), Setting { burst_mbps, ..Setting::CROWDED })
    });
    let be = Setting { categories: Categories::BackgroundBe, ..Setting::CROWDED };
    bursts.into_iter().chain([("background in BE".to_owned(), be)]).collect()
}

impl Study for Open {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let settings = variants().into_iter().flat_map(|(_, setting)| {
            let alone = Setting { flows: 0, clients: 0, ..setting };
            SCHEMES.map(|(_, queue)| Setting { queue, ..setting }).into_iter().chain([alone])
        });
        settings.flat_map(|setting| measure::runs(setting, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let columns =
            ["open point", "VR alone p95 ms", "scheme", "p95 ms", "worst seed ms", "FPS", "goodput Mb/s"];
        let mut grid = Grid::new("The most congested case for what the paper leaves open", &columns, 1);
        if let Some(column) = grid.columns.get_mut(2) {
            column.numeric = false;
        }
        for (name, setting) in variants() {
            let alone = measure::vr(Setting { flows: 0, clients: 0, ..setting }, effort, results);
            for (scheme, queue) in SCHEMES {
                let Some(vr) = measure::vr(Setting { queue, ..setting }, effort, results) else { continue };
                let cells = [
                    name.as_str(),
                    &alone.map_or(String::new(), |vr| shown(vr.p95)),
                    scheme,
                    &shown(vr.p95),
                    &shown(vr.worst_p95),
                    &shown(vr.fps),
                    &shown(vr.goodput),
                ];
                grid.rows.push(cells.map(Into::into).to_vec());
            }
        }
        let chapter = Chapter {
            title: "What the paper leaves open".to_owned(),
            text: "The burst rate of the VR server, and the category of the background.".to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}
