//! Statistics of one rate, and their averages.

use serde::{Deserialize, Serialize};

/// Probabilities are fixed-point numbers with this many fractional bits (`MINSTREL_SCALE`).
pub(super) const SCALE: u32 = 12;

/// `numerator / denominator` in fixed point (`MINSTREL_FRAC`).
pub(super) const fn fraction(numerator: u32, denominator: u32) -> u32 {
    match (numerator << SCALE).checked_div(denominator) {
        Some(quotient) => quotient,
        None => 0,
    }
}

/// Averaging of the share of acknowledged MPDUs over update intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Average {
    /// A second-order low-pass filter of period 16 (Linux since 5.12).
    #[default]
    LowPass,
    /// An exponentially weighted moving average that keeps 3/4 of its old value (Linux before 5.12, ns-3).
    Ewma,
}

/// Coefficients of the low-pass filter (`MINSTREL_AVG_COEFF1` to `3`): with a = exp(-pi sqrt(2) / 16), the second is
/// 2 a cos(2 pi sqrt(2) / 16), the third -a^2, and all three add up to one.
const FILTER: [i32; 3] = [4_096 - 5_273 + 2_350, 5_273, -2_350];

/// Counters and average of one rate (`struct minstrel_rate_stats`).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RateStats {
    /// MPDUs sent in this interval, each try counted.
    pub(super) attempts: u32,
    /// MPDUs acknowledged in this interval.
    pub(super) successes: u32,
    /// Both counts over all earlier intervals.
    pub(super) all_attempts: u64,
    pub(super) all_successes: u64,
    /// The average success, fixed point; zero if unknown.
    pub(super) probability: u16,
    /// Packets that this rate would deliver in a tenth of a second, as of the last update of its station.
    pub(super) throughput: u32,
    /// The average one interval earlier.
    previous: u16,
}

impl RateStats {
    /// Ends the interval: adds its share to the average (`minstrel_ht_calc_rate_stats`).
    pub(super) fn end_interval(&mut self, average: Average) {
        if self.attempts > 0 {
            let share = (u64::from(self.successes) << SCALE) / u64::from(self.attempts);
            self.add(share.min(1 << SCALE) as u32, average);
            self.all_attempts = self.all_attempts.saturating_add(self.attempts.into());
            self.all_successes = self.all_successes.saturating_add(self.successes.into());
        }
        self.attempts = 0;
        self.successes = 0;
    }

    fn add(&mut self, share: u32, average: Average) {
        match average {
            Average::LowPass => {
                // Zero means unknown, so a share of zero counts as the smallest one.
                let share = share.max(1) as i32;
                let (last, before) = (i32::from(self.probability), i32::from(self.previous));
                if last == 0 {
                    self.probability = share as u16;
                    self.previous = share as u16;
                    return;
                }
                let sum = FILTER[0] * share + FILTER[1] * last + FILTER[2] * before;
                let value = sum >> SCALE;
                self.previous = self.probability;
                self.probability = if value < 0 { 1 } else { value.min(1 << SCALE) as u16 };
            }
            Average::Ewma => {
                self.probability = match self.all_attempts {
                    0 => share as u16,
                    _ => ewma(self.probability.into(), share) as u16,
                };
            }
        }
    }

    /// Assumes the average of a faster rate of the group for a rate that was never tried.
    pub(super) fn assume(&mut self, probability: u16) {
        self.probability = self.probability.max(probability);
    }
}

/// A moving average that keeps 96/128 of its old value (`minstrel_ewma`, `EWMA_LEVEL`).
pub(super) fn ewma(old: u32, new: u32) -> u32 {
    let step = (128 - 96) * (i64::from(new) - i64::from(old)) / 128;
    (i64::from(old) + step).clamp(0, u32::MAX.into()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(stats: &mut RateStats, attempts: u32, successes: u32, average: Average) -> u16 {
        stats.attempts = attempts;
        stats.successes = successes;
        stats.end_interval(average);
        stats.probability
    }

    #[test]
    fn the_coefficients_follow_from_the_period() {
        let a = libm::exp(-std::f64::consts::PI * std::f64::consts::SQRT_2 / 16.0);
        let angle = std::f64::consts::SQRT_2 * 2.0 * std::f64::consts::PI / 16.0;
        assert!((f64::from(FILTER[1]) / 4096.0 - 2.0 * a * libm::cos(angle)).abs() < 1e-3);
        assert!((f64::from(FILTER[2]) / 4096.0 + a * a).abs() < 1e-3);
        assert_eq!(FILTER.iter().sum::<i32>(), 4_096);
    }

    #[test]
    fn a_step_down_passes_the_filter_in_three_intervals() {
        let mut stats = RateStats::default();
        assert_eq!(interval(&mut stats, 10, 10, Average::LowPass), 4_096);
        assert_eq!(interval(&mut stats, 10, 10, Average::LowPass), 4_096);
        // (1173 * 1 + 5273 * 4096 - 2350 * 4096) >> 12, and so on.
        assert_eq!(interval(&mut stats, 10, 0, Average::LowPass), 2_923);
        assert_eq!(interval(&mut stats, 10, 0, Average::LowPass), 1_413);
        assert_eq!(interval(&mut stats, 10, 0, Average::LowPass), 142);
        assert_eq!(interval(&mut stats, 10, 0, Average::LowPass), 1);
    }

    #[test]
    fn an_interval_without_attempts_changes_nothing() {
        let mut stats = RateStats::default();
        assert_eq!(interval(&mut stats, 0, 0, Average::LowPass), 0);
        interval(&mut stats, 4, 3, Average::LowPass);
        assert_eq!(interval(&mut stats, 0, 0, Average::LowPass), 3_072);
        assert_eq!(stats.all_attempts, 4);
    }

    #[test]
    fn the_moving_average_keeps_three_quarters() {
        let mut stats = RateStats::default();
        assert_eq!(interval(&mut stats, 2, 1, Average::Ewma), 2_048);
        assert_eq!(interval(&mut stats, 2, 2, Average::Ewma), 2_560);
        assert_eq!(interval(&mut stats, 2, 0, Average::Ewma), 1_920);
    }

    #[test]
    fn the_filter_stays_within_its_range() {
        let mut stats = RateStats::default();
        for step in 0..200u32 {
            let share = interval(&mut stats, 4, [4, 4, 4, 0, 0, 1][(step % 6) as usize], Average::LowPass);
            assert!((1..=4_096).contains(&share), "{share}");
        }
    }
}
