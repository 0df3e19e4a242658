//! The mean latency by stage: one bar for each scheme, divided into stages.

use airbound_record::Stage;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::Axis;
use super::{GRID, INK, TEXT, TITLE, WIDTH, axis_text, embed, legend, plot_error, round_steps, tick};
use crate::error::ReportError;
use crate::grid::number;

const BAR: u32 = 34;
/// The stages' colours, from Okabe and Ito's palette, with neighbours of different lightness.
const COLOURS: [RGBColor; 6] = [
    RGBColor(150, 150, 150),
    RGBColor(0, 114, 178),
    RGBColor(240, 228, 66),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
];
const LONGEST_NAME: usize = 30;

/// A bar's name and the mean of each stage in ms.
pub(crate) type Bar = (String, [f64; 6]);

/// Renders the plot; `None` without bars.
pub(crate) fn split_bars(bars: &[Bar]) -> Result<Option<String>, ReportError> {
    if bars.is_empty() {
        return Ok(None);
    }
    let mut svg = String::new();
    draw(&mut svg, bars).map_err(plot_error("where the latency went"))?;
    Ok(Some(embed(&svg, "Mean latency split into its stages")))
}

fn draw(svg: &mut String, bars: &[Bar]) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let entries: Vec<(&str, RGBColor)> =
        Stage::ALL.iter().zip(COLOURS).map(|(stage, colour)| (stage.name(), colour)).collect();
    let above = legend::height(entries.iter().map(|(name, _)| *name));
    let count = u32::try_from(bars.len()).unwrap_or(1);
    let root = SVGBackend::with_string(svg, (WIDTH, BAR * count + above + 72)).into_drawing_area();
    root.fill(&WHITE).map_err(|error| text(&error))?;
    let (head, body) = root.split_vertically(above);
    legend::boxes(&head, &entries)?;

    let names: Vec<String> = bars.iter().map(|(name, _)| shortened(name)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let left = u32::try_from(longest).unwrap_or(0) * 8 + 24;
    let total = |bar: &Bar| bar.1.iter().sum::<f64>();
    let most = bars.iter().map(total).fold(0.0, f64::max);
    // Leaves room for the totals at the right.
    let limit = if most > 0.0 { most * 1.14 } else { 1.0 };
    let rows = bars.len() as f64;
    let mut chart = ChartBuilder::on(&body)
        .margin_right(12)
        .margin_top(6)
        .margin_bottom(4)
        .x_label_area_size(52)
        .y_label_area_size(left)
        .build_cartesian_2d(Axis::new(0.0..limit, round_steps(limit, 8.0)), Axis::new(0.0..rows, Vec::new()))
        .map_err(|error| text(&error))?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(axis_text(TEXT))
        .axis_desc_style(axis_text(TITLE))
        .x_desc("mean latency (ms)")
        .x_label_formatter(&|x| tick(*x))
        .draw()
        .map_err(|error| text(&error))?;

    let mut labels = Vec::new();
    for (index, (bar, name)) in bars.iter().zip(names).enumerate() {
        // The first bar is at the top.
        let (bottom, top) = (rows - index as f64 - 0.85, rows - index as f64 - 0.15);
        let mut x = 0.0;
        for (value, colour) in bar.1.iter().zip(COLOURS) {
            let corners = [(x, bottom), (x + value, top)];
            x += value;
            chart
                .draw_series(std::iter::once(Rectangle::new(corners, colour.filled())))
                .map_err(|error| text(&error))?;
        }
        let middle = f64::midpoint(bottom, top);
        labels.push((name, chart.backend_coord(&(0.0, middle)), -10, HPos::Right));
        labels.push((format!("{} ms", number(total(bar))), chart.backend_coord(&(x, middle)), 8, HPos::Left));
    }
    drop(chart);
    for (label, (x, y), offset, side) in labels {
        let style = axis_text(TEXT).pos(Pos::new(side, VPos::Center));
        root.draw(&Text::new(label, (x + offset, y), style)).map_err(|error| text(&error))?;
    }
    root.present().map_err(|error| text(&error))
}

/// Shortens a long name in its middle, since names mostly differ at their ends.
fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= LONGEST_NAME {
        return name.to_owned();
    }
    let (head, tail) = (&letters[..LONGEST_NAME / 2], &letters[letters.len() - (LONGEST_NAME / 2 - 1)..]);
    head.iter().chain(&['…']).chain(tail).collect()
}
