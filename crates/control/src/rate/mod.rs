//! PHY rate and number of tries of each transmission.

pub mod any;
pub mod capabilities;
pub mod custom;
mod effort;
pub mod fixed;
pub mod ideal;
pub mod llra;
pub mod minstrel_ht;
mod stations;
pub mod thompson;

pub use any::{AnyRate, RateConfig};
pub use capabilities::{Capabilities, RateSet};
pub use custom::{CustomRate, RateDecider};
pub use fixed::{Fixed, FixedConfig, StationRate};
pub use ideal::{Ideal, IdealConfig};
pub use llra::{Llra, LlraConfig};
pub use minstrel_ht::{MinstrelHt, MinstrelHtConfig, SampleSpacing};
pub use thompson::{Thompson, ThompsonConfig};

use std::fmt;

use airbound_units::{BitRate, Decibel, Instant};
use airbound_wifi::rate::Rate;

use crate::payload::StationId;

/// One step of a rate chain: up to `tries` transmissions at `rate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The PHY rate.
    pub rate: Rate,
    /// How often it is tried before the next step; in a report, how often it was tried.
    pub tries: u8,
}

/// The chain of rates for one transmission: at most four steps, as mac80211 hands them to hardware
/// (`IEEE80211_TX_MAX_RATES`).
#[derive(Clone, Copy)]
pub struct Series {
    steps: [Attempt; Self::MAX_STEPS],
    len: u8,
    /// Whether the first step is a sample of a rate that is not believed to be the best.
    pub probe: bool,
}

impl Series {
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
    pub fn first_steps(mut self, steps: u8) -> Self {
        self.len = self.len.min(steps).max(1);
        self
    }

    /// The steps in order; at least one, but in a report of what never reached the air.
    #[must_use]
    pub fn steps(&self) -> &[Attempt] {
        self.steps.get(..self.len as usize).unwrap_or(&self.steps)
    }

    /// The rate of the first transmission.
    #[must_use]
    pub const fn first_rate(&self) -> Rate {
        self.steps[0].rate
    }

    /// All tries together.
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

    /// What of the chain was used by `transmissions` transmissions: without any an empty chain, and what exceeds the chain is
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

/// Chains are equal when their steps are; what lies behind the last step does not count.
impl PartialEq for Series {
    fn eq(&self, other: &Self) -> bool {
        self.steps() == other.steps() && self.probe == other.probe
    }
}

impl Eq for Series {}

impl fmt::Debug for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series").field("steps", &self.steps()).field("probe", &self.probe).finish()
    }
}

/// What a rate control learns when the hardware reports a transmission.
#[derive(Debug, Clone, Copy)]
pub struct RateReport {
    /// The steps that were used, with the tries made of each; success, if any, belongs to the last one.
    pub used: Series,
    /// MPDUs in the last transmission.
    pub mpdus: u16,
    /// MPDUs that were acknowledged.
    pub acknowledged: u16,
}

/// What the environment can tell about the link to a station. What it cannot see is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LinkStats {
    /// Signal-to-noise ratio at the receiver.
    pub snr: Option<Decibel>,
    /// The rate at which data really goes out, where something else than the rate control decides it.
    pub rate: Option<BitRate>,
}

/// The next number of the counted stream whose state is `state` (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Chooses the rate chain of each transmission, for all stations of one transmitter.
pub trait RateControl {
    /// The chain for the next aggregate to `station`.
    ///
    /// `mpdus` is how many MPDUs are likely to go out together (1: no aggregation expected).
    fn series(&mut self, now: Instant, station: StationId, mpdus: u16) -> Series;

    /// The outcome of a transmission made with a chain of [`RateControl::series`].
    fn on_report(&mut self, now: Instant, station: StationId, report: &RateReport);

    /// News about the link to `station`.
    fn on_link_stats(&mut self, _now: Instant, _station: StationId, _stats: &LinkStats) {}

    /// The rate at which data to `station` most probably goes out now, for estimates of airtime.
    fn expected_rate(&self, station: StationId) -> Rate;

    /// The throughput that the rate control expects of `station`, where it keeps such an estimate (kernel:
    /// `get_expected_throughput`).
    fn expected_throughput(&self, _station: StationId) -> Option<BitRate> {
        None
    }

    /// When the rate control wants to be called again although nothing was reported.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }
}

#[cfg(test)]
mod tests {
    use airbound_wifi::rate::Legacy;
    use proptest::prelude::*;

    use super::*;

    fn chain(steps: &[(usize, u8)]) -> Series {
        let rate = |index: usize| Rate::legacy(Legacy::ALL[index % 8]);
        let mut steps = steps.iter();
        let (index, tries) = steps.next().copied().unwrap_or((0, 1));
        let mut series = Series::single(rate(index), tries);
        for &(index, tries) in steps {
            series.push(rate(index), tries);
        }
        series
    }

    #[test]
    fn what_was_not_used_does_not_count() {
        let series = chain(&[(7, 2), (3, 4)]);
        assert_eq!(series.used(2), chain(&[(7, 2)]));
        assert_eq!(series.used(3), chain(&[(7, 2), (3, 1)]));
        assert_eq!(series.used(99), series);
        assert_eq!(format!("{:?}", series.used(1)).matches("Attempt").count(), 1);
    }

    #[test]
    fn a_full_chain_takes_no_more() {
        let series = chain(&[(0, 1), (1, 1), (2, 0), (3, 1), (4, 1), (5, 1)]);
        assert_eq!(series.steps().len(), Series::MAX_STEPS);
        assert_eq!(series.rate_of(3), Some(Rate::legacy(Legacy::Mbps24)));
    }

    proptest! {
        #[test]
        fn use_follows_the_rates_of_the_tries(
            steps in proptest::collection::vec((0usize..8, 0u8..=255), 1..6),
            transmissions in 0u32..1_200,
        ) {
            let series = chain(&steps);
            let used = series.used(transmissions);
            let made = transmissions.min(series.total_tries());
            prop_assert_eq!(used.total_tries(), made);
            for attempt in 0..made {
                prop_assert_eq!(used.rate_of(attempt), series.rate_of(attempt));
            }
            prop_assert_eq!(series.rate_of(series.total_tries()), None);
            let last = made.checked_sub(1).and_then(|last| series.rate_of(last));
            prop_assert_eq!(used.steps().last().map(|step| step.rate), last);
            prop_assert_eq!(series.first_rate(), series.steps()[0].rate);
        }
    }
}
