//! Real-time video as sent by WebRTC: the two ends of an RTP session, whose packets cross the wire and the air.
//!
//! The controllers are those of `airbound_senders`; this module adds frames and connects the parts.
//! `docs/understand/real-time-video.md` has a diagram.

pub(crate) mod foretold;
pub(crate) mod frames;
pub(crate) mod independent;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod source;
pub(crate) mod stream;

use airbound_control::frame::{DropReason, FlowId, Payload};
use airbound_record::SenderRow;
use airbound_senders::rtp::fec::ParityPacket;
use airbound_senders::rtp::gcc::TransportFeedback;
use airbound_units::{ByteCount, Instant, Span};

use super::{Counts, Endpoint, Outbox, Outgoing, Timer};
use crate::measure::Sent;
use crate::packet::{Kind, Packet};
use foretold::Foretelling;
use frames::MediaPacket;
use source::{Captured, VideoSource};
use stream::{Numbered, RtpStream};

/// IPv4 20 B and UDP 8 B; SRTP's tag 10 B (RFC 3711), RTP's header 12 B (RFC 3550), and its extension with the transport-wide
/// sequence number 8 B (RFC 8285).
pub(crate) const HEADERS: ByteCount = ByteCount::new(IP_UDP + RTP);
pub(crate) const IP_UDP: u64 = 20 + 8;
pub(crate) const RTP: u64 = 10 + 12 + 8;
/// IPv4, UDP, and SRTCP's index and tag (RFC 3711).
const RTCP: ByteCount = ByteCount::new(IP_UDP + 4 + 10);
/// The original sequence number in a retransmission (RFC 4588).
pub(crate) const ORIGINAL_SEQUENCE: ByteCount = ByteCount::new(2);

/// Content of a packet from the sender of a session.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A part of a frame, sent for the first time.
    Media(MediaPacket),
    /// A retransmitted part of a frame.
    Retransmission(MediaPacket),
    /// Parity of media packets, with descriptions of these; `frame` is the last covered one.
    Parity { frame: u64, parity: ParityPacket, covered: Vec<MediaPacket> },
    /// Padding for a bandwidth probe.
    Padding,
}

impl Content {
    /// Its purpose for the meters, and the frame of media sent for the first time.
    pub(crate) const fn purpose(&self) -> (Sent, Option<u64>) {
        match self {
            Self::Media(packet) => (Sent::Media, Some(packet.frame)),
            Self::Retransmission(_) => (Sent::Retransmission, None),
            Self::Parity { .. } => (Sent::Fec, None),
            Self::Padding => (Sent::Padding, None),
        }
    }

    /// A packet of the frame that it is a part of, or covers.
    pub(crate) fn of_frame(&self) -> Option<&MediaPacket> {
        match self {
            Self::Media(packet) | Self::Retransmission(packet) => Some(packet),
            Self::Parity { covered, .. } => covered.last(),
            Self::Padding => None,
        }
    }

    /// The frame that it belongs to.
    pub(crate) const fn frame(&self) -> u64 {
        match self {
            Self::Media(packet) | Self::Retransmission(packet) => packet.frame,
            Self::Parity { frame, .. } => *frame,
            Self::Padding => 0,
        }
    }
}

/// Feedback of a receiver: each in a packet of its own (reduced-size RTCP, RFC 5506).
#[derive(Debug, Clone)]
pub(crate) enum Feedback {
    /// Arrival times of packets.
    Report(TransportFeedback),
    /// Packets to be retransmitted.
    Nack(Vec<u64>),
    /// A key frame is needed (picture loss indication).
    KeyFrameRequest,
}

impl Feedback {
    /// Its size from the IP header on.
    pub(crate) fn size(&self) -> ByteCount {
        let own = match self {
            Self::Report(report) => return Self::size_of(report),
            Self::Nack(sequences) => ByteCount::new(12 + 4 * nack_entries(sequences)),
            // RFC 4585, Sec. 6.3.1.
            Self::KeyFrameRequest => ByteCount::new(12),
        };
        own + RTCP
    }

    /// The size of a report from the IP header on.
    pub(crate) fn size_of(report: &TransportFeedback) -> ByteCount {
        report.wire_size() + RTCP
    }
}

/// A NACK has an entry for a packet and up to 16 after it (RFC 4585, Sec. 6.2.1).
fn nack_entries(sequences: &[u64]) -> u64 {
    let mut covered_to = None;
    let begins = sequences.iter().filter(|sequence| {
        let begins = covered_to.is_none_or(|last| **sequence > last);
        if begins {
            covered_to = Some(**sequence + 16);
        }
        begins
    });
    begins.count() as u64
}

/// An RTP session of a flow: the source of its frames, and the stream that carries them.
pub(crate) struct RtpSession {
    pub(crate) media: FlowId,
    pub(crate) feedback: FlowId,
    pub(crate) source: VideoSource,
    pub(crate) stream: RtpStream,
    /// When the pending timer of each side fires; `Instant::MAX` for none.
    pub(crate) timers: [Instant; 2],
    /// Whether its reports are of the kind that an access point can make: RTCP's.
    pub(crate) is_reported: bool,
    /// The reports of an access point that makes them; those of the receiver then end there.
    pub(crate) foretelling: Option<Foretelling>,
}

const SENDER: Timer = Timer(0);
const RECEIVER: Timer = Timer(1);
const ACCESS_POINT: Timer = Timer(2);

impl Endpoint for RtpSession {
    fn begin(&mut self, out: &mut Outbox<'_>) {
        self.set_timers(out);
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        match packet.kind {
            Kind::Feedback => self.on_feedback(now, packet, out),
            Kind::Foretold => self.on_foretelling(now, packet, out),
            _ => self.on_media(now, packet, out),
        }
    }

    fn on_lost(&mut self, _now: Instant, packet: &Packet, _reason: DropReason, counts: &mut Counts<'_>) {
        if packet.kind == Kind::Feedback {
            self.stream.take_feedback(packet.number);
        } else if packet.kind == Kind::Foretold {
            self.take_foretelling(packet.number);
        } else if let Some(frame) = self.stream.on_lost(packet.number) {
            debug_assert_eq!(packet.flow(), self.media);
            counts.meters().on_media_settled(self.media, frame, true);
        }
    }

    fn on_foretold(&mut self, at: Instant, packet: &Packet, delay: Span, out: &mut Outbox<'_>) {
        let foretelling = self.foretelling.as_mut();
        if let Some(due) = foretelling.and_then(|own| own.on_packet(at, packet.number, delay)) {
            out.wake_at(due, ACCESS_POINT);
        }
    }

    fn on_timer(&mut self, now: Instant, timer: Timer, out: &mut Outbox<'_>) {
        if timer == ACCESS_POINT {
            let feedback = self.feedback;
            if let Some(report) = self.foretelling.as_mut().and_then(|own| own.poll(now, feedback)) {
                out.report(report);
            }
            return;
        }
        let pending = &mut self.timers[timer.0 as usize];
        if *pending > now {
            return;
        }
        *pending = Instant::MAX;
        if timer == RECEIVER {
            return self.answer(now, out);
        }
        if self.stream.sender.on_time(now) {
            self.source.set_rate(now, &self.stream.sender);
        }
        if let Some(captured) = self.source.capture(now, &mut self.stream.sender) {
            let (flow, allowed) = (self.media, self.stream.sender.control().target());
            match captured {
                Captured::Coded(frame, packets) => {
                    out.meters().on_frame_coded(flow, now, &frame, packets, allowed);
                }
                Captured::Skipped(frame) => out.meters().on_frame_left_out(flow, now, frame),
            }
        }
        self.drive(now, out);
    }
}

impl RtpSession {
    /// Handles a media packet at the receiver.
    fn on_media(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        let mut events = Vec::new();
        if let Some(frame) = self.stream.on_packet(now, packet.number, &mut events) {
            out.meters().on_media_settled(self.media, frame, false);
        }
        for event in &events {
            out.meters().on_frame_event(self.media, now, event);
        }
        self.answer(now, out);
    }

    /// Handles the receiver's feedback at the sender.
    fn on_feedback(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        match self.stream.take_feedback(packet.number) {
            // The access point has reported already, and passes no other report on.
            Some(Feedback::Report(_)) if self.foretelling.is_some() => return,
            Some(Feedback::Report(report)) => self.on_report(now, &report, out),
            Some(Feedback::Nack(sequences)) => {
                self.source.on_resent(self.stream.sender.on_nack(now, &sequences));
            }
            Some(Feedback::KeyFrameRequest) => self.source.on_key_frame_request(),
            None => return,
        }
        self.drive(now, out);
    }

    fn on_report(&mut self, now: Instant, report: &TransportFeedback, out: &mut Outbox<'_>) {
        self.stream.sender.on_report(now, report);
        self.source.set_rate(now, &self.stream.sender);
        out.meters().rows.sender(|| self.state(now));
    }

    /// Makes the access point report in the receiver's place, `after` the first packet of each report.
    pub(crate) fn foretell(&mut self, after: Span) {
        self.foretelling = Some(Foretelling::new(after));
    }

    fn take_foretelling(&mut self, number: u64) -> Option<TransportFeedback> {
        self.foretelling.as_mut()?.take(number)
    }

    /// Handles a report of the access point at the sender.
    fn on_foretelling(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        if let Some(report) = self.take_foretelling(packet.number) {
            self.on_report(now, &report, out);
            self.drive(now, out);
        }
    }

    /// The sender's state as a report left it.
    fn state(&self, now: Instant) -> SenderRow {
        let control = self.stream.sender.control();
        SenderRow {
            flow: self.media.0,
            at: now,
            rtt: None,
            smoothed_rtt: control.path().round_trip,
            cwnd: None,
            ssthresh: None,
            in_flight: None,
            rate: Some(control.target()),
        }
    }

    /// Sends the feedback of the receiver that is due.
    fn answer(&mut self, now: Instant, out: &mut Outbox<'_>) {
        while let Some(Numbered { number, size, about: asks }) = self.stream.poll_feedback(now) {
            out.meters().on_video_sent(self.media, now, Sent::Feedback, size, None);
            if asks {
                out.meters().on_key_frame_request(self.media, now);
            }
            out.send(Outgoing { flow: self.feedback, number, kind: Kind::Feedback, tag: 0, size });
        }
        self.set_timers(out);
    }

    /// Sends the media that may be sent now.
    fn drive(&mut self, now: Instant, out: &mut Outbox<'_>) {
        let of = |content: &Content| (content.frame(), content.purpose());
        while let Some(Numbered { number, size, about: (tag, (sent, frame)) }) = self.stream.poll(now, of) {
            let flow = self.media;
            out.meters().on_video_sent(flow, now, sent, size, frame);
            out.send(Outgoing { flow, number, kind: Kind::Media, tag, size });
        }
        self.set_timers(out);
    }

    fn set_timers(&mut self, out: &mut Outbox<'_>) {
        let sender = [self.source.next_capture(), self.stream.sender.next_deadline()];
        let deadlines =
            [(SENDER, sender.into_iter().flatten().min()), (RECEIVER, self.stream.receiver.next_deadline())];
        for (timer, deadline) in deadlines {
            let pending = &mut self.timers[timer.0 as usize];
            if let Some(at) = deadline.filter(|at| *at < *pending) {
                *pending = at;
                out.wake_at(at, timer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_is_as_long_as_on_the_wire() {
        assert_eq!(Feedback::KeyFrameRequest.size(), ByteCount::new(12 + 42));
        assert_eq!(Feedback::Nack(vec![7, 8, 23, 24, 400]).size(), ByteCount::new(12 + 3 * 4 + 42));
    }
}
