//! A simulated packet and the times collected on its path.

use airbound_control::frame::{FlowId, Payload, StationId};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

/// Role of a packet for the ends of its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A datagram, of which only the length matters; `tag` is the frame it belongs to, if any.
    Datagram,
    /// A datagram of a caller that a queue may mark in place of dropping it (ECT of RFC 3168).
    Capable,
    /// A datagram that experienced congestion (CE of RFC 3168).
    Marked,
    /// A TCP segment with data; `tag` is its first byte.
    Segment,
    /// A TCP acknowledgement; `tag` is the next expected byte.
    Acknowledgement,
    /// A packet of real-time video, of its protection or of its repair; `tag` is the frame that it was sent with.
    Media,
    /// Feedback from the receiver of real-time video.
    Feedback,
    /// Feedback that the access point has made in the receiver's place.
    Foretold,
}

impl Kind {
    /// Whether it is a datagram, marked or not.
    #[must_use]
    #[inline]
    pub const fn is_datagram(self) -> bool {
        matches!(self, Self::Datagram | Self::Capable | Self::Marked)
    }
}

/// Properties common to the packets of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The flow.
    pub flow: FlowId,
    /// The node they are sent to first over the air.
    pub to: StationId,
    /// Their access category.
    pub category: Category,
}

/// A packet from the IP header on.
///
/// It is copied from queue to queue, and therefore kept within one cache line.
#[derive(Debug, Clone, Copy)]
pub struct Packet {
    /// Its number within its flow, from 0.
    pub number: u64,
    /// Number that identifies its content, see [`Kind`].
    pub tag: u64,
    /// When its source sent it.
    pub sent: Instant,
    /// When it entered the queue of its transmitter, for a relayed packet the last one.
    pub enqueued: Instant,
    /// When the PPDU it first travelled in began to contend for the channel.
    pub contending: Instant,
    /// When that PPDU began.
    pub first_transmission: Instant,
    estimate_nanos: u32,
    size: u32,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// The node it is sent to next over the air.
    pub to: StationId,
    /// Its access category.
    pub category: Category,
    /// Its role for the ends of its flow.
    pub kind: Kind,
}

// One cache line: a smaller copy costs the same.
const _: () = assert!(size_of::<Packet>() == 64);

impl Packet {
    /// Creates a packet that its source sends at `sent`.
    #[must_use]
    #[inline]
    pub fn new(header: Header, number: u64, kind: Kind, tag: u64, size: ByteCount, sent: Instant) -> Self {
        let Header { flow, to, category } = header;
        Self {
            number,
            tag,
            sent,
            enqueued: sent,
            contending: Instant::MAX,
            first_transmission: Instant::MAX,
            estimate_nanos: 0,
            size: u32::try_from(size.as_u64()).unwrap_or(u32::MAX),
            flow,
            to,
            category,
            kind,
        }
    }

    /// The same packet, sent as number `number` of its flow at `sent`.
    #[inline]
    pub(crate) const fn sent_as(self, number: u64, sent: Instant) -> Self {
        Self { number, sent, enqueued: sent, ..self }
    }

    /// The same packet with another number of its flow.
    pub(crate) const fn of_flow(self, flow: FlowId) -> Self {
        Self { flow, ..self }
    }

    /// The same packet, sent to `next` by a relay that has it at `now`.
    #[must_use]
    pub(crate) const fn onwards(self, next: StationId, now: Instant) -> Self {
        Self {
            to: next,
            enqueued: now,
            contending: Instant::MAX,
            first_transmission: Instant::MAX,
            estimate_nanos: 0,
            ..self
        }
    }
}

impl Payload for Packet {
    fn flow(&self) -> FlowId {
        self.flow
    }
    fn station(&self) -> StationId {
        self.to
    }
    fn category(&self) -> Category {
        self.category
    }
    fn size(&self) -> ByteCount {
        ByteCount::new(u64::from(self.size))
    }
    fn enqueued(&self) -> Instant {
        self.enqueued
    }
    fn set_enqueued(&mut self, now: Instant) {
        self.enqueued = now;
    }
    fn airtime_estimate(&self) -> Span {
        Span::from_nanos(u64::from(self.estimate_nanos))
    }
    fn set_airtime_estimate(&mut self, estimate: Span) {
        self.estimate_nanos = u32::try_from(estimate.as_nanos()).unwrap_or(u32::MAX);
    }
    fn mark(&mut self) -> bool {
        let is_capable = matches!(self.kind, Kind::Capable | Kind::Marked);
        if is_capable {
            self.kind = Kind::Marked;
        }
        is_capable
    }
}
