//! The same scenario in ns-3: recorded results of the programs in `studies/ns3`, each with its definitions in
//! `studies/ns3/README.md`.

mod capture;
mod circle;
mod dcf;
mod hidden;
mod lostack;
mod rate_control;
mod tcp;
mod vht;

use std::path::{Path, PathBuf};

use airbound_record::StationSummary;
use airbound_report::ValidationRow;

use super::table::{Row, Table};
use crate::trial::in_parallel;
use crate::{Effort, TrialError};

/// All rows of this rung.
pub(crate) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let mut rows = vht::rows(effort)?;
    rows.extend(tcp::rows(effort)?);
    rows.extend(rate_control::rows(effort)?);
    rows.extend(dcf::rows(effort)?);
    rows.extend(hidden::rows(effort)?);
    rows.extend(capture::rows(effort)?);
    rows.extend(lostack::rows(effort)?);
    Ok(rows)
}

/// A table of the same columns as one of `studies/data`, brought by the user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A folder without a table.
    #[error("{} has no table; allowed are files named {}", .folder.display(), names())]
    NoTable {
        /// The folder.
        folder: PathBuf,
    },
    /// A table whose content cannot be judged.
    #[error("{}{}: {problem}", .file.display(), .line.map(|line| format!(":{line}")).unwrap_or_default())]
    Content {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: Option<usize>,
        /// The problem, and what is allowed.
        problem: String,
    },
    /// A run that could not be made.
    #[error(transparent)]
    Trial(#[from] TrialError),
}

/// A table's problem: its line, if it is about one, and what is allowed.
type Problem = (Option<usize>, String);

/// Refuses a table without one of these columns.
fn has_columns(table: &Table<'_>, columns: &[&str]) -> Result<(), Problem> {
    match table.lacks(columns) {
        None => Ok(()),
        Some(column) => {
            let problem = format!("has no column {column}; allowed are tables with {}", columns.join(", "));
            Err((None, problem))
        }
    }
}

/// The problem of a cell.
fn wrong(row: &Row<'_>, column: &str, allowed: &str) -> Problem {
    let text: String = row.text(column).chars().take(40).collect();
    (Some(row.line()), format!("{column} is \"{text}\"; allowed is {allowed}"))
}

/// The names of the tables that users may bring.
fn names() -> String {
    KINDS.map(|kind| kind.file).join(", ")
}

/// A kind of table that users may bring.
struct Kind {
    file: &'static str,
    check: fn(&Table<'_>) -> Result<(), Problem>,
    rows: fn(&Table<'_>, Effort) -> Result<Vec<ValidationRow>, TrialError>,
}

const KINDS: [Kind; 3] = [
    Kind { file: "hidden.csv", check: hidden::check, rows: hidden::rows_of },
    Kind { file: "capture.csv", check: capture::check, rows: capture::rows_of },
    Kind { file: "lostack.csv", check: lostack::check, rows: lostack::rows_of },
];

/// Rows of the tables in a folder, which have the columns of those that are compiled in.
///
/// # Errors
/// The folder has no table, or one cannot be read or judged.
pub fn rows_of(folder: &Path, effort: Effort) -> Result<Vec<ValidationRow>, TableError> {
    let found: Vec<&Kind> = KINDS.iter().filter(|kind| folder.join(kind.file).exists()).collect();
    if found.is_empty() {
        return Err(TableError::NoTable { folder: folder.to_owned() });
    }
    // All are read and checked before the first run.
    let mut texts = Vec::new();
    for kind in found {
        let file = folder.join(kind.file);
        let text = std::fs::read_to_string(&file)
            .map_err(|source| TableError::Read { file: file.clone(), source })?;
        let table = Table::of(&text);
        let checked = (kind.check)(&table).and_then(|()| match table.rows().next() {
            Some(_) => Ok(()),
            None => Err((None, "has no row; allowed are tables with at least one".to_owned())),
        });
        checked.map_err(|(line, problem)| TableError::Content { file, line, problem })?;
        texts.push((kind, text));
    }
    let mut rows = Vec::new();
    for (kind, text) in texts {
        rows.extend((kind.rows)(&Table::of(&text), effort)?);
    }
    Ok(rows)
}

/// Compares each row of a table with runs, several at a time.
fn compared(
    table: &Table<'_>,
    effort: Effort,
    compare: fn(&Row<'_>, Effort) -> Result<Vec<ValidationRow>, TrialError>,
) -> Result<Vec<ValidationRow>, TrialError> {
    let references: Vec<Row<'_>> = table.rows().collect();
    let rows = in_parallel(&references, effort.jobs, |reference| compare(reference, effort))?;
    Ok(rows.into_iter().flatten().collect())
}

/// MPDUs over A-MPDUs of all stations, each of which got equally many MPDUs.
fn mean_ampdu(stations: &[StationSummary]) -> Option<f64> {
    let inverse: f64 = stations.iter().filter_map(|station| station.mean_ampdu).map(f64::recip).sum();
    (inverse > 0.0).then(|| stations.len() as f64 / inverse)
}
