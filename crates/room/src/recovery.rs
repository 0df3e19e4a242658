//! Probes of a downlink whose estimate stays below what is useful.
//!
//! str0m probes on its own where much less is sent than the estimate allows, and when the desired rate rises. After a fall neither may happen:
//! one layer fills most of a low estimate, and the desired rate is the same. So the desired rate is lowered and raised again. Such a rise is
//! answered by a probe of at most twice the estimate, and by further ones while these succeed, as libwebrtc's are.

use std::time::{Duration, Instant};

/// Time after a fall in which nothing is probed: its queue drains.
const QUIET: Duration = Duration::from_secs(1);
/// First interval of probes.
const FIRST: Duration = Duration::from_secs(1);
/// Longest interval, to which it doubles with each probe that finds nothing.
const LONGEST: Duration = Duration::from_secs(4);
/// Rise of the estimate by which a probe has found something.
const FOUND: f64 = 1.2;
/// Time for which the desired rate is lowered, so that the congestion control has seen it.
const SEEN: Duration = Duration::from_millis(150);
/// Part of the estimate to which the desired rate is lowered.
const LOWERED: f64 = 0.5;

/// The probes of one downlink.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recovery {
    fell: Option<Instant>,
    due: Option<Instant>,
    interval: Duration,
    /// The estimate when it was last probed.
    at: f64,
    /// When the desired rate was lowered.
    lowered: Option<Instant>,
}

impl Default for Recovery {
    fn default() -> Self {
        Self { fell: None, due: None, interval: FIRST, at: 0.0, lowered: None }
    }
}

impl Recovery {
    /// Notes that the estimate fell.
    pub(crate) fn on_fall(&mut self, now: Instant) {
        self.fell = Some(now);
    }

    /// Returns the desired rate of this interval in bit/s: `wanted`, or less so that the next rise is answered by a probe.
    pub(crate) fn desired(&mut self, now: Instant, estimate: f64, wanted: f64) -> f64 {
        if estimate <= 0.0 || estimate >= wanted {
            *self = Self { fell: self.fell, ..Self::default() };
            return wanted;
        }
        let low = wanted.min(estimate * LOWERED);
        if self.lowered.is_some_and(|at| now.saturating_duration_since(at) < SEEN) {
            return low;
        }
        // A probe that found something is followed by the next at once.
        let found = self.at > 0.0 && estimate >= self.at * FOUND;
        let quiet = self.fell.is_none_or(|at| now.saturating_duration_since(at) >= QUIET);
        let due = *self.due.get_or_insert(now + self.interval);
        if !quiet || !found && now < due {
            return wanted;
        }
        self.interval = if found { FIRST } else { (self.interval * 2).min(LONGEST) };
        (self.due, self.at, self.lowered) = (Some(now + self.interval), estimate, Some(now));
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times in ms at which the desired rate is lowered, in steps of 200 ms, under an estimate by time.
    fn lowered(seconds: u64, fell_at: Option<u64>, estimate: impl Fn(u64) -> f64) -> Vec<u64> {
        let (start, mut recovery) = (Instant::now(), Recovery::default());
        let steps = (0..seconds * 5).map(|step| step * 200);
        steps
            .filter(|ms| {
                let now = start + Duration::from_millis(*ms);
                if fell_at == Some(*ms) {
                    recovery.on_fall(now);
                }
                recovery.desired(now, estimate(*ms), 2e6) < 2e6
            })
            .collect()
    }

    #[test]
    fn probes_that_find_nothing_become_rarer() {
        assert_eq!(lowered(16, None, |_| 2e5), [1000, 3000, 7000, 11_000, 15_000]);
    }

    #[test]
    fn a_probe_that_finds_something_is_followed_at_once_until_enough_is_known() {
        // Each probe is answered within 200 ms by twice the estimate.
        let doubles = |ms: u64| match ms {
            0..=1000 => 3e5,
            1001..=1200 => 6e5,
            1201..=1400 => 1.2e6,
            _ => 2.4e6,
        };
        assert_eq!(lowered(10, None, doubles), [1000, 1200, 1400]);
    }

    #[test]
    fn a_queue_drains_first_and_an_estimate_that_suffices_is_not_probed() {
        assert_eq!(lowered(3, Some(800), |_| 2e5), [1800]);
        assert!(lowered(10, None, |_| 2e6).is_empty());
        assert!(lowered(10, None, |_| 0.0).is_empty());
    }
}
