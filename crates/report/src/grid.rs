//! Tables for terminal and page.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use serde::Serialize;

/// A table of texts with a title.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Grid {
    /// The title.
    pub title: String,
    /// Names of the columns.
    pub columns: Vec<Column>,
    /// The cells, row by row.
    pub rows: Vec<Vec<Cell>>,
    /// A note below the table, possibly empty.
    pub note: String,
}

/// A cell: a text, and for values over several seeds their range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The value.
    pub text: String,
    /// Lowest and highest value, empty if their texts are equal.
    pub range: String,
}

impl Cell {
    /// The value, with the range below it.
    fn lines(&self) -> String {
        if self.range.is_empty() { self.text.clone() } else { format!("{}\n{}", self.text, self.range) }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, range: String::new() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// The head of a column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Name, with the unit if there is one.
    pub name: String,
    /// Whether the cells are numbers, which are right-aligned.
    pub numeric: bool,
}

impl Grid {
    /// An empty table, with text in the first `texts` columns and numbers in the others.
    pub fn new(title: impl Into<String>, columns: &[&str], texts: usize) -> Self {
        let columns = columns
            .iter()
            .enumerate()
            .map(|(index, name)| Column { name: (*name).to_owned(), numeric: index >= texts })
            .collect();
        Self { title: title.into(), columns, ..Self::default() }
    }

    /// The table as lines of text, no wider than `width` columns, without colours.
    #[must_use]
    pub fn to_text(&self, width: u16) -> String {
        let mut table = Table::new();
        table.load_style(STYLE);
        table.set_width(width).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(self.columns.iter().map(|column| aligned(&column.name, column.numeric)));
        for row in &self.rows {
            table.add_row(
                row.iter().zip(&self.columns).map(|(cell, column)| aligned(&cell.lines(), column.numeric)),
            );
        }
        // Gaps are narrowed before words are broken.
        for gap in [2, 1, 0] {
            for column in table.column_iter_mut() {
                column.set_padding((0, gap));
            }
            if table.lines().all(|line| line.chars().count() <= usize::from(width)) {
                break;
            }
            if gap == 0 {
                table.set_content_arrangement(ContentArrangement::Dynamic);
            }
        }
        let mut text = String::new();
        if !self.title.is_empty() {
            text = format!("{}\n", self.title);
        }
        text.extend(table.lines().map(|line| format!("{}\n", line.trim_end())));
        for line in self.note.lines() {
            text += &wrapped(line, usize::from(width));
        }
        text
    }
}

/// A line wrapped between words to at most `width` columns, with continuation lines indented.
pub(crate) fn wrapped(line: &str, width: usize) -> String {
    let mut text = String::new();
    let mut length = 0;
    for word in line.split(' ') {
        let word_length = word.chars().count();
        if length > 0 && length + 1 + word_length > width {
            text += "\n   ";
            length = 3;
        } else if length > 0 {
            text.push(' ');
            length += 1;
        }
        text += word;
        length += word_length;
    }
    text.push('\n');
    text
}

/// Lines above and below, and one below the head.
const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::new('─', '─', '─', '─'))
    .header_separator(LineStyle::new('─', '─', '─', '─'))
    .bottom_border(LineStyle::new('─', '─', '─', '─'));

fn aligned(text: &str, numeric: bool) -> comfy_table::Cell {
    comfy_table::Cell::new(text).set_alignment(if numeric {
        CellAlignment::Right
    } else {
        CellAlignment::Left
    })
}

/// Placeholder where there is no number.
pub(crate) const NOTHING: &str = "–";

/// A number with three significant digits, or more before the decimal point; a dash if it is not finite.
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if !value.is_finite() => return NOTHING.to_owned(),
        _ if size == 0.0 => return "0".to_owned(),
        _ if size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        _ if size >= 0.01 => 3,
        _ if size >= 0.0001 => 5,
        _ => return format!("{value:.1e}"),
    };
    format!("{value:.decimals$}")
}

/// Median and range of a value over several seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// `None` if no seed has the value.
    pub(crate) fn of(values: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let mut values: Vec<f64> = values.flatten().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (*values.first()?, *values.last()?);
        let upper = *values.get(values.len() / 2)?;
        let lower = *values.get((values.len() - 1) / 2)?;
        Some(Self { median: f64::midpoint(lower, upper), low, high })
    }

    fn cell(&self, show: impl Fn(f64) -> String, between: &str) -> Cell {
        let (low, high) = (show(self.low), show(self.high));
        let range = if low == high { String::new() } else { format!("{low}{between}{high}") };
        Cell { text: show(self.median), range }
    }
}

pub(crate) fn spread(spread: Option<Spread>) -> Cell {
    spread.map_or(NOTHING.into(), |spread| spread.cell(number, "–"))
}

/// A change in per cent with its sign.
pub(crate) fn change(spread: Option<Spread>) -> Cell {
    let show = |value: f64| {
        let text = format!("{value:+.1}");
        if matches!(text.as_str(), "-0.0" | "+0.0") { "0.0".to_owned() } else { text }
    };
    spread.map_or(NOTHING.into(), |spread| spread.cell(show, " to "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let shown: Vec<String> =
            [0.0, 1234.5, 99.96, 99.94, 9.999, 1.0, 0.9999, 0.1234, 0.001_25, 0.000_01, f64::NAN]
                .into_iter()
                .map(number)
                .collect();
        assert_eq!(
            shown,
            ["0", "1234", "100", "99.9", "10.0", "1.00", "1.00", "0.123", "0.00125", "1.0e-5", "–"]
        );
    }

    #[test]
    fn the_median_of_an_even_number_lies_between() {
        let values =
            Spread::of([Some(4.0), None, Some(1.0), Some(2.0), Some(f64::NAN), Some(3.0)].into_iter());
        assert_eq!(spread(values), Cell { text: "2.50".to_owned(), range: "1.00–4.00".to_owned() });
        assert_eq!(change(values), Cell { text: "+2.5".to_owned(), range: "+1.0 to +4.0".to_owned() });
        assert_eq!(spread(Spread::of([None].into_iter())), "–".into());
    }
}
