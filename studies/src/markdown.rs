//! Rows as a table of Markdown, for the documentation.

use std::fmt::Write as _;

use airbound_report::{Grid, ValidationRow, Verdict};

use crate::ladder::Rung;

/// The rows of a rung under its title.
#[must_use]
pub fn markdown(rung: Rung, rows: &[ValidationRow]) -> String {
    rows_markdown(rung.title(), rows)
}

/// Rows under a title.
#[must_use]
pub fn rows_markdown(title: &str, rows: &[ValidationRow]) -> String {
    let mut text = format!("### {title}\n\n");
    text += "| id | metric | reference | ours | difference | verdict |\n|---|---|---:|---:|---:|---|\n";
    for row in rows {
        let verdict = match row.verdict {
            Verdict::Missed => "**missed**",
            verdict => verdict.text(),
        };
        let unit = if row.unit.is_empty() { String::new() } else { format!(" ({})", row.unit) };
        let _ = writeln!(
            text,
            "| {} | {}{unit} | {} | {} | {} | {verdict} |",
            row.id,
            row.metric,
            number(row.reference),
            number(row.measured),
            difference(row)
        );
    }
    text + "\n"
}

/// A page of tables: its title, and each table under a heading.
#[must_use]
pub fn page_markdown<'a>(title: &str, command: &str, tables: impl IntoIterator<Item = &'a Grid>) -> String {
    let tables: Vec<String> = tables.into_iter().map(grid_markdown).collect();
    format!("# {title}: tables\n\nWritten by `{command}`.\n\n{}", tables.concat().trim_end())
}

/// A table under its title, with its note below. Lines of a note that begin with a number and a colon become a list.
fn grid_markdown(grid: &Grid) -> String {
    let bar =
        |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let mut text = format!("## {}\n\n", grid.title);
    text += &bar(&mut grid.columns.iter().map(|column| column.name.clone()));
    text +=
        &bar(&mut grid.columns.iter().map(|column| if column.numeric { "---:" } else { "---" }.to_owned()));
    for row in &grid.rows {
        text += &bar(&mut row.iter().map(|cell| cell.text.clone()));
    }
    let mut was_item = true;
    for line in grid.note.lines() {
        let item = line.split_once(": ").filter(|(number, _)| number.parse::<u32>().is_ok());
        if was_item != item.is_some() || text.ends_with("|\n") {
            text.push('\n');
        }
        was_item = item.is_some();
        text += &item.map_or_else(|| line.to_owned(), |(number, note)| format!("- {number}: {note}"));
        text.push('\n');
    }
    text + "\n"
}

fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value == 0.0 || value.abs() >= 1000.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 100.0 => format!("{value:.1}"),
        Some(value) if value.abs() >= 1.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.4}"),
    }
}

fn difference(row: &ValidationRow) -> String {
    match (row.reference, row.measured) {
        (Some(reference), Some(measured)) if reference != 0.0 => {
            format!("{:+.1} %", 100.0 * (measured / reference - 1.0))
        }
        _ => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airbound_report::Tolerance;

    #[test]
    fn a_page_has_headings_and_lists() {
        let columns = [("scheme", false), ("ms", true)]
            .map(|(name, numeric)| airbound_report::Column { name: name.to_owned(), numeric });
        let note = "2 rows.\n1: why\n2: where".to_owned();
        let rows = vec![vec!["fifo".into(), "3.0".into()]];
        let grid = Grid { title: "Delay".to_owned(), columns: columns.to_vec(), rows, note };
        let text = page_markdown("A paper", "airbound x", [&grid]);
        let wanted = "# A paper: tables\n\nWritten by `airbound x`.\n\n## Delay\n\n| scheme | ms |\n\
                      | --- | ---: |\n| fifo | 3.0 |\n\n2 rows.\n\n- 1: why\n- 2: where";
        assert_eq!(text, wanted);
    }

    #[test]
    fn a_row_is_one_line() {
        let tolerance = Some(Tolerance::Relative(0.1));
        let row = ValidationRow::judged("a", "b", "ms", Some(10.0), Some(12.0), tolerance, "why");
        let text = markdown(Rung::Closed, &[row]);
        assert!(text.ends_with("| a | b (ms) | 10.00 | 12.00 | +20.0 % | **missed** |\n\n"), "{text}");
    }
}
