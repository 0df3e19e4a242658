//! Detection of the application-limited region: the source sends clearly less than permitted.
//!
//! A budget fills at 65 % of the target and is spent by sent packets; it is limited to plus and minus half a second. Above 80 %
//! of its limit the source is application-limited, below 50 % no longer (libwebrtc `alr_detector.h`, `interval_budget.cc`).

use airbound_units::{BitRate, ByteCount, Instant, Span};

const SHARE: f64 = 0.65;
const WINDOW: Span = Span::from_millis(500);
const ENTER: f64 = 0.8;
const LEAVE: f64 = 0.5;

#[derive(Debug, Clone)]
pub(super) struct ApplicationLimit {
    rate: BitRate,
    /// Bits, from minus to plus half a second at `rate`.
    budget: f64,
    last: Option<Instant>,
    since: Option<Instant>,
    ended: Option<Instant>,
}

impl ApplicationLimit {
    pub(super) fn new(target: BitRate) -> Self {
        Self { rate: target.mul_f64(SHARE), budget: 0.0, last: None, since: None, ended: None }
    }

    /// Start of the present application-limited period.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// End of the last application-limited period.
    pub(super) fn ended(&self) -> Option<Instant> {
        self.ended
    }

    pub(super) fn set_target(&mut self, target: BitRate) {
        self.rate = target.mul_f64(SHARE);
        self.budget = self.budget.clamp(-self.capacity(), self.capacity());
    }

    pub(super) fn on_sent(&mut self, now: Instant, size: ByteCount) {
        let elapsed = now - self.last.replace(now).unwrap_or(now);
        let earned = self.rate.as_bps() as f64 * elapsed.as_secs_f64();
        let capacity = self.capacity();
        self.budget = ((self.budget + earned).min(capacity) - size.bits() as f64).max(-capacity);
        let filled = if capacity > 0.0 { self.budget / capacity } else { 0.0 };
        match self.since {
            None if filled > ENTER => self.since = Some(now),
            Some(_) if filled < LEAVE => {
                self.since = None;
                self.ended = Some(now);
            }
            _ => {}
        }
    }

    fn capacity(&self) -> f64 {
        self.rate.as_bps() as f64 * WINDOW.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_target_is_limited_and_three_quarters_are_not() {
        let mut limit = ApplicationLimit::new(BitRate::from_mbps(1));
        let mut now = Instant::ZERO;
        let mut send = |limit: &mut ApplicationLimit, percent: u64, millis: u64| {
            for _ in 0..millis / 10 {
                now += Span::from_millis(10);
                limit.on_sent(now, ByteCount::new(1250 * percent / 100));
            }
        };
        send(&mut limit, 75, 5000);
        assert_eq!(limit.since(), None);
        // 15 % of the rate are unused: from minus to plus 0.8 x 0.325 Mbit takes 4 s.
        send(&mut limit, 50, 5000);
        assert!(limit.since().is_some());
        send(&mut limit, 100, 1000);
        assert!(limit.since().is_none() && limit.ended().is_some());
    }
}
