//! Real-time video as WebRTC sends it: the two ends of a session, between which packets cross the wire and the air.
//!
//! The control cores are those of `airbound_senders`; here stand the encoder, the frames, and what ties the parts together.
//! `docs/real-time-video.md` has a picture.

pub(crate) mod frames;
pub(crate) mod open;
pub(crate) mod receiver;
pub(crate) mod sender;

use airbound_control::frame::FlowId;
use airbound_senders::rtp::fec::ParityPacket;
use airbound_senders::rtp::gcc::TransportFeedback;
use airbound_units::{ByteCount, Instant};

use super::in_flight::InFlight;
use frames::MediaPacket;
use receiver::RtcReceiver;
use sender::RtcSender;

/// IPv4 20 B and UDP 8 B; SRTP's tag 10 B (RFC 3711), RTP's header 12 B (RFC 3550), and its extension with the transport-wide
/// sequence number 8 B (RFC 8285).
pub(crate) const HEADERS: ByteCount = ByteCount::new(IP_UDP + RTP);
pub(crate) const IP_UDP: u64 = 20 + 8;
pub(crate) const RTP: u64 = 10 + 12 + 8;
/// IPv4, UDP, and SRTCP's index and tag (RFC 3711).
const RTCP: ByteCount = ByteCount::new(IP_UDP + 4 + 10);
/// The original sequence number in a retransmission (RFC 4588).
pub(crate) const ORIGINAL_SEQUENCE: ByteCount = ByteCount::new(2);

/// What a packet of a session carries.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A part of a frame, for the first time.
    Media(MediaPacket),
    /// The same again.
    Retransmission(MediaPacket),
    /// Parity of media packets, and what it tells of those; `frame` is the last that it covers.
    Parity { frame: u64, parity: ParityPacket, covered: Vec<MediaPacket> },
    /// Nothing: a probe for bandwidth needs it.
    Padding,
}

impl Content {
    /// The frame that it belongs to.
    pub(crate) const fn frame(&self) -> u64 {
        match self {
            Self::Media(packet) | Self::Retransmission(packet) => packet.frame,
            Self::Parity { frame, .. } => *frame,
            Self::Padding => 0,
        }
    }
}

/// What a receiver sends back: each in a packet of its own (reduced-size RTCP, RFC 5506).
#[derive(Debug, Clone)]
pub(crate) enum Feedback {
    /// When packets arrived.
    Report(TransportFeedback),
    /// Packets that are to be sent again.
    Nack(Vec<u64>),
    /// A key frame is needed (picture loss indication).
    KeyFrameRequest,
}

impl Feedback {
    /// Its size from the IP header on.
    pub(crate) fn size(&self) -> ByteCount {
        let own = match self {
            Self::Report(report) => report.wire_size(),
            Self::Nack(sequences) => ByteCount::new(12 + 4 * nack_entries(sequences)),
            // RFC 4585, Sec. 6.3.1.
            Self::KeyFrameRequest => ByteCount::new(12),
        };
        own + RTCP
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

/// A session: a sender, a receiver, and what is under way between them.
pub(crate) struct Session {
    pub(crate) media: FlowId,
    pub(crate) feedback: FlowId,
    pub(crate) sender: RtcSender,
    pub(crate) receiver: RtcReceiver,
    pub(crate) media_in_flight: InFlight<Content>,
    pub(crate) feedback_in_flight: InFlight<Feedback>,
    /// Packets sent so far, and packets sent back.
    pub(crate) sent: u64,
    pub(crate) sent_back: u64,
    /// When the pending timer of each side fires; `Instant::MAX` for none.
    pub(crate) timers: [Instant; 2],
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
