//! The bytes of 802.11 frames (802.11-2020, clause 9.3), cut four octets behind the headers of what they carry.
//!
//! Many readers take the last four octets that were captured for the FCS, whatever the length on the air. With those four the headers
//! stay whole in their hands.

use airbound_control::frame::Payload;
use airbound_record::{PacketRow, RunInfo};
use airbound_scenario::{Direction, Scenario};
use airbound_sim::{ExchangeView, Kind, MpduView, Packet};
use airbound_units::{ByteCount, Span};
use airbound_wifi::control_frames::{ACK, BLOCK_ACK, BLOCK_ACK_256, CTS, RTS};
use airbound_wifi::edca::Category;
use airbound_wifi::mpdu::{CCMP, DATA_HEADER, FCS, LLC_SNAP, QOS_DATA_HEADER};

use super::connections::{self, Connections, Numbers};
use super::content::{Contents, ethertype};

pub(super) type Address = [u8; 6];

/// The other end of the wire, and the receivers of neighbour networks.
const SERVER: Address = [0x02, 0, 0, 1, 0, 0];
const FROM_ACCESS_POINT: u8 = 0x02;
const TO_ACCESS_POINT: u8 = 0x01;
const RETRY: u8 = 0x08;
/// Octets kept behind the headers of a cut frame: as many as an FCS has.
const SPARE: usize = 4;
/// The first port of a flow; the flow's number is added. As the server's it is nobody's.
const PORT: u16 = 61_000;
/// Protocols above IPv4.
const TCP: u8 = 6;
const UDP: u8 = 17;
/// The server's port of datagrams.
const SERVER_PORT: u16 = 50_000;
/// Factor of the window, as a power of two (RFC 7323): the largest, so that no window looks full.
const WINDOW_SCALE: u8 = 14;
/// Largest segment over Ethernet's 1500 B.
const MSS: u16 = 1460;

/// Addresses of nodes and conversation numbers of flows in a capture.
pub(super) struct Names {
    /// For each flow the number by which both of its directions go.
    conversations: Vec<u16>,
    /// For each flow what of it is on the way.
    ways: Vec<Way>,
}

/// Packets of a flow, where nothing but their record is known.
struct Way {
    /// Whether they are sent to the station.
    downwards: bool,
    /// Protocol above IPv4.
    protocol: u8,
}

impl Names {
    pub(super) fn of(info: &RunInfo, scenario: &Scenario) -> Self {
        let conversations = (0..info.flows.len()).map(|flow| conversation(info, flow)).collect();
        let way = |name: &String| {
            let data = [" (acks)", " (feedback)"].iter().find_map(|ending| name.strip_suffix(ending));
            let flow = scenario.flows.iter().find(|flow| flow.name == data.unwrap_or(name));
            let of_data = flow.is_none_or(|flow| flow.direction == Direction::Down);
            let is_tcp = flow.is_some_and(|flow| flow.traffic.tcp().is_some());
            Way { downwards: of_data == data.is_none(), protocol: if is_tcp { TCP } else { UDP } }
        };
        Self { conversations, ways: info.flows.iter().map(way).collect() }
    }

    /// Transmitter and receiver.
    pub(super) fn ends(&self, view: &ExchangeView<'_>) -> (Address, Address) {
        let from = address(view.transmitter());
        let to = if view.transmitter() == view.receiver() { SERVER } else { address(view.receiver()) };
        (from, to)
    }

    fn conversation_of(&self, flow: usize) -> u16 {
        self.conversations.get(flow).copied().unwrap_or(u16::MAX / 2)
    }

    /// The station's port of a flow.
    pub(super) fn port(&self, flow: usize) -> u16 {
        PORT.wrapping_add(self.conversation_of(flow))
    }
}

/// The number by which a flow and its acknowledgements, a flow of their own named after it, go.
fn conversation(info: &RunInfo, flow: usize) -> u16 {
    let data = info.flows.get(flow).and_then(|name| name.strip_suffix(" (acks)"));
    data.and_then(|name| info.flows.iter().position(|flow| flow == name)).unwrap_or(flow) as u16
}

/// The station's port of a flow.
pub(super) fn port(info: &RunInfo, flow: usize) -> u16 {
    PORT.wrapping_add(conversation(info, flow))
}

/// 02:00:00:00:nn:nn, where an access point is followed by its stations; the first is 0.
fn address(node: u16) -> Address {
    let [high, low] = node.to_be_bytes();
    [0x02, 0, 0, 0, high, low]
}

/// A frame as far as it is captured, and its whole length with FCS.
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    pub(super) length: ByteCount,
}

impl Frame {
    pub(super) fn rts(from: Address, to: Address, remaining: Span) -> Self {
        Self::control(0xb4, remaining, &[to, from], &[], RTS)
    }

    pub(super) fn cts(to: Address, remaining: Span) -> Self {
        Self::control(0xc4, remaining, &[to], &[], CTS)
    }

    pub(super) fn ack(to: Address) -> Self {
        Self::control(0xd4, Span::ZERO, &[to], &[], ACK)
    }

    /// A compressed block acknowledgement (9.3.1.8.3) of the frames in `view`; 256 bits where 64 are too few.
    pub(super) fn block_ack(data_from: Address, data_to: Address, view: &ExchangeView<'_>) -> Self {
        let first = view.mpdus().next().map_or(0, |mpdu| mpdu.sequence);
        let last = view.mpdus().last().map_or(0, |mpdu| mpdu.sequence);
        let long = last.saturating_sub(first) >= 64;
        let mut body = Vec::with_capacity(36);
        let control = 0x0004_u16 | u16::from(identifier(view)) << 12;
        body.extend(control.to_le_bytes());
        // Fragment number 4 announces 256 bits.
        body.extend((((first & 0xfff) as u16) << 4 | if long { 4 } else { 0 }).to_le_bytes());
        let begin = body.len();
        body.resize(begin + if long { 32 } else { 8 }, 0);
        for mpdu in view.mpdus().filter(|mpdu| mpdu.acknowledged) {
            let bit = (mpdu.sequence - first) as usize;
            if let Some(byte) = body.get_mut(begin + bit / 8) {
                *byte |= 1 << (bit % 8);
            }
        }
        let length = if long { BLOCK_ACK_256 } else { BLOCK_ACK };
        Self::control(0x94, Span::ZERO, &[data_from, data_to], &body, length)
    }

    fn control(kind: u8, remaining: Span, addresses: &[Address], body: &[u8], length: ByteCount) -> Self {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend([kind, 0]);
        bytes.extend(duration(remaining));
        bytes.extend(addresses.iter().flatten());
        bytes.extend(body);
        let check = fcs(&bytes);
        bytes.extend(check.to_le_bytes());
        debug_assert_eq!(bytes.len() as u64, length.as_u64());
        Self { bytes, length }
    }

    /// An MPDU with data. Without an acknowledgement it ends four octets behind its MAC header.
    pub(super) fn data(
        names: &Names,
        (connections, contents): (&Connections, &Contents),
        view: &ExchangeView<'_>,
        mpdu: &MpduView,
        (from, to): (Address, Address),
        remaining: Span,
    ) -> Self {
        // A relay is the access point of those below it; a neighbour's receiver is nobody's.
        let downwards = view.is_downlink() || view.transmitter() == view.receiver();
        // What is left are MAC header and encryption.
        let header = mpdu.size - mpdu.packet.size() - LLC_SNAP - FCS;
        let qos = header != DATA_HEADER && header != DATA_HEADER + CCMP;
        let retry = if mpdu.packet.first_transmission == view.start() { 0 } else { RETRY };
        let control = [if qos { 0x88 } else { 0x08 }, way(downwards) | retry];
        let mut bytes = header_of(control, remaining, (from, to), (mpdu.sequence & 0xfff) as u16);
        if qos {
            bytes.extend([identifier(view), 0]);
        }
        let header = if qos { QOS_DATA_HEADER } else { DATA_HEADER };
        let length = mpdu.packet.size() + LLC_SNAP + header + FCS;
        if !mpdu.acknowledged {
            bytes.extend(&IPV4[..SPARE]);
            return Self { bytes, length };
        }
        bytes.extend(IPV4);
        let begin = bytes.len();
        if contents.append(&mpdu.packet, &mut bytes) {
            let ethertype = ethertype(bytes.get(begin));
            bytes[begin - 2..begin].copy_from_slice(&ethertype.to_be_bytes());
            let check = fcs(&bytes);
            bytes.extend(check.to_le_bytes());
            Self { bytes, length }
        } else {
            network(&mut bytes, names, connections, &mpdu.packet, mpdu.station, downwards);
            Self::cut(bytes, length)
        }
    }

    /// A frame of `length` from its headers: four octets of its content follow, or all of it and the FCS if there is no more.
    fn cut(mut headers: Vec<u8>, length: ByteCount) -> Self {
        let whole = usize::try_from((length - FCS).as_u64()).unwrap_or(usize::MAX);
        let kept = whole.min(headers.len() + SPARE);
        headers.resize(kept, 0);
        if kept == whole {
            let check = fcs(&headers);
            headers.extend(check.to_le_bytes());
        }
        Self { bytes: headers, length }
    }

    /// SYN of the station and SYN-ACK of the server, which open the connection of a segment.
    pub(super) fn handshake(
        names: &Names,
        connections: &Connections,
        view: &ExchangeView<'_>,
        mpdu: &MpduView,
    ) -> [Self; 2] {
        let (from, to) = names.ends(view);
        let is_downwards = view.is_downlink() || view.transmitter() == view.receiver();
        let (access_point, station) = if is_downwards { (from, to) } else { (to, from) };
        let one = |downwards: bool, ends: (Address, Address), flags: u8| {
            let mut bytes = header_of([0x08, way(downwards)], Span::ZERO, ends, 0);
            bytes.extend(IPV4);
            let begin = bytes.len();
            // Headers with the options of a handshake: 40 B.
            internet(&mut bytes, Head::of(&mpdu.packet, 60, TCP), mpdu.station, downwards);
            let numbers = connections.numbers(&mpdu.packet);
            ports(&mut bytes, numbers.server_port, names.port(mpdu.packet.flow.0 as usize), downwards);
            let acknowledged = u32::from(flags & connections::ACK != 0);
            bytes.extend(0_u32.to_be_bytes());
            bytes.extend(acknowledged.to_be_bytes());
            bytes.extend([0xa0, flags, 0xff, 0xff, 0, 0, 0, 0]);
            // Segment size, selective acknowledgements permitted, timestamps, no operation, window scale.
            bytes.extend([2, 4]);
            bytes.extend(MSS.to_be_bytes());
            bytes.extend([4, 2, 8, 10]);
            bytes.extend(milliseconds(&mpdu.packet).to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend([1, 3, 3, WINDOW_SCALE]);
            let length = ByteCount::new((bytes.len() - begin) as u64) + LLC_SNAP + DATA_HEADER + FCS;
            Self::cut(bytes, length)
        };
        [
            one(false, (station, access_point), connections::SYN),
            one(true, (access_point, station), connections::SYN | connections::ACK),
        ]
    }
}

/// Appends the header of IPv4 and the ports of a dropped packet, of UDP its whole header.
pub(super) fn dropped(bytes: &mut Vec<u8>, names: &Names, row: &PacketRow, number: u64) {
    let Some(way) = names.ways.get(row.flow as usize) else { return };
    let begin = bytes.len();
    let size = u16::try_from(row.size.as_u64()).unwrap_or(u16::MAX);
    let head = Head { size, number: number as u16, category: row.category, protocol: way.protocol };
    internet(bytes, head, row.station, way.downwards);
    ports(bytes, SERVER_PORT, names.port(row.flow as usize), way.downwards);
    if way.protocol == UDP {
        bytes.extend(size.saturating_sub(20).to_be_bytes());
        bytes.extend([0, 0]);
    }
    bytes.truncate(begin + usize::from(size));
}

/// LLC/SNAP of IPv4 (RFC 1042).
const IPV4: [u8; 8] = [0xaa, 0xaa, 0x03, 0, 0, 0, 0x08, 0x00];

const fn way(downwards: bool) -> u8 {
    if downwards { FROM_ACCESS_POINT } else { TO_ACCESS_POINT }
}

/// A MAC header of data: receiver, transmitter, and the far end behind the access point.
fn header_of(control: [u8; 2], remaining: Span, (from, to): (Address, Address), sequence: u16) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    bytes.extend(control);
    bytes.extend(duration(remaining));
    bytes.extend(to);
    bytes.extend(from);
    bytes.extend(SERVER);
    bytes.extend((sequence << 4).to_le_bytes());
    bytes
}

/// The traffic identifier: each category has two (802.11-2020, table 10-1).
fn identifier(view: &ExchangeView<'_>) -> u8 {
    match (view.category(), view.alternate()) {
        (Category::Bk, false) => 1,
        (Category::Bk, true) => 2,
        (Category::Be, false) => 0,
        (Category::Be, true) => 3,
        (Category::Vi, false) => 5,
        (Category::Vi, true) => 4,
        (Category::Vo, false) => 6,
        (Category::Vo, true) => 7,
    }
}

/// The duration field: microseconds, rounded up, at most 32767.
fn duration(remaining: Span) -> [u8; 2] {
    (remaining.as_nanos().div_ceil(1000).min(32_767) as u16).to_le_bytes()
}

/// The headers of IPv4 and UDP or TCP, as far as they fit in the packet.
fn network(
    bytes: &mut Vec<u8>,
    names: &Names,
    connections: &Connections,
    packet: &Packet,
    station: u16,
    downwards: bool,
) {
    let begin = bytes.len();
    let size = u16::try_from(packet.size().as_u64()).unwrap_or(u16::MAX);
    match packet.kind {
        Kind::Datagram | Kind::Capable | Kind::Marked | Kind::Media | Kind::Feedback | Kind::Foretold => {
            internet(bytes, Head::of(packet, size, UDP), station, downwards);
            ports(bytes, SERVER_PORT, names.port(packet.flow.0 as usize), downwards);
            bytes.extend(size.saturating_sub(20).to_be_bytes());
            // No checksum.
            bytes.extend([0, 0]);
        }
        Kind::Segment | Kind::Acknowledgement => {
            let numbers = connections.numbers(packet);
            internet(bytes, Head::of(packet, size, TCP), station, downwards);
            ports(bytes, numbers.server_port, names.port(packet.flow.0 as usize), downwards);
            transport(bytes, packet, &numbers);
        }
    }
    bytes.truncate(begin + usize::from(size));
}

/// Fields of an IPv4 header.
struct Head {
    size: u16,
    /// The packet's number in its flow.
    number: u16,
    /// Access category: 0 background, 1 best effort, 2 video, 3 voice.
    category: u8,
    protocol: u8,
}

impl Head {
    const fn of(packet: &Packet, size: u16, protocol: u8) -> Self {
        let category = match packet.category {
            Category::Bk => 0,
            Category::Be => 1,
            Category::Vi => 2,
            Category::Vo => 3,
        };
        Self { size, number: packet.number as u16, category, protocol }
    }
}

/// The header of IPv4; the class is the code point of the category.
fn internet(bytes: &mut Vec<u8>, head: Head, station: u16, downwards: bool) {
    let begin = bytes.len();
    let [high, low] = station.to_be_bytes();
    let station = [10, 1, high, low];
    let server = [10, 0, 0, 1];
    let (source, destination) = if downwards { (server, station) } else { (station, server) };
    let class = match head.category {
        0 => 0x20,
        2 => 0xa0,
        3 => 0xb8,
        _ => 0,
    };
    bytes.extend([0x45, class]);
    bytes.extend(head.size.to_be_bytes());
    bytes.extend(head.number.to_be_bytes());
    // Not to be fragmented; TTL 64; the checksum follows.
    bytes.extend([0x40, 0, 64, head.protocol, 0, 0]);
    bytes.extend(source);
    bytes.extend(destination);
    let sum = checksum(&bytes[begin..]);
    bytes[begin + 10..begin + 12].copy_from_slice(&sum.to_be_bytes());
}

/// Source and destination port.
fn ports(bytes: &mut Vec<u8>, server: u16, own: u16, downwards: bool) {
    let (from, to) = if downwards { (server, own) } else { (own, server) };
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
}

/// The rest of a TCP header with the timestamp option. Data goes one way.
fn transport(bytes: &mut Vec<u8>, packet: &Packet, numbers: &Numbers) {
    bytes.extend(numbers.sequence.to_be_bytes());
    bytes.extend(numbers.acknowledged.to_be_bytes());
    // Eight words, window, checksum and urgent pointer not filled in.
    bytes.extend([0x80, numbers.flags, 0xff, 0xff, 0, 0, 0, 0]);
    bytes.extend([1, 1, 8, 10]);
    bytes.extend(milliseconds(packet).to_be_bytes());
    bytes.extend([0; 4]);
}

/// When a packet was sent, as a timestamp of TCP.
fn milliseconds(packet: &Packet) -> u32 {
    (packet.sent.as_nanos() / 1_000_000) as u32
}

/// The checksum of an IPv4 header (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 =
        header.chunks(2).map(|pair| pair.iter().fold(0, |word, byte| word << 8 | u32::from(*byte))).sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// The frame check sequence: the CRC of 802.11-2020, 9.2.4.8.
fn fcs(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests {
    use airbound_units::ByteCount;

    use super::{Frame, checksum, fcs};

    #[test]
    fn checksums_are_those_of_known_texts() {
        // The check value of this CRC, and the header of RFC 1071's customary example.
        assert_eq!(fcs(b"123456789"), 0xcbf4_3926);
        let header =
            [0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0, 0xc7];
        assert_eq!(checksum(&header), 0xb861);
    }

    #[test]
    fn a_cut_frame_has_four_octets_more_than_its_headers() {
        let cut = |length| Frame::cut(vec![7; 60], ByteCount::new(length)).bytes;
        assert_eq!(cut(1000), [&[7; 60][..], &[0; 4]].concat());
        // With at most four octets of payload it is whole, FCS included.
        for payload in 0..=4 {
            let bytes = cut(64 + payload);
            let (content, check) = bytes.split_at(bytes.len() - 4);
            assert_eq!(content, [vec![7; 60], vec![0; payload as usize]].concat());
            assert_eq!(check, fcs(content).to_le_bytes());
        }
    }
}
