//! The charts of a grid: lines with bands over one axis, heat maps over two.

use airbound_report::{Bar, Bars, Chapter, Chart, ChartKind, Line, Lines, Matrix, number};

use super::Findings;
use crate::sweep::axis::Axis;
use crate::sweep::grid::Design;
use crate::sweep::metric::METRICS;

/// Width of a page's chart, and what a panel and a cell of it need, in pixels.
const WIDTH: usize = 960;
const PANEL: usize = 90;
const CELL: usize = 48;
/// Pictures of one metric; more cells than they show stand in the table.
const MOST_PICTURES: usize = 12;
/// A range that spans this factor is drawn on a logarithmic axis.
const WIDE: f64 = 20.0;

/// A chapter for each metric.
pub(super) fn chapters(findings: &Findings, axes: &[Axis]) -> Vec<Chapter> {
    let metrics = 0..findings.plan.grid.metrics.len();
    metrics
        .map(|metric| Chapter {
            title: findings.metric_title(metric),
            charts: match axes {
                [] => Vec::new(),
                [axis] => vec![over_one(findings, metric, axis)],
                [across, down, rest @ ..] => over_two(findings, metric, across, down, rest),
            },
            ..Chapter::default()
        })
        .collect()
}

fn caption(findings: &Findings, metric: usize) -> String {
    let grid = &findings.plan.grid;
    let meaning = METRICS[grid.metrics[metric]].meaning;
    format!("{}: {meaning}, flow {}, mean over the seeds", findings.metric_title(metric), grid.flow)
}

/// Lines over numbers, bars over anything else.
fn over_one(findings: &Findings, metric: usize, axis: &Axis) -> Chart {
    let grid = &findings.plan.grid;
    let confidence = format!("{} % confidence interval of the mean", grid.rule.confidence * 100.0);
    let numbers: Option<Vec<f64>> = axis.values.iter().map(|setting| setting.number).collect();
    let Some(numbers) = numbers.filter(|numbers| numbers.len() > 1) else {
        let bars = |scheme: usize| {
            let bar = |cell: usize| {
                let found = findings.estimate(cell, scheme, metric)?;
                Some(Bar { value: found.mean, range: found.range, reference: None })
            };
            (grid.schemes[scheme].clone(), (0..axis.values.len()).map(bar).collect())
        };
        return Chart {
            kind: ChartKind::Bars(Bars {
                y: findings.metric_title(metric),
                groups: axis.values.iter().map(|setting| setting.shown.clone()).collect(),
                series: (0..grid.schemes.len()).map(bars).collect(),
            }),
            caption: format!("{}; the whiskers are the {confidence}.", caption(findings, metric)),
        };
    };
    // Lines go from left to right, in whatever order the grid has the values.
    let mut cells: Vec<usize> = (0..numbers.len()).collect();
    cells.sort_by(|a, b| numbers[*a].total_cmp(&numbers[*b]));
    let estimates = |scheme: usize| {
        cells.iter().map(move |cell| (*cell, findings.estimate(*cell, scheme, metric))).collect::<Vec<_>>()
    };
    let line = |scheme: usize| Line {
        name: grid.schemes[scheme].clone(),
        points: estimates(scheme)
            .into_iter()
            .map(|(cell, found)| Some((numbers[cell], found?.mean)))
            .collect(),
    };
    let band = |scheme: usize| {
        let ends = estimates(scheme).into_iter().filter_map(|(cell, found)| {
            let (low, high) = found?.range?;
            Some((numbers[cell], low, high))
        });
        ends.collect()
    };
    let schemes = 0..grid.schemes.len();
    Chart {
        kind: ChartKind::Lines(Lines {
            x: findings.parameter_title(0),
            y: findings.metric_title(metric),
            logarithmic: is_wide(&numbers),
            lines: schemes.clone().map(line).collect(),
            bands: schemes.map(band).collect(),
            ..Lines::default()
        }),
        caption: format!("{}; the bands are the {confidence}.", caption(findings, metric)),
    }
}

pub(super) fn is_wide(numbers: &[f64]) -> bool {
    let (least, most) = numbers.iter().fold((f64::MAX, f64::MIN), |(l, m), n| (l.min(*n), m.max(*n)));
    least > 0.0 && most / least >= WIDE
}

/// A heat map for each scheme, and for each setting of the other axes.
fn over_two(findings: &Findings, metric: usize, across: &Axis, down: &Axis, rest: &[Axis]) -> Vec<Chart> {
    let grid = &findings.plan.grid;
    let others: usize = rest.iter().map(|axis| axis.values.len()).product();
    let name = |axis: &Axis| {
        let shown = |setting: &crate::sweep::number::Setting| match setting.number {
            Some(number) => format!("{number}"),
            None => setting.shown.clone(),
        };
        axis.values.iter().map(shown).collect::<Vec<String>>()
    };
    let value = |scheme: usize, other: usize, column: usize, row: usize| {
        let cell = (column * down.values.len() + row) * others + other;
        Some(findings.estimate(cell, scheme, metric)?.mean)
    };
    // The panels of a single scheme share one scale.
    let all: Vec<f64> = (0..grid.design.cells())
        .flat_map(|cell| (0..grid.schemes.len()).map(move |scheme| (cell, scheme)))
        .filter_map(|(cell, scheme)| Some(findings.estimate(cell, scheme, metric)?.mean))
        .collect();
    let (least, most) = all.iter().fold((f64::MAX, f64::MIN), |(l, m), v| (l.min(*v), m.max(*v)));
    let (best, worst) = match METRICS[grid.metrics[metric]].more_is_better {
        Some(true) => (most, least),
        _ => (least, most),
    };
    let panel = |scheme: usize, other: usize| {
        // Larger values of the rows stand higher.
        let rows = (0..down.values.len()).rev();
        let values = rows
            .map(|row| (0..across.values.len()).map(|column| value(scheme, other, column, row)).collect())
            .collect();
        (grid.schemes[scheme].clone(), values)
    };
    // Schemes are compared at the same setting: another one has another offer, or another load.
    let is_compared = grid.schemes.len() > 1;
    let shade = |scheme: usize, other: usize, column: usize, row: usize| {
        let all = (0..grid.schemes.len()).filter_map(|scheme| value(scheme, other, column, row));
        let best = if best > worst { all.reduce(f64::max) } else { all.reduce(f64::min) };
        let (Some(own), Some(best)) = (value(scheme, other, column, row), best) else { return 0.0 };
        let larger = own.abs().max(best.abs());
        if larger > 0.0 { (own - best).abs() / larger } else { 0.0 }
    };
    let shades = |scheme: usize, other: usize| {
        let rows = (0..down.values.len()).rev();
        rows.map(|row| (0..across.values.len()).map(|column| shade(scheme, other, column, row)).collect())
            .collect()
    };
    let beside = (WIDTH / (PANEL + CELL * across.values.len())).max(1);
    let mut rows = name(down);
    rows.reverse();
    let mut charts = Vec::new();
    for other in 0..others {
        let places = Design::places(rest, other);
        let settings: Vec<String> = rest
            .iter()
            .zip(places)
            .map(|(axis, place)| format!("{} = {}", axis.parameter.name, axis.values[place].shown))
            .collect();
        let given = if settings.is_empty() { String::new() } else { format!("; {}", settings.join(", ")) };
        let schemes: Vec<usize> = (0..grid.schemes.len()).collect();
        for schemes in schemes.chunks(beside) {
            charts.push(Chart {
                kind: ChartKind::Matrix(Matrix {
                    across: findings.parameter_title(0),
                    down: findings.parameter_title(1),
                    columns: name(across),
                    rows: rows.clone(),
                    panels: schemes.iter().map(|scheme| panel(*scheme, other)).collect(),
                    best,
                    worst,
                    shades: if is_compared {
                        schemes.iter().map(|scheme| shades(*scheme, other)).collect()
                    } else {
                        Vec::new()
                    },
                }),
                caption: if is_compared {
                    format!(
                        "{}{given}. White is the best scheme of a setting; the darker, the larger the part by which a scheme is worse.",
                        caption(findings, metric)
                    )
                } else {
                    format!(
                        "{}{given}. White is the best of all cells ({}), orange the worst ({}).",
                        caption(findings, metric),
                        number(best),
                        number(worst)
                    )
                },
            });
        }
    }
    let count = charts.len();
    charts.truncate(MOST_PICTURES);
    if let (true, Some(last)) = (count > MOST_PICTURES, charts.last_mut()) {
        last.caption += &format!(
            " {} further pictures are left out; intervals.parquet has their values.",
            count - MOST_PICTURES
        );
    }
    charts
}
