//! Reference tables: comma-separated values with comments, compiled in.

/// A table whose first line that is no comment names the columns.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<&'static str>,
    rows: Vec<Vec<&'static str>>,
}

/// One row of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'a> {
    table: &'a Table,
    cells: &'a [&'static str],
}

impl Table {
    pub(crate) fn of(text: &'static str) -> Self {
        let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        let split = |line: &'static str| line.split(',').map(str::trim).collect();
        Self { columns: lines.next().map(split).unwrap_or_default(), rows: lines.map(split).collect() }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { table: self, cells })
    }
}

impl Row<'_> {
    /// The text in a column; empty if there is none.
    pub(crate) fn text(&self, column: &str) -> &'static str {
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
        assert_eq!((rows[1].number("a"), rows[1].number("b"), rows[1].number("c")), (Some(2.5), None, None));
    }
}
