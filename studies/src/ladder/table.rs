//! Reference tables: comma-separated values with comments, compiled in or read from a file of the same columns.

/// A table whose first line that is no comment names the columns.
#[derive(Debug, Clone)]
pub(crate) struct Table<'a> {
    columns: Vec<&'a str>,
    /// Number of its line, counted from 1, and cells of each row.
    rows: Vec<(usize, Vec<&'a str>)>,
}

/// One row of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    table: &'a Table<'a>,
    line: usize,
    cells: &'a [&'a str],
}

impl<'a> Table<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let lines = text.lines().zip(1..);
        let mut lines = lines.filter(|(line, _)| !line.starts_with('#') && !line.trim().is_empty());
        let split = |line: &'a str| line.split(',').map(str::trim).collect();
        let columns = lines.next().map(|(line, _)| split(line)).unwrap_or_default();
        Self { columns, rows: lines.map(|(line, number)| (number, split(line))).collect() }
    }

    /// The first of these columns that it does not have.
    pub(crate) fn lacks<'b>(&self, columns: &[&'b str]) -> Option<&'b str> {
        columns.iter().copied().find(|column| !self.columns.contains(column))
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, cells)| Row { table: self, line: *line, cells })
    }
}

impl<'a> Row<'a> {
    /// Number of its line in the text, counted from 1.
    pub(crate) const fn line(&self) -> usize {
        self.line
    }

    /// The text in a column; empty if there is none.
    pub(crate) fn text(&self, column: &str) -> &'a str {
        let place = self.table.columns.iter().position(|name| *name == column);
        place.and_then(|place| self.cells.get(place).copied()).unwrap_or_default()
    }

    /// The number in a column; `None` if there is none.
    pub(crate) fn number(&self, column: &str) -> Option<f64> {
        self.text(column).parse().ok()
    }

    /// The whole number in a column; 0 if there is none.
    pub(crate) fn whole(&self, column: &str) -> u32 {
        self.text(column).parse().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_skipped_and_cells_are_named() {
        let table = Table::of("# made up\na,b\n1,x\n\n2.5,\n");
        let rows: Vec<Row<'_>> = table.rows().collect();
        assert_eq!((rows[0].whole("a"), rows[0].text("b")), (1, "x"));
        assert_eq!((rows[0].line(), rows[1].line()), (3, 5));
        assert_eq!((table.lacks(&["a", "b"]), table.lacks(&["a", "c"])), (None, Some("c")));
        assert_eq!((rows[1].number("a"), rows[1].number("b"), rows[1].number("c")), (Some(2.5), None, None));
    }
}
