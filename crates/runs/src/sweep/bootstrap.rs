//! Confidence intervals of a mean over seeds, from the seeds alone.
//!
//! The percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13) is too narrow for few values: its
//! intervals have the width of a normal one with the variance over n. Hesterberg's expanded percentiles (What Teachers Should Know
//! About the Bootstrap, The American Statistician 69, 2015, sec. 5.2) look further out, such that the width is that of Student's
//! interval for normal values, and follow the values' asymmetry otherwise.

use airbound_random::Key;

/// Resamples: the error of the interval's ends from their number is a few per cent of its width.
const RESAMPLES: u64 = 2000;

/// A mean and its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    /// The mean.
    pub(crate) mean: f64,
    /// Lower end.
    pub(crate) low: f64,
    /// Upper end.
    pub(crate) high: f64,
}

impl Interval {
    /// Of the mean of `values` at a `confidence` between 0 and 1; `seed` decides what is drawn. `None` for fewer than two values, or
    /// if one is not finite.
    #[must_use]
    pub(crate) fn of(values: &[f64], confidence: f64, seed: u64) -> Option<Self> {
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let mean = mean(values);
        if values.iter().all(|value| *value == values[0]) {
            return Some(Self { mean, low: mean, high: mean });
        }
        let count = values.len() as u64;
        let key = Key::of_seed(seed);
        let mut means: Vec<f64> = (0..RESAMPLES)
            .map(|resample| {
                let key = key.with(resample);
                let drawn = (0..count).map(|draw| {
                    // The upper half of a product with the number of values: uniform but for 2^-59.
                    let at = (u128::from(key.with(draw).bits()) * u128::from(count)) >> 64;
                    values[at as usize]
                });
                drawn.sum::<f64>() / count as f64
            })
            .collect();
        means.sort_by(f64::total_cmp);
        let tail = expanded_tail(confidence, values.len());
        Some(Self { mean, low: quantile(&means, tail), high: quantile(&means, 1.0 - tail) })
    }

    /// Half the width over the mean: what `--until` looks at. Zero for an interval without width, infinite around zero.
    #[must_use]
    pub(crate) fn relative_half_width(&self) -> f64 {
        let half = (self.high - self.low) / 2.0;
        if half == 0.0 { 0.0 } else { half / self.mean.abs() }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Between the two nearest of sorted values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - place.floor())
}

/// The share to leave out on each side: Phi(-sqrt(n / (n - 1)) t), with Student's quantile t of n - 1 degrees of freedom.
fn expanded_tail(confidence: f64, count: usize) -> f64 {
    let n = count as f64;
    let t = airbound_report::student_quantile(f64::midpoint(1.0, confidence), (count - 1) as u32);
    0.5 * libm::erfc(libm::sqrt(n / (n - 1.0)) * t / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use airbound_random::Key;
    use proptest::prelude::*;

    use super::Interval;

    /// Coverage of intervals at 95 %: the share of 2000 trials each in which they hold the true mean.
    #[test]
    fn intervals_hold_the_mean_as_often_as_they_say() {
        let covered = |count: u64, value: fn(Key) -> f64, truth: f64| {
            let trials = 2000;
            let held = (0..trials).filter(|trial| {
                let key = Key::of_seed(77).with(*trial);
                let values: Vec<f64> = (0..count).map(|number| value(key.with(number))).collect();
                let interval = Interval::of(&values, 0.95, *trial).expect("an interval");
                (interval.low..=interval.high).contains(&truth)
            });
            held.count() as f64 / f64::from(trials as u32)
        };
        // With three values there are ten means to be drawn, whose outermost are the values themselves.
        for (count, normal, skewed) in [(3, 0.72, 0.6), (4, 0.85, 0.75), (8, 0.92, 0.84), (30, 0.935, 0.91)] {
            let found = covered(count, Key::normal, 0.0);
            assert!((normal..0.97).contains(&found), "normal, {count} values: {found}");
            let found = covered(count, Key::exponential, 1.0);
            assert!((skewed..0.97).contains(&found), "exponential, {count} values: {found}");
        }
    }

    #[test]
    fn without_width_it_is_the_mean() {
        let interval = Interval::of(&[3.0, 3.0, 3.0], 0.95, 1).expect("an interval");
        assert_eq!((interval.low, interval.mean, interval.high), (3.0, 3.0, 3.0));
        assert_eq!(interval.relative_half_width(), 0.0);
        let around_zero = Interval { mean: 0.0, low: -1.0, high: 1.0 };
        assert_eq!(around_zero.relative_half_width(), f64::INFINITY);
        assert_eq!(Interval::of(&[1.0], 0.95, 1), None);
        assert_eq!(Interval::of(&[1.0, f64::NAN], 0.95, 1), None);
    }

    proptest! {
        #[test]
        fn the_mean_lies_within_and_the_ends_among_the_values(
            values in proptest::collection::vec(-1e6..1e6_f64, 2..40), seed: u64, confidence in 0.5..0.999_f64
        ) {
            let interval = Interval::of(&values, confidence, seed).expect("an interval");
            let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(l, m), v| (l.min(*v), m.max(*v)));
            prop_assert!(least - 1e-6 <= interval.low && interval.high <= most + 1e-6);
            prop_assert!(interval.low <= interval.high);
            prop_assert_eq!(Interval::of(&values, confidence, seed), Some(interval));
        }
    }
}
