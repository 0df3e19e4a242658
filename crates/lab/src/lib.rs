//! The laboratory: a virtual machine in virtual time in which the real mac80211, hostapd and TCP play a scenario over the simulator's
//! model of the channel. A run leaves the same record as a simulated run.
//!
//! | module | content |
//! |---|---|
//! | [`plan`] | checks of scenarios, and the driver's parameters |
//! | [`host`] | packages, driver, initial file system, the virtual machine, the record |
//! | [`guest`] | processes in the machine: the medium, the endpoints of the flows |
//! | [`medium`] | contention, exchanges and errors: a state machine without clock or device |
//! | [`channel`] | the messages between driver and medium |
//!
//! docs/use/lab.md describes its use; `lab/radio` is the driver.

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
    /// The laboratory does not support the scenario.
    #[error("the laboratory cannot play this scenario: {0}")]
    Scenario(String),
    /// A program, a package or a setting is missing.
    #[error("the laboratory needs {what}: {how}")]
    Missing {
        /// The missing thing.
        what: String,
        /// The remedy, or the reason.
        how: String,
    },
    /// A program on the host failed.
    #[error("{program} failed: {reason}")]
    Program {
        /// Its name.
        program: String,
        /// The last lines of its output.
        reason: String,
    },
    /// An operation on a file or a device failed.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// The attempted action, as a verb.
        action: &'static str,
        /// The file or the device.
        path: String,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The record could not be written.
    #[error(transparent)]
    Record(#[from] airbound_record::RecordError),
    /// The guest failed.
    #[error("inside the guest: {0}")]
    Guest(String),
}

impl LabError {
    pub(crate) fn io(action: &'static str, path: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// Whether the laboratory is not available on this host, independent of the scenario.
    #[must_use]
    pub const fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}
