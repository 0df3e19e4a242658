//! Latencies of a flow that are not yet added to its distributions.
//!
//! They are added a few dozen at a time, one distribution after the other: buckets and sums stay in the cache, and equal values of an
//! aggregate's packets are handled together.

use airbound_record::{FlowLatency, LatencyHistogram, Split};
use airbound_units::Span;

/// Upper limit on samples in a column. All pending samples of a flow take 2 kB.
const MOST: usize = 32;

type Column = [Span; MOST];

/// Pending latencies by kind.
#[derive(Debug, Clone)]
pub(super) struct Samples {
    /// Number of pending packets of the measured time.
    measured: usize,
    latency: Column,
    stages: [Column; 6],
    wifi: Column,
    /// Number of pending packets for the time series, and their latencies.
    windowed: usize,
    window: Column,
}

impl Samples {
    pub(super) const fn new() -> Self {
        let none = [Span::ZERO; MOST];
        Self { measured: 0, latency: none, stages: [none; 6], wifi: none, windowed: 0, window: none }
    }

    /// Adds a packet's total `latency`, its stages, and the part `wifi` over the air. Returns whether the samples have to be entered.
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

    /// Adds a packet's latency for the time series. Returns the same.
    #[inline]
    pub(super) fn add_to_window(&mut self, latency: Span) -> bool {
        let place = self.windowed % MOST;
        self.window[place] = latency;
        self.windowed = place + 1;
        self.windowed == MOST
    }

    /// Adds all pending samples to the distributions.
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

    /// Whether no sample is pending.
    pub(super) const fn is_empty(&self) -> bool {
        self.measured == 0 && self.windowed == 0
    }
}
