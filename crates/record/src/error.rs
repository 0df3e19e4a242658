//! The error type of this crate.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

/// Errors of writing and reading a run's folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The operating system refused an operation.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// Attempted action, as a verb: "create", "read".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The output folder contains files that are not of a run.
    #[error(
        "{} is not empty and not a run of Airbound (it has no summary.json of one); choose another folder or empty it",
        .path.display()
    )]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// The output folder contains an earlier run that must not be replaced.
    #[error("{} already contains a run; choose another folder or allow replacement", .path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// Another process writes results into the folder.
    #[error("another airbound is writing into {}; wait for it, or choose another folder", .path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The folder is not a finished run.
    #[error("{} is not a run of Airbound: it has no summary.json", .path.display())]
    NotARun {
        /// The folder.
        path: PathBuf,
    },
    /// The Parquet file is not of Airbound, or is another table.
    #[error("{} is not a {table} file of Airbound: {}", .path.display(), printable(.reason))]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The expected table.
        table: &'static str,
        /// The part that is missing or different.
        reason: String,
    },
    /// The Parquet file is truncated or damaged.
    #[error("{} is truncated or damaged: {}", .path.display(), printable(.reason))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        reason: String,
    },
    /// A table cannot be encoded.
    #[error("cannot encode {}: {source}", .path.display())]
    Encode {
        /// The file.
        path: PathBuf,
        /// Error of the encoder.
        source: ParquetError,
    },
    /// The encoding thread ended early.
    #[error("the thread that encodes the record of {} ended early; this is a defect of Airbound", .path.display())]
    EncoderGone {
        /// The folder.
        path: PathBuf,
    },
    /// The JSON file does not have the form of this version.
    #[error("{} does not have the form of this version: {}", .path.display(), printable(.source))]
    Json {
        /// The file.
        path: PathBuf,
        /// Error of the parser, with line and column.
        source: serde_json::Error,
    },
    /// A number cannot be represented in JSON.
    #[error("cannot write the {document}: {source}")]
    Unwritable {
        /// "summary" or "performance".
        document: &'static str,
        /// The error of the serialiser.
        source: serde_json::Error,
    },
}

/// A sentence about the content of a file, with its control characters escaped: a terminal would obey them.
fn printable(reason: &impl Display) -> String {
    let shown = |letter: char| {
        if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() }
    };
    reason.to_string().chars().map(shown).collect()
}

impl RecordError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// An error of the encoder; one of the operating system below it is reported as such.
    pub(crate) fn encode(path: &Path, source: ParquetError) -> Self {
        let path = path.to_owned();
        match source {
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(source) => Self::Io { action: "write", path, source: *source },
                Err(cause) => Self::Encode { path, source: ParquetError::External(cause) },
            },
            source => Self::Encode { path, source },
        }
    }

    pub(crate) fn damaged(path: &Path, reason: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_file_are_no_commands_to_a_terminal() {
        let reason = serde_json::from_str::<crate::Direction>("\"\\u001b[2Jup\"").expect_err("no direction");
        let sentence = RecordError::Json { path: PathBuf::from("summary.json"), source: reason }.to_string();
        assert!(sentence.contains("`\\u{1b}[2Jup`") && !sentence.contains('\u{1b}'), "{sentence}");
    }

    #[test]
    fn a_full_disk_below_the_encoder_is_one_of_the_system() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let error = RecordError::encode(Path::new("series.parquet"), ParquetError::External(Box::new(full)));
        assert_eq!(error.to_string(), "cannot write series.parquet: no storage space");
        let other = RecordError::encode(Path::new("series.parquet"), ParquetError::EOF("early".to_owned()));
        assert!(matches!(other, RecordError::Encode { .. }));
    }
}
