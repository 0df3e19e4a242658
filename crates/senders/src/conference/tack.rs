//! TACK's acknowledgement policy (Li et al., SIGCOMM 2020), one of the schemes in Plum's evaluation (Sec. IV-A).
//!
//! Its rate of acknowledgements is min(bandwidth / (L · MSS), beta / RTT_min): by bytes while the bandwidth-delay product is small, then
//! by time, beta times a round trip. Plum's evaluation acknowledges at least every 16 segments, and its code halves the first rate
//! again.

use airbound_units::{BitRate, ByteCount, ConfigError, Span};
use serde::{Deserialize, Serialize};

/// Configuration of `tack`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TackConfig {
    /// L, full segments for each acknowledgement while the rate counts bytes, 1 to 1000. Default 2.
    pub segments: u32,
    /// beta, acknowledgements in each smallest round trip, 1 to 1000. Default 4.
    pub per_round_trip: u32,
    /// Upper limit on segments covered by one acknowledgement, 1 to 1000. Default 16 (Sec. IV-A).
    pub most: u32,
}

impl Default for TackConfig {
    fn default() -> Self {
        Self { segments: 2, per_round_trip: 4, most: 16 }
    }
}

impl TackConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let counts = 1..=1000;
        ConfigError::check(counts.contains(&self.segments), "segments", self.segments, "1 to 1000")?;
        let beta = self.per_round_trip;
        ConfigError::check(counts.contains(&beta), "per-round-trip", beta, "1 to 1000")?;
        ConfigError::check(counts.contains(&self.most), "most", self.most, "1 to 1000")
    }

    /// Returns the number of segments covered by one acknowledgement, and its longest delay, at a rate and a smallest round trip.
    #[must_use]
    pub fn policy(&self, rate: BitRate, mss: ByteCount, min_rtt: Span) -> (u32, Span) {
        let bits = rate.as_bps() as f64;
        let segment = (mss.bits().max(1)) as f64;
        let by_bytes = bits / (f64::from(self.segments) * segment);
        let by_time = f64::from(self.per_round_trip) / min_rtt.as_secs_f64().max(1e-4);
        let per_second = by_bytes.min(by_time).max(1.0);
        let covered = libm::round(bits / segment / per_second).clamp(1.0, f64::from(self.most));
        (covered as u32, Span::from_secs_f64(1.0 / per_second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_rule_at_low_rates_and_time_at_high_ones() {
        let (config, mss) = (TackConfig::default(), ByteCount::new(1448));
        let (few, _) = config.policy(BitRate::from_mbps(1), mss, Span::from_millis(20));
        assert_eq!(few, 2);
        // 100 Mb/s and 20 ms: 8633 segments/s against 200 acknowledgements/s would be 43; 16 at most.
        let (most, wait) = config.policy(BitRate::from_mbps(100), mss, Span::from_millis(20));
        assert_eq!((most, wait), (16, Span::from_millis(5)));
    }
}
