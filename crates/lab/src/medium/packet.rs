//! Packets of the flows, recognised by their headers: IPv4 with UDP or TCP to one of the flows' ports.

use super::store::Mpdu;
use crate::channel::{Entry, HEAD};
use crate::log::EntryRow;
use crate::plan::FIRST_PORT;

/// Bytes of a QoS data frame before its IP packet: MAC header, LLC and SNAP.
const BEFORE_IP: usize = 26 + 8;
/// Bytes of an IPv4 header without options, and of that of UDP.
const IP: usize = 20;
const UDP: usize = 8;
/// Protocol numbers.
const TCP_PROTOCOL: u8 = 6;
const UDP_PROTOCOL: u8 = 17;

/// A packet of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packet {
    /// Number of the flow, by the destination port.
    pub(super) flow: u64,
    /// The datagram's number within its flow, or the TCP sequence number of its first byte.
    pub(super) number: u64,
    /// The IP packet as its header tells it, bytes.
    pub(super) size: u64,
    /// Headers, from IP on, bytes.
    headers: u64,
}

/// The packet in a QoS data frame; `None` if it does not belong to a flow.
pub(super) fn packet_of(mpdu: &Mpdu) -> Option<Packet> {
    read(ip_of(mpdu)?)
}

/// The TCP packet in a QoS data frame to the sender of a flow: its number is the acknowledged one. `None` for all others.
pub(super) fn acknowledgement_of(mpdu: &Mpdu) -> Option<Packet> {
    read_acknowledgement(ip_of(mpdu)?)
}

/// The headers of an IPv4 packet in a QoS data frame.
fn ip_of(mpdu: &Mpdu) -> Option<&[u8]> {
    const ETHER_TYPE: usize = BEFORE_IP - 2;
    (mpdu.is_qos() && mpdu.head[ETHER_TYPE..BEFORE_IP] == [8, 0]).then(|| &mpdu.head[BEFORE_IP..])
}

/// The row of a packet from the wire; `None` if it has no data of a flow.
pub(super) fn row_of(entry: &Entry) -> Option<EntryRow> {
    let packet = read(&entry.head)?;
    let payload = u64::from(entry.size).saturating_sub(packet.headers);
    let segment = u64::from(entry.segment);
    let Packet { flow, number, headers, .. } = packet;
    (payload > 0).then_some(EntryRow { flow, number, at: entry.at, headers, payload, segment })
}

/// Reads the headers of a packet of a flow, from that of IP on.
fn read(head: &[u8]) -> Option<Packet> {
    const _: () = assert!(HEAD >= BEFORE_IP + IP + UDP + 8);
    let flow = flow_at(head, IP + 2)?;
    let (number, transport) = match *head.get(9)? {
        UDP_PROTOCOL => (u64::from_be_bytes(head.get(IP + UDP..IP + UDP + 8)?.try_into().ok()?), UDP),
        TCP_PROTOCOL => (number_at(head, IP + 4)?, tcp_header(head)?),
        _ => return None,
    };
    Some(Packet { flow, number, size: u16_at(head, 2)?.into(), headers: (IP + transport) as u64 })
}

fn read_acknowledgement(head: &[u8]) -> Option<Packet> {
    /// The flag ACK (RFC 9293 section 3.1).
    const ACK: u8 = 1 << 4;
    let flow = flow_at(head, IP)?;
    let acknowledges = *head.get(9)? == TCP_PROTOCOL && head.get(IP + 13)? & ACK != 0;
    let headers = (IP + tcp_header(head)?) as u64;
    let (number, size) = (number_at(head, IP + 8)?, u16_at(head, 2)?.into());
    acknowledges.then_some(Packet { flow, number, size, headers })
}

fn u16_at(head: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(head.get(at..at + 2)?.try_into().ok()?))
}

fn number_at(head: &[u8], at: usize) -> Option<u64> {
    Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?).into())
}

fn tcp_header(head: &[u8]) -> Option<usize> {
    Some(usize::from(*head.get(IP + 12)? >> 4) * 4)
}

/// The flow with the port at a place, behind an IP header of 20 bytes.
fn flow_at(head: &[u8], port: usize) -> Option<u64> {
    let port = (*head.first()? == 0x45).then(|| u16_at(head, port)).flatten()?;
    port.checked_sub(FIRST_PORT).filter(|flow| *flow < 1000).map(u64::from)
}

#[cfg(test)]
mod tests {
    use airbound_units::Instant;

    use super::*;

    /// An IP packet with a TCP header of 32 bytes, sequence number 0x01020304, to the port of flow 3.
    fn segment(size: u32, segment: u16) -> Entry {
        let mut head = [0; HEAD];
        (head[0], head[9], head[32]) = (0x45, 6, 8 << 4);
        head[22..24].copy_from_slice(&(FIRST_PORT + 3).to_be_bytes());
        head[24..28].copy_from_slice(&[1, 2, 3, 4]);
        Entry { at: Instant::from_nanos(5), size, segment, head }
    }

    #[test]
    fn segments_that_travel_as_one_are_one_row() {
        let row = row_of(&segment(52 + 3000, 1448)).unwrap();
        let number = 0x0102_0304;
        let at = Instant::from_nanos(5);
        assert_eq!(row, EntryRow { flow: 3, number, at, headers: 52, payload: 3000, segment: 1448 });
    }

    #[test]
    fn an_acknowledgement_has_the_port_of_its_flow_as_the_source() {
        let mut head = segment(52, 0).head;
        head.copy_within(22..24, 20);
        head[22..24].copy_from_slice(&40_000_u16.to_be_bytes());
        head[28..32].copy_from_slice(&[5, 6, 7, 8]);
        assert_eq!(read_acknowledgement(&head), None, "without the flag");
        head[33] = 0x10;
        let found = read_acknowledgement(&head).unwrap();
        assert_eq!((found.flow, found.number), (3, 0x0506_0708));
        head[9] = UDP_PROTOCOL;
        assert_eq!(read_acknowledgement(&head), None);
    }

    #[test]
    fn packets_without_data_or_of_no_flow_have_no_row() {
        assert_eq!(row_of(&segment(52, 0)), None);
        let mut other = segment(1500, 0);
        other.head[22..24].copy_from_slice(&(FIRST_PORT - 1).to_be_bytes());
        assert_eq!(row_of(&other), None);
        let mut with_options = segment(1500, 0);
        with_options.head[0] = 0x46;
        assert_eq!(row_of(&with_options), None);
    }
}
