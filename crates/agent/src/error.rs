//! The agent's error type.

use std::io;
use std::path::PathBuf;

use airbound_linux::LinuxError;
use airbound_record::RecordError;
use airbound_units::ConfigError;

/// Errors of the agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// A line of the configuration file is wrong.
    #[error("{file}:{line}: {problem}")]
    Config {
        /// The file as it was named.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// The problem, and what is allowed.
        problem: String,
    },
    /// A value is wrong, or two values contradict each other.
    #[error("{0}")]
    Value(String),
    /// A parameter of a controller is out of range.
    #[error(transparent)]
    Controller(#[from] ConfigError),
    /// The operating system refused an operation.
    #[error(transparent)]
    Linux(#[from] LinuxError),
    /// The interfaces whose packets are held were removed while the agent ran.
    #[error("no interface is left whose packets are held: {0} went; the agent has to be started again")]
    Gone(String),
    /// A record cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// An operation on a file or a socket failed.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The attempted action, as a verb phrase.
        action: &'static str,
        /// Its path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
}
