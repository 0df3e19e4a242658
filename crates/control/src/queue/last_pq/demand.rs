//! Latency demand of a flow.

use airbound_units::Span;

use crate::error::ConfigError;

/// A latency demand (ld of Sec. IV): a percentile of a flow's packets has to be acknowledged within this time after entering
/// the queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    latency: Span,
    percentile: f64,
}

impl Demand {
    /// The longest permitted latency of a demand.
    pub const LONGEST: Span = Span::from_secs(10);

    /// Creates a demand on a percentile (beta), in percent.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] unless the latency is above 0 and at most 10 s, and the percentile above 0 and at most 100.
    pub fn new(latency: Span, percentile: f64) -> Result<Self, ConfigError> {
        ConfigError::check(
            !latency.is_zero() && latency <= Self::LONGEST,
            "demand.latency",
            latency,
            "more than 0 ms, up to 10 s",
        )?;
        ConfigError::check(
            percentile > 0.0 && percentile <= 100.0,
            "demand.percentile",
            percentile,
            "more than 0, up to 100",
        )?;
        Ok(Self { latency, percentile })
    }

    /// The latency.
    #[must_use]
    pub const fn latency(&self) -> Span {
        self.latency
    }

    /// The percentile in percent.
    #[must_use]
    pub const fn percentile(&self) -> f64 {
        self.percentile
    }

    /// The percentile of `latencies` by nearest rank: the smallest value that at least this percentage does not exceed. `None`
    /// for an empty slice. Reorders the slice.
    #[must_use]
    pub fn measure(&self, latencies: &mut [Span]) -> Option<Span> {
        let rank = (self.percentile * latencies.len() as f64 / 100.0).ceil() as usize;
        let place = rank.clamp(1, latencies.len().max(1)) - 1;
        (place < latencies.len()).then(|| *latencies.select_nth_unstable(place).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused() {
        let millis = Span::from_millis;
        assert!(Demand::new(millis(20), 95.0).is_ok() && Demand::new(millis(20), 100.0).is_ok());
        for (latency, percentile) in [
            (Span::ZERO, 95.0),
            (Span::from_secs(11), 95.0),
            (millis(20), 0.0),
            (millis(20), 100.1),
            (millis(20), f64::NAN),
        ] {
            assert!(Demand::new(latency, percentile).is_err(), "{latency} {percentile}");
        }
        let sentence = Demand::new(millis(20), 101.0).expect_err("too much").to_string();
        assert_eq!(sentence, "demand.percentile is 101; allowed is more than 0, up to 100");
    }

    #[test]
    fn nearest_rank() {
        let at = |percentile, count: u64| {
            let mut latencies: Vec<Span> = (1..=count).rev().map(Span::from_millis).collect();
            let demand = Demand::new(Span::from_millis(20), percentile).expect("valid");
            demand.measure(&mut latencies).map(Span::as_millis)
        };
        assert_eq!(at(95.0, 0), None);
        assert_eq!(at(95.0, 1), Some(1));
        assert_eq!(at(95.0, 20), Some(19));
        assert_eq!(at(95.0, 21), Some(20), "19.95 is rounded up");
        assert_eq!(at(50.0, 4), Some(2));
        assert_eq!(at(100.0, 4), Some(4));
        assert_eq!(at(0.001, 4), Some(1));
    }
}
