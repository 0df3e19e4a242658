//! Elements of an SVG image.

use std::fmt::{self, Write};

/// Side of a text that stands at its place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// An image under construction.
pub(super) struct Svg {
    text: String,
}

impl Svg {
    /// An image of a size in pixels, with a description for screen readers. `attributes` are further ones, which begin with a space.
    pub(super) fn new((width, height): (f64, f64), description: &str, attributes: &str) -> Self {
        let (width, height) = (pixels(width), pixels(height));
        let description = escaped(description);
        let text = format!(
            "<svg class=\"plot\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
             aria-label=\"{description}\"{attributes}>"
        );
        Self { text }
    }

    /// The finished image.
    pub(super) fn finish(mut self) -> String {
        self.text += "</svg>";
        self.text
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.text.write_fmt(element);
    }

    pub(super) fn open(&mut self, element: &str, class: &str) {
        self.push(format_args!("<{element} class=\"{class}\">"));
    }

    /// Opens the group of a series, whose name the page's script shows.
    pub(super) fn open_series(&mut self, class: &str, name: &str) {
        self.push(format_args!("<g class=\"series {class}\" data-name=\"{}\">", escaped(name)));
    }

    pub(super) fn close(&mut self, element: &str) {
        self.push(format_args!("</{element}>"));
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(pixels);
        self.push(format_args!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"));
    }

    /// A line through points, without those that it would not show.
    pub(super) fn path(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let points = joined(points);
        self.push(format_args!("<polyline class=\"{class}\" points=\"{points}\"/>"));
    }

    pub(super) fn shape(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let points = joined(points);
        self.push(format_args!("<polygon class=\"{class}\" points=\"{points}\"/>"));
    }

    /// A box with the text that a pointer above it shows.
    pub(super) fn rect(
        &mut self,
        class: &str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        style: &str,
        title: &str,
    ) {
        let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(pixels);
        let title = escaped(title);
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{style}><title>{title}</title></rect>"
        ));
    }

    pub(super) fn dot(&mut self, class: &str, (x, y): (f64, f64), title: &str) {
        let ([x, y], title) = ([x, y].map(pixels), escaped(title));
        self.push(format_args!(
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"><title>{title}</title></circle>"
        ));
    }

    pub(super) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        self.turned(class, at, anchor, text, "");
    }

    /// A text with a transformation, which begins with a space.
    pub(super) fn turned(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str, turn: &str) {
        let [x, y] = [x, y].map(pixels);
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escaped(text);
        self.push(format_args!("<text{class} x=\"{x}\" y=\"{y}\"{anchor}{turn}>{text}</text>"));
    }
}

/// Points as pairs of coordinates; of several in a row at one height only the ends.
fn joined(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut kept: Vec<(Pixels, Pixels)> = Vec::new();
    for (x, y) in points {
        let point = (pixels(x), pixels(y));
        match kept.as_slice() {
            [.., last] if *last == point => continue,
            [.., before, last] if before.1 == point.1 && last.1 == point.1 => {
                kept.pop();
            }
            _ => {}
        }
        kept.push(point);
    }
    let mut text = String::with_capacity(kept.len() * 12);
    for (x, y) in kept {
        let space = if text.is_empty() { "" } else { " " };
        // Writing to a string does not fail.
        let _ = write!(text, "{space}{x},{y}");
    }
    text
}

/// A coordinate, in tenths of a pixel; written with at most one decimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pixels(i64);

fn pixels(value: f64) -> Pixels {
    Pixels((value * 10.0).round() as i64)
}

impl fmt::Display for Pixels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, size) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        match size % 10 {
            0 => write!(f, "{sign}{}", size / 10),
            tenth => write!(f, "{sign}{}.{tenth}", size / 10),
        }
    }
}

/// A number on an axis, without trailing zeros.
pub(super) fn shown(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_parts_of_a_line_keep_their_ends() {
        let points = [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (3.0, 1.04), (3.0, 4.0), (3.0, 4.0)];
        assert_eq!(joined(points), "0,1 3,1 3,4");
    }

    #[test]
    fn numbers_and_names_are_written_plainly() {
        assert_eq!([0.1, 20.0, -0.0, 1e-7].map(shown), ["0.1", "20", "0", "0"]);
        let mut svg = Svg::new((10.0, 10.04), "a <b>", "");
        svg.text("", (0.26, -0.01), Anchor::Start, "x & y");
        let text = svg.finish();
        assert!(
            text.contains("aria-label=\"a &lt;b&gt;\"")
                && text.contains("<text x=\"0.3\" y=\"0\">x &amp; y</text>"),
            "{text}"
        );
    }
}
