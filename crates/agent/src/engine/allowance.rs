//! The rate up to which packets of a rule are protected.
//!
//! The generic cell rate algorithm: the time that the packets of the rule take at its rate may run ahead of the clock by a burst. A rule
//! that runs ahead further is over its rate: its packets are held and released as others, until half of the burst is left again.

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::{Decision, Engine};

/// A rule may send for this time in advance: some frames of a video at once.
const BURST: Span = Span::from_millis(250);

/// The packets of a rule, in time at its rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    rate: BitRate,
    /// When the packets so far would have been sent at the rate.
    until: Instant,
    is_over: bool,
}

impl Allowance {
    pub(super) const fn new(rate: BitRate) -> Self {
        Self { rate, until: Instant::ZERO, is_over: false }
    }

    /// Takes a packet. Returns whether the rule is over its rate now, if that changed.
    fn take(&mut self, now: Instant, size: ByteCount) -> Option<bool> {
        // What lies further ahead is forgotten, so that an overload ends soon after its end.
        self.until = (self.until.max(now) + self.rate.time_for(size)).min(now + BURST * 2);
        let ahead = self.until.since(now);
        let is_over = if self.is_over { ahead > BURST / 2 } else { ahead > BURST };
        let changed = is_over != self.is_over;
        self.is_over = is_over;
        changed.then_some(is_over)
    }
}

impl Engine {
    /// The rule that protects a packet: its own, unless that is over its rate.
    pub(super) fn protecting(&mut self, rule: Option<u16>, size: ByteCount) -> Option<u16> {
        let place = rule?;
        let Some(Some(allowance)) = self.allowances.get_mut(usize::from(place)) else { return rule };
        let changed = allowance.take(self.now, size);
        let (is_over, rate) = (allowance.is_over, allowance.rate);
        if let Some(over) = changed {
            let rule = self.rule_name(place);
            self.out.decisions.push(Decision::Rate { rule, over, rate });
        }
        rule.filter(|_| !is_over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_over_its_rate_comes_back_after_the_overload() {
        let mut allowance = Allowance::new(BitRate::from_mbps(10));
        let size = ByteCount::new(1250);
        // 1 ms each at the rate: 10 Mb/s, then 20 Mb/s, then 5 Mb/s.
        let mut now = Instant::ZERO;
        let mut run = |allowance: &mut Allowance, packets: u32, every: Span| -> Option<u32> {
            (0..packets).find(|_| {
                now += every;
                allowance.take(now, size).is_some()
            })
        };
        assert_eq!(run(&mut allowance, 10_000, Span::from_millis(1)), None, "its rate");
        let ahead = run(&mut allowance, 2_000, Span::from_micros(500));
        assert!(ahead.is_some_and(|packets| (490..=510).contains(&packets)), "{ahead:?}");
        assert_eq!(run(&mut allowance, 5_000, Span::from_micros(500)), None, "it stays over");
        let back = run(&mut allowance, 2_000, Span::from_millis(2));
        assert!(back.is_some_and(|packets| (300..=400).contains(&packets)), "{back:?}");
        assert!(!allowance.is_over);
    }
}
