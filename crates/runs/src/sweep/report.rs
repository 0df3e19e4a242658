//! Results of a sweep: a table for the terminal, one of intervals for programs, a page to look at.

use std::path::Path;
use std::sync::Arc;

use airbound_report::{Cell, Chapter, Grid as Shown, Page, number, wrapped};
use serde_json::json;

use super::grid::Design;
use super::metric::METRICS;
use super::plan::Plan;
use super::point::{Estimate, Point};
use super::results::parameter_columns;
use super::table::{self, Column, Values};
use crate::error::RunsError;

mod answer;
mod charts;
mod sampled;

/// Rows of the page's table; the data set has all.
const MOST_ROWS: usize = 300;
/// Rows of a table in the terminal.
const FEW_ROWS: usize = 24;

/// Results of a sweep, point by point.
#[derive(Debug, Clone)]
pub struct Findings {
    plan: Arc<Plan>,
    points: Vec<Point>,
}

impl Findings {
    pub(crate) const fn new(plan: Arc<Plan>, points: Vec<Point>) -> Self {
        Self { plan, points }
    }

    /// Returns the plan of the sweep.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Every cell under every scheme, in the order of the plan.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Runs of all points.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.points.iter().map(|point| point.runs).sum()
    }

    fn estimate(&self, cell: usize, scheme: usize, metric: usize) -> Option<Estimate> {
        let point = self.points.get(self.plan.point(cell, scheme))?;
        point.estimates.get(metric).copied().flatten()
    }

    /// Name of one of the grid's metrics, counted from 0.
    fn metric_name(&self, metric: usize) -> &'static str {
        METRICS[self.plan.grid.metrics[metric]].name
    }

    /// Name and unit of a metric, for an axis.
    fn metric_title(&self, metric: usize) -> String {
        let metric = &METRICS[self.plan.grid.metrics[metric]];
        // "latency_p95_ms" of the unit ms is "latency p95 (ms)".
        let plain =
            metric.name.strip_suffix("_ms").or(metric.name.strip_suffix("_mbps")).unwrap_or(metric.name);
        let words = plain.replace('_', " ");
        if metric.unit.is_empty() { words } else { format!("{words} ({})", metric.unit) }
    }

    /// Name and unit of a parameter, for an axis.
    fn parameter_title(&self, parameter: usize) -> String {
        let parameters = self.plan.grid.design.parameters();
        let parameter = parameters[parameter];
        if parameter.unit.is_empty() {
            parameter.name.clone()
        } else {
            format!("{} ({})", parameter.name, parameter.unit)
        }
    }

    /// One row for each point, up to so many.
    fn table(&self, most: usize) -> Shown {
        let grid = &self.plan.grid;
        let parameters = grid.design.parameters();
        let texts = parameters.len() + 1;
        let mut columns: Vec<String> =
            (0..parameters.len()).map(|parameter| self.parameter_title(parameter)).collect();
        columns.extend(["scheme".to_owned(), "runs".to_owned()]);
        columns.extend((0..grid.metrics.len()).map(|metric| self.metric_title(metric)));
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut shown = Shown::new("", &names, texts);
        for (point, found) in self.points.iter().enumerate().take(most) {
            let (cell, scheme) = self.plan.place(point);
            let settings = grid.design.settings(cell);
            let mut row: Vec<Cell> = settings
                .iter()
                .zip(&parameters)
                .map(|(setting, parameter)| match setting.number.filter(|_| !parameter.unit.is_empty()) {
                    Some(value) => Cell::from(value.to_string()),
                    None => Cell::from(setting.shown.clone()),
                })
                .collect();
            row.push(Cell::from(grid.schemes[scheme].clone()));
            let mark = if found.stopped_early || grid.rule.until.is_none() { "" } else { " *" };
            row.push(Cell::from(format!("{}{mark}", found.runs)));
            row.extend(found.estimates.iter().map(|estimate| estimate_cell(*estimate)));
            shown.rows.push(row);
        }
        let confidence = grid.rule.confidence * 100.0;
        shown.note = format!(
            "Of flow {}: mean over the runs, and below it the {confidence} % confidence interval of the mean.",
            grid.flow
        );
        if let Some(until) = grid.rule.until {
            shown.note += &format!(
                " * stopped by the number of seeds: the interval of {} was still wider than +-{until}.",
                self.metric_title(0)
            );
        }
        if self.points.len() > most {
            shown.note += &format!(
                "\nThe first {most} of {} rows; {} has all.",
                self.points.len(),
                "intervals.parquet"
            );
        }
        shown
    }

    /// The table for the terminal.
    #[must_use]
    pub fn to_text(&self, width: u16) -> String {
        let wide = usize::from(width);
        let answer: String =
            self.answer().iter().map(|sentence| wrapped(&format!("=> {sentence}"), wide)).collect();
        let gap = if answer.is_empty() { "" } else { "\n" };
        let table = self.table(FEW_ROWS).to_text(width);
        format!("{}: {}\n\n{answer}{gap}{table}", self.title(), self.headline())
    }

    /// The answer: a sentence for each metric, none of a single scheme.
    fn answer(&self) -> Vec<String> {
        answer::sentences(self)
    }

    fn title(&self) -> &str {
        let grid = &self.plan.grid;
        if grid.title.is_empty() { &grid.name } else { &grid.title }
    }

    fn headline(&self) -> String {
        let grid = &self.plan.grid;
        let (cells, schemes) = (grid.design.cells(), grid.schemes.len());
        let saved = self.plan.most_runs() - self.runs();
        let early = if saved > 0 { format!(", {saved} spared") } else { String::new() };
        let count = |count: usize, word: &str| {
            if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
        };
        format!(
            "{} of {}, {}, {}{early}",
            count(cells, "cell"),
            grid.scenario_name(),
            count(schemes, "scheme"),
            count(self.runs(), "run")
        )
    }

    /// The page, which stands alone.
    ///
    /// # Errors
    /// A chart cannot be drawn, which is a defect.
    pub(crate) fn to_html(&self) -> Result<String, RunsError> {
        let grid = &self.plan.grid;
        let mut chapters = match &grid.design {
            Design::Axes(axes) => charts::chapters(self, axes),
            Design::Sample(_) => sampled::chapters(self),
        };
        chapters.push(Chapter {
            title: "All cells".to_owned(),
            tables: vec![self.table(MOST_ROWS)],
            ..Chapter::default()
        });
        let rule = grid.rule.until.map_or(String::new(), |until| {
            format!(
                " A cell stops once half the interval of {} is at most {until} of its mean; it is looked at after every {} seeds.",
                self.metric_title(0),
                grid.rule.round
            )
        });
        let seeds = grid.seeds.len();
        chapters.push(Chapter {
            title: "What was run".to_owned(),
            text: format!(
                "Scenario {}, schemes {}, up to {seeds} seeds for each cell and scheme.{rule} Intervals come from the bootstrap over seeds \
                 with expanded percentiles (docs/use/sweep.md).",
                grid.scenario,
                grid.schemes.join(", "),
            ),
            texts: vec![("The grid".to_owned(), grid.text.clone())],
            ..Chapter::default()
        });
        let (title, subtitle) = (self.title().to_owned(), self.headline());
        let sentences = self.answer();
        Ok(Page { title, subtitle, sentences, chapters, ..Page::default() }.to_html()?)
    }

    /// Writes one row for each point, with the interval of each metric.
    pub(crate) fn write_intervals(&self, path: &Path) -> Result<(), RunsError> {
        let grid = &self.plan.grid;
        let places: Vec<(usize, usize)> =
            (0..self.points.len()).map(|point| self.plan.place(point)).collect();
        let cells: Vec<usize> = places.iter().map(|(cell, _)| *cell).collect();
        let column = |name: &str, unit: &str, meaning: String, values| Column {
            name: name.to_owned(),
            unit: unit.to_owned(),
            meaning,
            values,
        };
        let count = |values: &mut dyn Iterator<Item = usize>| {
            Values::Whole(values.map(|value| i64::try_from(value).ok()).collect())
        };
        let schemes = places.iter().map(|(_, scheme)| Some(grid.schemes[*scheme].clone())).collect();
        let mut columns = vec![
            column("cell", "", "number of the cell, from 0".to_owned(), count(&mut cells.iter().copied())),
            column("scheme", "", "the scheme, as the grid names it".to_owned(), Values::Text(schemes)),
        ];
        columns.extend(parameter_columns(&self.plan, &cells));
        columns.push(column(
            "runs",
            "",
            "seeds that were run".to_owned(),
            count(&mut self.points.iter().map(|point| point.runs)),
        ));
        columns.push(column(
            "stopped_early",
            "",
            "1 if the interval was narrow enough before the seeds were used up".to_owned(),
            count(&mut self.points.iter().map(|point| usize::from(point.stopped_early))),
        ));
        for metric in 0..grid.metrics.len() {
            let (name, unit) = (self.metric_name(metric), METRICS[grid.metrics[metric]].unit);
            let estimates = || self.points.iter().map(|point| point.estimates[metric]);
            let of = &grid.flow;
            columns.push(column(
                name,
                unit,
                format!("of flow {of}: mean over the runs"),
                Values::Real(estimates().map(|estimate| Some(estimate?.mean)).collect()),
            ));
            for (end, which) in [("low", 0), ("high", 1)] {
                let value = |estimate: Option<Estimate>| {
                    let (low, high) = estimate?.range?;
                    Some(if which == 0 { low } else { high })
                };
                columns.push(column(
                    &format!("{name}_{end}"),
                    unit,
                    format!("{end} end of the confidence interval of that mean"),
                    Values::Real(estimates().map(value).collect()),
                ));
            }
        }
        table::write(path, "intervals", &columns, &[])
    }

    /// All points, for programs.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let grid = &self.plan.grid;
        let point = |(point, found): (usize, &Point)| {
            let (cell, scheme) = self.plan.place(point);
            let settings = grid.design.settings(cell);
            let settings: serde_json::Map<String, serde_json::Value> = grid
                .design
                .parameters()
                .into_iter()
                .zip(settings)
                .map(|(parameter, setting)| {
                    (
                        parameter.name.clone(),
                        setting.number.map_or(json!(setting.shown), |number| json!(number)),
                    )
                })
                .collect();
            let metrics: serde_json::Map<String, serde_json::Value> = found
                .estimates
                .iter()
                .enumerate()
                .map(|(metric, estimate)| {
                    let value = estimate.map(|estimate| {
                        let (low, high) = estimate.range.unzip();
                        json!({ "mean": estimate.mean, "low": low, "high": high })
                    });
                    (self.metric_name(metric).to_owned(), json!(value))
                })
                .collect();
            json!({
                "cell": cell, "scheme": grid.schemes[scheme], "settings": settings, "runs": found.runs,
                "stopped_early": found.stopped_early, "metrics": metrics,
            })
        };
        json!({
            "sweep": grid.name, "flow": grid.flow, "cells": grid.design.cells(), "runs": self.runs(),
            "answer": self.answer(), "points": self.points.iter().enumerate().map(point).collect::<Vec<_>>(),
        })
    }
}

fn estimate_cell(estimate: Option<Estimate>) -> Cell {
    let Some(Estimate { mean, range }) = estimate else { return Cell::from("–") };
    let range = range.map(|(low, high)| (number(low), number(high))).filter(|(low, high)| low != high);
    Cell { text: number(mean), range: range.map_or(String::new(), |(low, high)| format!("{low}–{high}")) }
}

/// `sweep.json`.
pub(crate) fn index(plan: &Plan, is_complete: bool) -> serde_json::Value {
    let grid = &plan.grid;
    let parameters: Vec<serde_json::Value> = grid
        .design
        .parameters()
        .into_iter()
        .map(|parameter| json!({ "name": parameter.name, "keys": parameter.keys, "unit": parameter.unit }))
        .collect();
    let kind = match grid.design {
        Design::Axes(_) => "grid",
        Design::Sample(_) => "sample",
    };
    json!({
        "sweep": grid.name,
        "airbound": env!("CARGO_PKG_VERSION"),
        "complete": is_complete,
        "kind": kind,
        "scenario": grid.scenario,
        "schemes": grid.schemes,
        "seeds": grid.seeds,
        "flow": grid.flow,
        "metrics": grid.metrics.iter().map(|metric| METRICS[*metric].name).collect::<Vec<_>>(),
        "until_percent": grid.rule.until.map(|until| until.share() * 100.0),
        "confidence_percent": grid.rule.confidence * 100.0,
        "round": grid.rule.round,
        "cells": grid.design.cells(),
        "parameters": parameters,
        "grid": grid.text,
    })
}
