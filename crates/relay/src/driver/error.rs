//! Errors of the programs, and their exit codes.

use std::io;

use airbound_linux::LinuxError;

/// The reason why a program ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RelayError {
    /// An argument, a configuration, a key or an address that cannot be used.
    #[error("{0}")]
    Input(String),
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// The attempted action, as a verb phrase.
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// An error of the system's interfaces.
    #[error(transparent)]
    Linux(#[from] LinuxError),
}

impl RelayError {
    pub(super) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    /// The exit code: 2 for input, else 1.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Input(_) | Self::Linux(LinuxError::Untrusted { .. }) => 2,
            Self::Io { .. } | Self::Linux(_) => 1,
        }
    }
}
