//! The rule of Foundation Sunshine's host, without its language model: steps by the share of lost frames that the client reports each second.
//!
//! `AlkaidLab/foundation-sunshine` d2bf1d5f (20 May 2026), `src/abr.cpp`: `fallback_decision`, `process_feedback`; the presets of `enable` are
//! those of the client. The model, asked for a target when the program in front changes, needs a service and is left out.

use airbound_units::{BitRate, ConfigError, Instant, Span};

use super::RateBounds;
use super::frame_loss::{ByFrameLoss, Steps};
pub(super) use super::moonlight::{Config, KEYS};

/// Between two decisions but those above 5 % (`FALLBACK_INTERVAL_SECONDS`).
const INTERVAL: Span = Span::from_secs(3);

/// The rule.
#[derive(Debug, Clone)]
pub(super) struct SunshineAbr {
    rate: BitRate,
    least: BitRate,
    most: BitRate,
    /// Decisions below 0.5 %, not reset by a raise (`stable_ticks`).
    stable: u32,
    decided: Option<Instant>,
}

/// Builds it within the rates of a flow or a session.
#[expect(clippy::unnecessary_wraps, reason = "the signature of each rule")]
pub(super) fn build(config: &Config, bounds: &RateBounds) -> Result<ByFrameLoss<SunshineAbr>, ConfigError> {
    let (least, most) = config.mode.bounds(bounds);
    Ok(SunshineAbr { rate: bounds.start, least, most, stable: 0, decided: None }.into())
}

impl Steps for SunshineAbr {
    fn decide(&mut self, now: Instant, percent: f64) {
        let is_urgent = percent > 5.0;
        if !is_urgent && self.decided.is_some_and(|at| now - at < INTERVAL) {
            return;
        }
        self.decided = Some(now);
        let factor = if percent > 2.0 {
            self.stable = 0;
            if is_urgent { 0.70 } else { 0.90 }
        } else if percent < 0.5 {
            self.stable += 1;
            if self.stable >= 5 { 1.05 } else { return }
        } else {
            return;
        };
        let kbps = self.rate.mul_f64(factor).as_bps() / 1000;
        self.rate = BitRate::from_kbps(kbps).clamp(self.least, self.most);
    }

    fn rate(&self) -> BitRate {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame_loss::Mode;
    use super::super::ledger::tests::at;
    use super::*;

    #[test]
    fn steps_are_those_of_the_source() {
        let rates = |percents: &[f64]| -> Vec<u64> {
            let start = BitRate::from_mbps(20);
            let bounds = RateBounds {
                start,
                least: BitRate::from_mbps(1),
                most: start.mul_f64(3.0),
                media: start.mul_f64(3.0),
            };
            let mut rule = build(&Config { mode: Mode::Balanced }, &bounds).expect("valid");
            let seconds = percents.iter().enumerate();
            let of = |(second, percent): (usize, &f64)| {
                rule.rule.decide(at(1000 * second as u64), *percent);
                rule.rule.rate.as_bps() / 1000
            };
            seconds.map(of).collect()
        };
        // Above 5 % each second; above 2 % each third.
        assert_eq!(rates(&[6.0, 6.0]), [14_000, 9_800]);
        assert_eq!(rates(&[3.0, 3.0, 3.0, 3.0]), [18_000, 18_000, 18_000, 16_200]);
        // 0.5 to 2 %: nothing.
        assert_eq!(rates(&[1.0; 20])[19], 20_000);
        // The fifth quiet decision raises, and each one after it, three seconds apart.
        let quiet = rates(&[0.0; 17]);
        assert_eq!((quiet[11], quiet[12], quiet[15]), (20_000, 21_000, 22_050));
        assert_eq!(rates(&[9.0; 30])[29], 6_000);
    }
}
