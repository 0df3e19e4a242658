//! Errors in making a report.

use std::path::PathBuf;

use airbound_record::RecordError;

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A record could not be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is nothing to report on.
    #[error("there is no run to report on")]
    NoRun,
    /// The flow to look at is in none of the runs.
    #[error("no flow is named \"{wanted}\"; the flows are {known}")]
    UnknownFlow {
        /// Name of the flow that was asked for.
        wanted: String,
        /// The flows there are.
        known: String,
    },
    /// A plot could not be drawn.
    #[error("cannot draw the plot of {subject}: {reason}; this is a defect of Airbound")]
    Plot {
        /// Subject of the plot.
        subject: &'static str,
        /// Error of the plotter, as text.
        reason: String,
    },
    /// The page could not be filled in.
    #[error("cannot fill in the report's page: {0}; this is a defect of Airbound")]
    Page(#[from] minijinja::Error),
    /// Rows could not be written as JSON.
    #[error("cannot write the rows as JSON: {0}; this is a defect of Airbound")]
    Json(#[from] serde_json::Error),
    /// The report could not be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
}
