//! A trace as a half-duplex pipe, which transfers the packets of both directions one after the other.

use std::sync::Arc;

use airbound_units::{ByteCount, Instant};

use super::Trace;

/// A server whose rate is a trace.
#[derive(Debug, Clone)]
pub struct Capacity {
    trace: Arc<Trace>,
    free: Instant,
    /// The next opportunity, and the bytes left of the previous one, with its time.
    next_opportunity: u64,
    left_over: ByteCount,
    left_over_at: Instant,
}

impl Capacity {
    /// An idle pipe. A trace of signal-to-noise ratios has no rate: no transfer ends.
    #[must_use]
    pub const fn new(trace: Arc<Trace>) -> Self {
        Self {
            trace,
            free: Instant::ZERO,
            next_opportunity: 0,
            left_over: ByteCount::ZERO,
            left_over_at: Instant::ZERO,
        }
    }

    /// The end of all transfers.
    #[must_use]
    pub const fn free(&self) -> Instant {
        self.free
    }

    /// Starts a transfer of `size` at `now`, after those in progress. Returns its end; [`Instant::MAX`] if it never ends.
    pub fn finish(&mut self, now: Instant, size: ByteCount) -> Instant {
        let start = now.max(self.free);
        self.free = match &*self.trace {
            Trace::Bandwidth(trace) => trace.finish(start, size.bits()),
            Trace::Opportunities(trace) => {
                // Queued packets share an opportunity, as in mahimahi; later packets do not.
                let mut missing = size;
                if start <= self.left_over_at {
                    let used = missing.min(self.left_over);
                    missing -= used;
                    self.left_over -= used;
                }
                if missing == ByteCount::ZERO {
                    self.left_over_at
                } else {
                    let first = self.next_opportunity.max(trace.first_from(start));
                    let needed = missing.bits().div_ceil(trace.capacity().bits());
                    let last = first.saturating_add(needed - 1);
                    self.next_opportunity = last.saturating_add(1);
                    self.left_over = trace.capacity() * needed - missing;
                    self.left_over_at = trace.time_of(last);
                    self.left_over_at
                }
            }
            Trace::Snr(_) => Instant::MAX,
        };
        self.free
    }
}
