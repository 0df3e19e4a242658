//! Bottleneck detection: whether the WLAN or the wire limits a station (assumption 3 of Sec. 7).
//!
//! Packets queued in the access point arrive in large frames; packets queued on the wire reach the access point at the rate of the wire,
//! and their frames stay small. So the two are distinguished by the level while less arrives than was sent. The level is that of whole
//! frames: beside a TCP transfer of its own the station's frames are full of acknowledgements, whatever rate it is sent at.

/// Bottleneck of a station.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Bottleneck {
    /// None: all packets sent arrive, in frames below the target.
    #[default]
    None,
    /// The WLAN: frames, including other flows' packets, are about as large as the target or larger.
    Wlan,
    /// The wire: less arrives than is sent, in frames clearly below the target.
    Wire,
}

/// Detects the bottleneck from one report after another.
#[derive(Debug, Clone, Copy, Default)]
pub struct BottleneckDetector {
    judgement: Bottleneck,
    candidate: Bottleneck,
    votes: u32,
    /// Consecutive slots in which less arrived than was sent.
    short: u32,
    /// Whether less arrived than was sent in the last slot.
    starved: bool,
}

/// Number of consecutive agreeing reports that change the result.
pub(super) const VOTES: u32 = 3;
/// Share of the target below which frames are clearly below it: levels of slots scatter by a tenth.
const CLEARLY_BELOW: f64 = 0.75;
/// Share of the sent packets below which arrivals count as less.
const LESS: f64 = 0.97;
/// Share of a slot's packets lost in a queue above which the queue overflows.
const OVERFLOW: f64 = 0.01;

impl BottleneckDetector {
    /// Creates a detector without observations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the station's bottleneck, as far as known.
    #[must_use]
    pub const fn judgement(&self) -> Bottleneck {
        self.judgement
    }

    /// Whether the station's share exceeds what it receives, regardless of its frame size: for several slots less arrived than was sent,
    /// or packets were lost in a queue. A block-ack window, or turns taken by other frames, limit a station in that way.
    #[must_use]
    pub const fn is_short(&self) -> bool {
        self.short >= VOTES
    }

    /// Whether less arrived than was sent in the last slot.
    #[must_use]
    pub const fn is_starved(&self) -> bool {
        self.starved
    }

    /// Takes the values of a slot: the mean level of whole frames, the target level, the amounts that arrived and were sent (same unit),
    /// and the share of packets lost in a queue. Values that are not numbers are ignored.
    pub fn on_slot(&mut self, level: f64, target: f64, arrived: f64, sent: f64, lost: f64) -> Bottleneck {
        self.on_slot_of(level, target, arrived, sent, lost, 0.0)
    }

    /// Takes the values of a slot whose ends cut frames of `frame`, in the unit of what arrived: up to one frame less says nothing.
    pub(super) fn on_slot_of(
        &mut self,
        level: f64,
        target: f64,
        arrived: f64,
        sent: f64,
        lost: f64,
        frame: f64,
    ) -> Bottleneck {
        let usable = level.is_finite() && target > 0.0 && arrived.is_finite() && sent > 0.0;
        if !usable {
            return self.judgement;
        }
        self.starved = arrived < (LESS * sent).min(sent - frame);
        // A queue that drains loses packets of an earlier rate.
        let drains = LESS * arrived > sent;
        let short = self.starved || lost > OVERFLOW && !drains;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a station is short after four slots with these arrivals of what was sent, 2 % lost in a queue.
    fn is_short(arrived: [f64; 4], sent: [f64; 4]) -> bool {
        let mut detector = BottleneckDetector::new();
        for (arrived, sent) in arrived.into_iter().zip(sent) {
            detector.on_slot(20.0, 32.0, arrived, sent, 0.02);
        }
        detector.is_short()
    }

    #[test]
    fn losses_of_a_queue_that_drains_say_nothing_about_the_present_rate() {
        assert!(is_short([9.8; 4], [10.0; 4]), "its queue overflows");
        assert!(!is_short([20.0, 10.0, 1.0, 0.07], [10.0, 1.0, 0.02, 0.02]), "the rate has fallen");
    }

    #[test]
    fn a_frame_that_a_slot_cut_is_no_want() {
        // Four packets, one a frame, are sent in each slot of 50 ms; now and then three arrive in it.
        let judged = |arrived: f64| {
            let mut detector = BottleneckDetector::new();
            for _ in 0..4 {
                detector.on_slot_of(1.0, 32.0, arrived, 4.0, 0.0, 1.0);
            }
            detector.judgement()
        };
        assert_eq!(judged(3.0), Bottleneck::None);
        assert_eq!(judged(2.5), Bottleneck::Wire);
    }
}
