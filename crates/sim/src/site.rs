//! The place in a run that a part from outside is made for.

use std::sync::Arc;

/// The transmitter or flow that a part is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Name of the transmitter, such as "access-point" or that of a station; for a sender that of the flow.
    pub name: String,
    /// The transmitter: 0 is the access point, 1 the first station; for a sender the number of the flow.
    pub number: u32,
    /// Seed of what the part leaves to chance; another one for each part and each seed of the run.
    pub seed: u64,
}

/// Makes the part of one site. The same site has to get the same part, or runs cannot be repeated.
pub type Make<T> = Arc<dyn Fn(Site) -> Box<T> + Send + Sync>;
