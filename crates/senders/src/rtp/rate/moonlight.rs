//! The local controller of Moonlight V+: steps by the share of lost frames.
//!
//! `qiin2333/moonlight-vplus`, PR 275 and `AdaptiveBitrateService.kt` (`tickLocal`) as of July 2026; moonlight-qt's PR 1919 has the same
//! steps. The loss is that of frames (`lostFrameRate`), which a round trip or a queue does not change.

use airbound_units::{BitRate, ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

use super::frame_loss::{ByFrameLoss, Mode, Steps};
use super::{Key, RateBounds};

/// The configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// The user's preference: `balanced`.
    pub mode: Mode,
}

pub(super) const KEYS: &[Key] =
    &[("mode", "`quality` **`balanced`** `low-latency`", "bounds around `start-rate`")];

/// The controller.
#[derive(Debug, Clone)]
pub(super) struct Moonlight {
    mode: Mode,
    rate: BitRate,
    least: BitRate,
    most: BitRate,
    stable: u32,
    lossy: u32,
    adjusted: Option<Instant>,
    fell: bool,
}

/// Builds it within the rates of a flow or a session.
#[expect(clippy::unnecessary_wraps, reason = "the signature of each rule")]
pub(super) fn build(config: &Config, bounds: &RateBounds) -> Result<ByFrameLoss<Moonlight>, ConfigError> {
    let (least, most) = config.mode.bounds(bounds);
    Ok(Moonlight {
        mode: config.mode,
        rate: bounds.start,
        least,
        most,
        stable: 0,
        lossy: 0,
        adjusted: None,
        fell: false,
    }
    .into())
}

impl Steps for Moonlight {
    fn decide(&mut self, now: Instant, percent: f64) {
        let (pause, patience) = match self.mode {
            Mode::HighQuality => (Span::from_millis(2000), 3),
            Mode::Balanced => (Span::from_millis(2000), 5),
            Mode::LowLatency => (Span::from_millis(1500), 5),
        };
        if self.adjusted.is_some_and(|at| now - at < pause) {
            return;
        }
        let mut factor = 1.0;
        if percent > 0.5 {
            self.lossy += 1;
            let (step, streak) = match percent {
                _ if percent > 5.0 => (0.7, 1),
                _ if percent > 2.0 => (0.9, 2),
                _ => (0.95, 4),
            };
            if self.lossy >= streak {
                factor = step;
            }
            // Between 2 and 5 % the count of quiet seconds survives the first lossy one.
            if self.lossy >= streak || percent <= 2.0 {
                self.stable = 0;
            }
        } else {
            self.lossy = 0;
            self.stable += 1;
            if self.stable >= patience && self.rate < self.most {
                factor = if self.fell { 1.02 } else { 1.05 };
                self.stable = 0;
            }
        }
        // The interface counts whole kbit/s.
        let kbps = self.rate.mul_f64(factor).as_bps() / 1000;
        let target = BitRate::from_kbps(kbps).clamp(self.least, self.most);
        if target != self.rate {
            self.fell = target < self.rate;
            self.rate = target;
            self.adjusted = Some(now);
        }
    }

    fn rate(&self) -> BitRate {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::tests::at;
    use super::*;

    const BOUNDS: RateBounds = RateBounds {
        start: BitRate::from_mbps(20),
        least: BitRate::from_mbps(1),
        most: BitRate::from_mbps(50),
        media: BitRate::from_mbps(50),
    };

    /// The rates in kbit/s after each second's share of lost frames.
    fn rates(mode: Mode, percents: &[f64]) -> Vec<u64> {
        let mut rule = build(&Config { mode }, &BOUNDS).expect("valid");
        let seconds = percents.iter().enumerate();
        seconds
            .map(|(second, percent)| {
                rule.rule.decide(at(1000 * second as u64), *percent);
                rule.rule.rate.as_bps() / 1000
            })
            .collect()
    }

    #[test]
    fn steps_are_those_of_the_source() {
        // 30 % at once, then two seconds of pause.
        assert_eq!(rates(Mode::Balanced, &[6.0, 6.0, 6.0]), [14_000, 14_000, 9_800]);
        // A tenth in the second lossy second; a twentieth in the fourth.
        assert_eq!(rates(Mode::Balanced, &[3.0, 3.0]), [20_000, 18_000]);
        assert_eq!(rates(Mode::Balanced, &[1.0; 4]), [20_000, 20_000, 20_000, 19_000]);
        // 5 % up after five quiet seconds, three for quality; 2 % after a fall.
        assert_eq!(rates(Mode::Balanced, &[0.0; 5])[4], 21_000);
        assert_eq!(rates(Mode::HighQuality, &[0.0; 3])[2], 21_000);
        let after_fall = [6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(rates(Mode::Balanced, &after_fall)[6], 14_280);
        // Neither below 0.3 nor above twice the user's rate.
        assert_eq!(rates(Mode::Balanced, &[9.0; 30])[29], 6_000);
        assert_eq!(rates(Mode::Balanced, &[0.0; 120])[119], 40_000);
    }
}
