//! The packets that the benchmarks send.

use airbound_control::frame::{FlowId, PlainPacket, StationId};

/// The times and numbers of a plain packet weigh about as much as the simulator's.
pub(crate) type Packet = PlainPacket;

/// A full packet of `flow`, of which there are several to each station if there are fewer of these.
pub(crate) fn packet(flow: u16, stations: u16) -> Packet {
    PlainPacket::new(StationId(flow % stations), FlowId(u32::from(flow)))
}
