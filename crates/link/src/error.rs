//! The error type of this crate.

use std::time::Duration;

/// The reason why a call was refused. Nothing has happened then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// No place has this name.
    #[error("no place is named \"{name}\"; {hint}")]
    UnknownPlace {
        /// The name, shortened.
        name: String,
        /// The place that was probably meant, or all places.
        hint: String,
    },
    /// The scenario, the scheme or the demand is wrong: a sentence with place, key and what is allowed.
    #[error("{0}")]
    Scenario(String),
    /// The time of a call is before that of an earlier one.
    #[error("time runs backwards: {now:?} after {was:?}; allowed is the same time or a later one")]
    TimeRunsBackwards {
        /// The time of the call.
        now: Duration,
        /// The latest time before.
        was: Duration,
    },
    /// The time of a call is after the end of the simulation.
    #[error("{now:?} is after the end of the link; a link lasts {last:?}")]
    TooLate {
        /// The time of the call.
        now: Duration,
        /// The last time that is allowed.
        last: Duration,
    },
    /// A packet is larger than the network carries in one.
    #[error("a packet of {size} B is above the MTU; allowed are {largest} B of payload")]
    TooLarge {
        /// Its payload in bytes.
        size: usize,
        /// The largest payload, [`LARGEST`](crate::LARGEST).
        largest: usize,
    },
}
