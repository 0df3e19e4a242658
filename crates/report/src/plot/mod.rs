//! Plots as SVG elements of the page.
//!
//! Colours, fonts and the looks of light and dark come from the page's style sheet by class: `s0` to `s6` are series, `t0` to `t5` the
//! stages of a latency. `data-x` and `data-y` tell the page's script the axes ([`scale::Scale::attribute`]); without it a plot is complete.

mod bars;
mod dots;
mod lines;
mod matrix;
mod scale;
mod split;
mod svg;

pub(crate) use bars::bars;
pub(crate) use dots::dots;
pub(crate) use lines::{lines, panels, tails};
pub(crate) use matrix::matrix;
pub(crate) use split::split;

use scale::Scale;
use svg::{Anchor, Svg, shown};

/// Number of series that are told apart.
pub(crate) const SERIES: usize = 7;
/// Width of a plot that shares a row of the page with another one, and of one that has a row of its own.
const NARROW: f64 = 480.0;
const WIDE: f64 = 1140.0;
/// Mean width of a letter, for the room of labels: the reader's font is unknown, and larger on a phone.
const LETTER: f64 = 7.4;

/// Width of a text in pixels.
fn width(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}

/// Width of the widest text in pixels.
fn widest<'a>(texts: impl Iterator<Item = &'a str>) -> f64 {
    texts.map(width).fold(0.0, f64::max)
}

/// The class of a series.
pub(crate) fn series(index: usize) -> String {
    format!("s{}", index % SERIES)
}

/// Where the data of a plot is, in pixels.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Grid, marks and names of axes. Marks are in groups of their own, which the page's script draws again for another scale.
fn axes(svg: &mut Svg, area: Area, (x, y): (Option<&Scale>, Option<&Scale>), (x_name, y_name): (&str, &str)) {
    if let Some(x) = x {
        // Labels of a horizontal axis must not touch.
        let room = ((area.right - area.left) / 70.0) as usize;
        svg.open("g", "tx");
        for mark in x.marks(room.clamp(3, 9)) {
            let at = x.place(mark);
            svg.line("grid", (at, area.top), (at, area.bottom));
            svg.text("", (at, area.bottom + 16.0), Anchor::Middle, &shown(mark));
        }
        svg.close("g");
    }
    if let Some(y) = y {
        svg.open("g", "ty");
        for mark in y.marks(if area.bottom - area.top > 150.0 { 6 } else { 4 }) {
            let at = y.place(mark);
            svg.line("grid", (area.left, at), (area.right, at));
            svg.text("", (area.left - 6.0, at + 4.0), Anchor::End, &shown(mark));
        }
        svg.close("g");
    }
    svg.line("axis", (area.left, area.bottom), (area.right, area.bottom));
    if !x_name.is_empty() {
        svg.text("name", (area.right, area.bottom + 33.0), Anchor::End, x_name);
    }
    if !y_name.is_empty() {
        svg.text("name", (4.0, 14.0), Anchor::Start, y_name);
    }
}
