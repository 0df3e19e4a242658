//! A legend above the plot.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Line, TEXT, WIDTH, axis_text, colour, marker};

const ROW: i32 = 24;
const SAMPLE: i32 = 34;
const LEFT: i32 = 20;
/// Upper estimate of the mean width of a letter, since the viewer's font is unknown.
const LETTER: i32 = 8;

/// The positions of the names, and the total height.
fn layout<'a>(names: impl Iterator<Item = &'a str>) -> (Vec<(i32, i32)>, i32) {
    let (mut x, mut y) = (LEFT, ROW / 2 + 4);
    let mut places = Vec::new();
    for name in names {
        let width = SAMPLE + 8 + LETTER * i32::try_from(name.chars().count()).unwrap_or(0) + 22;
        if x > LEFT && x + width > WIDTH.cast_signed() {
            (x, y) = (LEFT, y + ROW);
        }
        places.push((x, y));
        x += width;
    }
    (places, y + ROW / 2 + 4)
}

/// Height of the legend in pixels.
pub(super) fn height<'a>(names: impl Iterator<Item = &'a str>) -> u32 {
    layout(names).1.cast_unsigned()
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), String>;

fn name(area: &Area<'_>, text: &str, (x, y): (i32, i32)) -> Drawn {
    let style = axis_text(TEXT).pos(Pos::new(HPos::Left, VPos::Center));
    area.draw(&Text::new(text.to_owned(), (x + SAMPLE + 8, y), style)).map_err(|error| error.to_string())
}

/// Draws lines with their marks.
pub(super) fn lines(area: &Area<'_>, entries: &[Line]) -> Drawn {
    let (places, _) = layout(entries.iter().map(|line| line.name.as_str()));
    for (index, (line, (x, y))) in entries.iter().zip(places).enumerate() {
        let sample = PathElement::new([(x, y), (x + SAMPLE, y)], colour(index).stroke_width(2));
        area.draw(&sample).map_err(|error| error.to_string())?;
        area.draw(&marker(index, (x + SAMPLE / 2, y))).map_err(|error| error.to_string())?;
        name(area, &line.name, (x, y))?;
    }
    Ok(())
}

/// Draws filled boxes.
pub(super) fn boxes(area: &Area<'_>, entries: &[(&str, RGBColor)]) -> Drawn {
    let (places, _) = layout(entries.iter().map(|(name, _)| *name));
    for ((text, colour), (x, y)) in entries.iter().zip(places) {
        let sample = Rectangle::new([(x + SAMPLE / 2, y - 7), (x + SAMPLE, y + 7)], colour.filled());
        area.draw(&sample).map_err(|error| error.to_string())?;
        name(area, text, (x, y))?;
    }
    Ok(())
}
