//! Errors of building a simulation.

use airbound_units::ConfigError;

/// A reason for which a scenario cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The parameters of a slot are wrong.
    #[error("[scheme] {slot}: {reason}")]
    Slot {
        /// `queue`, `rate` or `sender`.
        slot: &'static str,
        /// The fault, as a sentence.
        reason: String,
    },
    /// The scheme cannot work with what is demanded of a flow.
    #[error("[[flow]] {flow}: {reason}")]
    Demand {
        /// The flow.
        flow: String,
        /// The fault, as a sentence.
        reason: ConfigError,
    },
    /// A value that several parts share is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
}
