//! ALVR's adaptive mode: bits of a frame over the time that the network took for it.
//!
//! `alvr-org/ALVR` 6b75f2f1 (10 Aug 2026), `alvr/server_core/src/bitrate.rs`, defaults of `alvr/session/src/settings.rs`. The limits by encoder
//! and decoder latency are left out: coding takes no time here. A session of ALVR begins with the quotient of its first values,
//! 76 Mb/s; here it begins with `start-rate`.

use std::collections::VecDeque;

use airbound_units::{BitRate, ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::{FramePart, Key, MediaRate, Pacing, PathState, RateBounds, UNPACED};
use crate::rtp::gcc::{PacketSent, TransportFeedback};

/// Between two decisions (`UPDATE_INTERVAL`).
const INTERVAL: Span = Span::from_secs(1);
/// The client reports each frame.
const REPORTS: Span = Span::from_millis(2);
/// Members of both averages before the first frame.
const FIRST: (f64, f64) = (50_000.0, 0.005);

/// The configuration: the keys of ALVR's settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Share of the measured throughput: 0.95. 0.5 to 5 (`saturation_multiplier`).
    pub saturation: f64,
    /// Frames averaged over: 256. 1 to 10000 (`history_size`).
    pub history: usize,
    /// Latency above which the rate falls in proportion; zero, the default, for none (`max_network_latency_ms`, 8 ms where enabled).
    pub max_latency: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self { saturation: 0.95, history: 256, max_latency: Span::ZERO }
    }
}

pub(super) const KEYS: &[Key] = &[
    ("saturation", "0.95; 0.5–5", "share of the throughput"),
    ("history", "256; 1–10000", "frames averaged over"),
    ("max-latency", "`\"0 ms\"` (none); 0–1 s", "above it the rate falls in proportion"),
];

/// The rule.
#[derive(Debug, Clone)]
pub(super) struct Alvr {
    config: Config,
    bounds: RateBounds,
    ledger: Ledger,
    /// Bytes, and seconds on the network, of the last frames.
    frames: VecDeque<(f64, f64)>,
    rate: BitRate,
    tick: Option<Instant>,
}

/// Builds it within the rates of a flow or a session.
pub(super) fn build(config: &Config, bounds: &RateBounds) -> Result<Alvr, ConfigError> {
    let Config { saturation, history, max_latency } = *config;
    ConfigError::check((0.5..=5.0).contains(&saturation), "saturation", saturation, "0.5 to 5")?;
    ConfigError::check((1..=10_000).contains(&history), "history", history, "1 to 10000")?;
    ConfigError::check(max_latency <= INTERVAL, "max-latency", max_latency, "0 to 1 s")?;
    Ok(Alvr {
        config: *config,
        bounds: *bounds,
        ledger: Ledger::default(),
        frames: VecDeque::from([FIRST]),
        rate: bounds.start,
        tick: None,
    })
}

impl Alvr {
    fn decide(&mut self) {
        let count = self.frames.len() as f64;
        let bytes = self.frames.iter().map(|(bytes, _)| bytes).sum::<f64>() / count;
        let latency = (self.frames.iter().map(|(_, latency)| latency).sum::<f64>() / count).max(1e-6);
        let mut bps = bytes * 8.0 * self.config.saturation / latency;
        if !self.config.max_latency.is_zero() {
            bps = bps.min(bps * self.config.max_latency.as_secs_f64() / latency);
        }
        self.rate = BitRate::from_bps_f64(bps).clamp(self.bounds.least, self.bounds.most);
    }
}

impl MediaRate for Alvr {
    fn on_sent(&mut self, now: Instant, packet: PacketSent) {
        self.ledger.on_sent(now, packet);
        self.tick.get_or_insert(now + INTERVAL);
    }
    fn on_frame_part(&mut self, _now: Instant, part: FramePart) {
        self.ledger.on_frame_part(part);
    }
    fn on_feedback(&mut self, now: Instant, feedback: &TransportFeedback) {
        for frame in self.ledger.on_feedback(now, feedback).complete {
            self.frames.push_back((frame.bytes.as_u64() as f64, frame.round_trip.as_secs_f64()));
            if self.frames.len() > self.config.history {
                self.frames.pop_front();
            }
        }
    }
    fn target(&self) -> BitRate {
        self.rate
    }
    fn pacing(&self) -> Pacing {
        UNPACED.max(self.rate).into()
    }
    fn deadline(&self) -> Option<Instant> {
        self.tick
    }
    fn on_deadline(&mut self, now: Instant) {
        if self.tick.is_some_and(|tick| tick <= now) {
            self.tick = Some(now + INTERVAL);
            self.decide();
        }
    }
    fn path(&self) -> PathState {
        self.ledger.path()
    }
    fn report_interval(&self) -> Option<Span> {
        Some(REPORTS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::path::{Bounds, run};
    use super::*;

    #[test]
    fn the_rate_follows_what_a_frame_takes_and_no_loss() {
        let mut rule = build(&Config { history: 60, ..Config::default() }, &Bounds::WIDE).expect("valid");
        // The latency tends to 0.95 of the frame interval, 15.8 ms; of this the frame has what the round trip of 10 ms and the wait for
        // a report leave: R = (15.8 ms - 10 ms - wait) 100 Mb/s / 16.7 ms, whatever the link carries.
        let rates = run(&mut rule, 8, |_| 100.0, |_| 0.0);
        let last = rates.last().copied().expect("seconds");
        assert!((22.0..=36.0).contains(&last), "{rates:?}");
        let lossy = run(
            &mut build(&Config { history: 60, ..Config::default() }, &Bounds::WIDE).expect("valid"),
            8,
            |_| 100.0,
            |_| 0.05,
        );
        assert!(lossy.last().is_some_and(|rate| *rate > 0.8 * last), "{lossy:?}");
    }

    #[test]
    fn a_limit_of_the_latency_lowers_the_rate() {
        let limited = Config { history: 60, max_latency: Span::from_millis(8), ..Config::default() };
        let mut rule = build(&limited, &Bounds::WIDE).expect("valid");
        let rates = run(&mut rule, 8, |_| 100.0, |_| 0.0);
        assert!(rates.last().is_some_and(|rate| *rate < 20.0), "{rates:?}");
    }
}
