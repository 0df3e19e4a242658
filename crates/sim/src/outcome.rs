//! The results of a run.

use airbound_record::{DistributionRow, LatencyStats, Summary};

/// The results of a run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The summary, whose form is stable.
    pub summary: Summary,
    /// From entering the queue of the transmitter to the acknowledgement, in ms, for each flow of the summary: what the
    /// LAST-PQ paper calls latency (Sec. III).
    pub wifi_latency: Vec<LatencyStats>,
    /// Latency distributions, by flow and stage.
    pub distributions: Vec<DistributionRow>,
    /// Events that were processed, transmissions included.
    pub events: u64,
}
