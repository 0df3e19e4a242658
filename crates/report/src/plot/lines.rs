//! Line plots: a quantity over time, or a share of samples over a value.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::{
    GRID, INK, Line, TEXT, TITLE, WIDTH, axis_text, colour, draw_lines, embed, legend, plot_error,
    round_steps, tick,
};
use crate::error::ReportError;

const HEIGHT: u32 = 300;

/// Axes of a plot, and the elements besides the lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    /// Quantity on the horizontal axis, with its unit.
    pub(crate) x: String,
    /// Quantity on the vertical axis, with its unit.
    pub(crate) y: String,
    /// Whether the horizontal axis is logarithmic, in which case points at or below zero are omitted.
    pub(crate) logarithmic: bool,
    /// The upper end of the vertical axis; `None` follows the points.
    pub(crate) top: Option<f64>,
    /// Dashed horizontal lines with their names: a demand, a limit.
    pub(crate) levels: Vec<(String, f64)>,
    /// Points of a reference, with their names.
    pub(crate) marks: Vec<(String, (f64, f64))>,
    /// Range shaded around each line: (x, low, high).
    pub(crate) bands: Vec<Vec<(f64, f64, f64)>>,
}

/// Renders the plot; `None` without points.
pub(crate) fn lines(lines: &[Line], frame: &Frame) -> Result<Option<String>, ReportError> {
    let place = |x: f64| if frame.logarithmic { x.log10() } else { x };
    let moved = |line: &Line| Line {
        name: line.name.clone(),
        points: line
            .points
            .iter()
            .map(|point| point.filter(|(x, _)| !frame.logarithmic || *x > 0.0))
            .map(|point| point.map(|(x, y)| (place(x), y)))
            .collect(),
    };
    let lines: Vec<Line> = lines.iter().map(moved).collect();
    let marks: Vec<(&str, (f64, f64))> = frame
        .marks
        .iter()
        .filter(|(_, (x, _))| !frame.logarithmic || *x > 0.0)
        .map(|(name, (x, y))| (name.as_str(), (place(*x), *y)))
        .collect();
    let points = || lines.iter().flat_map(|line| line.points.iter().flatten()).copied();
    let all = || points().chain(marks.iter().map(|(_, at)| *at));
    let start = all().map(|(x, _)| x).fold(f64::MAX, f64::min);
    let end = all().map(|(x, _)| x).fold(f64::MIN, f64::max);
    if points().next().is_none() {
        return Ok(None);
    }
    let upper = frame.bands.iter().take(lines.len()).flatten().map(|(_, _, high)| *high);
    let highest =
        all().map(|(_, y)| y).chain(upper).chain(frame.levels.iter().map(|(_, y)| *y)).fold(0.0, f64::max);
    let top = frame.top.unwrap_or(if highest > 0.0 { 1.08 * highest } else { 1.0 });
    let mut svg = String::new();
    draw(&mut svg, &lines, frame, &marks, (start, end.max(start + 1e-3)), top)
        .map_err(plot_error("lines"))?;
    let over = frame.x.split(" (").next().unwrap_or(&frame.x);
    Ok(Some(embed(&svg, &format!("{} over {over}", frame.y))))
}

fn draw(
    svg: &mut String,
    lines: &[Line],
    frame: &Frame,
    marks: &[(&str, (f64, f64))],
    range: (f64, f64),
    top: f64,
) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let above = legend::height(lines.iter().map(|line| line.name.as_str()));
    let root = SVGBackend::with_string(svg, (WIDTH, HEIGHT + above)).into_drawing_area();
    root.fill(&WHITE).map_err(|error| text(&error))?;
    let (head, body) = root.split_vertically(above);
    legend::lines(&head, lines)?;

    let steps = if frame.logarithmic { decades(range) } else { linear(range) };
    let mut chart = ChartBuilder::on(&body)
        .margin_left(8)
        .margin_right(24)
        .margin_top(10)
        .margin_bottom(4)
        .x_label_area_size(52)
        .y_label_area_size(92)
        .build_cartesian_2d(Axis::new(range.0..range.1, steps), Axis::new(0.0..top, round_steps(top, 6.0)))
        .map_err(|error| text(&error))?;
    let logarithmic = frame.logarithmic;
    chart
        .configure_mesh()
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(axis_text(TEXT))
        .axis_desc_style(axis_text(TITLE))
        .x_desc(frame.x.as_str())
        .y_desc(frame.y.as_str())
        .x_label_formatter(&|x| tick(if logarithmic { 10_f64.powf(*x) } else { *x }))
        .y_label_formatter(&|y| tick(*y))
        .draw()
        .map_err(|error| text(&error))?;
    for (_, level) in &frame.levels {
        let ends = [(range.0, *level), (range.1, *level)];
        chart
            .draw_series(DashedLineSeries::new(ends, 8, 6, INK.stroke_width(1)))
            .map_err(|error| text(&error))?;
    }
    for (index, band) in frame.bands.iter().take(lines.len()).enumerate() {
        let band: Vec<&(f64, f64, f64)> = band.iter().filter(|(x, ..)| !logarithmic || *x > 0.0).collect();
        if band.len() > 1 {
            let place = |x: f64| if logarithmic { x.log10() } else { x };
            let above = band.iter().map(|(x, _, high)| (place(*x), *high));
            let below = band.iter().rev().map(|(x, low, _)| (place(*x), *low));
            let outline: Vec<(f64, f64)> = above.chain(below).collect();
            let shade = Polygon::new(outline, colour(index).mix(0.18).filled());
            chart.draw_series(std::iter::once(shade)).map_err(|error| text(&error))?;
        }
    }
    draw_lines(&mut chart, lines)?;
    let mut labels = Vec::new();
    for (name, at) in marks {
        let mark = EmptyElement::at(*at)
            + Polygon::new([(0, -8), (7, 0), (0, 8), (-7, 0)], WHITE.filled())
            + PathElement::new([(0, -8), (7, 0), (0, 8), (-7, 0), (0, -8)], INK.stroke_width(2));
        chart.draw_series(std::iter::once(mark)).map_err(|error| text(&error))?;
        let far = at.0 > range.0 + 0.75 * (range.1 - range.0);
        let (offset, side) = if far { (-12, HPos::Right) } else { (12, HPos::Left) };
        labels.push((*name, chart.backend_coord(at), offset, Pos::new(side, VPos::Center)));
    }
    for (name, level) in &frame.levels {
        let at = chart.backend_coord(&(range.1, *level));
        labels.push((name.as_str(), (at.0, at.1 - 2), -4, Pos::new(HPos::Right, VPos::Bottom)));
    }
    drop(chart);
    for (name, (x, y), offset, position) in labels {
        let style = axis_text(TEXT).pos(position);
        root.draw(&Text::new(name.to_owned(), (x + offset, y), style)).map_err(|error| text(&error))?;
    }
    root.present().map_err(|error| text(&error))
}

/// Round numbers in a range.
fn linear(range: (f64, f64)) -> Vec<f64> {
    round_steps(range.1, 10.0).into_iter().filter(|value| *value >= range.0).collect()
}

/// Logarithms of 1, 2 and 5 of each decade, or only 1 with many decades.
fn decades(range: (f64, f64)) -> Vec<f64> {
    let units: &[f64] = if range.1 - range.0 > 3.2 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    (-6..=9)
        .flat_map(|decade| units.iter().map(move |unit| unit.log10() + f64::from(decade)))
        .filter(|x| (range.0..=range.1).contains(x))
        .collect()
}
