//! Packets of the queues' unit tests.

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use crate::frame::{FlowId, Payload, PlainPacket, StationId};

/// A best-effort packet of 1500 B.
pub(super) const fn packet(station: u16, flow: u32) -> PlainPacket {
    PlainPacket::new(StationId(station), FlowId(flow))
}

/// Sets other properties than the default ones.
pub(super) trait Special {
    fn of_size(self, bytes: u64) -> Self;
    fn of_category(self, category: Category) -> Self;
    fn enqueued_at(self, enqueued: Instant) -> Self;
}

impl Special for PlainPacket {
    fn of_size(mut self, bytes: u64) -> Self {
        self.size = ByteCount::new(bytes);
        self
    }

    fn of_category(mut self, category: Category) -> Self {
        self.category = category;
        self
    }

    fn enqueued_at(mut self, enqueued: Instant) -> Self {
        self.set_enqueued(enqueued);
        self
    }
}

/// An instant in microseconds.
pub(super) const fn at_micros(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

/// A packet that can be marked.
#[derive(Debug, Clone)]
pub(super) struct Capable {
    pub(super) packet: PlainPacket,
    pub(super) is_marked: bool,
}

impl Payload for Capable {
    fn flow(&self) -> FlowId {
        self.packet.flow()
    }
    fn station(&self) -> StationId {
        self.packet.station()
    }
    fn category(&self) -> Category {
        self.packet.category()
    }
    fn size(&self) -> ByteCount {
        self.packet.size()
    }
    fn enqueued(&self) -> Instant {
        self.packet.enqueued()
    }
    fn set_enqueued(&mut self, now: Instant) {
        self.packet.set_enqueued(now);
    }
    fn airtime_estimate(&self) -> Span {
        self.packet.airtime_estimate()
    }
    fn set_airtime_estimate(&mut self, estimate: Span) {
        self.packet.set_airtime_estimate(estimate);
    }
    fn mark(&mut self) -> bool {
        self.is_marked = true;
        true
    }
}
