//! The share of packets or frames above a latency, with logarithmic axes for the tail.

use plotters::prelude::*;

use super::axis::Axis;
use super::{GRID, INK, Line, TEXT, TITLE, WIDTH, axis_text, draw_lines, embed, legend, plot_error, tick};
use crate::error::ReportError;

const HEIGHT: u32 = 400;
/// The smallest share shown: the 99.99th percentile.
const SMALLEST: f64 = 1e-4;

/// Renders points of (latency in ms, share of `what` above it); `None` without points.
pub(crate) fn exceedance(what: &str, lines: &[Line]) -> Result<Option<String>, ReportError> {
    let visible = |line: &Line| {
        let mut points = Vec::new();
        for (ms, share) in line.points.iter().flatten().filter(|(ms, _)| *ms > 0.0) {
            points.push(Some((ms.log10(), share.max(SMALLEST).log10())));
            if *share < SMALLEST {
                break;
            }
        }
        Line { name: line.name.clone(), points }
    };
    let lines: Vec<Line> = lines.iter().map(visible).collect();
    let ends = lines.iter().flat_map(|line| line.points.iter().flatten().map(|(x, _)| *x));
    let (low, high) = ends.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
    if low > high {
        return Ok(None);
    }
    let (low, high) = ((low - 0.05).max(-4.0), (high + 0.05).max(low + 0.3));

    let mut svg = String::new();
    draw(&mut svg, &format!("{what} above this latency"), &lines, (low, high))
        .map_err(plot_error("latency distributions"))?;
    Ok(Some(embed(&svg, &format!("Share of {what} that exceed a latency, both axes logarithmic"))))
}

fn draw(svg: &mut String, y: &str, lines: &[Line], (low, high): (f64, f64)) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let names = || lines.iter().map(|line| line.name.as_str());
    let above = legend::height(names());
    let root = SVGBackend::with_string(svg, (WIDTH, HEIGHT + above)).into_drawing_area();
    root.fill(&WHITE).map_err(|error| text(&error))?;
    let (head, body) = root.split_vertically(above);
    legend::lines(&head, lines)?;

    let shares = (-4..=0).map(f64::from).collect::<Vec<_>>();
    let mut chart = ChartBuilder::on(&body)
        .margin_left(8)
        .margin_right(24)
        .margin_top(10)
        .margin_bottom(4)
        .x_label_area_size(52)
        .y_label_area_size(92)
        .build_cartesian_2d(
            Axis::new(low..high, latencies(low, high)),
            Axis::new(SMALLEST.log10()..0.0, shares),
        )
        .map_err(|error| text(&error))?;
    chart
        .configure_mesh()
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(axis_text(TEXT))
        .axis_desc_style(axis_text(TITLE))
        .x_desc("latency (ms)")
        .y_desc(y)
        .x_label_formatter(&|x| tick(10_f64.powf(*x)))
        .y_label_formatter(&|y| format!("{} %", tick(10_f64.powf(*y + 2.0))))
        .draw()
        .map_err(|error| text(&error))?;
    draw_lines(&mut chart, lines)?;
    root.present().map_err(|error| text(&error))
}

/// Logarithms of round latencies: 1, 2 and 5 of each decade, or only 1 with many decades.
fn latencies(low: f64, high: f64) -> Vec<f64> {
    let units: &[f64] = if high - low > 3.2 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    (-5..=7)
        .flat_map(|decade| units.iter().map(move |unit| unit.log10() + f64::from(decade)))
        .filter(|x| (low..=high).contains(x))
        .collect()
}
