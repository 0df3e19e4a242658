//! Grouped vertical bars: a group for each setting, a bar for each scheme, with the range over seeds and a reference value.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::{GRID, INK, TEXT, TITLE, WIDTH, axis_text, colour, embed, legend, plot_error, round_steps, tick};
use crate::error::ReportError;

const HEIGHT: u32 = 320;

/// One bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct UprightBar {
    pub(crate) value: f64,
    /// Lowest and highest over seeds.
    pub(crate) range: Option<(f64, f64)>,
    /// Value of a reference, drawn as a diamond.
    pub(crate) reference: Option<f64>,
}

/// The bars of one scheme, one for each group; `None` without a value.
pub(crate) type Series = (String, Vec<Option<UprightBar>>);

/// Renders the plot; `None` without a bar.
pub(crate) fn grouped_bars(
    y: &str,
    groups: &[String],
    series: &[Series],
) -> Result<Option<String>, ReportError> {
    let bars = || series.iter().flat_map(|(_, bars)| bars.iter().flatten());
    let ends = |bar: &UprightBar| {
        bar.value.max(bar.range.map_or(0.0, |(_, high)| high)).max(bar.reference.unwrap_or(0.0))
    };
    let Some(highest) = bars().map(ends).reduce(f64::max) else { return Ok(None) };
    let top = if highest > 0.0 { 1.1 * highest } else { 1.0 };
    let mut svg = String::new();
    draw(&mut svg, y, groups, series, top).map_err(plot_error("bars"))?;
    Ok(Some(embed(&svg, &format!("{y} as bars"))))
}

fn draw(svg: &mut String, y: &str, groups: &[String], series: &[Series], top: f64) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let entries: Vec<(&str, RGBColor)> =
        series.iter().enumerate().map(|(index, (name, _))| (name.as_str(), colour(index))).collect();
    let above = legend::height(entries.iter().map(|(name, _)| *name));
    let root = SVGBackend::with_string(svg, (WIDTH, HEIGHT + above)).into_drawing_area();
    root.fill(&WHITE).map_err(|error| text(&error))?;
    let (head, body) = root.split_vertically(above);
    legend::boxes(&head, &entries)?;
    let count = groups.len() as f64;
    let mut chart = ChartBuilder::on(&body)
        .margin_left(8)
        .margin_right(24)
        .margin_top(10)
        .margin_bottom(4)
        .x_label_area_size(34)
        .y_label_area_size(92)
        .build_cartesian_2d(Axis::new(0.0..count, Vec::new()), Axis::new(0.0..top, round_steps(top, 6.0)))
        .map_err(|error| text(&error))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(axis_text(TEXT))
        .axis_desc_style(axis_text(TITLE))
        .y_desc(y)
        .y_label_formatter(&|y| tick(*y))
        .draw()
        .map_err(|error| text(&error))?;
    let width = 0.8 / series.len().max(1) as f64;
    for (number, (_, bars)) in series.iter().enumerate() {
        for (group, bar) in bars.iter().enumerate().filter_map(|(group, bar)| Some((group, (*bar)?))) {
            let left = group as f64 + 0.1 + width * number as f64;
            let middle = left + width / 2.0;
            let body =
                Rectangle::new([(left, 0.0), (left + 0.92 * width, bar.value)], colour(number).filled());
            chart.draw_series(std::iter::once(body)).map_err(|error| text(&error))?;
            if let Some((low, high)) = bar.range.filter(|(low, high)| high > low) {
                let ends = [(middle, low), (middle, high)];
                chart
                    .draw_series(std::iter::once(PathElement::new(ends, INK.stroke_width(2))))
                    .map_err(|error| text(&error))?;
            }
            if let Some(reference) = bar.reference {
                let mark = EmptyElement::at((middle, reference))
                    + Polygon::new([(0, -7), (6, 0), (0, 7), (-6, 0)], WHITE.filled())
                    + PathElement::new([(0, -7), (6, 0), (0, 7), (-6, 0), (0, -7)], INK.stroke_width(2));
                chart.draw_series(std::iter::once(mark)).map_err(|error| text(&error))?;
            }
        }
    }
    let labels: Vec<(&String, (i32, i32))> = groups
        .iter()
        .enumerate()
        .map(|(group, name)| (name, chart.backend_coord(&(group as f64 + 0.5, 0.0))))
        .collect();
    drop(chart);
    for (name, (x, y)) in labels {
        let style = axis_text(TEXT).pos(Pos::new(HPos::Center, VPos::Top));
        root.draw(&Text::new(name.clone(), (x, y + 10), style)).map_err(|error| text(&error))?;
    }
    root.present().map_err(|error| text(&error))
}
