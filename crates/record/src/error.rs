//! Errors in writing and reading the folder of a run.

use std::io;
use std::path::{Path, PathBuf};

/// Why a record could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The operating system refused something.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// Attempted action, as a verb: "create", "read".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The output folder holds something that no run left.
    #[error(
        "{} is not empty and not a run of Airbound (it has no summary.json); choose another folder or empty it",
        .path.display()
    )]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// The output folder holds an earlier run, which was not to be replaced.
    #[error("{} already holds a run; choose another folder or allow it to be replaced", .path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A folder that was to be read is not a finished run.
    #[error("{} is not a run of Airbound: it has no summary.json", .path.display())]
    NotARun {
        /// The folder.
        path: PathBuf,
    },
    /// A Parquet file that Airbound did not write, or another of its tables.
    #[error("{} is not a {table} file of Airbound: {reason}", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The table that was wanted.
        table: &'static str,
        /// Part that is missing or different.
        reason: String,
    },
    /// A Parquet file that is truncated or damaged.
    #[error("{} is truncated or damaged: {reason}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the damage.
        reason: String,
    },
    /// A table could not be encoded.
    #[error("cannot encode {}: {source}", .path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Error of the encoder.
        source: parquet::errors::ParquetError,
    },
    /// The encoding thread is gone.
    #[error("the thread that encodes the record of {} ended early; this is a defect of Airbound", .path.display())]
    EncoderGone {
        /// The folder.
        path: PathBuf,
    },
    /// A JSON file that does not have the agreed form.
    #[error("{} does not have the form of this version: {source}", .path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Error of the parser, with line and column.
        source: serde_json::Error,
    },
    /// A number that JSON cannot hold.
    #[error("the {document} cannot be written: {source}")]
    Unwritable {
        /// "summary" or "performance".
        document: &'static str,
        /// Which value is at fault.
        source: serde_json::Error,
    },
}

impl RecordError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.to_string() }
    }
}
