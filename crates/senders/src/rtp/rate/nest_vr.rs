//! NeSt-VR: a ladder of bitrates, climbed by the share of frames that arrive and by their round trip.
//!
//! `wn-upf/NeSt-VR` 115f9a8c (7 Mar 2025), `alvr/server/src/bitrate.rs`, defaults of `alvr/session/src/settings.rs` (profile `Custom`);
//! arXiv 2502.14947. The ladder spans the rates of the flow. A step up has a probability of 0.25 there; here every fourth chance is
//! taken, since rules draw nothing.

use std::collections::VecDeque;

use airbound_units::{BitRate, ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

use super::ledger::{Complete, Ledger};
use super::{FramePart, Key, MediaRate, Pacing, PathState, RateBounds, UNPACED};
use crate::rtp::gcc::{PacketSent, TransportFeedback};

/// Between two decisions, and the window of all averages (`update_interval_nestvr_s`).
const INTERVAL: Span = Span::from_secs(1);
/// The client reports each frame.
const REPORTS: Span = Span::from_millis(2);
/// Share of frames in time below which the rate steps down (`nfr_thresh`).
const FRAME_RATIO: f64 = 0.99;
/// Share of the measured capacity (`capacity_scaling_factor`).
const CAPACITY: f64 = 0.9;

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Steps from the least to the largest rate: 9. 1 to 1000 (`bitrate_step_count`).
    pub steps: u32,
    /// Steps down at once: 1, as in the profile Balanced; Speedy has 2, Anxious 10 (`bitrate_dec_steps`).
    pub down: u32,
    /// Probability of a step up: 0.25. 0 to 1 (`bitrate_inc_prob`).
    pub up: f64,
    /// Round trip of frames above which the rate steps down: 22 ms (`rtt_thresh_ms`).
    pub round_trip: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self { steps: 9, down: 1, up: 0.25, round_trip: Span::from_millis(22) }
    }
}

pub(super) const KEYS: &[Key] = &[
    ("steps", "9; 1–1000", "from `min-rate` to `max-rate`"),
    ("down", "1; 1–1000", "steps down at once"),
    ("up", "0.25; 0–1", "share of chances to step up that are taken"),
    ("round-trip", "`\"22 ms\"`; 1 ms–1 s", "of frames, longest without a step down"),
];

/// The rule.
#[derive(Debug, Clone)]
pub(super) struct NestVr {
    config: Config,
    bounds: RateBounds,
    ledger: Ledger,
    /// Frames sent in the window, by their first packet.
    sent: VecDeque<Instant>,
    newest: Option<u64>,
    /// Frames that arrived in the window, when that was reported.
    frames: VecDeque<(Instant, Complete)>,
    chance: f64,
    rate: BitRate,
    tick: Option<Instant>,
}

/// Builds it within the rates of a flow or a session.
pub(super) fn build(config: &Config, bounds: &RateBounds) -> Result<NestVr, ConfigError> {
    let Config { steps, down, up, round_trip } = *config;
    ConfigError::check((1..=1000).contains(&steps), "steps", steps, "1 to 1000")?;
    ConfigError::check((1..=1000).contains(&down), "down", down, "1 to 1000")?;
    ConfigError::check((0.0..=1.0).contains(&up), "up", up, "0 to 1")?;
    let allowed = (Span::from_millis(1)..=INTERVAL).contains(&round_trip);
    ConfigError::check(allowed, "round-trip", round_trip, "1 ms to 1 s")?;
    Ok(NestVr {
        config: *config,
        bounds: *bounds,
        ledger: Ledger::default(),
        sent: VecDeque::new(),
        newest: None,
        frames: VecDeque::new(),
        chance: 0.0,
        rate: bounds.start,
        tick: None,
    })
}

impl NestVr {
    fn decide(&mut self, now: Instant) {
        while self.sent.front().is_some_and(|at| now - *at > INTERVAL) {
            self.sent.pop_front();
        }
        while self.frames.front().is_some_and(|(at, _)| now - *at > INTERVAL) {
            self.frames.pop_front();
        }
        let count = self.frames.len() as f64;
        let mean =
            |of: fn(&Complete) -> f64| self.frames.iter().map(|(_, frame)| of(frame)).sum::<f64>() / count;
        let step =
            (self.bounds.most.as_bps() - self.bounds.least.as_bps()) as f64 / f64::from(self.config.steps);
        let down = step * f64::from(self.config.down);
        let mut bps = self.rate.as_bps() as f64;
        if self.frame_ratio() < FRAME_RATIO
            || mean(|frame| frame.round_trip.as_secs_f64()) > self.config.round_trip.as_secs_f64()
        {
            bps -= down;
        } else {
            self.chance += self.config.up;
            if self.chance >= 1.0 {
                self.chance -= 1.0;
                bps += step;
            }
        }
        if count > 0.0 {
            bps = bps.min(CAPACITY * mean(|frame| frame.bytes.bits() as f64 / frame.span.as_secs_f64()));
        }
        let least = self.bounds.least.as_bps() as f64;
        let rung = ((bps - least) / step.max(1.0) + 1e-6).max(0.0) as u64;
        let rate = least + step * rung.min(u64::from(self.config.steps)) as f64;
        self.rate = BitRate::from_bps_f64(rate).clamp(self.bounds.least, self.bounds.most);
    }

    /// Frames a second that arrived over those sent, by the mean of the intervals.
    fn frame_ratio(&self) -> f64 {
        let interval = |first: Instant, last: Instant, count: usize| {
            (count > 1).then(|| (last - first).as_secs_f64() / (count - 1) as f64)
        };
        let sent = self.sent.front().zip(self.sent.back());
        let sent = sent.and_then(|(first, last)| interval(*first, *last, self.sent.len()));
        let arrived = self.frames.front().zip(self.frames.back());
        let arrived = arrived
            .and_then(|((_, first), (_, last))| interval(first.arrival, last.arrival, self.frames.len()));
        match (sent, arrived) {
            (Some(sent), Some(arrived)) if arrived > 0.0 => sent / arrived,
            (Some(_), None) => 0.0,
            _ => 1.0,
        }
    }
}

impl MediaRate for NestVr {
    fn on_sent(&mut self, now: Instant, packet: PacketSent) {
        self.ledger.on_sent(now, packet);
        self.tick.get_or_insert(now + INTERVAL);
    }
    fn on_frame_part(&mut self, now: Instant, part: FramePart) {
        if self.newest.is_none_or(|newest| part.frame > newest) {
            self.newest = Some(part.frame);
            self.sent.push_back(now);
        }
        self.ledger.on_frame_part(part);
    }
    fn on_feedback(&mut self, now: Instant, feedback: &TransportFeedback) {
        let news = self.ledger.on_feedback(now, feedback);
        self.frames.extend(news.complete.into_iter().map(|frame| (now, frame)));
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
            self.decide(now);
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

    const LADDER: RateBounds = RateBounds {
        start: BitRate::from_mbps(100),
        least: BitRate::from_mbps(10),
        ..RateBounds { most: BitRate::from_mbps(100), ..Bounds::WIDE }
    };

    #[test]
    fn a_step_down_each_second_where_frames_come_late_and_one_up_in_four() {
        let mut rule = build(&Config::default(), &LADDER).expect("valid");
        let rates = run(&mut rule, 20, |second| if second < 10 { 40.0 } else { 300.0 }, |_| 0.0);
        // Not above 0.9 of what a frame's arrival shows: 36 Mb/s.
        assert!(rates[1..10].iter().all(|rate| *rate <= 36.0), "{rates:?}");
        assert!(rates.iter().all(|rate| rate % 10.0 < 1e-6), "the ladder has steps of 10 Mb/s: {rates:?}");
        let ups = rates[10..].windows(2).filter(|pair| pair[1] > pair[0]).count();
        assert!((1..=3).contains(&ups) && rates[19] > rates[9], "{rates:?}");
    }

    #[test]
    fn lost_frames_step_it_down() {
        let mut rule = build(&Config::default(), &LADDER).expect("valid");
        let rates = run(&mut rule, 12, |_| 1000.0, |second| if second > 1 { 0.05 } else { 0.0 });
        assert_eq!(rates.last(), Some(&10.0), "{rates:?}");
    }
}
