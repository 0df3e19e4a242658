//! A ceiling of the permitted latency that enforces a demand over seconds. Not in the paper.
//!
//! The paper's controller considers windows of 20 ms. Where latency varies from frame to frame (fading, uneven frames), it keeps the
//! windows near the demand but the percentile over seconds above it. The ceiling is updated by each completion: a late one lowers it
//! by beta, one in time raises it by 1 - beta. It is stable when exactly the demanded share is in time, for any distribution of
//! latency; off its bounds, the share of late completions over N of them differs from the allowed one by at most the range of the
//! ceiling over N steps. (Robbins and Monro's stochastic approximation of a quantile.)

use airbound_units::Span;
use serde::{Deserialize, Serialize};

use super::demand::Demand;
use crate::error::ConfigError;

/// Speed of the ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HoldConfig {
    /// Time in which the ceiling would fall by the whole demand if all packets were late: 200 ms, a few video frames. 1 ms to 1 h.
    pub fall: Span,
    /// Latency above the demand less this share of it already counts as late, so that oscillations stay below the demand: 0.1. 0 to
    /// 0.9. The guard interval of the controller applies too.
    pub margin: f64,
}

impl Default for HoldConfig {
    fn default() -> Self {
        Self { fall: Span::from_millis(200), margin: 0.1 }
    }
}

impl HoldConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let allowed = Span::from_millis(1)..=Span::from_secs(3600);
        ConfigError::check(allowed.contains(&self.fall), "delay.hold.fall", self.fall, "1 ms to 1 h")?;
        ConfigError::check((0.0..=0.9).contains(&self.margin), "delay.hold.margin", self.margin, "0 to 0.9")
    }

    /// The longest latency that is not late for a demand.
    pub(super) fn longest(&self, demand: &Demand) -> Span {
        demand.latency().mul_f64(1.0 - self.margin)
    }
}

/// Weight of a window in the mean number of completions.
const WEIGHT: f64 = 1.0 / 16.0;
/// Upper limit of beta: the ceiling of a demand on all packets has to rise again too, if slowly.
const MOST_BETA: f64 = 0.999;

/// The ceiling of one flow.
#[derive(Debug, Clone, Default)]
pub(super) struct Ceiling {
    /// Distance below the demand, in nanoseconds.
    below: f64,
    /// Mean number of completions in a window; zero before the first.
    usual: f64,
    late: u32,
    in_time: u32,
}

impl Ceiling {
    /// Notes an acknowledged packet; `is_late` if it exceeded the upper threshold.
    pub(super) fn on_completion(&mut self, is_late: bool) {
        let count = if is_late { &mut self.late } else { &mut self.in_time };
        *count = count.saturating_add(1);
    }

    /// Ends a window of `length`: moves the ceiling, and returns it for a demand.
    pub(super) fn close(&mut self, config: &HoldConfig, demand: &Demand, length: Span) -> Span {
        let (late, in_time) = (f64::from(self.late), f64::from(self.in_time));
        (self.late, self.in_time) = (0, 0);
        let all = late + in_time;
        // Slow and fast flows adapt equally fast: a step is scaled by the packet's share of the flow.
        self.usual = if self.usual > 0.0 { self.usual + WEIGHT * (all - self.usual) } else { all };
        let whole = demand.latency().as_nanos() as f64;
        if all > 0.0 && self.usual > 0.0 {
            let beta = (demand.percentile() / 100.0).min(MOST_BETA);
            let step = whole * (length.as_nanos() as f64 / config.fall.as_nanos() as f64) / self.usual;
            self.below = (self.below + step * (beta * late - (1.0 - beta) * in_time)).clamp(0.0, whole);
        }
        demand.latency() - Span::from_nanos(self.below as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Span = Span::from_millis(20);

    fn demand() -> Demand {
        Demand::new(Span::from_millis(20), 95.0).expect("valid")
    }

    fn window(ceiling: &mut Ceiling, late: u32, in_time: u32) -> u64 {
        (0..late).for_each(|_| ceiling.on_completion(true));
        (0..in_time).for_each(|_| ceiling.on_completion(false));
        ceiling.close(&HoldConfig::default(), &demand(), WINDOW).as_micros()
    }

    #[test]
    fn nothing_late_leaves_it_at_the_demand() {
        let mut ceiling = Ceiling::default();
        assert_eq!(window(&mut ceiling, 0, 0), 20_000);
        assert_eq!(window(&mut ceiling, 0, 40), 20_000);
    }

    #[test]
    fn it_falls_by_what_was_late_and_stands_still_at_the_allowed_share() {
        let mut ceiling = Ceiling::default();
        // A tenth of 200 ms: 20 ms x 0.1 x 0.95.
        assert_eq!(window(&mut ceiling, 40, 0), 18_100);
        assert_eq!(window(&mut ceiling, 2, 38), 18_100);
        assert!(window(&mut ceiling, 0, 40) > 18_100);
        for _ in 0..20 {
            window(&mut ceiling, 40, 0);
        }
        assert_eq!(window(&mut ceiling, 40, 0), 0, "the floor of the permitted latency is the controller's");
    }

    #[test]
    fn a_slow_flow_learns_as_fast() {
        let (mut slow, mut quick) = (Ceiling::default(), Ceiling::default());
        for _ in 0..3 {
            assert_eq!(window(&mut slow, 1, 0), window(&mut quick, 100, 0));
        }
    }

    #[test]
    fn the_late_share_settles_at_what_is_allowed() {
        // Latency is uniform within 15 ms above the ceiling: at a ceiling of 4.75 ms one packet in twenty exceeds 19 ms.
        let mut ceiling = Ceiling::default();
        let mut permitted = Span::from_millis(20);
        let (mut late, mut all) = (0_u32, 0_u32);
        for number in 0_u64..20_000 {
            let latency = permitted + Span::from_micros(number.wrapping_mul(7_919) % 15_000);
            let is_late = latency > Span::from_millis(19);
            ceiling.on_completion(is_late);
            if number % 10 == 9 {
                permitted = ceiling.close(&HoldConfig::default(), &demand(), WINDOW);
            }
            if number >= 2_000 {
                all += 1;
                late += u32::from(is_late);
            }
        }
        let share = f64::from(late) / f64::from(all);
        assert!((share - 0.05).abs() < 0.005, "{share}");
    }
}
