//! The receiver of real-time video: frames, repair, and feedback.

use std::collections::BTreeMap;

use airbound_record::PacketWay;
use airbound_senders::rtp::NackRequester;
use airbound_senders::rtp::fec::FecDecoder;
use airbound_senders::rtp::gcc::FeedbackCollector;
use airbound_units::{Instant, Span};

use super::frames::{Assembly, MediaPacket};
use super::{Content, Feedback};
use crate::measure::FrameEvent;

/// Distance behind the newest packet up to which descriptions for repair are kept.
const COVERED: u64 = 4096;

/// The parts of a receiver.
#[derive(Debug)]
pub(crate) struct RtpReceiver {
    /// Whether it learns the round trip: a browser does from the reports on what it sends itself.
    pub(crate) knows_round_trip: bool,
    /// Reports on arrivals, if the sender uses them.
    pub(crate) collector: Option<FeedbackCollector>,
    pub(crate) nack: Option<NackRequester>,
    pub(crate) fec: Option<FecDecoder>,
    pub(crate) frames: Box<dyn Assembly>,
    /// Descriptions of media packets covered by parity, by sequence number.
    pub(crate) covered: BTreeMap<u64, MediaPacket>,
}

impl RtpReceiver {
    /// Takes packet `number` of the flow with `content`. Its effects on frames are appended to `events`.
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        number: u64,
        content: Content,
        events: &mut Vec<FrameEvent>,
    ) {
        if let Some(collector) = &mut self.collector {
            collector.on_packet(now, number);
        }
        let rebuilt = match content {
            Content::Media(packet) => self.on_media(now, &packet, PacketWay::FirstTime, events),
            Content::Retransmission(packet) => self.on_media(now, &packet, PacketWay::Retransmitted, events),
            Content::Parity { parity, covered, .. } => match &mut self.fec {
                Some(fec) => {
                    self.covered.extend(covered.into_iter().map(|packet| (packet.sequence, packet)));
                    while self.covered.last_key_value().is_some_and(|(newest, _)| {
                        self.covered.first_key_value().is_some_and(|(oldest, _)| newest - oldest > COVERED)
                    }) {
                        self.covered.pop_first();
                    }
                    fec.on_parity(parity)
                }
                None => Vec::new(),
            },
            Content::Padding => Vec::new(),
        };
        for sequence in rebuilt {
            if let Some(packet) = self.covered.get(&sequence).copied() {
                if let Some(nack) = &mut self.nack {
                    nack.on_recovered(sequence);
                }
                self.frames.on_packet(now, &packet, PacketWay::Recovered, events);
            }
        }
        if let Some(nack) = &mut self.nack {
            nack.forget_before(self.frames.passed());
        }
    }

    /// Returns the packets that can be rebuilt with this packet.
    fn on_media(
        &mut self,
        now: Instant,
        packet: &MediaPacket,
        way: PacketWay,
        events: &mut Vec<FrameEvent>,
    ) -> Vec<u64> {
        if let Some(nack) = &mut self.nack {
            nack.on_packet(now, packet.sequence, way == PacketWay::Retransmitted);
        }
        self.frames.on_packet(now, packet, way, events);
        self.fec.as_mut().map_or_else(Vec::new, |fec| fec.on_media(packet.sequence))
    }

    /// Sets the round trip, as the sender knows it.
    pub(crate) fn on_round_trip(&mut self, round_trip: Span) {
        if let Some(nack) = self.nack.as_mut().filter(|_| self.knows_round_trip) {
            nack.on_round_trip(round_trip);
        }
    }

    /// Returns the feedback to send now, if any. Call until `None`.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Feedback> {
        if let Some(nack) = &mut self.nack {
            let missing = nack.poll(now);
            if !missing.is_empty() {
                return Some(Feedback::Nack(missing));
            }
        }
        let given_up = self.nack.as_mut().is_some_and(NackRequester::take_key_frame_request);
        if self.frames.asks_for_key_frame(now, given_up) {
            return Some(Feedback::KeyFrameRequest);
        }
        self.collector.as_mut()?.poll(now).map(Feedback::Report)
    }

    /// When to call [`RtpReceiver::poll`] next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let nack = self.nack.as_ref().and_then(NackRequester::next_deadline);
        let collector = self.collector.as_ref().and_then(FeedbackCollector::next_deadline);
        [nack, collector, self.frames.next_deadline()].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use airbound_senders::rtp::NackConfig;

    use super::super::frames::Frames;
    use super::*;

    #[test]
    fn requests_follow_the_round_trip_where_it_is_known() {
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        for (knows_round_trip, again) in [(false, 100), (true, 30)] {
            let mut receiver = RtpReceiver {
                knows_round_trip,
                collector: None,
                nack: NackRequester::new(NackConfig::default()).ok(),
                fec: None,
                frames: Box::new(Frames::new(Span::from_secs(3))),
                covered: BTreeMap::new(),
            };
            receiver.on_round_trip(Span::from_millis(30));
            for number in [0, 2] {
                let packet =
                    MediaPacket { sequence: number, frame: 0, since: 0, first: 0, of: 3, is_key: true };
                receiver.on_packet(at(0), number, Content::Media(packet), &mut Vec::new());
            }
            assert!(matches!(receiver.poll(at(0)), Some(Feedback::Nack(asked)) if asked == [1]));
            assert_eq!(receiver.next_deadline(), Some(at(again)));
        }
    }
}
