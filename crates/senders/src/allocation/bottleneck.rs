//! Whether the WLAN or the wire limits a station (assumption 3 of Sec. 7).
//!
//! Packets that wait in the access point come in large frames; packets that wait on the wire come to the access point at the pace
//! of the wire, and their frames stay small. So what tells the two apart is the level while less arrives than was sent. It is the
//! level of whole frames: beside a transfer of its own the station's frames are full of acknowledgements, whatever is sent to it.

/// Bottleneck of a station.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bottleneck {
    /// Nothing: what is sent arrives, in frames below the target.
    #[default]
    None,
    /// The WLAN: frames, with what others have in them, are about as large as the target or larger.
    Wlan,
    /// The wire: less arrives than is sent, in frames clearly below the target.
    Wire,
}

/// Judges report by report.
#[derive(Debug, Clone, Copy, Default)]
pub struct BottleneckDetector {
    judgement: Bottleneck,
    candidate: Bottleneck,
    votes: u32,
    /// Slots in a row in which the station got less than was sent.
    short: u32,
    /// Whether less arrived than was sent in the last slot.
    starved: bool,
}

/// A judgement changes when so many reports in a row agree.
pub(super) const VOTES: u32 = 3;
/// Below this share of the target frames are clearly below it: levels of slots scatter by a tenth.
const CLEARLY_BELOW: f64 = 0.75;
/// Share of what was sent below which arrivals count as less: slots cut frames, which is worth one frame in a slot.
const LESS: f64 = 0.97;
/// More than this share of a slot's packets lost in a queue: it overflows.
const OVERFLOW: f64 = 0.01;

impl BottleneckDetector {
    /// Nothing seen yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the station's bottleneck, as far as is known.
    #[must_use]
    pub const fn judgement(&self) -> Bottleneck {
        self.judgement
    }

    /// Whether the station's share is more than it gets, however large its frames are: for several slots less arrived than was sent,
    /// or packets were lost in a queue. A block-ack window, or turns that go to other frames, limit a station that way.
    #[must_use]
    pub const fn is_short(&self) -> bool {
        self.short >= VOTES
    }

    /// Whether less arrived than was sent in the last slot.
    #[must_use]
    pub const fn is_starved(&self) -> bool {
        self.starved
    }

    /// Takes a slot: the mean level of whole frames, the level that is aimed at, what arrived and was sent (same unit), and the share of
    /// packets that were lost in a queue. Values that are no numbers count for nothing.
    pub fn on_slot(&mut self, level: f64, target: f64, arrived: f64, sent: f64, lost: f64) -> Bottleneck {
        let usable = level.is_finite() && target > 0.0 && arrived.is_finite() && sent > 0.0;
        if !usable {
            return self.judgement;
        }
        self.starved = arrived < LESS * sent;
        let short = self.starved || lost > OVERFLOW;
        self.short = if short { self.short.saturating_add(1) } else { 0 };
        let vote = if level >= CLEARLY_BELOW * target {
            Bottleneck::Wlan
        } else if self.starved {
            Bottleneck::Wire
        } else {
            Bottleneck::None
        };
        if vote != self.candidate {
            (self.candidate, self.votes) = (vote, 0);
        }
        self.votes = self.votes.saturating_add(1);
        if self.votes >= VOTES {
            self.judgement = vote;
        }
        self.judgement
    }
}
