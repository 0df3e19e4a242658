//! Errors of trace files.

/// Errors of a trace, with file and line.
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
    /// The file has no line of data.
    #[error("{file}: is empty; a trace has at least one line of data")]
    Empty {
        /// The file.
        file: String,
    },
    /// All lines of a bandwidth trace are 0.
    #[error("{file}: the bandwidth is 0 in every line; allowed is a trace with at least one line above 0")]
    Nothing {
        /// The file.
        file: String,
    },
    /// Numbers between commas whose quantity nothing names.
    #[error(
        "{file}:{line}: {row} may be a bandwidth or a signal-to-noise ratio; write \"time,bandwidth\" (seconds, Mbit/s) or \
         \"time,snr\" (seconds, dB) as the first line, or choose the format bandwidth or snr"
    )]
    Unnamed {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The line itself, in quotes.
        row: String,
    },
    /// A line is wrong.
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
