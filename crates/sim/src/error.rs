//! Errors of building a simulation.

use airbound_units::ConfigError;

/// The reason why a scenario cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The parameters of a slot are invalid.
    #[error("[scheme] {slot}: {reason}")]
    Slot {
        /// `queue`, `rate` or `sender`.
        slot: &'static str,
        /// The error as text.
        reason: String,
    },
    /// An endpoint or the caller refers to a flow that the scenario lacks.
    #[error("no flow is named \"{flow}\"")]
    NoFlow {
        /// The name of the flow.
        flow: String,
    },
    /// The flows of one endpoint are in different networks.
    #[error("[[flow]] {flow}: is in another network than the other flows of its endpoint")]
    FlowsApart {
        /// The first flow in another network.
        flow: String,
    },
    /// The scheme does not support the demand on a flow.
    #[error("[[flow]] {flow}: {reason}")]
    Demand {
        /// The flow.
        flow: String,
        /// The error as text.
        reason: ConfigError,
    },
    /// A value common to several parts is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
}
