//! A trace as a half-duplex pipe: whatever passes it, in either direction, passes one after the other.

use std::sync::Arc;

use airbound_units::{ByteCount, Instant};

use super::Trace;

/// A server whose speed is a trace.
#[derive(Debug, Clone)]
pub struct Capacity {
    trace: Arc<Trace>,
    free: Instant,
    /// The next opportunity, and what an earlier packet left of the one before it.
    next_opportunity: u64,
    left_over: ByteCount,
    left_over_at: Instant,
}

impl Capacity {
    /// An idle pipe. A trace of signal-to-noise ratios has no speed: nothing ever passes.
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

    /// When everything that was sent is through.
    #[must_use]
    pub const fn free(&self) -> Instant {
        self.free
    }

    /// Sends `size` at `now`, behind whatever is under way; says when it is through, [`Instant::MAX`] if never.
    pub fn finish(&mut self, now: Instant, size: ByteCount) -> Instant {
        let start = now.max(self.free);
        self.free = match &*self.trace {
            Trace::Bandwidth(trace) => trace.finish(start, size.bits()),
            Trace::Opportunities(trace) => {
                // Packets that wait share an opportunity, as in mahimahi; later ones find it gone.
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
