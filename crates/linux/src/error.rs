//! Errors of this crate.

use std::io;
use std::path::PathBuf;

/// Why something cannot be had of the operating system.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinuxError {
    /// No interface has this name.
    #[error("there is no network interface {0}; `ip link` lists them")]
    NoInterface(String),
    /// The interface is not one of nl80211's.
    #[error("{0} is no Wi-Fi interface; `iw dev` lists them")]
    NotWifi(String),
    /// The machine has no Wi-Fi interface at all.
    #[error("this machine has no Wi-Fi interface that nl80211 knows of ({0})")]
    NoWifi(String),
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System {
        /// The attempted action, as a verb phrase.
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel understood, and refused.
    #[error("the kernel refused to {action}: {source}{}", detail(.reason))]
    Refused {
        /// The attempted action, as a verb phrase.
        action: &'static str,
        /// The error that it returned.
        source: io::Error,
        /// The kernel's own sentence (extended acknowledgement), empty without one.
        reason: String,
    },
    /// An answer that no kernel should give.
    #[error("the kernel's answer to \"{0}\" cannot be read")]
    Malformed(&'static str),
    /// Kernel or driver does not have it.
    #[error("{what} cannot be had: {why}")]
    Unavailable {
        /// Name of the missing feature.
        what: &'static str,
        /// Why not.
        why: String,
    },
    /// A program that is needed failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// Which.
        program: &'static str,
        /// Its last words.
        reason: String,
    },
    /// A name or number that was given cannot be used.
    #[error("{0}")]
    Input(String),
    /// A file is not to be trusted.
    #[error("{} {reason}", .path.display())]
    Untrusted {
        /// Which.
        path: PathBuf,
        /// Why not, and what to do.
        reason: String,
    },
}

fn detail(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" ({reason})") }
}

impl LinuxError {
    /// For `map_err`: what was tried.
    pub(crate) fn system<E: Into<io::Error>>(action: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::System { action, source: source.into() }
    }

    /// The error number of a refusal, where there is one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System { source, .. } | Self::Refused { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }
}
