//! When the first estimate of a downlink is begun anew because it stands still.
//!
//! Between 65 % of an estimate, below which str0m probes each 5 s, and what makes it rise by itself, its only probe is that of an estimate which has
//! not changed for 15 s (`maybe_stagnant`, 0.24.1), however much is wished for. Whose first probe met a moment of other work sees one picture of
//! nine so long. A beginning probes at once.

use std::time::{Duration, Instant};

/// Change of an estimate that counts.
const CHANGE: f64 = 0.05;
/// Time without a change before an estimate is begun anew.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time after the join in which it may be.
const JOINS: Duration = Duration::from_secs(20);
/// Beginnings of one participant.
const MOST: u8 = 2;

/// The estimate of one who has joined lately.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Joining {
    joined: Instant,
    level: f64,
    since: Instant,
    left: u8,
}

impl Joining {
    pub(crate) const fn new(now: Instant) -> Self {
        Self { joined: now, level: 0.0, since: now, left: MOST }
    }

    /// Takes an estimate in bit/s, whether more is of use, and whether packets are lost or wait, which shows that the link is full: from then on
    /// nothing is begun anew. Returns whether the estimate is to be begun anew.
    pub(crate) fn take(&mut self, now: Instant, estimate: f64, wanted: bool, trouble: bool) -> bool {
        if trouble || now.saturating_duration_since(self.joined) > JOINS {
            self.left = 0;
        }
        if (estimate - self.level).abs() > self.level * CHANGE {
            (self.level, self.since) = (estimate, now);
            return false;
        }
        if !wanted || self.left == 0 || now.saturating_duration_since(self.since) < PATIENCE {
            return false;
        }
        self.left -= 1;
        self.since = now;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seconds at which an estimate is begun anew, of looks each second.
    fn begins(estimate: impl Fn(u64) -> f64, wanted: bool, trouble: impl Fn(u64) -> bool) -> Vec<u64> {
        let start = Instant::now();
        let mut joining = Joining::new(start);
        let at = |second| start + Duration::from_secs(second);
        (0..60)
            .filter(|second| joining.take(at(*second), estimate(*second), wanted, trouble(*second)))
            .collect()
    }

    #[test]
    fn an_estimate_that_stands_still_begins_anew_twice_in_its_first_seconds() {
        assert_eq!(begins(|_| 8e5, true, |_| false), [2, 4]);
        assert_eq!(begins(|_| 8e5, false, |_| false), [] as [u64; 0], "enough for all");
        assert_eq!(
            begins(|second| 8e5 * 1.1_f64.powf(second as f64), true, |_| false),
            [] as [u64; 0],
            "it rises"
        );
        assert_eq!(begins(|_| 8e5, true, |second| second == 3), [2], "the link is full");
        assert_eq!(
            begins(|second| if second < 25 { 8e5 + 1e5 * (second % 2) as f64 } else { 8e5 }, true, |_| false),
            [] as [u64; 0],
            "late"
        );
    }
}
