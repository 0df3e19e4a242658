//! Configuration of Plum.

use airbound_units::{BitRate, ConfigError, Span};
use serde::{Deserialize, Serialize};

use crate::conference::qoe::Qoe;

/// Upper limit of V, for which the paper gives no value; its public code uses the number of participants up to this.
const MOST_COMPRESSIBLE: usize = 25;

/// Statistic that a check uses as a congestion control's estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The mean of the estimates since the last check: the targets hold for a whole period, in which a Wi-Fi link may vary by a
    /// factor of ten.
    #[default]
    Mean,
    /// The latest value, as in the public code.
    Latest,
}

/// Configuration of [`super::PlumServer`]. Defaults are the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PlumConfig {
    /// Weight of fairness in equation 1, 0 to 1. Default 0.5 (Sec. IV-A).
    pub rho: f64,
    /// The single-user QoE function. Default linear (Sec. IV-A).
    pub qoe: Qoe,
    /// M, the largest useful bitrate of the application, 0.1 Mb/s to 10 Gb/s. Default 30 Mb/s (the public code; the paper gives
    /// none).
    pub max_bitrate: BitRate,
    /// V, the factor by which one source's video can be compressed for a viewer, 1 to 1000. Default: the number of participants, at
    /// most 25 (the public code).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compressibility: Option<f64>,
    /// Lowest useful bitrate of a viewer, at most M; less where the capacity or the content is scarce. Default 0 (Sec. III-C has none; in
    /// Sec. IV-E the Wi-Fi user always keeps more than 6 Mb/s).
    #[serde(skip_serializing_if = "is_zero")]
    pub least_down: BitRate,
    /// Interval of the checks of capacities, 100 ms to 1 h. Default 5 s (Sec. III-D).
    pub period: Span,
    /// Relative change of a capacity against the last one acted upon that counts as clear, above 0 to 10. Default 0.2 (Sec. III-D).
    pub change: f64,
    /// Statistic used as a direction's estimate. Default the mean over the period.
    pub reading: Reading,
    /// Whether the uplink of a client whose downlink gives way is probed at each check until it has what it was given. Default false: the paper has no
    /// probe, and BBR looks for more by itself.
    pub probe: bool,
    /// Time after which an unanswered notice is sent again, 10 ms to 10 s. Default 200 ms.
    pub repeat: Span,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(rate: &BitRate) -> bool {
    rate.is_zero()
}

impl Default for PlumConfig {
    fn default() -> Self {
        Self {
            rho: 0.5,
            qoe: Qoe::Linear,
            max_bitrate: BitRate::from_mbps(30),
            compressibility: None,
            least_down: BitRate::ZERO,
            period: Span::from_secs(5),
            change: 0.2,
            reading: Reading::Mean,
            probe: false,
            repeat: Span::from_millis(200),
        }
    }
}

impl PlumConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::check((0.0..=1.0).contains(&self.rho), "rho", self.rho, "0 to 1")?;
        let rates = BitRate::from_kbps(100)..=BitRate::from_mbps(10_000);
        ConfigError::check(
            rates.contains(&self.max_bitrate),
            "max-bitrate",
            self.max_bitrate,
            "0.1 Mb/s to 10 Gb/s",
        )?;
        let v = self.compressibility.unwrap_or(1.0);
        ConfigError::check((1.0..=1000.0).contains(&v), "compressibility", v, "1 to 1000")?;
        let useful = BitRate::ZERO..=self.max_bitrate;
        ConfigError::check(
            useful.contains(&self.least_down),
            "least-down",
            self.least_down,
            "0 to max-bitrate",
        )?;
        let periods = Span::from_millis(100)..=Span::from_secs(3600);
        ConfigError::check(periods.contains(&self.period), "period", self.period, "100 ms to 1 h")?;
        let change = self.change;
        ConfigError::check(change > 0.0 && change <= 10.0, "change", change, "above 0 to 10")?;
        let repeats = Span::from_millis(10)..=Span::from_secs(10);
        ConfigError::check(repeats.contains(&self.repeat), "repeat", self.repeat, "10 ms to 10 s")
    }

    /// M/V for a number of participants.
    #[must_use]
    pub fn source_cap(&self, participants: usize) -> BitRate {
        let v = self.compressibility.unwrap_or(participants.clamp(1, MOST_COMPRESSIBLE) as f64);
        self.max_bitrate.mul_f64(1.0 / v.max(1.0))
    }
}
