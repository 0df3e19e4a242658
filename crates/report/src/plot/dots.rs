//! Dots in rows: a row for each group of flows, a dot for each scheme, with its range over the seeds.

use super::scale::Scale;
use super::svg::{Anchor, Svg};
use super::{Area, NARROW, axes, series, widest};
use crate::chart::Dots;
use crate::grid::number;

/// Height between two dots of a row, and between two rows.
const DOT: f64 = 9.0;
const GAP: f64 = 14.0;

/// Renders the plot; `None` without a dot.
pub(crate) fn dots(chart: &Dots) -> Option<String> {
    let all = || chart.series.iter().flat_map(|(_, dots)| dots.iter().flatten());
    let values = || {
        all().flat_map(|dot| {
            [
                dot.value,
                dot.range.map_or(dot.value, |(low, _)| low),
                dot.range.map_or(dot.value, |(_, high)| high),
            ]
        })
    };
    let first = values().next()?;
    let (low, high) = values().fold((first, first), |(low, high), value| (low.min(value), high.max(value)));
    let (low, high) = if chart.logarithmic { (0.8 * low, 1.2 * high) } else { (low.min(0.0), high.max(0.0)) };
    let slack = if chart.logarithmic { 0.0 } else { 0.04 * (high - low).max(1.0) };
    let left = widest(chart.rows.iter().map(String::as_str)) + 16.0;
    let row = DOT * chart.series.len() as f64 + GAP;
    let area = Area { left, right: NARROW - 20.0, top: 6.0, bottom: 6.0 + row * chart.rows.len() as f64 };
    let x = Scale::new(chart.logarithmic, (low - slack, high + slack), (area.left, area.right));
    let mut svg = Svg::new((NARROW, area.bottom + 40.0), &format!("{} of each group", chart.x), "");
    axes(&mut svg, area, (Some(&x), None), (&chart.x, ""));
    if !chart.logarithmic {
        svg.line("axis", (x.place(0.0), area.top), (x.place(0.0), area.bottom));
    }
    for (number_of_row, name) in chart.rows.iter().enumerate() {
        let top = area.top + row * number_of_row as f64;
        if number_of_row > 0 {
            svg.line("grid", (4.0, top), (area.right, top));
        }
        svg.text("", (left - 6.0, top + row / 2.0 + 4.0), Anchor::End, name);
    }
    for (place, (name, dots)) in chart.series.iter().enumerate() {
        svg.open_series(&series(place), name);
        for (number_of_row, dot) in dots.iter().enumerate().filter_map(|(row, dot)| Some((row, (*dot)?))) {
            let y = area.top + row * number_of_row as f64 + GAP / 2.0 + DOT * (place as f64 + 0.5);
            let range = dot.range.filter(|(low, high)| high > low);
            if let Some((low, high)) = range {
                svg.line("range", (x.place(low), y), (x.place(high), y));
            }
            let of = chart.rows.get(number_of_row).map_or("", String::as_str);
            let ends =
                range.map_or(String::new(), |(low, high)| format!(" ({} to {})", number(low), number(high)));
            svg.dot("fill", (x.place(dot.value), y), &format!("{of}, {name}: {}{ends}", number(dot.value)));
        }
        svg.close("g");
    }
    Some(svg.finish())
}
