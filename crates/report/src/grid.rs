//! Tables for terminal and page.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};
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
    ///
    /// Numbers stay whole: gaps are narrowed first, then texts and heads are wrapped between words, then the table is continued below
    /// with the columns that are left.
    #[must_use]
    pub fn to_text(&self, width: u16) -> String {
        let width = usize::from(width);
        // The table has a margin at either side.
        let room = width.saturating_sub(2);
        let mut text = String::new();
        if !self.title.is_empty() {
            text = format!("{}\n", self.title);
        }
        for columns in self.parts(room) {
            text += &self.part(&columns, room);
        }
        for line in self.note.lines() {
            text += &wrapped(line, width);
        }
        text
    }

    /// Width below which a column would break a number, or a word.
    fn least(&self, column: usize) -> usize {
        let head = &self.columns[column];
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let longest = |text: &str| text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
        let of = |cell: &Cell| {
            if head.numeric {
                cell.text.chars().count().max(cell.range.chars().count())
            } else {
                longest(&cell.text).max(longest(&cell.range)).min(LONGEST_WORD)
            }
        };
        cells.map(of).max().unwrap_or(0).max(longest(&head.name)).max(1)
    }

    /// Width of a column whose texts stand in one line.
    fn natural(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let of = |cell: &Cell| cell.text.chars().count().max(cell.range.chars().count());
        cells.map(of).max().unwrap_or(0).max(self.columns[column].name.chars().count()).max(1)
    }

    /// Widths that fit into `room`: the widest columns that can be wrapped give way first, then texts break their words.
    fn widths(&self, columns: &[usize], mut widths: Vec<usize>, room: usize) -> Vec<usize> {
        /// Letters that are left of a word.
        const FEWEST: usize = 4;
        let least: Vec<usize> = columns.iter().map(|column| self.least(*column)).collect();
        let texts = |place: &usize| !self.columns[columns[*place]].numeric;
        while widths.iter().sum::<usize>() > room {
            let wrapped = (0..widths.len()).filter(|place| widths[*place] > least[*place]);
            let broken = (0..widths.len()).filter(texts).filter(|place| widths[*place] > FEWEST);
            let widest = wrapped
                .max_by_key(|place| widths[*place])
                .or_else(|| broken.max_by_key(|place| widths[*place]));
            let Some(widest) = widest else { break };
            widths[widest] -= 1;
        }
        widths
    }

    /// The columns of each part: all, or as many as fit beside the texts at the left.
    fn parts(&self, room: usize) -> Vec<Vec<usize>> {
        let texts: Vec<usize> =
            (0..self.columns.len()).take_while(|column| !self.columns[*column].numeric).collect();
        let least = |columns: &[usize]| columns.iter().map(|column| self.least(*column) + 1).sum::<usize>();
        let before = least(&texts);
        let mut parts = vec![texts.clone()];
        let mut used = before;
        for column in texts.len()..self.columns.len() {
            let wanted = least(&[column]);
            let is_empty = parts.last().is_none_or(|part| part.len() == texts.len());
            if used + wanted > room + 1 && !is_empty {
                parts.push(texts.clone());
                used = before;
            }
            used += wanted;
            parts.last_mut().into_iter().for_each(|part| part.push(column));
        }
        parts
    }

    /// Some of the columns as lines of text, in so much room.
    fn part(&self, columns: &[usize], room: usize) -> String {
        let mut table = Table::new();
        table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(room + 2).unwrap_or(u16::MAX));
        let cell = |row: &[Cell], column: usize| {
            let text = row.get(column).map_or(String::new(), Cell::lines);
            aligned(&text, self.columns[column].numeric)
        };
        table.set_header(columns.iter().map(|column| {
            let head = &self.columns[*column];
            aligned(&head.name, head.numeric)
        }));
        for row in &self.rows {
            table.add_row(columns.iter().map(|column| cell(row, *column)));
        }
        // Gaps are narrowed before words are wrapped.
        let natural: Vec<usize> = columns.iter().map(|column| self.natural(*column)).collect();
        let gaps = columns.len().saturating_sub(1);
        let fits = |gap: &usize| natural.iter().sum::<usize>() + gap * gaps <= room;
        let gap = [3, 2].into_iter().find(fits).unwrap_or(1);
        let widths = self.widths(columns, natural, room.saturating_sub(gap * gaps));
        for ((place, column), own) in table.column_iter_mut().enumerate().zip(widths) {
            // One blank of a gap is the line between columns.
            let padding = if place == gaps { 0 } else { gap - 1 };
            column.set_padding((0, u16::try_from(padding).unwrap_or(0)));
            let own = u16::try_from(own + padding).unwrap_or(u16::MAX);
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(own)));
        }
        table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

/// Letters of a word in a text above which it may be broken.
const LONGEST_WORD: usize = 24;

/// A line wrapped between words to at most `width` columns, with continuation lines indented.
#[must_use]
pub fn wrapped(line: &str, width: usize) -> String {
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

    /// The median over members of a group, and the band that holds nine tenths of them: all of fewer than 20.
    pub(crate) fn of_members(values: impl Iterator<Item = Option<f64>>) -> Option<Self> {
        let mut values: Vec<f64> = values.flatten().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let all = Self::of(values.iter().copied().map(Some))?;
        let (beyond, last) = (values.len() / 20, values.len().checked_sub(1)?);
        Some(Self { median: all.median, low: *values.get(beyond)?, high: *values.get(last - beyond)? })
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

    #[test]
    fn a_narrow_table_keeps_numbers_whole() {
        let mut grid = Grid::new(
            "Wide",
            &["a flow with a name", "scheme", "goodput Mb/s", "p50 ms", "p95 ms", "p99 ms"],
            2,
        );
        let cell = |text: &str| Cell { text: text.to_owned(), range: format!("{text}–{text}") };
        let numbers = ["1234", "12.345", "1000000", "99.9"];
        let names = ["download-for-everyone".into(), "linux (default)".into()];
        grid.rows.push(names.into_iter().chain(numbers.map(cell)).collect());
        for width in [100, 84, 83, 82, 60, 50] {
            let text = grid.to_text(width);
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{width}\n{text}");
            for number in numbers {
                assert!(text.contains(&format!("{number}–{number}")), "{width} {number}\n{text}");
            }
            let parts = text.matches("download-for-everyone").count();
            assert_eq!(parts > 1, width <= 82, "{width}\n{text}");
        }
    }

    #[test]
    fn the_band_of_a_group_leaves_out_a_tenth() {
        let of = |count: i32| Spread::of_members((1..=count).map(|value| Some(f64::from(value))));
        assert_eq!(of(19), Some(Spread { median: 10.0, low: 1.0, high: 19.0 }));
        assert_eq!(of(100), Some(Spread { median: 50.5, low: 6.0, high: 95.0 }));
        assert_eq!(of(0), None);
    }
}
