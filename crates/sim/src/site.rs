//! The place in a run for which a custom part is made.

use std::sync::Arc;

/// The transmitter or flow of a custom part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Name of the transmitter, such as "access-point" or that of a station; for a sender that of the flow.
    pub name: String,
    /// The transmitter: 0 is the access point, 1 the first station; for a sender the number of the flow.
    pub number: u32,
    /// Seed of the part's random decisions; different for each part and each seed of the run.
    pub seed: u64,
}

/// Makes the part of one site. It has to return equal parts for equal sites, or runs cannot be repeated.
pub type Make<T> = Arc<dyn Fn(Site) -> Box<T> + Send + Sync>;
