//! A recorded run in the formats of other tools.

mod flent;
mod qlog;

use airbound_record::{RecordError, Row, RunFolder, TableReader};

pub use flent::{FLENT_BEGINNING, flent};
pub use qlog::{QLOG_BEGINNING, qlog};

/// A run that cannot be exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A file of the run cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A table is missing.
    #[error("{run} has no {table}.parquet; run it again with --log-packets")]
    NoTable {
        /// The folder.
        run: String,
        /// The table.
        table: &'static str,
    },
    /// No flow of this name has a sender that adapts.
    #[error("{flow} is no flow with a sender; allowed are {}", listed(.known))]
    NoSender {
        /// The name that was asked for, or "the run".
        flow: String,
        /// Flows of the run over TCP or with real-time video.
        known: Vec<String>,
    },
    /// The file cannot be encoded.
    #[error("the file cannot be encoded: {0}")]
    Encoding(String),
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none: no flow is TCP or rtc".to_owned() } else { names.join(", ") }
}

/// Opens a table of a run.
fn table<R: Row>(folder: &RunFolder, name: &'static str) -> Result<TableReader<R>, ExportError> {
    match folder.existing(&format!("{name}.parquet")) {
        Some(path) => Ok(TableReader::open(&path)?),
        None => Err(ExportError::NoTable { run: folder.path().display().to_string(), table: name }),
    }
}
