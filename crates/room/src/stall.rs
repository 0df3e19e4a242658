//! When the estimate of a downlink is begun anew because it stands still.
//!
//! Between 65 % of an estimate, below which str0m probes each 5 s, and what makes it rise by itself, its only probe is that of an estimate which has
//! not changed for 15 s (`maybe_stagnant`, 0.24.1), however much is wished for. Each layer may need one. A beginning probes at once.

use std::time::{Duration, Instant};

/// Change of an estimate that counts.
const CHANGE: f64 = 0.05;
/// Time without a change before an estimate is begun anew.
const PATIENCE: Duration = Duration::from_secs(3);
/// The same after a beginning that has shown no more: str0m's own.
const FULL: Duration = Duration::from_secs(15);

/// The latest change of an estimate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stall {
    level: f64,
    since: Instant,
    /// It was begun anew, and has not risen since.
    tried: bool,
}

impl Stall {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { level: 0.0, since: now, tried: false }
    }

    /// Takes an estimate in bit/s, and whether the link is to be probed; returns whether it is to be begun anew.
    pub(crate) fn take(&mut self, now: Instant, estimate: f64, wanted: bool) -> bool {
        if (estimate - self.level).abs() > self.level * CHANGE {
            let tried = self.tried && estimate < self.level;
            *self = Self { level: estimate, since: now, tried };
            return false;
        }
        let patience = if self.tried { FULL } else { PATIENCE };
        if !wanted || now.saturating_duration_since(self.since) < patience {
            return false;
        }
        (self.since, self.tried) = (now, true);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_that_stands_still_begins_anew_while_more_is_wished_for() {
        let start = Instant::now();
        let mut stall = Stall::new(start);
        let mut begins = |seconds: std::ops::Range<u64>, estimate: f64, wanted: bool| -> Vec<u64> {
            seconds
                .filter(|second| stall.take(start + Duration::from_secs(*second), estimate, wanted))
                .collect()
        };
        assert_eq!(begins(0..10, 8e5, false), []);
        assert_eq!(begins(10..40, 8e5, true), [10, 25], "the second finds no more");
        assert_eq!(begins(40..50, 16e5, true), [43], "it has risen");
        assert_eq!(begins(50..60, 15e5, true), [] as [u64; 0], "a fall after it shows a full link");
        assert_eq!(begins(60..70, 15e5, true), [65]);
    }
}
