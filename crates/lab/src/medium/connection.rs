//! Packets of connections that are not the scenario's: those of commands in the machine.

use airbound_air::channel::AccessId;
use airbound_units::Instant;

use super::store::Mpdu;
use super::{ACCESS_POINT, Medium};
use crate::log::{Connection, NONE, Row};
use crate::plan::FIRST_PORT;

/// Headers before the IP packet: QoS data, LLC and SNAP.
const IP: usize = 26 + 8;

impl Medium {
    /// Logs the packets of all connections from now on, and not only those of the scenario's flows.
    pub const fn log_connections(&mut self) {
        self.connections = true;
    }

    pub(super) fn note_connection(
        &mut self,
        at: AccessId,
        mpdu: &Mpdu,
        received: Instant,
        completed: Instant,
    ) {
        let Some((connection, size)) = connection_of(mpdu, at.tx == ACCESS_POINT) else { return };
        let first = FIRST_PORT;
        let flows = first..first.saturating_add(self.flows);
        if flows.contains(&connection.source) || flows.contains(&connection.destination) {
            return;
        }
        let row = self.mpdu_row(at, mpdu, (received, completed), (NONE, NONE, size));
        self.rows.push(Row::Connection(connection, row));
    }
}

/// Connection and size of an IPv4 packet.
fn connection_of(mpdu: &Mpdu, is_down: bool) -> Option<(Connection, u64)> {
    let head = &mpdu.head;
    let u16_at = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    // EtherType IPv4; an IP header of 20 bytes; not the later part of a fragmented packet.
    if !mpdu.is_qos() || u16_at(IP - 2) != 0x0800 || head[IP] != 0x45 || u16_at(IP + 6) & 0x1fff != 0 {
        return None;
    }
    let protocol = head[IP + 9];
    let has_ports = matches!(protocol, 6 | 17);
    let port = |at: usize| if has_ports { u16_at(at) } else { 0 };
    let connection = Connection { is_down, protocol, source: port(IP + 20), destination: port(IP + 22) };
    Some((connection, u16_at(IP + 2).into()))
}
