//! Plots as self-contained SVG text.

mod axis;
mod bars;
mod distribution;
mod legend;
mod lines;
mod matrix;
mod split;

pub(crate) use bars::{Series, UprightBar, grouped_bars};
pub(crate) use distribution::exceedance;
pub(crate) use lines::{Frame, lines};
pub(crate) use matrix::{Panel, Scale, matrix};
pub(crate) use split::split_bars;

use axis::Axis;
use plotters::element::DynElement;
use plotters::prelude::*;

use crate::error::ReportError;

/// Width of every plot in pixels: that of the page's text.
const WIDTH: u32 = 960;
/// Size of axis labels and legends in pixels, corrected for the scale at which plotters renders text.
const TEXT: f64 = 14.0 * 1.24;
const TITLE: f64 = 15.0 * 1.24;

/// Okabe and Ito's palette for colour-blind readers, without its yellow (too pale for a line).
const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];
const GRID: RGBColor = RGBColor(222, 222, 222);
const INK: RGBColor = RGBColor(34, 34, 34);

/// Limit of distinguishable lines.
pub(crate) const MOST_LINES: usize = 7;

/// Marks on each line.
const MARKS: usize = 8;

/// A named line; `None` interrupts its points.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<Option<(f64, f64)>>,
}

fn colour(index: usize) -> RGBColor {
    PALETTE[index % PALETTE.len()]
}

fn plot_error<E: std::fmt::Display>(subject: &'static str) -> impl Fn(E) -> ReportError {
    move |error| ReportError::Plot { subject, reason: error.to_string() }
}

/// The mark of a line; neighbouring lines have different shapes.
fn marker<'a, DB: DrawingBackend + 'a, C: Clone + 'a>(index: usize, at: C) -> DynElement<'a, DB, C> {
    let colour = colour(index);
    let (filled, hollow) =
        (colour.filled(), ShapeStyle { color: colour.into(), filled: false, stroke_width: 2 });
    let here = EmptyElement::at(at);
    match index % MOST_LINES {
        0 => (here + Circle::new((0, 0), 4, filled)).into_dyn(),
        1 => (here + TriangleMarker::new((0, 1), 6, filled)).into_dyn(),
        2 => (here + Rectangle::new([(-4, -4), (4, 4)], filled)).into_dyn(),
        3 => (here + Cross::new((0, 0), 4, hollow)).into_dyn(),
        4 => (here + Circle::new((0, 0), 5, hollow)).into_dyn(),
        5 => (here + Polygon::new([(0, -6), (5, 0), (0, 6), (-5, 0)], filled)).into_dyn(),
        _ => (here + Rectangle::new([(-4, -4), (4, 4)], hollow)).into_dyn(),
    }
}

/// Draws lines with a few marks each, offset against those of neighbouring lines.
fn draw_lines(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<Axis, Axis>>,
    lines: &[Line],
) -> Result<(), String> {
    for (index, line) in lines.iter().enumerate() {
        let style = colour(index).stroke_width(2);
        for piece in line.points.split(Option::is_none) {
            let points: Vec<(f64, f64)> = piece.iter().copied().flatten().collect();
            chart.draw_series(LineSeries::new(points, style)).map_err(|error| error.to_string())?;
        }
        let points: Vec<(f64, f64)> = line.points.iter().copied().flatten().collect();
        let stride = (points.len() / MARKS).max(1);
        let shift = stride * index / lines.len().max(1);
        for at in points.into_iter().skip(shift).step_by(stride) {
            chart.plotting_area().draw(&marker(index, at)).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

fn axis_text(size: f64) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size).into_font()).color(&INK)
}

/// About `count` round numbers from zero to `limit`.
fn round_steps(limit: f64, count: f64) -> Vec<f64> {
    let raw = (limit / count).max(f64::MIN_POSITIVE);
    let decade = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|unit| unit * decade).find(|step| *step >= raw);
    let step = step.unwrap_or(10.0 * decade);
    (0..=100).map(|multiple| f64::from(multiple) * step).take_while(|value| *value <= limit).collect()
}

/// A number on an axis, without trailing zeros.
fn tick(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Prepares the SVG for embedding in HTML: removes the name space, and adds a description for screen readers.
fn embed(svg: &str, description: &str) -> String {
    let escaped = description.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1).replacen(
        "<svg ",
        &format!("<svg role=\"img\" aria-label=\"{escaped}\" "),
        1,
    )
}
