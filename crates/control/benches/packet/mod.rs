//! Packets of the benchmarks.

use airbound_control::frame::{FlowId, PlainPacket, StationId};

/// A plain packet has about the size of the simulator's packet.
pub(crate) type Packet = PlainPacket;

/// A full packet of `flow`; stations are assigned to flows in turn.
pub(crate) fn packet(flow: u16, stations: u16) -> Packet {
    PlainPacket::new(StationId(flow % stations), FlowId(u32::from(flow)))
}
