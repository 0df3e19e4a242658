//! A distribution of latencies, and its percentiles.
//!
//! Each packet has a part of its latency that is certain (its place in the burst, the exchanges in front of it) and one
//! that is not: waits for the channel. The second is taken to be a gamma variable of the mean and the variance of the
//! waits. Over all packets that is a mixture, whose percentiles are found by halving. (Wilson and Hilferty 1931: the
//! cube root of a gamma variable is nearly normal.)

/// The latency of one packet, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// All that is certain.
    pub(crate) certain: f64,
    /// Mean of the waits.
    pub(crate) mean: f64,
    /// Their variance.
    pub(crate) variance: f64,
    /// With this probability a transmission fails, and `again` is added.
    pub(crate) failure: f64,
    /// Time until the next transmission ends.
    pub(crate) again: f64,
}

/// More parts than this bring no more precision.
const MOST_PARTS: usize = 1_500;
const HALVINGS: usize = 30;
/// Failures in a row that are looked at.
const FAILURES: usize = 4;

/// The latency that a share of all packets does not exceed; zero if there are none.
pub(crate) fn percentile(parts: &[Part], share: f64) -> f64 {
    let stride = parts.len().div_ceil(MOST_PARTS).max(1);
    let chosen: Vec<Part> = parts.iter().step_by(stride).copied().collect();
    let (mut low, mut high) = (0.0, 1.0);
    for part in &chosen {
        high = f64::max(high, part.certain + 10.0 * (part.mean + part.variance.sqrt()) + 5.0 * part.again);
    }
    if chosen.is_empty() {
        return 0.0;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        let below: f64 = chosen.iter().map(|part| part.below(middle)).sum();
        if below < share * chosen.len() as f64 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

impl Part {
    /// The probability that it takes no longer than `time`.
    fn below(&self, time: f64) -> f64 {
        let (mut sum, mut reached, mut later) = (0.0, 1.0, 0.0);
        for failures in 0..=FAILURES {
            let weight = if failures == FAILURES { reached } else { reached * (1.0 - self.failure) };
            if weight < 1e-4 {
                return sum;
            }
            sum += weight * self.waits_below(time - self.certain - later);
            reached *= self.failure;
            later += self.again;
        }
        sum
    }

    fn waits_below(&self, time: f64) -> f64 {
        if time <= 0.0 {
            return 0.0;
        }
        if self.mean <= 0.0 || self.variance <= 0.0 {
            return if time >= self.mean { 1.0 } else { 0.0 };
        }
        let ninth = self.variance / (9.0 * self.mean * self.mean);
        let normal = (libm::cbrt(time / self.mean) - 1.0 + ninth) / ninth.sqrt();
        0.5 * libm::erfc(-normal * std::f64::consts::FRAC_1_SQRT_2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: Part = Part { certain: 0.002, mean: 0.001, variance: 1e-6, failure: 0.0, again: 0.0 };

    #[test]
    fn an_exponential_wait_has_its_known_percentiles() {
        for share in [0.5_f64, 0.9, 0.95, 0.99] {
            let expected = 0.002 - 0.001 * libm::log(1.0 - share);
            let found = percentile(&[PART], share);
            assert!((found / expected - 1.0).abs() < 0.02, "{share}: {found} for {expected}");
        }
    }

    #[test]
    fn failures_lengthen_the_tail_only() {
        let failing = Part { failure: 0.08, again: 0.01, ..PART };
        assert!((percentile(&[failing], 0.5) / percentile(&[PART], 0.5) - 1.0).abs() < 0.05);
        assert!(percentile(&[failing], 0.95) > 0.01);
    }

    #[test]
    fn odd_input_is_answered() {
        assert!(percentile(&[], 0.95) == 0.0);
        let certain = Part { mean: 0.0, variance: 0.0, ..PART };
        assert!((percentile(&[certain; 7], 0.95) - 0.002).abs() < 1e-6);
    }
}
