//! Packets made of parts (tags, options, extension headers, fragments, super-packets, truncation) are read as they were written.
//!
//! The fuzzer's bytes choose the parts, so that each input is a packet or nearly one; a model says what has to be read.

use std::hash::RandomState;

use airbound_linux::packet::{Frame, Headers, PriorityMap, protocol};

/// The fuzzer's bytes, one after the other; zeroes at their end.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    fn below(&mut self, end: u8) -> usize {
        usize::from(self.byte() % end)
    }
}

/// The fields that have to be read of a packet.
#[derive(Debug, Default)]
struct Model {
    protocol: u8,
    dscp: u8,
    is_fragment: bool,
    /// Whether it is not the first one.
    is_later: bool,
    /// The offset of the transport.
    transport: usize,
    ports: Option<(u16, u16)>,
    is_bare_ack: bool,
    length: usize,
    /// Bytes without which nothing can be read.
    least: usize,
    /// Bytes that say where the transport begins; without them it is looked for too early.
    chain: usize,
}

const TRANSPORTS: [u8; 8] = [
    protocol::TCP,
    protocol::UDP,
    protocol::DCCP,
    protocol::SCTP,
    protocol::UDP_LITE,
    protocol::ICMP,
    protocol::ICMPV6,
    protocol::ESP,
];

/// Extension headers of IPv6: hop by hop, routing, fragment, authentication, destination options.
const EXTENSIONS: [u8; 5] = [0, 43, 44, 51, 60];
/// Longest chain of extension headers that is followed.
const MOST_EXTENSIONS: usize = 8;

/// Writes a transport header and some data. Returns the length of the header for TCP and UDP.
fn write_transport(choices: &mut Choices<'_>, protocol: u8, packet: &mut Vec<u8>, model: &mut Model) {
    let (source, destination) = (choices.word(), choices.word());
    let words = 5 + choices.below(11);
    let data = choices.below(40);
    let mut transport = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    let header = match protocol {
        protocol::TCP => {
            transport.resize(12, 0);
            transport.push((words as u8) << 4);
            words * 4
        }
        _ => 8,
    };
    transport.resize(header, 0xee);
    transport.resize(header + data, 0xdd);
    let has_ports = TRANSPORTS[..5].contains(&protocol) && !model.is_later;
    model.ports = has_ports.then_some((source, destination));
    let is_whole = has_ports && !model.is_fragment;
    model.is_bare_ack = is_whole && protocol == protocol::TCP && data == 0;
    let counted = is_whole && matches!(protocol, protocol::TCP | protocol::UDP);
    model.length = model.transport + if counted { header } else { 0 };
    packet.extend_from_slice(&transport);
}

fn write_v4(choices: &mut Choices<'_>, is_super: bool, packet: &mut Vec<u8>) -> Model {
    let (service, options) = (choices.byte(), choices.below(11));
    let fragment = if choices.byte().is_multiple_of(4) { choices.word() } else { 0x4000 };
    let protocol = TRANSPORTS[choices.below(8)];
    let header = 20 + options * 4;
    let mut model = Model {
        protocol,
        dscp: service >> 2,
        // "More fragments", or an offset (RFC 791).
        is_fragment: fragment & 0x3fff != 0,
        is_later: fragment & 0x1fff != 0,
        transport: header,
        least: 20,
        chain: header,
        ..Model::default()
    };
    packet.extend_from_slice(&[0x40 | (header / 4) as u8, service, 0, 0, 0, 0]);
    packet.extend_from_slice(&fragment.to_be_bytes());
    packet.extend_from_slice(&[64, protocol, 0, 0, 10, 1, 0, 2, 10, 0, 0, 11]);
    packet.resize(header, 1);
    write_transport(choices, protocol, packet, &mut model);
    // A super-packet beyond 64 KiB has no total length (BIG TCP).
    let total = if is_super { 0 } else { packet.len() as u16 };
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    model.is_bare_ack &= !is_super;
    model
}

fn write_v6(choices: &mut Choices<'_>, is_super: bool, packet: &mut Vec<u8>) -> Model {
    let service = choices.byte();
    let count = choices.below(MOST_EXTENSIONS as u8 + 2);
    let mut kinds: Vec<u8> = (0..count).map(|_| EXTENSIONS[choices.below(5)]).collect();
    let protocol = TRANSPORTS[choices.below(8)];
    kinds.push(protocol);
    packet.extend_from_slice(&[0x60 | service >> 4, service << 4, 0, 0, 0, 0, kinds[0], 64]);
    packet.extend_from_slice(&[0xfd; 16]);
    packet.extend_from_slice(&[0xfe; 16]);
    let mut model = Model { dscp: service >> 2, transport: 40, least: 40, chain: 40, ..Model::default() };
    for (place, two) in kinds.windows(2).enumerate() {
        let units = choices.byte() % 4;
        let length = match two[0] {
            44 => 8,
            51 => (usize::from(units) + 2) * 4,
            _ => (usize::from(units) + 1) * 8,
        };
        let end = packet.len() + length;
        packet.extend_from_slice(&[two[1], units]);
        packet.resize(end, 0);
        if place < MOST_EXTENSIONS {
            model.is_fragment |= two[0] == 44;
            model.transport = end;
            model.chain = end;
        }
    }
    model.protocol = kinds[count.min(MOST_EXTENSIONS)];
    if count <= MOST_EXTENSIONS {
        write_transport(choices, protocol, packet, &mut model);
    } else {
        // What is behind a longer chain is not looked at.
        model.length = model.transport;
    }
    let payload = if is_super { 0 } else { (packet.len() - 40) as u16 };
    packet[4..6].copy_from_slice(&payload.to_be_bytes());
    model.is_bare_ack &= !is_super;
    model
}

fn check_packet(packet: &[u8], model: &Model, whole: usize) {
    let read = Headers::read(packet);
    if packet.len() < model.least {
        assert_eq!(read, None, "{model:?}");
        return;
    }
    let headers = read.unwrap_or_else(|| panic!("not read: {packet:02x?} {model:?}"));
    assert_eq!(headers.dscp, model.dscp);
    assert!(headers.ports.is_none() || headers.fragment.is_none_or(|fragment| fragment.is_first));
    // The order of segments is decided by it, so it must not depend on random keys.
    let keys = RandomState::new();
    assert_eq!(headers.flow_hash(&keys), headers.flow_hash(&keys));
    if packet.len() < model.chain {
        return;
    }
    assert_eq!(
        (headers.protocol, headers.fragment.is_some()),
        (model.protocol, model.is_fragment),
        "{model:?}"
    );
    assert_eq!(headers.ports, model.ports.filter(|_| packet.len() >= model.transport + 4), "{model:?}");
    // What of TCP's header is read.
    if packet.len() >= (model.transport + 13).min(whole) {
        assert_eq!((headers.length, headers.is_bare_ack), (model.length, model.is_bare_ack), "{model:?}");
    }
}

/// Writes the packet that the bytes choose, as a router or a bridge sees it, and reads it.
fn check(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let (tags, is_super) = (choices.below(4), choices.byte() % 4 == 0);
    let mut ip = Vec::new();
    let is_v4 = choices.byte() % 2 == 0;
    let write = if is_v4 { write_v4 } else { write_v6 };
    let model = write(&mut choices, is_super, &mut ip);
    let whole = ip.len();
    // The kernel copies the first 96 bytes; anything may be missing.
    for end in [whole, whole.min(96), choices.below(200).min(whole)] {
        check_packet(&ip[..end], &model, whole);
    }
    let mut frame = vec![2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 2, 0];
    let mut outer = None;
    for _ in 0..tags {
        let control = choices.word();
        outer = outer.or(Some(control));
        frame.extend_from_slice(&[[0x81, 0x00], [0x88, 0xa8]][choices.below(2)]);
        frame.extend_from_slice(&control.to_be_bytes());
    }
    frame.extend_from_slice(if is_v4 { &[0x08, 0x00] } else { &[0x86, 0xdd] });
    let header = frame.len();
    frame.extend_from_slice(&ip);
    let read = Frame::read(&frame).expect("a whole header");
    assert_eq!(read.vlan, outer);
    match tags {
        0..=2 => {
            assert_eq!(read.payload, ip);
            assert_eq!(read.headers(), Headers::read(&ip));
        }
        // A third tag is not looked into, so the packet is passed.
        _ => assert_eq!(read.headers(), None),
    }
    let end = choices.below(40).min(frame.len());
    assert_eq!(Frame::read(&frame[..end]).is_some(), end >= header.min(22), "{end} of {header}");
    for map in [PriorityMap::Precedence, PriorityMap::Rfc8325Early, PriorityMap::Rfc8325] {
        let priority = map.user_priority(0, read.vlan, Some(model.dscp));
        assert!(priority < 8);
        if let Some(control) = read.vlan.filter(|control| control >> 13 != 0) {
            assert_eq!(u16::from(priority), control >> 13);
        }
    }
}

#[test]
fn packets_are_read_as_they_were_written() {
    airbound_corpus::check!([u8], 20_000, check);
}
