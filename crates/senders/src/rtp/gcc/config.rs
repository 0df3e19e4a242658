//! The configuration of [`super::Gcc`].

use airbound_units::{BitRate, ConfigError, Span};
use serde::{Deserialize, Serialize};

use super::Pacing;

/// Limits of the rates, and enabled parts of the congestion control. A flow or a session sets the limits, not a file's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct GccConfig {
    /// The initial rate: 300 kbit/s (libwebrtc). Between the other two.
    #[serde(skip)]
    pub start_rate: BitRate,
    /// The least target: 30 kbit/s. At least 5 kbit/s (libwebrtc `kCongestionControllerMinBitrate`).
    #[serde(skip)]
    pub min_rate: BitRate,
    /// Upper limit of the target and of probes: 20 Mbit/s. At most 10 Gbit/s.
    #[serde(skip)]
    pub max_rate: BitRate,
    /// Ratio of the pacing rate to the target: 2.5 (libwebrtc `kDefaultPaceMultiplier`). 1 to 10.
    pub pacing_factor: f64,
    /// Time at the pacing rate that packets sent at once are worth at most: 40 ms (libwebrtc `kDefaultBurstInterval`). At most 1 s.
    pub pacing_burst: Span,
    /// Whether to probe for a higher rate at the start, after a recovery and in application-limited periods: true.
    pub probing: bool,
    /// The interval of probes while the source sends less than the target: 5 s (libwebrtc). 1 s to 1 min.
    pub alr_probe_interval: Span,
    /// The answer to loss: `model`.
    pub loss_based: LossResponse,
}

/// The part of the congestion control that answers loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossResponse {
    /// Fits a channel with inherent loss and a bandwidth to the last reports (libwebrtc since 2023).
    #[default]
    Model,
    /// Three ranges of loss: grow, hold, fall (draft Sec. 6; libwebrtc before).
    Ranges,
    /// None: the delay-based estimate alone.
    Off,
}

impl Default for GccConfig {
    fn default() -> Self {
        Self {
            start_rate: BitRate::from_kbps(300),
            min_rate: BitRate::from_kbps(30),
            max_rate: BitRate::from_mbps(20),
            pacing_factor: 2.5,
            pacing_burst: Span::from_millis(40),
            probing: true,
            alr_probe_interval: Span::from_secs(5),
            loss_based: LossResponse::Model,
        }
    }
}

impl GccConfig {
    /// The rate and the bursts of the pacer for a target.
    pub(in crate::rtp) fn pacing(&self, target: BitRate) -> Pacing {
        Pacing { rate: target.mul_f64(self.pacing_factor), burst: self.pacing_burst }
    }

    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let max = (BitRate::from_kbps(5)..=BitRate::from_mbps(10_000)).contains(&self.max_rate);
        ConfigError::check(max, "max-rate", self.max_rate, "5 kbit/s to 10 Gbit/s")?;
        let min = (BitRate::from_kbps(5)..=self.max_rate).contains(&self.min_rate);
        ConfigError::check(min, "min-rate", self.min_rate, "5 kbit/s to max-rate")?;
        let start = (self.min_rate..=self.max_rate).contains(&self.start_rate);
        ConfigError::check(start, "start-rate", self.start_rate, "min-rate to max-rate")?;
        let factor = (1.0..=10.0).contains(&self.pacing_factor);
        ConfigError::check(factor, "pacing-factor", self.pacing_factor, "1 to 10")?;
        let burst = self.pacing_burst <= Span::from_secs(1);
        ConfigError::check(burst, "pacing-burst", self.pacing_burst, "0 ms to 1 s")?;
        let interval = (Span::from_secs(1)..=Span::from_secs(60)).contains(&self.alr_probe_interval);
        ConfigError::check(interval, "alr-probe-interval", self.alr_probe_interval, "1 s to 1 min")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused() {
        let usual = GccConfig::default();
        assert_eq!(usual.check(), Ok(()));
        for wrong in [
            GccConfig { max_rate: BitRate::ZERO, ..usual },
            GccConfig { min_rate: BitRate::ZERO, ..usual },
            GccConfig { start_rate: BitRate::from_mbps(21), ..usual },
            GccConfig { pacing_factor: f64::NAN, ..usual },
            GccConfig { pacing_burst: Span::from_secs(2), ..usual },
            GccConfig { alr_probe_interval: Span::ZERO, ..usual },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        assert!(toml::from_str::<GccConfig>("start = 3").is_err());
        assert!(toml::from_str::<GccConfig>("loss-based = true").is_err());
        assert_eq!(toml::from_str(""), Ok(usual));
    }
}
