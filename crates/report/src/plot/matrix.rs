//! Panels of coloured cells with numbers: a value for each pair of two settings.

use super::svg::{Anchor, Svg};
use super::{NARROW, WIDE, widest};
use crate::chart::Matrix;
use crate::grid::number;

const CELL: f64 = 30.0;
/// Room of a cell with a number.
const LEAST: f64 = 46.0;
const TITLE: f64 = 26.0;
const BELOW: f64 = 44.0;
const GAP: f64 = 18.0;

/// From white at the best to orange at the worst; beyond it no darker. Numbers stand on it in black, in dark pages too.
fn shade(chart: &Matrix, (panel, row, column): (usize, usize, usize), value: Option<f64>) -> String {
    let Some(value) = value else { return "#f0f0f0".to_owned() };
    let way = chart.worst - chart.best;
    let between = if way == 0.0 { 0.0 } else { (value - chart.best) / way };
    let own = chart.shades.get(panel).and_then(|rows| rows.get(row)?.get(column));
    let share = own.copied().unwrap_or(between).clamp(0.0, 1.0);
    let mix = |to: f64| (255.0 + (to - 255.0) * share) as u8;
    format!("#{:02x}{:02x}{:02x}", mix(230.0), mix(120.0), mix(40.0))
}

/// Renders the panels side by side, and whether they are wide; `None` without a cell.
pub(crate) fn matrix(chart: &Matrix) -> Option<(String, bool)> {
    if chart.columns.is_empty() || chart.rows.is_empty() || chart.panels.is_empty() {
        return None;
    }
    let panels = chart.panels.len() as f64;
    let before = widest(chart.rows.iter().map(String::as_str)).max(40.0) + 12.0;
    let (columns, rows) = (chart.columns.len() as f64, chart.rows.len() as f64);
    let least = LEAST.max(widest(chart.columns.iter().map(String::as_str)) + 6.0);
    let is_wide = panels * (before + GAP + least * columns) > NARROW;
    let width = if is_wide { WIDE.max(panels * (before + GAP + LEAST * columns)) } else { NARROW };
    let room = width / panels;
    let cell = ((room - before - GAP) / columns).min(90.0);
    let above = TITLE + 18.0;
    let bottom = above + CELL * rows;
    let names: Vec<&str> = chart.panels.iter().map(|(name, _)| name.as_str()).collect();
    let description = format!("{} by {} and {}", names.join(" and "), chart.across, chart.down);
    let mut svg = Svg::new((width, bottom + BELOW), &description, "");
    for (place, (title, values)) in chart.panels.iter().enumerate() {
        let left = room * place as f64 + before;
        let middle = left + cell * columns / 2.0;
        svg.text("name", (middle, 16.0), Anchor::Middle, title);
        svg.text("", (left - before + 4.0, above - 8.0), Anchor::Start, &chart.down);
        svg.text("", (middle, bottom + 36.0), Anchor::Middle, &chart.across);
        for (column, name) in chart.columns.iter().enumerate() {
            svg.text("", (left + cell * (column as f64 + 0.5), bottom + 17.0), Anchor::Middle, name);
        }
        for (row, (name, line)) in chart.rows.iter().zip(values).enumerate() {
            let top = above + CELL * row as f64;
            svg.text("", (left - 6.0, top + CELL / 2.0 + 4.0), Anchor::End, name);
            for (column, value) in line.iter().enumerate() {
                let x = left + cell * column as f64;
                let words = value.map_or("–".to_owned(), number);
                let at = chart.columns.get(column).map_or("", String::as_str);
                let style = format!(" fill=\"{}\"", shade(chart, (place, row, column), *value));
                let title = format!("{title}, {at}, {name}: {words}");
                svg.rect("cell", (x, top), (cell - 2.0, CELL - 2.0), &style, &title);
                svg.text("on", (x + cell / 2.0 - 1.0, top + CELL / 2.0 + 4.0), Anchor::Middle, &words);
            }
        }
    }
    Some((svg.finish(), is_wide))
}
