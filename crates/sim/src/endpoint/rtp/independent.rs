//! Frames that do not depend on one another, as a forwarding unit codes each anew: one that is lost for good delays no other.

use std::collections::BTreeMap;

use airbound_record::PacketWay;
use airbound_units::{Instant, Span};

use super::frames::{Assembly, MediaPacket, Partial};
use crate::measure::FrameEvent;

/// The frames of a receiver.
#[derive(Debug)]
pub(crate) struct IndependentFrames {
    /// Time that an incomplete frame is waited for while later ones arrive.
    patience: Span,
    /// The oldest frame that is neither complete nor given up.
    oldest: u64,
    /// First packet that is still needed while none of the oldest frame has arrived.
    passed: u64,
    /// Since when the oldest frame is waited for.
    since: Option<Instant>,
    /// Frames from the oldest on, with the time of their first packet.
    begun: BTreeMap<u64, (Instant, Partial)>,
}

impl IndependentFrames {
    pub(crate) const fn new(patience: Span) -> Self {
        Self { patience, oldest: 0, passed: 0, since: None, begun: BTreeMap::new() }
    }

    /// Leaves the oldest frame behind.
    fn leave(&mut self) {
        let left = self.begun.remove(&self.oldest);
        self.oldest += 1;
        let next = self.begun.get(&self.oldest);
        self.passed =
            left.map(|(_, frame)| frame.end()).or(next.map(|(_, frame)| frame.first)).unwrap_or(self.passed);
        self.since = next.map(|(since, _)| *since);
    }

    /// Leaves complete frames behind.
    fn leave_complete(&mut self) {
        while self.begun.get(&self.oldest).is_some_and(|(_, frame)| frame.is_complete()) {
            self.leave();
        }
    }
}

impl Assembly for IndependentFrames {
    fn on_packet(
        &mut self,
        now: Instant,
        packet: &MediaPacket,
        way: PacketWay,
        events: &mut Vec<FrameEvent>,
    ) {
        if packet.frame < self.oldest {
            return;
        }
        let (_, frame) = self.begun.entry(packet.frame).or_insert_with(|| (now, Partial::of(packet)));
        frame.take(packet, way, events);
        if packet.frame == self.oldest {
            self.since.get_or_insert(now);
        }
        self.leave_complete();
        while self.oldest < packet.frame && now - *self.since.get_or_insert(now) >= self.patience {
            events.push(FrameEvent::GivenUp { first: self.oldest, next: self.oldest + 1 });
            self.leave();
            self.leave_complete();
        }
    }

    fn passed(&self) -> u64 {
        self.begun.get(&self.oldest).map_or(self.passed, |(_, frame)| frame.missing())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Span = Span::from_secs(1);

    #[test]
    fn a_frame_that_is_lost_for_good_is_given_up_and_delays_no_other() {
        let mut frames = IndependentFrames::new(SECOND * 2);
        let mut push = |seconds: u64, frame: u64, index: u64| {
            let (first, mut events) = (2 * frame, Vec::new());
            let packet =
                MediaPacket { sequence: first + index, frame, since: frame, first, of: 2, is_key: true };
            frames.on_packet(Instant::ZERO + SECOND * seconds, &packet, PacketWay::FirstTime, &mut events);
            (events, frames.passed())
        };
        let complete =
            |frame| FrameEvent::Complete { frame, recovered: 0, retransmitted: 0, by: PacketWay::FirstTime };
        assert_eq!((push(0, 0, 0), push(0, 0, 1)), ((vec![], 1), (vec![complete(0)], 2)));
        // Nothing of frame 1 arrives, half of frame 2, all of frame 3.
        assert_eq!((push(1, 2, 1), push(1, 3, 0)), ((vec![], 2), (vec![], 2)));
        assert_eq!(push(1, 3, 1), (vec![complete(3)], 2));
        let given_up = |first| FrameEvent::GivenUp { first, next: first + 1 };
        assert_eq!(push(3, 4, 0), (vec![given_up(1), given_up(2)], 9));
        assert!(push(3, 2, 0).0.is_empty(), "too late");
        assert_eq!(push(3, 4, 1), (vec![complete(4)], 10));
    }
}
