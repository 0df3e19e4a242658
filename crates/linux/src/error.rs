//! The error type of this crate.

use std::io;
use std::path::PathBuf;

/// Errors of operations on the operating system.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinuxError {
    /// No interface has this name.
    #[error("there is no network interface {0}; `ip link` lists them")]
    NoInterface(String),
    /// The interface is unknown to nl80211.
    #[error("{0} is no Wi-Fi interface; `iw dev` lists them")]
    NotWifi(String),
    /// The machine has no Wi-Fi interface.
    #[error("nl80211 lists no Wi-Fi interface on this machine ({0})")]
    NoWifi(String),
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// The attempted action, as a verb phrase.
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel refused a request.
    #[error("the kernel refused to {action}: {source}{}", detail(.reason))]
    Refused {
        /// The attempted action, as a verb phrase.
        action: &'static str,
        /// The error returned.
        source: io::Error,
        /// The kernel's explanation (extended acknowledgement), empty without one.
        reason: String,
    },
    /// The kernel's response is malformed.
    #[error("the kernel's response to \"{0}\" is malformed")]
    Malformed(&'static str),
    /// The kernel or the driver lacks a feature.
    #[error("{what} is not available: {why}")]
    Unavailable {
        /// Name of the missing feature.
        what: &'static str,
        /// The reason.
        why: String,
    },
    /// A required program failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// Its name.
        program: &'static str,
        /// Its error message.
        reason: String,
    },
    /// A name or number is not usable.
    #[error("{0}")]
    Input(String),
    /// A file is not trusted.
    #[error("{} {reason}", .path.display())]
    Untrusted {
        /// Its path.
        path: PathBuf,
        /// The reason, and the remedy.
        reason: String,
    },
}

fn detail(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

impl LinuxError {
    /// For `map_err`: the error of the attempted action.
    pub(crate) fn system<E: Into<io::Error>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::System { action, source: source.into() }
    }

    /// The error number, if the error has one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System { source, .. } | Self::Refused { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}
