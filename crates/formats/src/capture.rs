//! Captures (pcap, pcapng): the packets of conversations, by direction.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use etherparse::err::Layer;
use etherparse::{IpNumber, LaxNetSlice, LaxSlicedPacket};
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError};

use super::{Content, FormatError, Measured};

/// The most conversations that are looked at.
const MOST_CONVERSATIONS: usize = 10_000;
/// The most packets.
const MOST_PACKETS: usize = 5_000_000;
/// Packets of a conversation below which it is none.
const FEW: usize = 10;
/// Bytes of a frame that hold its ports: link header of up to 22 (with two VLAN tags), IPv4 of up to 60 or IPv6 with an extension, ports of 4.
const ENOUGH: u32 = 96;

/// One end of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// The transport protocol of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

/// Packets between two ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// Its protocol.
    pub transport: Transport,
    /// The end whose packets are the first of `packets`, and the other.
    pub ends: [End; 2],
    /// By the end that sent them: time in s after the first packet of the capture, and length of the IP packet.
    pub packets: [Packets; 2],
}

/// Times in s and lengths in bytes.
type Packets = Vec<(f64, u32)>;

impl Conversation {
    /// Bytes of both directions.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.packets.iter().flatten().map(|(_, size)| u64::from(*size)).sum()
    }
}

pub(super) fn is_capture(bytes: &[u8]) -> bool {
    let magic = bytes.first_chunk::<4>().copied().unwrap_or_default();
    let pcap = [0xa1b2_c3d4, 0xa1b2_3c4d];
    magic == [0x0a, 0x0d, 0x0d, 0x0a]
        || pcap.contains(&u32::from_be_bytes(magic))
        || pcap.contains(&u32::from_le_bytes(magic))
}

/// The interface of a packet: its type of link, and what is needed for its times.
#[derive(Clone, Copy)]
struct Interface {
    linktype: Linktype,
    /// Units of time in a second, and offset in s.
    resolution: u64,
    offset: i64,
}

#[derive(Default)]
struct Found {
    conversations: BTreeMap<(Transport, [End; 2]), [Packets; 2]>,
    packets: usize,
    /// Packets of the file so far, and those that were cut before their ports: how many, the first one's number and bytes.
    seen: usize,
    cut: usize,
    first_cut: Option<(usize, usize)>,
    /// Time of the file's first packet in s, and how much earlier one behind it was, since several interfaces may stand out of order.
    begin: Option<f64>,
    earlier: f64,
    /// A type of link that no packet could be read of.
    unknown: Option<Linktype>,
}

pub(super) fn read(bytes: &[u8]) -> Result<Measured, FormatError> {
    let damaged = |error: &PcapError<&[u8]>| FormatError::new(format!("the capture is damaged: {error}"));
    // Room for the whole file: nothing is read in pieces, and no block is too long.
    let mut reader =
        pcap_parser::create_reader(bytes.len() + 1024, bytes).map_err(|error| damaged(&error))?;
    let (mut found, mut interfaces) = (Found::default(), Vec::new());
    let mut tool = "a capture (pcap)";
    loop {
        match reader.next() {
            Ok((length, block)) => {
                if matches!(block, PcapBlockOwned::NG(_)) {
                    tool = "a capture (pcapng)";
                }
                found.on_block(&block, &mut interfaces)?;
                reader.consume(length);
            }
            // A capture that was cut off counts as far as it goes.
            Err(PcapError::Eof | PcapError::UnexpectedEof) => break,
            Err(PcapError::Incomplete(_) | PcapError::BufferTooSmall) => {
                // There is always room left, so that a second time ends with one of the above.
                if reader.refill().is_err() {
                    break;
                }
            }
            Err(error) => return Err(damaged(&error)),
        }
    }
    found.measured(tool)
}

impl Found {
    fn on_block(
        &mut self,
        block: &PcapBlockOwned<'_>,
        interfaces: &mut Vec<Interface>,
    ) -> Result<(), FormatError> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
                // The upper half of the field says whether frames end with a checksum, and how long it is.
                let linktype = Linktype(header.network.0 & 0xffff);
                interfaces.push(Interface { linktype, resolution, offset: 0 });
            }
            PcapBlockOwned::Legacy(packet) => {
                let Some(interface) = interfaces.last().copied() else { return Ok(()) };
                let fraction = f64::from(packet.ts_usec) / interface.resolution as f64;
                let at = f64::from(packet.ts_sec) + fraction;
                self.on_packet(interface.linktype, at, packet.data, packet.origlen)?;
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => interfaces.clear(),
            PcapBlockOwned::NG(Block::InterfaceDescription(description)) => {
                let resolution = description.ts_resolution().unwrap_or(1_000_000).max(1);
                let interface =
                    Interface { linktype: description.linktype, resolution, offset: description.if_tsoffset };
                interfaces.push(interface);
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let Some(interface) = interfaces.get(packet.if_id as usize).copied() else { return Ok(()) };
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let at = ticks as f64 / interface.resolution as f64 + interface.offset as f64;
                let whole = packet.data.get(..packet.caplen as usize).unwrap_or(packet.data);
                self.on_packet(interface.linktype, at, whole, packet.origlen)?;
            }
            PcapBlockOwned::NG(_) => {}
        }
        Ok(())
    }

    /// Counts a packet, of which `data` was captured and `original` bytes were on the link.
    fn on_packet(
        &mut self,
        linktype: Linktype,
        at: f64,
        data: &[u8],
        original: u32,
    ) -> Result<(), FormatError> {
        self.seen += 1;
        let Ok(packet) = sliced(linktype, data) else {
            self.unknown = Some(linktype);
            return Ok(());
        };
        let Some((ends, transport, length)) = packet.as_ref().and_then(|packet| ends(packet, data, original))
        else {
            if data.len() < original as usize && packet.as_ref().is_none_or(lacks_ports) {
                self.cut += 1;
                self.first_cut.get_or_insert((self.seen, data.len()));
            }
            return Ok(());
        };
        self.packets += 1;
        if self.packets > MOST_PACKETS {
            return Err(FormatError::new(format!("there are more than {MOST_PACKETS} packets")));
        }
        let since = at - *self.begin.get_or_insert(at);
        self.earlier = self.earlier.max(-since);
        let mut ordered = ends;
        ordered.sort_unstable();
        let key = (transport, ordered);
        if self.conversations.len() < MOST_CONVERSATIONS || self.conversations.contains_key(&key) {
            let sent = self.conversations.entry(key).or_default();
            sent[usize::from(ends != ordered)].push((since, length));
        }
        Ok(())
    }

    fn measured(self, tool: &str) -> Result<Measured, FormatError> {
        let mut conversations: Vec<Conversation> = self
            .conversations
            .into_iter()
            .map(|((transport, ends), mut packets)| {
                for sent in &mut packets {
                    sent.iter_mut().for_each(|packet| packet.0 += self.earlier);
                    sent.sort_by(|one, other| one.0.total_cmp(&other.0));
                }
                Conversation { transport, ends, packets }
            })
            .filter(|one| one.packets.iter().map(Vec::len).sum::<usize>() >= FEW)
            .collect();
        conversations.sort_by_key(|one| std::cmp::Reverse(one.bytes()));
        if let (true, Some(Linktype(number))) = (conversations.is_empty(), self.unknown) {
            let wifi = [105, 119, 127, 163].contains(&number);
            let why = if wifi {
                "it holds 802.11 frames of a monitor interface, whose payload is encrypted; capture on the station's own interface"
            } else {
                "allowed are Ethernet, raw IP, loopback and Linux's cooked captures"
            };
            return Err(FormatError::new(format!("its type of link is {number}; {why}")));
        }
        if let (true, Some((number, bytes))) = (conversations.is_empty(), self.first_cut) {
            return Err(FormatError::new(format!(
                "packet {number} was cut to {bytes} bytes, before its ports, as were {} of {} packets; \
                 a snaplen of {ENOUGH} bytes is enough (tcpdump -s {ENOUGH})",
                self.cut, self.seen
            )));
        }
        if conversations.is_empty() {
            return Err(FormatError::new(format!(
                "there is no conversation over UDP or TCP of {FEW} packets"
            )));
        }
        let left_out = self.first_cut.map(|(number, bytes)| {
            format!(
                "left out: {} packets cut before their ports, the first is packet {number} with {bytes} bytes \
                 (a snaplen of {ENOUGH} is enough)",
                self.cut
            )
        });
        Ok(Measured { tool: tool.to_owned(), content: Content::Packets(conversations), left_out })
    }
}

/// Cuts a packet into its headers; an error means that the type of link is unknown.
fn sliced(linktype: Linktype, data: &[u8]) -> Result<Option<LaxSlicedPacket<'_>>, ()> {
    let from_ip = |skipped: usize| data.get(skipped..).and_then(|ip| LaxSlicedPacket::from_ip(ip).ok());
    Ok(match linktype {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok(),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | Linktype(12) => from_ip(0),
        Linktype::NULL | Linktype::LOOP => from_ip(4),
        Linktype::LINUX_SLL => from_ip(16),
        Linktype::LINUX_SLL2 => from_ip(20),
        _ => return Err(()),
    })
}

/// Source and destination, protocol, and length of the IP packet.
fn ends(packet: &LaxSlicedPacket<'_>, data: &[u8], original: u32) -> Option<([End; 2], Transport, u32)> {
    // A packet that the card is still to cut has no length of its own, but that of its frame.
    let or_frame = |length: u32, ip: &[u8]| {
        let before_ip = ip.as_ptr().addr().saturating_sub(data.as_ptr().addr());
        if length == 0 { original.saturating_sub(before_ip as u32) } else { length }
    };
    let (source, destination, length) = match packet.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let addresses =
                [header.source(), header.destination()].map(|bytes| IpAddr::V4(Ipv4Addr::from(bytes)));
            (addresses[0], addresses[1], or_frame(u32::from(header.total_len()), header.slice()))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let addresses =
                [header.source(), header.destination()].map(|bytes| IpAddr::V6(Ipv6Addr::from(bytes)));
            let length = match header.payload_length() {
                0 => 0,
                payload => u32::from(payload) + 40,
            };
            (addresses[0], addresses[1], or_frame(length, header.slice()))
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let payload = packet.ip_payload().filter(|payload| !payload.fragmented)?;
    let transport = match payload.ip_number {
        IpNumber::UDP => Transport::Udp,
        IpNumber::TCP => Transport::Tcp,
        _ => return None,
    };
    // Both headers begin with the ports: what is behind them may be cut.
    let [from, to] = [0, 2].map(|place| {
        let bytes = payload.payload.get(place..)?.first_chunk::<2>()?;
        Some(u16::from_be_bytes(*bytes))
    });
    let (from, to) = (from?, to?);
    let ends = [End { address: source, port: from }, End { address: destination, port: to }];
    Some((ends, transport, length))
}

/// Whether a packet without ports would have some, had it been captured whole.
fn lacks_ports(packet: &LaxSlicedPacket<'_>) -> bool {
    let layer = packet.stop_err.as_ref().map(|(_, layer)| layer);
    layer.is_some_and(|layer| !matches!(layer, Layer::Arp | Layer::Icmpv4 | Layer::Icmpv6 | Layer::Igmp))
}
