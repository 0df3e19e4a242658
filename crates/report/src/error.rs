//! The error type of this crate.

use std::path::PathBuf;

use airbound_record::RecordError;

/// Errors of a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No run is given.
    #[error("no run to report on; at least one is required")]
    NoRun,
    /// No run has the requested flow.
    #[error("no flow is named \"{wanted}\"; the flows are {known}")]
    UnknownFlow {
        /// Name of the requested flow.
        wanted: String,
        /// The flows of the runs.
        known: String,
    },
    /// A plot cannot be drawn.
    #[error("cannot draw the plot of {subject}: {reason}; this is a defect of Airbound")]
    Plot {
        /// Subject of the plot.
        subject: &'static str,
        /// Error of the plotter, as text.
        reason: String,
    },
    /// The page cannot be rendered.
    #[error("cannot render the report's page: {0}; this is a defect of Airbound")]
    Page(#[from] minijinja::Error),
    /// Rows cannot be written as JSON.
    #[error("cannot write the rows as JSON: {0}; this is a defect of Airbound")]
    Json(#[from] serde_json::Error),
    /// The report cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
}
