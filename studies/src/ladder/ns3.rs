//! The same scenario in ns-3: recorded results of the programs in `studies/ns3`, each with its definitions in
//! `studies/ns3/README.md`.

mod dcf;
mod hidden;
mod rate_control;
mod tcp;
mod vht;

use std::path::{Path, PathBuf};

use airbound_record::StationSummary;
use airbound_report::ValidationRow;

use super::table::Table;
use crate::{Effort, TrialError};

/// All rows of this rung.
pub(crate) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let mut rows = vht::rows(effort)?;
    rows.extend(tcp::rows(effort)?);
    rows.extend(rate_control::rows(effort)?);
    rows.extend(dcf::rows(effort)?);
    rows.extend(hidden::rows(effort)?);
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
    #[error("{} has no table; allowed are files named {TABLES}", .folder.display())]
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

/// Tables that [`rows_of`] knows.
const TABLES: &str = "hidden.csv";

/// Rows of the tables in a folder, which have the columns of those that are compiled in.
///
/// # Errors
/// The folder has no table, or one cannot be read or judged.
pub fn rows_of(folder: &Path, effort: Effort) -> Result<Vec<ValidationRow>, TableError> {
    let file = folder.join(TABLES);
    if !file.exists() {
        return Err(TableError::NoTable { folder: folder.to_owned() });
    }
    let text =
        std::fs::read_to_string(&file).map_err(|source| TableError::Read { file: file.clone(), source })?;
    let table = Table::of(&text);
    hidden::check(&table).map_err(|(line, problem)| TableError::Content { file, line, problem })?;
    Ok(hidden::rows_of(&table, effort)?)
}

/// MPDUs over A-MPDUs of all stations, each of which got equally many MPDUs.
fn mean_ampdu(stations: &[StationSummary]) -> Option<f64> {
    let inverse: f64 = stations.iter().filter_map(|station| station.mean_ampdu).map(f64::recip).sum();
    (inverse > 0.0).then(|| stations.len() as f64 / inverse)
}
