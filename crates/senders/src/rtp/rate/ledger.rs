//! Packets and frames as reports describe them, for rules that count by frame or by round trip.

use std::collections::{BTreeMap, VecDeque};

use airbound_units::{ByteCount, Instant, Span};

use super::{FramePart, PathState};
use crate::rtp::gcc::{ARRIVAL_STEP, PacketSent, TransportFeedback};

/// Most packets and frames remembered.
const MOST: usize = 20_000;
/// Time over which the shortest way of a report is sought.
const MEMORY: Span = Span::from_secs(10);
/// Weight of a round trip in the smoothed one (RFC 6298), and of a report in the share of lost packets.
const WEIGHT: f64 = 0.125;

#[derive(Debug, Clone, Copy)]
struct Departed {
    size: u64,
    at: Instant,
    frame: Option<u64>,
    reported: bool,
}

/// A frame on its way.
#[derive(Debug, Clone, Copy)]
struct Partial {
    needed: u32,
    arrived: u32,
    bytes: u64,
    sent: Instant,
    arrivals: Option<(Instant, Instant)>,
    /// Its last packet sent so far.
    last: u64,
}

/// A packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) sequence: u64,
    pub(super) size: ByteCount,
    pub(super) sent: Instant,
    /// Arrival less departure, by two clocks: ns.
    pub(super) way: i128,
    /// Time in which an answer sent at its arrival would have come back.
    pub(super) round_trip: Span,
}

/// A frame that arrived: enough of its packets did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Complete {
    pub(super) bytes: ByteCount,
    /// From its first packet's departure to the return of an answer to its last needed one.
    pub(super) round_trip: Span,
    /// Arrival of the last needed packet, by the receiver's clock.
    pub(super) arrival: Instant,
    /// From the arrival of its first packet to that of the last needed one, at least [`ARRIVAL_STEP`], which is all that reports resolve.
    pub(super) span: Span,
}

/// News of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct News {
    /// In the order of departure.
    pub(super) arrived: Vec<Arrived>,
    /// Bytes and number of packets newly missing.
    pub(super) lost: (ByteCount, usize),
    pub(super) complete: Vec<Complete>,
    /// Number of frames that can no longer become complete unless packets are sent again.
    pub(super) frames_lost: usize,
}

/// Packets and frames in flight. Clocks of sender and receiver need not agree.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    packets: BTreeMap<u64, Departed>,
    frames: BTreeMap<u64, Partial>,
    part: Option<FramePart>,
    /// Ways back, in ns by two clocks: when a report came, less when its newest packet arrived.
    ways_back: VecDeque<(Instant, i128)>,
    in_flight: u64,
    /// Packets before this one are not in flight.
    passed: u64,
    last_sent: Option<Instant>,
    smoothed: Option<Span>,
    loss: f64,
}

impl Ledger {
    pub(super) const fn on_frame_part(&mut self, part: FramePart) {
        self.part = Some(part);
    }

    pub(super) fn on_sent(&mut self, now: Instant, packet: PacketSent) {
        let size = packet.size.as_u64();
        let part = self.part.take();
        let frame = part.map(|part| part.frame);
        self.packets.insert(packet.sequence, Departed { size, at: now, frame, reported: false });
        self.in_flight += size;
        self.last_sent = Some(now);
        if let Some(FramePart { frame, packets, .. }) = part {
            let begun = Partial {
                needed: packets.max(1),
                arrived: 0,
                bytes: 0,
                sent: now,
                arrivals: None,
                last: packet.sequence,
            };
            let known = self.frames.entry(frame).or_insert(begun);
            known.bytes += size;
            known.last = packet.sequence;
        }
        while self.packets.len() > MOST {
            if let Some((_, Departed { size, reported: false, .. })) = self.packets.pop_first() {
                self.in_flight -= size;
            }
        }
        while self.frames.len() > MOST {
            self.frames.pop_first();
        }
    }

    /// Takes a report.
    pub(super) fn on_feedback(&mut self, now: Instant, feedback: &TransportFeedback) -> News {
        let mut news = News::default();
        let way_back = self.way_back(now, feedback);
        let mut newest = None;
        let mut done: Option<u64> = None;
        let counted = feedback.packets.len();
        self.give_up_before(feedback.packets.first().map_or(0, |packet| packet.sequence));
        for result in &feedback.packets {
            newest = newest.max(Some(result.sequence));
            let Some(packet) = self.packets.get_mut(&result.sequence) else { continue };
            if !packet.reported {
                packet.reported = true;
                self.in_flight -= packet.size;
                if result.arrival.is_none() {
                    news.lost.0 += ByteCount::new(packet.size);
                    news.lost.1 += 1;
                }
            }
            let Some(arrival) = result.arrival else { continue };
            let Departed { size, at, frame, .. } = *packet;
            self.packets.remove(&result.sequence);
            let (sequence, size_of) = (result.sequence, ByteCount::new(size));
            let way = i128::from(arrival.as_nanos()) - i128::from(at.as_nanos());
            let round_trip = back_after(at, arrival, way_back);
            news.arrived.push(Arrived { sequence, size: size_of, sent: at, way, round_trip });
            if let Some(number) = frame
                && let Some(partial) = self.frames.get_mut(&number)
            {
                partial.arrived += 1;
                let (first, last) = partial.arrivals.unwrap_or((arrival, arrival));
                partial.arrivals = Some((first.min(arrival), last.max(arrival)));
                if partial.arrived >= partial.needed {
                    news.complete.push(Complete {
                        bytes: ByteCount::new(partial.bytes),
                        round_trip: back_after(partial.sent, arrival, way_back),
                        arrival,
                        span: (arrival - first).max(ARRIVAL_STEP),
                    });
                    self.frames.remove(&number);
                    done = done.max(Some(number));
                }
            }
        }
        if let (Some(done), Some(newest)) = (done, newest) {
            let before = self.frames.len();
            self.frames.retain(|number, partial| *number > done || partial.last > newest);
            news.frames_lost = before - self.frames.len();
        }
        for arrived in &news.arrived {
            let old = self.smoothed.unwrap_or(arrived.round_trip);
            self.smoothed = Some(old.mul_f64(1.0 - WEIGHT) + arrived.round_trip.mul_f64(WEIGHT));
        }
        if counted > 0 {
            self.loss += WEIGHT * (news.lost.1 as f64 / counted as f64 - self.loss);
        }
        news
    }

    /// Reports have passed these packets by: the one on them was lost, and they are no longer in flight, whatever became of them.
    fn give_up_before(&mut self, first: u64) {
        for (_, packet) in self.packets.range_mut(self.passed.min(first)..first) {
            if !packet.reported {
                packet.reported = true;
                self.in_flight -= packet.size;
            }
        }
        self.passed = self.passed.max(first);
    }

    /// The shortest way back of late; 0 if the report has no arrival.
    fn way_back(&mut self, now: Instant, feedback: &TransportFeedback) -> i128 {
        if let Some(newest) = feedback.packets.iter().filter_map(|packet| packet.arrival).max() {
            let way = i128::from(now.as_nanos()) - i128::from(newest.as_nanos());
            while self.ways_back.front().is_some_and(|(at, _)| now - *at > MEMORY) {
                self.ways_back.pop_front();
            }
            while self.ways_back.back().is_some_and(|(_, longer)| *longer >= way) {
                self.ways_back.pop_back();
            }
            self.ways_back.push_back((now, way));
        }
        self.ways_back.front().map_or(0, |(_, way)| *way)
    }

    /// Bytes sent of which no report has said anything.
    pub(super) const fn in_flight(&self) -> ByteCount {
        ByteCount::new(self.in_flight)
    }

    /// When the last packet left.
    pub(super) const fn last_sent(&self) -> Option<Instant> {
        self.last_sent
    }

    /// Counts all that is in flight as lost: nothing came back for too long.
    pub(super) fn forget_flight(&mut self) {
        self.packets.clear();
        self.frames.clear();
        self.in_flight = 0;
    }

    /// The path as reports describe it.
    pub(super) fn path(&self) -> PathState {
        PathState { round_trip: self.smoothed, loss_fraction: self.loss, ..PathState::default() }
    }
}

/// When an answer to a packet would have come back, counted from its departure.
fn back_after(sent: Instant, arrival: Instant, way_back: i128) -> Span {
    let there = i128::from(arrival.as_nanos()) - i128::from(sent.as_nanos());
    Span::from_nanos(u64::try_from(there + way_back).unwrap_or(0))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::rtp::gcc::PacketResult;

    pub(in super::super) fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn send(ledger: &mut Ledger, millis: u64, sequence: u64, frame: u64) {
        ledger.on_frame_part(FramePart { frame, packets: 2, coded: at(millis) });
        ledger.on_sent(at(millis), PacketSent { sequence, size: ByteCount::new(1000), probe: None });
    }

    fn report(first: u64, arrivals: &[Option<u64>]) -> TransportFeedback {
        let result =
            |(sequence, arrival): (u64, &Option<u64>)| PacketResult { sequence, arrival: arrival.map(at) };
        TransportFeedback { packets: (first..).zip(arrivals).map(result).collect() }
    }

    #[test]
    fn frames_and_round_trips_do_not_depend_on_the_receivers_clock() {
        for ahead in [0, 5000] {
            let mut ledger = Ledger::default();
            for (sequence, millis) in [(0, 10), (1, 11), (2, 30), (3, 31)] {
                send(&mut ledger, millis, sequence, sequence / 2);
            }
            assert_eq!(ledger.in_flight(), ByteCount::new(4000));
            // Both ways take 4 ms; the report waits for 6 ms.
            let news = ledger.on_feedback(at(25), &report(0, &[Some(14 + ahead), Some(15 + ahead)]));
            assert_eq!(news.complete.len(), 1);
            assert_eq!(news.complete[0].bytes, ByteCount::new(2000));
            assert_eq!(
                (news.complete[0].span, news.complete[0].round_trip),
                (Span::from_millis(1), Span::from_millis(15))
            );
            // This one comes at once, and shows the way back.
            let news = ledger.on_feedback(at(39), &report(2, &[Some(34 + ahead), Some(35 + ahead)]));
            assert_eq!(news.arrived[0].round_trip, Span::from_millis(8));
            assert_eq!(news.complete[0].round_trip, Span::from_millis(9));
            assert_eq!(ledger.in_flight(), ByteCount::ZERO);
        }
    }

    #[test]
    fn a_frame_is_lost_once_a_later_one_is_complete() {
        let mut ledger = Ledger::default();
        for sequence in 0..6 {
            send(&mut ledger, sequence, sequence, sequence / 2);
        }
        let news = ledger.on_feedback(at(30), &report(0, &[Some(10), None, Some(12)]));
        assert_eq!((news.frames_lost, news.lost), (0, (ByteCount::new(1000), 1)));
        let news = ledger.on_feedback(at(40), &report(3, &[Some(20)]));
        assert_eq!((news.frames_lost, news.complete.len()), (1, 1));
        assert!(ledger.path().loss_fraction > 0.0);
        // A report that was lost: what it was about is not in flight either.
        assert_eq!(ledger.in_flight(), ByteCount::new(2000));
        ledger.on_feedback(at(50), &report(5, &[Some(30)]));
        assert_eq!(ledger.in_flight(), ByteCount::ZERO);
    }
}
