//! The share of lost frames of a second, by which Moonlight's client and its host step the rate.

use airbound_units::{BitRate, Instant, Span};
use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::{FramePart, MediaRate, Pacing, PathState, RateBounds, UNPACED};
use crate::rtp::gcc::{PacketSent, TransportFeedback};

/// From the first packet to the first decision (`START_DELAY_SECONDS`), and from one to the next (`scheduleWithFixedDelay`).
const DELAY: Span = Span::from_secs(3);
const TICK: Span = Span::from_secs(1);

/// The user's preference: it bounds the rate around the one that he set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Half to one and a half of the rate set, at least 5 Mb/s.
    #[serde(rename = "quality")]
    HighQuality,
    /// 0.3 of the rate set, at least 3 Mb/s, to twice as much.
    #[default]
    Balanced,
    /// 2 Mb/s to 1.2 of the rate set.
    LowLatency,
}

impl Mode {
    /// Its bounds (`applyModePreset`; `abr::enable` has the same), within those of the flow.
    pub(super) fn bounds(self, of: &RateBounds) -> (BitRate, BitRate) {
        let (least, most) = match self {
            Self::HighQuality => (of.start.mul_f64(0.5).max(BitRate::from_mbps(5)), of.start.mul_f64(1.5)),
            Self::Balanced => (of.start.mul_f64(0.3).max(BitRate::from_mbps(3)), of.start.mul_f64(2.0)),
            Self::LowLatency => (BitRate::from_mbps(2), of.start.mul_f64(1.2)),
        };
        let most = most.min(BitRate::from_mbps(150)).clamp(of.least, of.most);
        (least.clamp(of.least, most), most)
    }
}

/// A rate that is decided each second by the share of lost frames.
pub(super) trait Steps: std::fmt::Debug + Send {
    /// Decides by the share of lost frames of the last second, in percent.
    fn decide(&mut self, now: Instant, percent: f64);
    /// The rate of the encoder.
    fn rate(&self) -> BitRate;
}

/// Counts frames for such a rule, and lets it decide when that is due.
#[derive(Debug, Clone)]
pub(super) struct ByFrameLoss<R> {
    ledger: Ledger,
    loss: FrameLoss,
    pub(super) rule: R,
}

impl<R> From<R> for ByFrameLoss<R> {
    fn from(rule: R) -> Self {
        Self { ledger: Ledger::default(), loss: FrameLoss::default(), rule }
    }
}

impl<R: Steps> MediaRate for ByFrameLoss<R> {
    fn on_sent(&mut self, now: Instant, packet: PacketSent) {
        self.ledger.on_sent(now, packet);
        self.loss.tick.get_or_insert(now + DELAY);
    }
    fn on_frame_part(&mut self, _now: Instant, part: FramePart) {
        self.ledger.on_frame_part(part);
    }
    fn on_feedback(&mut self, now: Instant, feedback: &TransportFeedback) {
        let news = self.ledger.on_feedback(now, feedback);
        self.loss.count(now, news.complete.len(), news.frames_lost);
    }
    fn target(&self) -> BitRate {
        self.rule.rate()
    }
    fn pacing(&self) -> Pacing {
        UNPACED.max(self.rule.rate()).into()
    }
    fn deadline(&self) -> Option<Instant> {
        self.loss.tick
    }
    fn on_deadline(&mut self, now: Instant) {
        if let Some(percent) = self.loss.due(now) {
            self.rule.decide(now, percent);
        }
    }
    fn path(&self) -> PathState {
        self.ledger.path()
    }
}

/// Frames of a second, and when the next decision is due.
#[derive(Debug, Clone, Copy, Default)]
struct FrameLoss {
    begun: Option<Instant>,
    complete: usize,
    lost: usize,
    tick: Option<Instant>,
    /// In percent, of the last second in which a frame came: the client renews its figures with a frame only.
    percent: Option<f64>,
}

impl FrameLoss {
    fn count(&mut self, now: Instant, complete: usize, lost: usize) {
        self.complete += complete;
        self.lost += lost;
        let begun = *self.begun.get_or_insert(now);
        if self.complete > 0 && now - begun >= TICK {
            self.percent = Some(100.0 * self.lost as f64 / (self.complete + self.lost) as f64);
            (self.begun, self.complete, self.lost) = (Some(now), 0, 0);
        }
    }

    /// The share of lost frames in percent if a decision is due.
    fn due(&mut self, now: Instant) -> Option<f64> {
        let tick = self.tick.filter(|tick| *tick <= now)?;
        self.tick = Some(tick.max(now) + TICK);
        self.percent
    }
}
