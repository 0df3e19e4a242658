//! A quantity over time.

use plotters::prelude::*;

use super::axis::Axis;
use super::{
    GRID, INK, Line, TEXT, TITLE, WIDTH, axis_text, draw_lines, embed, legend, plot_error, round_steps, tick,
};
use crate::error::ReportError;

const HEIGHT: u32 = 300;

/// Points are (time in s, value); `None` without any.
pub(crate) fn timeline(lines: &[Line], axis: &'static str) -> Result<Option<String>, ReportError> {
    let points = || lines.iter().flat_map(|line| line.points.iter().flatten());
    let start = points().map(|(x, _)| *x).fold(f64::MAX, f64::min);
    let end = points().map(|(x, _)| *x).fold(f64::MIN, f64::max);
    if start > end {
        return Ok(None);
    }
    let top = points().map(|(_, y)| *y).fold(0.0, f64::max);
    let top = if top > 0.0 { 1.08 * top } else { 1.0 };
    let mut svg = String::new();
    draw(&mut svg, lines, axis, (start, end.max(start + 1e-3)), top).map_err(plot_error("time series"))?;
    Ok(Some(embed(&svg, &format!("{axis} over time"))))
}

fn draw(svg: &mut String, lines: &[Line], axis: &str, time: (f64, f64), top: f64) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let above = legend::height(lines.iter().map(|line| line.name.as_str()));
    let root = SVGBackend::with_string(svg, (WIDTH, HEIGHT + above)).into_drawing_area();
    root.fill(&WHITE).map_err(|error| text(&error))?;
    let (head, body) = root.split_vertically(above);
    legend::lines(&head, lines)?;

    let seconds =
        round_steps(time.1, 10.0).into_iter().filter(|second| *second >= time.0).collect::<Vec<_>>();
    let mut chart = ChartBuilder::on(&body)
        .margin_left(8)
        .margin_right(24)
        .margin_top(10)
        .margin_bottom(4)
        .x_label_area_size(52)
        .y_label_area_size(92)
        .build_cartesian_2d(Axis::new(time.0..time.1, seconds), Axis::new(0.0..top, round_steps(top, 6.0)))
        .map_err(|error| text(&error))?;
    chart
        .configure_mesh()
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(axis_text(TEXT))
        .axis_desc_style(axis_text(TITLE))
        .x_desc("time (s)")
        .y_desc(axis)
        .x_label_formatter(&|x| tick(*x))
        .y_label_formatter(&|y| tick(*y))
        .draw()
        .map_err(|error| text(&error))?;
    draw_lines(&mut chart, lines)?;
    root.present().map_err(|error| text(&error))
}
