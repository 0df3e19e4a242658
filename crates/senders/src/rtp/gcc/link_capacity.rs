//! Capacity of the path, estimated at over-use (libwebrtc `link_capacity_estimator.cc`).
//!
//! Near this rate the increase is additive, elsewhere multiplicative (draft Sec. 5.5, "close to convergence": within three standard
//! deviations).

use airbound_units::BitRate;

/// Weight of a new measurement (draft Sec. 5.5 recommends 0.95 for the old).
const WEIGHT: f64 = 0.05;
/// Bounds of the variance, normalised by the mean, in kbit/s (libwebrtc: 0.4 is 14 kbit/s at 500 kbit/s, 2.5 is 35 kbit/s).
const VARIANCE: (f64, f64) = (0.4, 2.5);
const DEVIATIONS: f64 = 3.0;

#[derive(Debug, Clone, Copy)]
pub(super) struct LinkCapacity {
    /// Mean in kbit/s.
    mean: Option<f64>,
    variance: f64,
}

impl Default for LinkCapacity {
    fn default() -> Self {
        Self { mean: None, variance: VARIANCE.0 }
    }
}

impl LinkCapacity {
    pub(super) fn estimate(&self) -> Option<BitRate> {
        self.mean.map(|kbps| BitRate::from_bps_f64(kbps * 1000.0))
    }

    pub(super) fn forget(&mut self) {
        self.mean = None;
    }

    pub(super) fn is_below(&self, rate: BitRate) -> bool {
        self.bounds().is_some_and(|(_, upper)| kbps(rate) > upper)
    }

    pub(super) fn is_above(&self, rate: BitRate) -> bool {
        self.bounds().is_some_and(|(lower, _)| kbps(rate) < lower)
    }

    /// Notes over-use at this throughput.
    pub(super) fn on_overuse(&mut self, throughput: BitRate) {
        let sample = kbps(throughput);
        let mean = self.mean.map_or(sample, |mean| (1.0 - WEIGHT) * mean + WEIGHT * sample);
        self.mean = Some(mean);
        let error = mean - sample;
        let variance = (1.0 - WEIGHT) * self.variance + WEIGHT * error * error / mean.max(1.0);
        self.variance = variance.clamp(VARIANCE.0, VARIANCE.1);
    }

    fn bounds(&self) -> Option<(f64, f64)> {
        let mean = self.mean?;
        let reach = DEVIATIONS * libm::sqrt(self.variance * mean);
        Some((mean - reach, mean + reach))
    }
}

fn kbps(rate: BitRate) -> f64 {
    rate.as_bps() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reaches_three_deviations_to_both_sides() {
        let mut capacity = LinkCapacity::default();
        capacity.on_overuse(BitRate::from_kbps(1000));
        // Variance 0.4 x 1000: a deviation of 20 kbit/s.
        assert!(capacity.is_below(BitRate::from_kbps(1061)) && !capacity.is_below(BitRate::from_kbps(1058)));
        assert!(capacity.is_above(BitRate::from_kbps(939)) && !capacity.is_above(BitRate::from_kbps(942)));
        capacity.forget();
        assert!(!capacity.is_below(BitRate::from_mbps(9)) && capacity.estimate().is_none());
    }
}
