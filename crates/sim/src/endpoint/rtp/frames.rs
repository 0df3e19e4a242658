//! The receiver's frames: assembled from packets, decoded in order.
//!
//! A frame depends on the previous one, a key frame on none. So a frame can be decoded once it is complete and the previous one was
//! decoded. A complete key frame is decoded at once: missing frames before it are given up.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use airbound_record::PacketWay;

use crate::measure::FrameEvent;
use airbound_units::{Instant, Span};

/// The part of a frame in a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MediaPacket {
    /// Its number among the media packets of the flow.
    pub(crate) sequence: u64,
    /// The frame that it belongs to.
    pub(crate) frame: u64,
    /// The number after that of the coded frame before it: frames between were left out, and nothing depends on them.
    pub(crate) since: u64,
    /// The number of the frame's first packet.
    pub(crate) first: u64,
    /// Number of packets of the frame.
    pub(crate) of: u32,
    /// Whether the frame is a key frame.
    pub(crate) is_key: bool,
}

/// Frames as a receiver puts them together.
pub(crate) trait Assembly: Debug + Send {
    /// Takes a packet; its effects are appended to `events`. Duplicates are ignored.
    fn on_packet(&mut self, now: Instant, packet: &MediaPacket, way: PacketWay, events: &mut Vec<FrameEvent>);

    /// The first packet that is still needed.
    fn passed(&self) -> u64;

    /// When a key frame has to be requested.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Whether to request a key frame now; `given_up` if packets are no longer asked for.
    fn asks_for_key_frame(&mut self, _now: Instant, _given_up: bool) -> bool {
        false
    }
}

/// A partially received frame.
#[derive(Debug, Clone)]
pub(super) struct Partial {
    pub(super) is_key: bool,
    /// As in [`MediaPacket`].
    since: u64,
    /// The number of its first packet, and how many it has.
    pub(super) first: u64,
    of: u32,
    known: BTreeSet<u64>,
    recovered: u32,
    retransmitted: u32,
}

impl Partial {
    /// The frame of a packet, before that packet.
    pub(super) const fn of(packet: &MediaPacket) -> Self {
        let MediaPacket { is_key, since, first, of, .. } = *packet;
        Self { is_key, since, first, of, known: BTreeSet::new(), recovered: 0, retransmitted: 0 }
    }

    /// Takes a packet; `false` if it has it already. The frame's completion is appended to `events`.
    pub(super) fn take(
        &mut self,
        packet: &MediaPacket,
        way: PacketWay,
        events: &mut Vec<FrameEvent>,
    ) -> bool {
        if !self.known.insert(packet.sequence) {
            return false;
        }
        self.recovered += u32::from(way == PacketWay::Recovered);
        self.retransmitted += u32::from(way == PacketWay::Retransmitted);
        if self.is_complete() {
            let Self { recovered, retransmitted, .. } = *self;
            events.push(FrameEvent::Complete { frame: packet.frame, recovered, retransmitted, by: way });
        }
        true
    }

    pub(super) fn is_complete(&self) -> bool {
        self.known.len() as u64 >= u64::from(self.of)
    }

    /// The number after that of its last packet.
    pub(super) const fn end(&self) -> u64 {
        self.first + self.of as u64
    }

    /// The first packet that is missing, or [`Partial::end`].
    pub(super) fn missing(&self) -> u64 {
        (self.first..self.end()).find(|sequence| !self.known.contains(sequence)).unwrap_or(self.end())
    }
}

/// Upper limit on frames waiting to be decoded; beyond it the oldest are given up (libwebrtc `kMaxFramesBuffered`).
const MOST_WAITING: usize = 800;
/// Time after which a key frame is requested again (libwebrtc `kMaxWaitForKeyFrame`).
const ASK_AGAIN: Span = Span::from_millis(200);

/// The frames of a receiver.
#[derive(Debug, Clone)]
pub(crate) struct Frames {
    /// Time to wait for the next frame before requesting a key frame.
    patience: Span,
    /// The next frame to decode.
    next: u64,
    /// First packet that is still needed.
    passed: u64,
    /// Partially received frames, from `next` on.
    waiting: BTreeMap<u64, Partial>,
    /// Start of the wait for the next frame while a later one has begun; else `None`.
    blocked: Option<Instant>,
    /// Time of the last request for a key frame since the last decoded frame.
    asked: Option<Instant>,
}

impl Frames {
    pub(crate) fn new(patience: Span) -> Self {
        Self { patience, next: 0, passed: 0, waiting: BTreeMap::new(), blocked: None, asked: None }
    }

    /// Decodes all frames that can be decoded.
    fn decode(&mut self, events: &mut Vec<FrameEvent>) {
        while let Some((frame, partial)) = self.waiting.first_key_value() {
            if !partial.is_complete() || partial.since > self.next {
                break;
            }
            let (frame, passed) = (*frame, partial.end());
            self.waiting.remove(&frame);
            events.push(FrameEvent::Decoded { frame });
            (self.next, self.passed, self.asked) = (frame + 1, passed, None);
        }
    }

    fn give_up_before(&mut self, key: &MediaPacket, events: &mut Vec<FrameEvent>) {
        events.push(FrameEvent::GivenUp { first: self.next, next: key.frame });
        self.waiting = self.waiting.split_off(&key.frame);
        self.next = key.frame;
        self.passed = key.first;
    }
}

impl Assembly for Frames {
    fn passed(&self) -> u64 {
        self.passed
    }

    fn on_packet(
        &mut self,
        now: Instant,
        packet: &MediaPacket,
        way: PacketWay,
        events: &mut Vec<FrameEvent>,
    ) {
        if packet.frame < self.next {
            return;
        }
        let partial = self.waiting.entry(packet.frame).or_insert(Partial::of(packet));
        if !partial.take(packet, way, events) {
            return;
        }
        if partial.is_complete() && partial.is_key && packet.frame > self.next {
            self.give_up_before(packet, events);
        }
        self.decode(events);
        while self.waiting.len() > MOST_WAITING {
            self.waiting.pop_first();
        }
        let oldest = self.waiting.first_key_value();
        let is_blocked = self.waiting.len() > 1 || oldest.is_some_and(|(_, frame)| frame.since > self.next);
        if !is_blocked {
            self.blocked = None;
        } else if self.blocked.is_none() || matches!(events.last(), Some(FrameEvent::Decoded { .. })) {
            self.blocked = Some(now);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let since = self.blocked?;
        Some((since + self.patience).max(self.asked.map_or(Instant::ZERO, |asked| asked + ASK_AGAIN)))
    }

    fn asks_for_key_frame(&mut self, now: Instant, given_up: bool) -> bool {
        if given_up {
            return true;
        }
        let is_due = self.next_deadline().is_some_and(|due| due <= now);
        if is_due {
            self.asked = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    /// Adds the next packet of a frame of two; key frames are the multiples of ten.
    fn push(frames: &mut Frames, millis: u64, frame: u64, way: PacketWay) -> Vec<FrameEvent> {
        let mut events = Vec::new();
        let known = frames.waiting.get(&frame).map_or(0, |partial| partial.known.len() as u64);
        let first = 2 * frame;
        let is_key = frame.is_multiple_of(10);
        // Frame 24 is left out.
        let since = if frame == 25 { 24 } else { frame };
        let packet = MediaPacket { sequence: first + known, frame, since, first, of: 2, is_key };
        frames.on_packet(at(millis), &packet, way, &mut events);
        events
    }

    fn complete(frame: u64, recovered: u32, retransmitted: u32, by: PacketWay) -> FrameEvent {
        FrameEvent::Complete { frame, recovered, retransmitted, by }
    }

    const FIRST: PacketWay = PacketWay::FirstTime;

    #[test]
    fn frames_wait_for_those_before_them() {
        let mut frames = Frames::new(Span::from_secs(1));
        push(&mut frames, 0, 0, FIRST);
        push(&mut frames, 1, 1, FIRST);
        let events = push(&mut frames, 2, 1, PacketWay::Recovered);
        assert_eq!(events, [complete(1, 1, 0, PacketWay::Recovered)]);
        let events = push(&mut frames, 3, 0, PacketWay::Retransmitted);
        let decoded = [FrameEvent::Decoded { frame: 0 }, FrameEvent::Decoded { frame: 1 }];
        assert_eq!(events[0], complete(0, 0, 1, PacketWay::Retransmitted));
        assert_eq!(events[1..], decoded);
        assert_eq!(frames.next_deadline(), None);
    }

    #[test]
    fn a_key_frame_is_asked_for_and_ends_the_wait() {
        let mut frames = Frames::new(Span::from_millis(500));
        for _ in 0..2 {
            push(&mut frames, 0, 0, FIRST);
        }
        // No packet of frame 1 arrives; frame 2 alone cannot be decoded.
        for millis in [60, 61] {
            push(&mut frames, millis, 2, FIRST);
        }
        assert_eq!(frames.next_deadline(), Some(at(560)));
        assert!(!frames.asks_for_key_frame(at(559), false) && frames.asks_for_key_frame(at(560), false));
        assert_eq!(frames.next_deadline(), Some(at(760)));
        assert!(frames.asks_for_key_frame(at(760), false));
        push(&mut frames, 800, 10, FIRST);
        let mut events = push(&mut frames, 801, 10, FIRST);
        let rest = [FrameEvent::GivenUp { first: 1, next: 10 }, FrameEvent::Decoded { frame: 10 }];
        assert_eq!((events[0], &events[1..]), (complete(10, 0, 0, FIRST), &rest[..]));
        assert_eq!((frames.next, frames.passed(), frames.next_deadline()), (11, 22, None));
        // A frame that was left out is not waited for.
        for (millis, frame) in
            (20..26).filter(|frame| *frame != 24).zip(20_u64..).map(|(frame, at)| (900 + at, frame))
        {
            for _ in 0..2 {
                events = push(&mut frames, millis, frame, FIRST);
            }
        }
        assert_eq!(events.last(), Some(&FrameEvent::Decoded { frame: 25 }));
        assert_eq!((frames.next, frames.next_deadline()), (26, None));
        // Packets of earlier frames are useless.
        assert!(push(&mut frames, 900, 1, FIRST).is_empty());
    }
}
