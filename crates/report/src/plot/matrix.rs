//! Panels of coloured cells with numbers: a value for each pair of two settings.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{INK, TEXT, TITLE, WIDTH, axis_text, embed, plot_error};
use crate::error::ReportError;
use crate::grid::number;

const CELL_HEIGHT: i32 = 34;
/// Smallest width of the names of rows, and the width of a letter.
const LEFT: i32 = 64;
const LETTER: i32 = 8;
/// Height of a panel's title, pixels; length above which the name of the rows' setting has a line of its own; height below the panel.
const TITLE_HEIGHT: i32 = 34;
const SHORT: usize = 8;
const BELOW: i32 = 54;
const GAP: i32 = 24;

/// One panel: its title and its values, row by row from the top.
pub(crate) type Panel = (String, Vec<Vec<Option<f64>>>);

/// Panels side by side that share axes and colours: white at `best`, dark at `worst` and beyond.
pub(crate) fn matrix(
    axes: (&str, &str),
    columns: &[String],
    rows: &[String],
    panels: &[Panel],
    scale: Scale,
) -> Result<Option<String>, ReportError> {
    if columns.is_empty() || rows.is_empty() || panels.is_empty() {
        return Ok(None);
    }
    let mut svg = String::new();
    draw(&mut svg, axes, columns, rows, panels, scale).map_err(plot_error("a matrix"))?;
    let names: Vec<&str> = panels.iter().map(|(name, _)| name.as_str()).collect();
    Ok(Some(embed(&svg, &format!("{} by {} and {}", names.join(" and "), axes.0, axes.1))))
}

/// Values of the white and of the darkest cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) best: f64,
    pub(crate) worst: f64,
}

impl Scale {
    /// Returns the position of a value on the way from best (0) to worst (1), not clamped.
    fn badness(self, value: f64) -> f64 {
        let way = self.worst - self.best;
        if way == 0.0 { 0.0 } else { (value - self.best) / way }
    }
}

/// From white to the palette's vermilion; beyond the worst no darker.
fn shade(share: f64) -> RGBColor {
    let share = share.clamp(0.0, 1.0);
    let mix = |from: f64, to: f64| (from + (to - from) * share) as u8;
    RGBColor(mix(255.0, 230.0), mix(255.0, 120.0), mix(255.0, 40.0))
}

fn draw(
    svg: &mut String,
    (across, down): (&str, &str),
    columns: &[String],
    rows: &[String],
    panels: &[Panel],
    scale: Scale,
) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let whole = |length: usize| i32::try_from(length).unwrap_or(i32::MAX / 4096);
    let above = if down.chars().count() > SHORT { TITLE_HEIGHT + 22 } else { TITLE_HEIGHT };
    let longest = rows.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let before = LEFT.max(LETTER * whole(longest) + 18);
    let height = above + CELL_HEIGHT * whole(rows.len()) + BELOW;
    let root = SVGBackend::with_string(svg, (WIDTH, height.cast_unsigned())).into_drawing_area();
    root.fill(&WHITE).map_err(|error| text(&error))?;
    let room = WIDTH.cast_signed() / whole(panels.len());
    let cell = (room - before - GAP) / whole(columns.len());
    let write = |words: &str, at: (i32, i32), size: f64, side: HPos| {
        let style = axis_text(size).pos(Pos::new(side, VPos::Center));
        root.draw(&Text::new(words.to_owned(), at, style)).map_err(|error| error.to_string())
    };
    for (place, (title, values)) in panels.iter().enumerate() {
        let left = room * whole(place) + before;
        let bottom = above + CELL_HEIGHT * whole(rows.len());
        let middle = left + cell * whole(columns.len()) / 2;
        write(title, (middle, TITLE_HEIGHT / 2), TITLE, HPos::Center)?;
        write(across, (middle, bottom + 36), TEXT, HPos::Center)?;
        write(down, (left - before + 6, above - TITLE_HEIGHT / 2), TEXT, HPos::Left)?;
        for (column, name) in columns.iter().enumerate() {
            write(name, (left + cell * whole(column) + cell / 2, bottom + 14), TEXT, HPos::Center)?;
        }
        for (row, (name, line)) in rows.iter().zip(values).enumerate() {
            let top = above + CELL_HEIGHT * whole(row);
            write(name, (left - 10, top + CELL_HEIGHT / 2), TEXT, HPos::Right)?;
            for (column, value) in line.iter().enumerate() {
                let x = left + cell * whole(column);
                let corners = [(x, top), (x + cell - 2, top + CELL_HEIGHT - 2)];
                let colour = value.map_or(RGBColor(240, 240, 240), |value| shade(scale.badness(value)));
                root.draw(&Rectangle::new(corners, colour.filled())).map_err(|error| text(&error))?;
                root.draw(&Rectangle::new(corners, INK.mix(0.2).stroke_width(1)))
                    .map_err(|error| text(&error))?;
                let words = value.map_or("–".to_owned(), number);
                write(&words, (x + cell / 2, top + CELL_HEIGHT / 2), TEXT, HPos::Center)?;
            }
        }
    }
    root.present().map_err(|error| text(&error))
}
