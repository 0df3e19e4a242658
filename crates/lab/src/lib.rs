//! The laboratory: a virtual machine in virtual time in which the real mac80211, hostapd and TCP play a scenario over the simulator's
//! model of the air, and leave the same record as a simulated run.
//!
//! | module | what it does |
//! |---|---|
//! | [`plan`] | which scenarios the laboratory can express, and what it needs for them |
//! | [`host`] | packages, driver, initial file system, the virtual machine, the record |
//! | [`guest`] | inside the machine: the medium at work, the ends of the flows |
//! | [`medium`] | who is on the air when, and what gets through: a state machine without clock or device |
//! | [`channel`] | what driver and medium say to each other |
//!
//! docs/use/lab.md explains it; `lab/radio` is the driver.

pub mod channel;
#[cfg(target_os = "linux")]
pub mod guest;
#[cfg(target_os = "linux")]
pub mod host;
pub mod log;
pub mod medium;
pub mod plan;
pub mod rates;

/// Errors of the laboratory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The scenario asks for what the laboratory does not have.
    #[error("the laboratory cannot play this scenario: {0}")]
    Scenario(String),
    /// Something that must be installed is not.
    #[error("the laboratory needs {what}: {how}")]
    Missing {
        /// Thing that is missing.
        what: String,
        /// Way to get it.
        how: String,
    },
    /// A program on the host failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// Which.
        program: String,
        /// Its last words.
        reason: String,
    },
    /// A file or a device failed.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// Attempted action, as a verb.
        action: &'static str,
        /// With what.
        path: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The record could not be written.
    #[error(transparent)]
    Record(#[from] airbound_record::RecordError),
    /// Something went wrong inside the guest.
    #[error("inside the guest: {0}")]
    Guest(String),
}

impl LabError {
    pub(crate) fn io(action: &'static str, path: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// Whether the laboratory cannot be had here, through no fault of the scenario or the program.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}
