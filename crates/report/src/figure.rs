//! Figures of the page: the plots of a chart, with legend and caption.

use airbound_record::Stage;
use serde::Serialize;

use crate::chart::{Chart, ChartKind};
use crate::plot::{self, SERIES, series};

/// A figure as the page's template needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Figure {
    plots: Vec<String>,
    legend: Vec<Key>,
    caption: String,
    /// The class of the element: "wide", "small" or none.
    class: &'static str,
    /// The axes whose scale the reader may change: "x", "y", "xy" or none.
    axes: &'static str,
}

/// An entry of a legend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Key {
    class: String,
    name: String,
    /// Whether the sample is a filled box.
    is_filled: bool,
    /// Whether it stands for a series that can be hidden.
    is_series: bool,
}

fn keys<'a>(names: impl Iterator<Item = &'a str>, is_filled: bool) -> Vec<Key> {
    let key = |(number, name): (usize, &str)| Key {
        class: series(number),
        name: name.to_owned(),
        is_filled,
        is_series: true,
    };
    names.enumerate().map(key).collect()
}

impl Chart {
    /// Its figure; `None` where there is nothing to show.
    pub(crate) fn figure(&self) -> Option<Figure> {
        let (mut class, mut axes) = ("", "");
        let mut sized = |(plot, is_wide)| {
            if is_wide {
                class = "wide";
            }
            plot
        };
        let (plots, legend) = match &self.kind {
            ChartKind::Lines(chart) => {
                axes = "y";
                let names = chart.lines.iter().take(SERIES).map(|line| line.name.as_str());
                (vec![plot::lines(chart)?], keys(names, false))
            }
            ChartKind::Tails(chart) => {
                axes = "xy";
                let names = chart.lines.iter().take(SERIES).map(|line| line.name.as_str());
                (vec![plot::tails(chart)?], keys(names, false))
            }
            ChartKind::Bars(chart) => {
                let names = chart.series.iter().map(|(name, _)| name.as_str());
                (vec![sized(plot::bars(chart)?)], keys(names, true))
            }
            ChartKind::Matrix(chart) => (vec![sized(plot::matrix(chart)?)], Vec::new()),
            ChartKind::Panels(chart) => {
                (class, axes) = ("small", "y");
                (plot::panels(chart), Vec::new())
            }
            ChartKind::Split(chart) => {
                let key = |(number, stage): (usize, Stage)| Key {
                    class: format!("t{number}"),
                    name: stage.name().to_owned(),
                    is_filled: true,
                    is_series: false,
                };
                (vec![plot::split(chart)?], Stage::ALL.into_iter().enumerate().map(key).collect())
            }
            ChartKind::Dots(chart) => {
                let names = chart.series.iter().map(|(name, _)| name.as_str());
                (vec![plot::dots(chart)?], keys(names, true))
            }
        };
        let figure = Figure { plots, legend, caption: self.caption.clone(), class, axes };
        (!figure.plots.is_empty()).then_some(figure)
    }
}
