//! Errors in trace files.

/// Why a trace was refused: one sentence with file and line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file cannot be read.
    #[error("{file}: cannot be read: {reason}")]
    Read {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// There is not one line of data in it.
    #[error("{file}: is empty; a trace has at least one line of data")]
    Empty {
        /// The file.
        file: String,
    },
    /// No line of a bandwidth trace lets anything through.
    #[error(
        "{file}: carries nothing, its bandwidth is 0 in every line; allowed is a trace in which one line at least is above 0"
    )]
    Nothing {
        /// The file.
        file: String,
    },
    /// A line that cannot be used.
    #[error("{file}:{line}: {problem}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The problem, and what is allowed.
        problem: String,
    },
}
