//! A stream of video frames in one direction between a client and the server, over TCP or over RTP.

mod media;
mod tcp;

use airbound_scenario::SessionTransport;
use airbound_senders::conference::TackConfig;
use airbound_senders::tcp::TcpConfig;
use airbound_units::{BitRate, ByteCount, Instant};

use super::packet::Content;
use crate::error::BuildError;
use media::Media;
pub(super) use media::{FeedbackPacket, MediaPacket};
use tcp::Tcp;

/// An end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Sender,
    Receiver,
}

/// A frame written to a stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// The client of its camera.
    pub(super) source: usize,
    /// Time of capture.
    pub(super) created: Instant,
    /// Payload in bytes.
    pub(super) bytes: u64,
    /// The sender's estimate of the path bandwidth in bit/s, 0 for none: the message of one float sent with the frame.
    pub(super) estimate: f64,
}

/// Both ends of a stream.
#[derive(Debug)]
pub(super) struct Stream {
    protocol: Protocol,
    /// When the pending timer of each side fires; `Instant::MAX` for none.
    pub(super) timers: [Instant; 2],
}

#[derive(Debug)]
enum Protocol {
    Tcp(Box<Tcp>),
    Media(Box<Media>),
}

impl Stream {
    /// Creates a stream of `transport` whose frames begin at the rate `start` and reach `most` at most.
    ///
    /// # Errors
    /// A parameter of the transport is wrong.
    pub(super) fn new(
        transport: &SessionTransport,
        seed: u64,
        [start, most]: [BitRate; 2],
    ) -> Result<Self, BuildError> {
        let protocol = match transport {
            SessionTransport::Tcp(config) => Tcp::new(TcpConfig { seed, ..TcpConfig::clone(config) })
                .map(|tcp| Protocol::Tcp(Box::new(tcp)))
                .map_err(|error| error.to_string()),
            SessionTransport::Rtp(rule) => Media::new(rule, start, most)
                .map(|media| Protocol::Media(Box::new(media)))
                .map_err(|error| error.to_string()),
        };
        let protocol = protocol.map_err(|reason| BuildError::Slot { slot: "sender", reason })?;
        Ok(Self { protocol, timers: [Instant::MAX; 2] })
    }

    /// Writes a frame; `false` if it was refused as the buffer is full.
    pub(super) fn write(&mut self, now: Instant, source: usize, created: Instant, bytes: u64) -> bool {
        let estimate = self.estimate().map_or(0.0, |rate| rate.as_bps() as f64);
        let frame = Frame { source, created, bytes, estimate };
        match &mut self.protocol {
            Protocol::Tcp(tcp) => tcp.write(now, frame),
            Protocol::Media(media) => {
                media.write(now, frame);
                true
            }
        }
    }

    /// The next complete frame at the receiver.
    pub(super) fn take_arrived(&mut self) -> Option<Frame> {
        match &mut self.protocol {
            Protocol::Tcp(tcp) => tcp.take_arrived(),
            Protocol::Media(media) => media.take_arrived(),
        }
    }

    /// The rate of media that congestion control allows; `None` before the first measurement.
    pub(super) fn estimate(&self) -> Option<BitRate> {
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.estimate(),
            Protocol::Media(media) => Some(media.estimate()),
        }
    }

    /// Whether its packets are lost or wait; `None` where its transport takes care of that by itself.
    pub(super) fn in_trouble(&self, now: Instant) -> Option<bool> {
        match &self.protocol {
            Protocol::Tcp(_) => None,
            Protocol::Media(media) => Some(media.in_trouble(now)),
        }
    }

    /// Estimates the path of media anew, from a rate on.
    pub(super) fn begin(&mut self, now: Instant, rate: BitRate) {
        if let Protocol::Media(media) = &mut self.protocol {
            media.begin(now, rate);
        }
    }

    /// Probes a rate that the path of media is told to have.
    pub(super) fn request_probe(&mut self, now: Instant, rate: BitRate) {
        if let Protocol::Media(media) = &mut self.protocol {
            media.request_probe(now, rate);
        }
    }

    /// Bytes written and not sent.
    pub(super) fn unsent(&self) -> ByteCount {
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.unsent(),
            Protocol::Media(media) => media.unsent(),
        }
    }

    /// The next packet of the sender. Call until `None`.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Content> {
        match &mut self.protocol {
            Protocol::Tcp(tcp) => tcp.poll(now).map(Content::Segment),
            Protocol::Media(media) => media.poll(now).map(Content::Media),
        }
    }

    /// Takes a packet of data at the receiver.
    pub(super) fn on_data(&mut self, now: Instant, content: &Content) {
        match (&mut self.protocol, content) {
            (Protocol::Tcp(tcp), Content::Segment(segment)) => tcp.on_segment(now, segment),
            (Protocol::Media(media), Content::Media(packet)) => media.on_packet(now, packet),
            _ => {}
        }
    }

    /// The next answer of the receiver. Call until `None`.
    pub(super) fn poll_answer(&mut self, now: Instant) -> Option<Content> {
        match &mut self.protocol {
            Protocol::Tcp(tcp) => tcp.take_ack().map(Content::Ack),
            Protocol::Media(media) => media.poll_feedback(now).map(Content::Feedback),
        }
    }

    /// Takes an answer at the sender.
    pub(super) fn on_answer(&mut self, now: Instant, content: &Content) {
        match (&mut self.protocol, content) {
            (Protocol::Tcp(tcp), Content::Ack(ack)) => tcp.on_ack(now, ack),
            (Protocol::Media(media), Content::Feedback(feedback)) => media.on_feedback(now, feedback),
            _ => {}
        }
    }

    /// Notes that a packet or an answer was lost.
    pub(super) fn on_lost(&mut self, content: &Content) {
        match (&mut self.protocol, content) {
            (Protocol::Media(media), Content::Media(packet)) => media.on_lost(packet),
            (Protocol::Media(media), Content::Feedback(feedback)) => media.on_feedback_lost(feedback),
            _ => {}
        }
    }

    /// When the timer of a side is due.
    pub(super) fn next_deadline(&self, side: Side) -> Option<Instant> {
        match &self.protocol {
            Protocol::Tcp(tcp) => tcp.next_deadline(side),
            Protocol::Media(media) => media.next_deadline(side),
        }
    }

    /// Handles the timer of a side; what there is to send follows from [`Stream::poll`] and [`Stream::poll_answer`].
    pub(super) fn on_deadline(&mut self, now: Instant, side: Side) {
        match &mut self.protocol {
            Protocol::Tcp(tcp) => tcp.on_deadline(now, side),
            Protocol::Media(media) => media.on_deadline(now, side),
        }
    }

    /// Adapts the acknowledgements of a TCP receiver to its path, by TACK.
    pub(super) fn adapt(&mut self, tack: &TackConfig) {
        if let Protocol::Tcp(tcp) = &mut self.protocol {
            tcp.adapt(tack);
        }
    }
}
