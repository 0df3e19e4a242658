//! Errors of the commands, and their exit codes.

use std::io;
use std::path::{Path, PathBuf};

use airbound_console::OutputError;
use airbound_lab::LabError;
use airbound_record::RecordError;
use airbound_report::ReportError;
use airbound_runs::RunsError;
use airbound_scenario::ScenarioError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum CommandError {
    /// Output or arguments.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The laboratory.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// Runs: their scenario, folder or report.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// The operating system refused something.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// Attempted action, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The input is wrong, or asks for what cannot be done.
    #[error("{0}")]
    Input(String),
    /// A validation that does not hold.
    #[error(
        "{0} of {1} rows fall outside their tolerance; docs/results/validation.md explains the known ones"
    )]
    Validation(usize, usize),
    /// A demonstration that does not hold.
    #[error("{0} of {1} aims are missed; {2} says why")]
    Demonstration(usize, usize, &'static str),
    /// A reproduction in which not every claim holds.
    #[error("{reached} of {of} headlines are reached, {failed} rows are not{why}")]
    Reproduction {
        /// Headlines that are reached.
        reached: usize,
        /// Headlines.
        of: usize,
        /// Rows outside their tolerance.
        failed: usize,
        /// Place of the reasons, or what was run.
        why: String,
    },
    /// A state that cannot occur.
    #[error("{0}; this is a defect of airbound")]
    Defect(String),
    /// A thread panicked; its message stands above.
    #[error("the message above is a defect of airbound; please report it with the command that led to it")]
    Panic,
}

impl CommandError {
    /// For `map_err`: the action that failed, and its file.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }

    /// 1 for a row outside its tolerance or a defect, 2 for wrong input.
    pub(super) const fn code(&self) -> u8 {
        match self {
            Self::Output(error) => error.code(),
            Self::Lab(LabError::Guest(_))
            | Self::Validation(..)
            | Self::Demonstration(..)
            | Self::Reproduction { .. }
            | Self::Defect(_)
            | Self::Panic => 1,
            _ => 2,
        }
    }
}

impl From<ScenarioError> for CommandError {
    fn from(error: ScenarioError) -> Self {
        Self::Runs(error.into())
    }
}

impl From<RecordError> for CommandError {
    fn from(error: RecordError) -> Self {
        Self::Runs(error.into())
    }
}

impl From<ReportError> for CommandError {
    fn from(error: ReportError) -> Self {
        Self::Runs(error.into())
    }
}
