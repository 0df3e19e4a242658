//! Latencies of a flow that wait to be entered in its distributions.
//!
//! They are entered a few dozen at a time, one distribution after the other: its buckets and sums are at hand for all of them then, and
//! what is the same for the packets of an aggregate is seen at a glance.

use airbound_record::{FlowLatency, LatencyHistogram, Split};
use airbound_units::Span;

/// Largest number of samples in a column. All that waits for a flow takes 2 kB.
const MOST: usize = 32;

type Column = [Span; MOST];

/// The latencies that wait, kind by kind.
#[derive(Debug, Clone)]
pub(super) struct Samples {
    /// Number of packets of the measured time that wait.
    measured: usize,
    latency: Column,
    stages: [Column; 6],
    wifi: Column,
    /// Number of packets that wait for the time series, and their latencies.
    windowed: usize,
    window: Column,
}

impl Samples {
    pub(super) const fn new() -> Self {
        let none = [Span::ZERO; MOST];
        Self { measured: 0, latency: none, stages: [none; 6], wifi: none, windowed: 0, window: none }
    }

    /// A packet took `latency` in all, split in stages, and `wifi` of it over the air. Returns whether it is time to enter what waits.
    #[inline]
    pub(super) fn add(&mut self, latency: Span, split: &Split, wifi: Span) -> bool {
        let place = self.measured % MOST;
        self.latency[place] = latency;
        for (column, span) in self.stages.iter_mut().zip(split.stages()) {
            column[place] = *span;
        }
        self.wifi[place] = wifi;
        self.measured = place + 1;
        self.measured == MOST
    }

    /// The latency of a packet, for the time series. Returns the same.
    #[inline]
    pub(super) fn add_to_window(&mut self, latency: Span) -> bool {
        let place = self.windowed % MOST;
        self.window[place] = latency;
        self.windowed = place + 1;
        self.windowed == MOST
    }

    /// Enters all that waits.
    pub(super) fn enter(
        &mut self,
        latency: &mut FlowLatency,
        wifi: &mut LatencyHistogram,
        window: &mut LatencyHistogram,
    ) {
        let all = ..self.measured;
        latency.record_all(&self.latency[all], self.stages.each_ref().map(|stage| &stage[all]));
        wifi.record_all(&self.wifi[all]);
        window.record_all(&self.window[..self.windowed]);
        (self.measured, self.windowed) = (0, 0);
    }

    /// Whether nothing waits.
    pub(super) const fn is_empty(&self) -> bool {
        self.measured == 0 && self.windowed == 0
    }
}
