//! A packet as large as one of the simulator.

use airbound_control::payload::{FlowId, Payload, StationId};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

/// Flow, station and times; the rest is weight.
#[derive(Clone)]
pub(crate) struct Packet {
    flow: FlowId,
    station: StationId,
    size: ByteCount,
    enqueued: Instant,
    estimate: Span,
    _stamps: [u64; 4],
}

impl Payload for Packet {
    fn flow(&self) -> FlowId {
        self.flow
    }
    fn station(&self) -> StationId {
        self.station
    }
    fn category(&self) -> Category {
        Category::Be
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

/// A full packet of `flow`, of which there are several to each station if there are fewer of these.
pub(crate) fn packet(flow: u16, stations: u16) -> Packet {
    Packet {
        flow: FlowId(u32::from(flow)),
        station: StationId(flow % stations),
        size: ByteCount::new(1500),
        enqueued: Instant::ZERO,
        estimate: Span::ZERO,
        _stamps: [0; 4],
    }
}
