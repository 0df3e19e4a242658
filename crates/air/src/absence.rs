//! Absences of a radio from the channel at regular times: scans of other channels, and the windows of AWDL or NAN.

use airbound_units::{Instant, Span};
use serde::Serialize;

/// A radio that is away from the channel for a time in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Absence {
    /// Time from the start of one absence to that of the next.
    pub period: Span,
    /// Length of an absence, shorter than the period.
    pub length: Span,
    /// Start of the first absence, counted from the start of the run.
    pub phase: Span,
    /// Whether the peers know, as by a null frame with the power-management bit: they hold frames. Otherwise they send, and lose them.
    pub announced: bool,
}

impl Absence {
    /// The time since the start of the last absence; `None` before the first.
    fn since_start(&self, now: Instant) -> Option<Span> {
        let nanos = now.as_nanos().checked_sub(self.phase.as_nanos())?;
        Some(Span::from_nanos(nanos.checked_rem(self.period.as_nanos()).unwrap_or(0)))
    }

    /// Whether the radio is away at `now`; at the end of an absence it is back.
    #[must_use]
    pub fn covers(&self, now: Instant) -> bool {
        self.since_start(now).is_some_and(|since| since < self.length)
    }

    /// The next start or end of an absence after `now`; [`Instant::MAX`] if there is none.
    #[must_use]
    pub fn next_change(&self, now: Instant) -> Instant {
        if self.length.is_zero() || self.length >= self.period {
            return Instant::MAX;
        }
        match self.since_start(now) {
            None => Instant::ZERO + self.phase,
            Some(since) if since < self.length => now + (self.length - since),
            Some(since) => now + (self.period - since),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn an_absence_comes_once_in_a_period() {
        let millis = Span::from_millis;
        let scan = Absence { period: millis(100), length: millis(30), phase: millis(20), announced: true };
        let away: Vec<u64> = (0..260).step_by(10).filter(|&now| scan.covers(at(now))).collect();
        assert_eq!(away, [20, 30, 40, 120, 130, 140, 220, 230, 240]);
        let mut now = Instant::ZERO;
        let changes: Vec<u64> = std::iter::repeat_with(|| {
            now = scan.next_change(now);
            now.as_nanos() / 1_000_000
        })
        .take(5)
        .collect();
        assert_eq!(changes, [20, 50, 120, 150, 220]);
    }

    #[test]
    fn an_absence_of_no_length_never_comes() {
        let none =
            Absence { period: Span::from_secs(1), length: Span::ZERO, phase: Span::ZERO, announced: false };
        assert!(!none.covers(Instant::ZERO) && none.next_change(Instant::ZERO) == Instant::MAX);
    }
}
