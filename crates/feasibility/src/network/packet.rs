//! Packets of the model.

use airbound_control::frame::{FlowId, Payload, StationId};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::Category;

/// The role of a packet at its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// A datagram, which nobody answers.
    Datagram,
    /// A segment of a connection, by the offset of its first byte and its length.
    Segment { offset: u64, length: u32 },
    /// An acknowledgement of a connection, by its number.
    Acknowledgement(u64),
}

/// A packet on its way over the air.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    /// Number of the scenario's flow to which it, or the data that it acknowledges, belongs.
    pub(crate) flow: usize,
    /// The flow as a queue sees it: acknowledgements are a flow of their own.
    pub(crate) id: FlowId,
    pub(crate) to: StationId,
    pub(crate) category: Category,
    /// Length of the IP packet.
    pub(crate) size: ByteCount,
    pub(crate) sent: Instant,
    pub(crate) content: Content,
    enqueued: Instant,
    estimate: Span,
}

impl Packet {
    pub(crate) const fn new(
        (flow, id): (usize, FlowId),
        (to, category): (StationId, Category),
        size: ByteCount,
        content: Content,
        sent: Instant,
    ) -> Self {
        Self { flow, id, to, category, size, sent, content, enqueued: Instant::ZERO, estimate: Span::ZERO }
    }
}

impl Payload for Packet {
    fn flow(&self) -> FlowId {
        self.id
    }
    fn station(&self) -> StationId {
        self.to
    }
    fn category(&self) -> Category {
        self.category
    }
    fn size(&self) -> ByteCount {
        self.size
    }
    fn enqueued(&self) -> Instant {
        self.enqueued
    }
    fn set_enqueued(&mut self, now: Instant) {
        self.enqueued = now;
    }
    fn airtime_estimate(&self) -> Span {
        self.estimate
    }
    fn set_airtime_estimate(&mut self, estimate: Span) {
        self.estimate = estimate;
    }
}
