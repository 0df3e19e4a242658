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
    /// An endpoint or the caller is to have a flow that the scenario does not have.
    #[error("no flow is named \"{flow}\"")]
    NoFlow {
        /// The name that was asked for.
        flow: String,
    },
    /// The flows of one endpoint lie in different networks.
    #[error("[[flow]] {flow}: lies in another network than the other flows of its endpoint")]
    FlowsApart {
        /// The first flow that lies elsewhere.
        flow: String,
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
