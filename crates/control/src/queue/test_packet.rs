//! The packet that the unit tests of the queues send.

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use crate::payload::{FlowId, Payload, StationId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestPacket {
    flow: FlowId,
    station: StationId,
    category: Category,
    size: ByteCount,
    enqueued: Instant,
    estimate: Span,
}

impl TestPacket {
    /// A best-effort packet of 1500 B.
    pub(super) const fn new(station: u16, flow: u32) -> Self {
        Self {
            flow: FlowId(flow),
            station: StationId(station),
            category: Category::Be,
            size: ByteCount::new(1500),
            enqueued: Instant::ZERO,
            estimate: Span::ZERO,
        }
    }

    pub(super) const fn of_size(mut self, bytes: u64) -> Self {
        self.size = ByteCount::new(bytes);
        self
    }

    pub(super) const fn of_category(mut self, category: Category) -> Self {
        self.category = category;
        self
    }

    pub(super) const fn enqueued_at(mut self, enqueued: Instant) -> Self {
        self.enqueued = enqueued;
        self
    }
}

impl Payload for TestPacket {
    fn flow(&self) -> FlowId {
        self.flow
    }
    fn station(&self) -> StationId {
        self.station
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

/// An instant in microseconds.
pub(super) const fn at_micros(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}
