//! The share of lost frames of a second, by which Moonlight's client and its host step the rate.

use airbound_units::{BitRate, Instant, Span};
use serde::{Deserialize, Serialize};

use super::RateBounds;
use super::ledger::News;

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

/// Counts frames, and says when a decision is due.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FrameLoss {
    begun: Option<Instant>,
    complete: usize,
    lost: usize,
    tick: Option<Instant>,
    /// In percent, of the last second in which a frame came: the client renews its figures with a frame only.
    percent: Option<f64>,
}

impl FrameLoss {
    pub(super) fn on_sent(&mut self, now: Instant) {
        self.tick.get_or_insert(now + DELAY);
    }

    pub(super) fn on_news(&mut self, now: Instant, news: &News) {
        self.complete += news.complete.len();
        self.lost += news.frames_lost;
        let begun = *self.begun.get_or_insert(now);
        if self.complete > 0 && now - begun >= TICK {
            self.percent = Some(100.0 * self.lost as f64 / (self.complete + self.lost) as f64);
            (self.begun, self.complete, self.lost) = (Some(now), 0, 0);
        }
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.tick
    }

    /// The share of lost frames in percent if a decision is due.
    pub(super) fn due(&mut self, now: Instant) -> Option<f64> {
        let tick = self.tick.filter(|tick| *tick <= now)?;
        self.tick = Some(tick.max(now) + TICK);
        self.percent
    }
}
