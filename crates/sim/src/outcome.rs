//! The results of a run.

use airbound_record::{DistributionRow, LatencyStats, Summary};

/// The results of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The summary, in a stable format.
    pub summary: Summary,
    /// Latency from entering the queue of the transmitter to the acknowledgement, in ms, for each flow of the summary:
    /// the latency of the LAST-PQ paper (Sec. III).
    pub wifi_latency: Vec<LatencyStats>,
    /// Latency distributions, by flow and stage.
    pub distributions: Vec<DistributionRow>,
    /// Number of processed events, transmissions included.
    pub events: u64,
}
