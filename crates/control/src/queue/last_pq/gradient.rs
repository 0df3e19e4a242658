//! The window-based delay gradient: derives the next permitted queueing latency from the latency of a window (Sec. IV, Fig. 8).

use airbound_units::Span;
use serde::{Deserialize, Serialize};

use super::ceiling::HoldConfig;
use super::demand::Demand;
use crate::error::ConfigError;

/// The parameters of the delay controller; the defaults are the paper's (Sec. IV and V).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct DelayConfig {
    /// Length of a window (t_w): 20 ms. 1 ms to 10 s.
    pub window: Span,
    /// Distance of the upper threshold below the demand (l_GI): 1 ms. At least 1 us.
    pub guard_interval: Span,
    /// Depth of the range below the demand (oscillation ratio alpha): 0.5. Above 0, up to 1.
    pub oscillation: f64,
    /// Multiplicative decrease (MD): 0.3. 0 to 1.
    pub decrease: f64,
    /// Multiplicative increase (MI): 0.3. 0 to 10.
    pub increase: f64,
    /// Additive increase (AI): 5000 in the paper, without unit; microseconds here. Up to 10 s.
    pub additive_increase: Span,
    /// The least permitted queueing latency: 1 ms. The paper has no bounds; MD needs a floor, since it could never recover from
    /// zero. The upper bound is the demand, with which a flow starts. Above 0, up to 10 s.
    pub least_permitted: Span,
    /// A window with fewer completions than this uses earlier ones too, up to this number: 20. 1 to 1000.
    pub least_completions: usize,
    /// Number of windows after which completions are ignored: 5. 1 to 1000.
    pub memory: u32,
    /// Enforces the demand over seconds too, with a ceiling of the permitted latency. Not in the paper; `false` in a file for
    /// none.
    #[serde(with = "super::super::switch")]
    pub hold: Option<HoldConfig>,
}

impl Default for DelayConfig {
    fn default() -> Self {
        Self {
            window: Span::from_millis(20),
            guard_interval: Span::from_millis(1),
            oscillation: 0.5,
            decrease: 0.3,
            increase: 0.3,
            additive_increase: Span::from_micros(5000),
            least_permitted: Span::from_millis(1),
            least_completions: 20,
            memory: 5,
            hold: Some(HoldConfig::default()),
        }
    }
}

impl DelayConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let check = |valid, key, value: &dyn std::fmt::Display, allowed| {
            ConfigError::check(valid, key, value, allowed)
        };
        let longest = Span::from_secs(10);
        check(
            (Span::from_millis(1)..=longest).contains(&self.window),
            "delay.window",
            &self.window,
            "1 ms to 10 s",
        )?;
        check(
            (Span::from_micros(1)..=longest).contains(&self.guard_interval),
            "delay.guard-interval",
            &self.guard_interval,
            "1 us to 10 s",
        )?;
        let ratio = self.oscillation;
        check(ratio > 0.0 && ratio <= 1.0, "delay.oscillation", &ratio, "more than 0, up to 1")?;
        check((0.0..=1.0).contains(&self.decrease), "delay.decrease", &self.decrease, "0 to 1")?;
        check((0.0..=10.0).contains(&self.increase), "delay.increase", &self.increase, "0 to 10")?;
        let additive = self.additive_increase;
        check(additive <= longest, "delay.additive-increase", &additive, "0 ms to 10 s")?;
        let least = self.least_permitted;
        check(
            !least.is_zero() && least <= longest,
            "delay.least-permitted",
            &least,
            "more than 0 ms, up to 10 s",
        )?;
        check(
            (1..=1000).contains(&self.least_completions),
            "delay.least-completions",
            &self.least_completions,
            "1 to 1000",
        )?;
        check((1..=1000).contains(&self.memory), "delay.memory", &self.memory, "1 to 1000 windows")?;
        self.hold.as_ref().map_or(Ok(()), HoldConfig::check)
    }

    /// The shortest latency that can be demanded: l_GI / alpha. For a shorter one the lower threshold would exceed the upper
    /// one.
    #[must_use]
    pub fn shortest_demand(&self) -> Span {
        // Rounded up, so that the thresholds never cross.
        Span::from_nanos((self.guard_interval.as_nanos() as f64 / self.oscillation).ceil() as u64)
    }

    /// Checks that a demand is not too short.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if it is below [`DelayConfig::shortest_demand`].
    pub(crate) fn check_demand(&self, demand: &Demand) -> Result<(), ConfigError> {
        ConfigError::check(
            demand.latency() >= self.shortest_demand(),
            "demand.latency",
            demand.latency(),
            "at least delay.guard-interval / delay.oscillation (2 ms by default), up to 10 s",
        )
    }

    /// The upper threshold: th_H = ld - l_GI.
    #[must_use]
    pub(crate) fn upper_threshold(&self, demand: &Demand) -> Span {
        demand.latency() - self.guard_interval
    }

    /// The lower threshold: th_L = (1 - alpha) ld.
    #[must_use]
    pub(crate) fn lower_threshold(&self, demand: &Demand) -> Span {
        demand.latency().mul_f64(1.0 - self.oscillation)
    }

    /// Clamps a permitted latency to its bounds for a demand.
    #[must_use]
    pub fn bounded(&self, demand: &Demand, permitted: Span) -> Span {
        // A demand below the floor is its own floor.
        permitted.max(self.least_permitted).min(demand.latency())
    }

    /// The permitted queueing latency l_pq(t) after a window with the latency l(t), computed from l_pq(t-1) and l(t-1); the
    /// latter is `None` for the first window.
    #[must_use]
    pub fn step(&self, demand: &Demand, permitted: Span, before: Option<Span>, latency: Span) -> Span {
        let (high, low) = (self.upper_threshold(demand), self.lower_threshold(demand));
        let next = if latency > high {
            permitted.mul_f64(1.0 - self.decrease)
        } else if latency <= low {
            permitted.mul_f64(1.0 + self.increase)
        } else {
            // Without a previous window there is no change.
            let before = before.unwrap_or(latency);
            if latency >= before {
                let change = latency - before;
                let room = high - before;
                // 0/0 at the threshold itself counts as a full step.
                let part = if room.is_zero() { 1.0 } else { ratio(change, room) };
                permitted.mul_f64(1.0 - self.decrease * part)
            } else {
                let (change, height) = (before - latency, before - low);
                // The latency is above the threshold and was higher before, so `height` is not zero.
                permitted + self.additive_increase.mul_f64(ratio(change, height))
            }
        };
        self.bounded(demand, next)
    }
}

/// `part / whole`; `whole` is not zero.
fn ratio(part: Span, whole: Span) -> f64 {
    part.as_nanos() as f64 / whole.as_nanos() as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CONFIG: fn() -> DelayConfig = DelayConfig::default;

    fn demand() -> Demand {
        Demand::new(Span::from_millis(20), 95.0).expect("valid")
    }

    /// One step for a demand of 20 ms, with thresholds of 10 and 19 ms, in microseconds.
    fn step(permitted: u64, before: Option<u64>, latency: u64) -> u64 {
        let micros = Span::from_micros;
        CONFIG().step(&demand(), micros(permitted), before.map(micros), micros(latency)).as_micros()
    }

    #[test]
    fn thresholds_of_the_paper() {
        assert_eq!(CONFIG().upper_threshold(&demand()), Span::from_millis(19));
        assert_eq!(CONFIG().lower_threshold(&demand()), Span::from_millis(10));
    }

    #[test]
    fn above_the_range_it_falls_by_md() {
        assert_eq!(step(10_000, Some(12_000), 19_001), 7_000);
        assert_eq!(step(10_000, None, 500_000), 7_000);
        assert_eq!(step(1_200, Some(12_000), 30_000), 1_000, "the floor");
    }

    #[test]
    fn below_the_range_it_grows_by_mi() {
        assert_eq!(step(10_000, Some(12_000), 10_000), 13_000, "the lower threshold belongs to this case");
        assert_eq!(step(10_000, None, 100), 13_000);
        assert_eq!(step(18_000, Some(5_000), 5_000), 20_000, "the ceiling is the demand");
    }

    #[test]
    fn rising_within_the_range_it_falls_with_the_gradient() {
        // A rise by 2 of the 5 ms left to 19 ms: 1 - 0.3 * 0.4.
        assert_eq!(step(10_000, Some(14_000), 16_000), 8_800);
        // A rise by all that was left.
        assert_eq!(step(10_000, Some(14_000), 19_000), 7_000);
        assert_eq!(step(10_000, Some(14_000), 14_000), 10_000, "no change");
        // A rise from below the range: 8 of 15 ms.
        assert_eq!(step(10_000, Some(4_000), 12_000), 8_400);
    }

    #[test]
    fn falling_within_the_range_it_grows_by_a_part_of_ai() {
        // A fall by 2 of the 4 ms above 10 ms: half of 5 ms.
        assert_eq!(step(10_000, Some(14_000), 12_000), 12_500);
        // A fall from far above the range: 18 of 20 ms.
        assert_eq!(step(10_000, Some(30_000), 12_000), 14_500);
    }

    #[test]
    fn zero_denominators() {
        assert_eq!(step(10_000, Some(19_000), 19_000), 7_000, "0/0 at the upper threshold");
        assert_eq!(step(10_000, Some(10_000), 10_001), 9_999, "at the lower one there is no other");
        assert_eq!(step(10_000, None, 15_000), 10_000, "the first window has no gradient");
    }

    #[test]
    fn too_short_a_demand_is_refused() {
        let config = CONFIG();
        assert_eq!(config.shortest_demand(), Span::from_millis(2));
        let refused = |latency| config.check_demand(&Demand::new(latency, 95.0).expect("valid")).is_err();
        assert!(refused(Span::from_micros(1999)));
        assert!(!refused(Span::from_millis(2)), "the thresholds meet");
    }

    #[test]
    fn values_out_of_range_are_named() {
        let refused = |config: DelayConfig| config.check().expect_err("out of range").to_string();
        let oscillation = DelayConfig { oscillation: 0.0, ..CONFIG() };
        assert_eq!(refused(oscillation), "delay.oscillation is 0; allowed is more than 0, up to 1");
        let window = DelayConfig { window: Span::ZERO, ..CONFIG() };
        assert_eq!(refused(window), "delay.window is 0 ms; allowed is 1 ms to 10 s");
        assert!(DelayConfig { decrease: f64::NAN, ..CONFIG() }.check().is_err());
    }

    proptest! {
        #[test]
        fn it_stays_within_its_bounds(
            latency in 2_000u64..100_000,
            steps in proptest::collection::vec(0u64..200_000, 1..50),
        ) {
            let config = CONFIG();
            let demand = Demand::new(Span::from_micros(latency), 95.0).expect("valid");
            let (mut permitted, mut before) = (demand.latency(), None);
            for measured in steps.into_iter().map(Span::from_micros) {
                let next = config.step(&demand, permitted, before, measured);
                prop_assert!((config.least_permitted..=demand.latency()).contains(&next));
                if measured > config.upper_threshold(&demand) {
                    prop_assert!(next < permitted || next == config.least_permitted);
                }
                (permitted, before) = (next, Some(measured));
            }
        }
    }
}
