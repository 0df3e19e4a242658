//! Rate chains: the PHY rates of one transmission and the number of tries at each.

use std::fmt;

use airbound_wifi::rate::Rate;

/// One step of a rate chain: up to `tries` transmissions at `rate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The PHY rate.
    pub rate: Rate,
    /// Tries before the next step; in a report, the tries that were made.
    pub tries: u8,
}

/// The chain of rates for one transmission: at most four steps, the limit of mac80211's interface to hardware
/// (`IEEE80211_TX_MAX_RATES`).
#[derive(Clone, Copy)]
pub struct RateChain {
    steps: [Attempt; Self::MAX_STEPS],
    len: u8,
    /// Whether the first step is a sample of a rate that is not believed to be the best.
    pub probe: bool,
}

impl RateChain {
    /// The most steps of a chain.
    pub const MAX_STEPS: usize = 4;

    /// A chain of one step. Zero tries count as one.
    #[must_use]
    pub const fn single(rate: Rate, tries: u8) -> Self {
        let tries = if tries == 0 { 1 } else { tries };
        Self { steps: [Attempt { rate, tries }; Self::MAX_STEPS], len: 1, probe: false }
    }

    /// Appends a step; ignored when the chain is full or `tries` is zero.
    pub fn push(&mut self, rate: Rate, tries: u8) {
        if tries > 0
            && let Some(slot) = self.steps.get_mut(self.len as usize)
        {
            *slot = Attempt { rate, tries };
            self.len += 1;
        }
    }

    /// The first `steps` steps, at least one.
    #[must_use]
    pub(crate) fn first_steps(mut self, steps: u8) -> Self {
        self.len = self.len.min(steps).max(1);
        self
    }

    /// The chain from step `step` on, counted from 0. Steps beyond its last are one MCS below each other.
    #[must_use]
    pub(crate) fn starting_at(mut self, step: u8) -> Self {
        let skipped = step.min(self.len.saturating_sub(1));
        self.steps.rotate_left(usize::from(skipped));
        self.len -= skipped;
        self.probe &= skipped == 0;
        self.steps[0].rate = self.steps[0].rate.lowered(step - skipped);
        self
    }

    /// The steps in order; at least one, except in the report of a descriptor that never reached the air.
    #[must_use]
    pub fn steps(&self) -> &[Attempt] {
        self.steps.get(..self.len as usize).unwrap_or(&self.steps)
    }

    /// The rate of the first transmission.
    #[must_use]
    pub const fn first_rate(&self) -> Rate {
        self.steps[0].rate
    }

    /// The sum of all tries.
    #[must_use]
    pub fn total_tries(&self) -> u32 {
        self.steps().iter().map(|step| u32::from(step.tries)).sum()
    }

    /// The rate of transmission number `attempt` (from 0), or `None` past the end of the chain.
    #[must_use]
    pub fn rate_of(&self, attempt: u32) -> Option<Rate> {
        let mut left = attempt;
        for step in self.steps() {
            if left < u32::from(step.tries) {
                return Some(step.rate);
            }
            left -= u32::from(step.tries);
        }
        None
    }

    /// The part of the chain used by `transmissions` transmissions: empty for zero; transmissions beyond the chain are
    /// ignored.
    #[must_use]
    pub fn used(&self, transmissions: u32) -> Self {
        let mut left = transmissions;
        let mut used = *self;
        used.len = 0;
        for step in self.steps() {
            let tries = left.min(u32::from(step.tries)) as u8;
            used.push(step.rate, tries);
            left -= u32::from(tries);
            if left == 0 {
                break;
            }
        }
        used
    }
}

/// Chains are equal if their steps are; entries beyond the last step do not count.
impl PartialEq for RateChain {
    fn eq(&self, other: &Self) -> bool {
        self.steps() == other.steps() && self.probe == other.probe
    }
}

impl Eq for RateChain {}

impl fmt::Debug for RateChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateChain").field("steps", &self.steps()).field("probe", &self.probe).finish()
    }
}

#[cfg(test)]
mod tests {
    use airbound_wifi::rate::Legacy;
    use proptest::prelude::*;

    use super::*;

    fn chain_of(steps: &[(usize, u8)]) -> RateChain {
        let rate = |index: usize| Rate::legacy(Legacy::ALL[index % 8]);
        let mut steps = steps.iter();
        let (index, tries) = steps.next().copied().unwrap_or((0, 1));
        let mut chain = RateChain::single(rate(index), tries);
        for &(index, tries) in steps {
            chain.push(rate(index), tries);
        }
        chain
    }

    #[test]
    fn a_later_step_begins_and_beyond_the_last_the_rate_falls() {
        let chain = RateChain { probe: true, ..chain_of(&[(7, 2), (3, 4), (1, 1)]) };
        assert_eq!(chain.starting_at(0), chain);
        assert_eq!(chain.starting_at(1), chain_of(&[(3, 4), (1, 1)]));
        assert_eq!(chain.starting_at(2), chain_of(&[(1, 1)]));
        assert_eq!(chain.starting_at(3), chain_of(&[(0, 1)]));
        assert_eq!(chain.starting_at(9), chain_of(&[(0, 1)]), "the lowest stays");
    }

    #[test]
    fn unused_steps_do_not_count() {
        let chain = chain_of(&[(7, 2), (3, 4)]);
        assert_eq!(chain.used(2), chain_of(&[(7, 2)]));
        assert_eq!(chain.used(3), chain_of(&[(7, 2), (3, 1)]));
        assert_eq!(chain.used(99), chain);
        assert_eq!(format!("{:?}", chain.used(1)).matches("Attempt").count(), 1);
    }

    #[test]
    fn a_full_chain_takes_no_more() {
        let chain = chain_of(&[(0, 1), (1, 1), (2, 0), (3, 1), (4, 1), (5, 1)]);
        assert_eq!(chain.steps().len(), RateChain::MAX_STEPS);
        assert_eq!(chain.rate_of(3), Some(Rate::legacy(Legacy::Mbps24)));
    }

    proptest! {
        #[test]
        fn use_follows_the_rates_of_the_tries(
            steps in proptest::collection::vec((0usize..8, 0u8..=255), 1..6),
            transmissions in 0u32..1_200,
        ) {
            let chain = chain_of(&steps);
            let used = chain.used(transmissions);
            let made = transmissions.min(chain.total_tries());
            prop_assert_eq!(used.total_tries(), made);
            for attempt in 0..made {
                prop_assert_eq!(used.rate_of(attempt), chain.rate_of(attempt));
            }
            prop_assert_eq!(chain.rate_of(chain.total_tries()), None);
            let last = made.checked_sub(1).and_then(|last| chain.rate_of(last));
            prop_assert_eq!(used.steps().last().map(|step| step.rate), last);
            prop_assert_eq!(chain.first_rate(), chain.steps()[0].rate);
        }
    }
}
