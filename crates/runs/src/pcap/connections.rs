//! TCP connections of a run as they appear in a capture: their ports, sequence numbers, beginnings and ends.
//!
//! The initial sequence numbers are 0, so that the first byte has number 1. A flow of short transfers is a connection for each, which the
//! server closes with its last segment; other connections stay open.

use airbound_control::frame::Payload as _;
use airbound_record::RunInfo;
use airbound_scenario::{Scenario, Traffic};
use airbound_sim::{Kind, Packet};

/// The server's first port, and the number of ports for the connections of a flow, one after the other. No protocol that Wireshark 4
/// knows is at home there: behind TCP's port 5000 it would look for GSM.
const SERVER_PORT: u16 = 50_000;
const SERVER_PORTS: u64 = 5_000;
/// Bytes of IPv4 and TCP headers with timestamps on each segment.
const HEADERS: u64 = 52;
/// Flags of a TCP header.
pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const ACK: u8 = 0x10;

/// The connections of all flows.
pub(super) struct Connections {
    /// For each flow, and for its acknowledgements, the flow of the data.
    data: Vec<usize>,
    /// Bytes of each transfer of a flow of short ones.
    transfers: Vec<Option<u64>>,
    /// Number of connections of each flow that have begun.
    begun: Vec<u64>,
}

/// A segment or an acknowledgement within its connection.
pub(super) struct Numbers {
    pub(super) server_port: u16,
    pub(super) sequence: u32,
    pub(super) acknowledged: u32,
    pub(super) flags: u8,
}

impl Connections {
    pub(super) fn of(info: &RunInfo, scenario: &Scenario) -> Self {
        let data = |(number, name): (usize, &String)| {
            let of_data = name.strip_suffix(" (acks)");
            of_data.and_then(|name| info.flows.iter().position(|flow| flow == name)).unwrap_or(number)
        };
        let transfer = |name: &String| {
            let flow = scenario.flows.iter().find(|flow| flow.name == *name)?;
            match &flow.traffic {
                Traffic::TcpShort(transfers) => Some(transfers.size.as_u64()).filter(|size| *size > 0),
                _ => None,
            }
        };
        Self {
            data: info.flows.iter().enumerate().map(data).collect(),
            transfers: info.flows.iter().map(transfer).collect(),
            begun: vec![0; info.flows.len()],
        }
    }

    /// Flow of the data, number of the connection in it, and the bytes of the connection before this one.
    fn place(&self, packet: &Packet) -> Option<(usize, u64, u64)> {
        let flow = *self.data.get(packet.flow.0 as usize)?;
        let byte = match packet.kind {
            Kind::Segment => packet.tag,
            // Bytes up to this one are acknowledged.
            Kind::Acknowledgement => packet.tag.saturating_sub(1),
            _ => return None,
        };
        let number = self.transfers[flow].map_or(0, |size| byte / size);
        let base = self.transfers[flow].map_or(0, |size| number * size);
        Some((flow, number, packet.tag.saturating_sub(base)))
    }

    /// Whether the packet is the first of its connection.
    pub(super) fn opens(&mut self, packet: &Packet) -> bool {
        let Some((flow, number, _)) = self.place(packet) else { return false };
        let begins = number >= self.begun[flow];
        self.begun[flow] = self.begun[flow].max(number + 1);
        begins
    }

    /// Numbers and flags of the TCP header of a packet.
    pub(super) fn numbers(&self, packet: &Packet) -> Numbers {
        let (flow, number, offset) = self.place(packet).unwrap_or_default();
        let server_port = SERVER_PORT + (number % SERVER_PORTS) as u16;
        let size = self.transfers.get(flow).copied().flatten();
        let own = (offset + 1) as u32;
        if packet.kind == Kind::Acknowledgement {
            let is_last = size == Some(offset);
            // The FIN counts as a byte.
            let acknowledged = own + u32::from(is_last);
            return Numbers { server_port, sequence: 1, acknowledged, flags: ACK };
        }
        let end = offset + packet.size().as_u64().saturating_sub(HEADERS);
        let flags = if size == Some(end) { ACK | FIN } else { ACK };
        Numbers { server_port, sequence: own, acknowledged: 1, flags }
    }
}
