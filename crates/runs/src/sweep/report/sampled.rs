//! Chapters of the report on a random sample: which parameter matters, and how.

use airbound_report::{Cell, Chapter, Chart, ChartKind, Grid as Shown, Line, Lines};

use super::Findings;
use super::charts::is_wide;
use crate::sweep::number::Form;

/// Points of a line; each stands for equally many cells.
const BINS: usize = 8;
/// Cells below which a bin tells nothing.
const LEAST: usize = 4;

/// A chapter for each metric: rank correlations, and medians over each numeric parameter.
pub(super) fn chapters(findings: &Findings) -> Vec<Chapter> {
    let grid = &findings.plan.grid;
    let parameters = grid.design.parameters();
    let numeric: Vec<usize> =
        (0..parameters.len()).filter(|parameter| parameters[*parameter].form != Form::Text).collect();
    let settings: Vec<Vec<Option<f64>>> = (0..grid.design.cells())
        .map(|cell| grid.design.settings(cell).into_iter().map(|setting| setting.number).collect())
        .collect();
    // (value of the parameter, mean of the metric) of every cell that has both.
    let pairs = |scheme: usize, parameter: usize, metric: usize| -> Vec<(f64, f64)> {
        let pair =
            |cell: usize| Some((settings[cell][parameter]?, findings.estimate(cell, scheme, metric)?.mean));
        (0..settings.len()).filter_map(pair).collect()
    };
    let schemes = 0..grid.schemes.len();
    let chapter = |metric: usize| {
        let names: Vec<String> =
            numeric.iter().map(|parameter| findings.parameter_title(*parameter)).collect();
        let columns: Vec<&str> = std::iter::once("scheme").chain(names.iter().map(String::as_str)).collect();
        let mut table = Shown::new("Rank correlation with each parameter", &columns, 1);
        for scheme in schemes.clone() {
            let mut row = vec![Cell::from(grid.schemes[scheme].clone())];
            row.extend(numeric.iter().map(|parameter| {
                let found = spearman(&pairs(scheme, *parameter, metric));
                Cell::from(found.map_or("–".to_owned(), |rho| format!("{rho:+.2}")))
            }));
            table.rows.push(row);
        }
        table.note =
            "Spearman's: +1 rises with it, -1 falls with it, 0 does not follow it in either way.".to_owned();
        let chart = |parameter: &usize| {
            let binned: Vec<Vec<Bin>> =
                schemes.clone().map(|scheme| bins(pairs(scheme, *parameter, metric))).collect();
            let all: Vec<f64> = binned.iter().flatten().map(|bin| bin.x).collect();
            let line = |(scheme, bins): (usize, &Vec<Bin>)| {
                Line::whole(grid.schemes[scheme].clone(), bins.iter().map(|bin| (bin.x, bin.middle)))
            };
            Chart {
                kind: ChartKind::Lines(Lines {
                    x: findings.parameter_title(*parameter),
                    y: findings.metric_title(metric),
                    logarithmic: is_wide(&all),
                    lines: binned.iter().enumerate().map(line).collect(),
                    bands: binned
                        .iter()
                        .map(|bins| bins.iter().map(|bin| (bin.x, bin.low, bin.high)).collect())
                        .collect(),
                    ..Lines::default()
                }),
                caption: format!(
                    "{} over {}, flow {}: medians of up to {BINS} groups of equally many cells, all other parameters as they were drawn. \
                     The bands hold half of each group's cells.",
                    findings.metric_title(metric),
                    findings.parameter_title(*parameter),
                    grid.flow
                ),
            }
        };
        Chapter {
            title: findings.metric_title(metric),
            tables: if numeric.is_empty() { Vec::new() } else { vec![table] },
            charts: numeric.iter().map(chart).collect(),
            ..Chapter::default()
        }
    };
    (0..grid.metrics.len()).map(chapter).collect()
}

/// Cells next to each other on an axis.
struct Bin {
    x: f64,
    low: f64,
    middle: f64,
    high: f64,
}

fn bins(mut pairs: Vec<(f64, f64)>) -> Vec<Bin> {
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let count = BINS.min(pairs.len() / LEAST).max(1);
    let edge = |bin: usize| bin * pairs.len() / count;
    let found = (0..count).filter_map(|bin| {
        let members = &pairs[edge(bin)..edge(bin + 1)];
        let mut values: Vec<f64> = members.iter().map(|(_, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values.get((share * (values.len() - 1) as f64).round() as usize).copied();
        (!values.is_empty()).then_some(())?;
        Some(Bin { x: members.get(members.len() / 2)?.0, low: at(0.25)?, middle: at(0.5)?, high: at(0.75)? })
    });
    found.collect()
}

/// Spearman's rank correlation; `None` where one of the two does not vary.
fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let x = ranks(pairs.iter().map(|(x, _)| *x).collect());
    let y = ranks(pairs.iter().map(|(_, y)| *y).collect());
    let mean = (pairs.len() as f64 - 1.0) / 2.0;
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(&y) {
        xx += (x - mean) * (x - mean);
        yy += (y - mean) * (y - mean);
        xy += (x - mean) * (y - mean);
    }
    (xx > 0.0 && yy > 0.0).then(|| xy / libm::sqrt(xx * yy))
}

/// Ranks from 0; equal values share the mean of theirs.
fn ranks(values: Vec<f64>) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    for same in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let middle = from as f64 + (same.len() as f64 - 1.0) / 2.0;
        same.iter().for_each(|place| ranks[*place] = middle);
        from += same.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::{bins, ranks, spearman};

    #[test]
    fn ranks_of_equal_values_are_shared() {
        assert_eq!(ranks(vec![5.0, 1.0, 5.0, 9.0]), [1.5, 0.0, 1.5, 3.0]);
        let rising: Vec<(f64, f64)> = (0..9).map(|x| (f64::from(x), libm::exp(f64::from(x)))).collect();
        assert_eq!(spearman(&rising).map(|rho| (rho * 1e9).round()), Some(1e9));
        assert_eq!(spearman(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(spearman(&[]), None);
    }

    #[test]
    fn every_cell_is_in_one_bin() {
        let pairs: Vec<(f64, f64)> = (0..83).map(|x| (f64::from(x), 2.0 * f64::from(x))).collect();
        let found = bins(pairs);
        assert_eq!(found.len(), 8);
        assert!(found.iter().all(|bin| bin.low <= bin.middle && bin.middle <= bin.high));
        assert!(found.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].high < pair[1].low));
        assert_eq!(bins(Vec::new()).len(), 0);
    }
}
