//! Parsing of packet headers: addresses, flow, access category. Pure.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use airbound_wifi::edca::Category;

/// EtherTypes (IEEE registry).
mod ethertype {
    pub(super) const IPV4: u16 = 0x0800;
    pub(super) const IPV6: u16 = 0x86dd;
    pub(super) const VLAN: u16 = 0x8100;
    pub(super) const PROVIDER_VLAN: u16 = 0x88a8;
}

/// Protocol numbers (IANA).
pub mod protocol {
    /// Internet Control Message Protocol.
    pub const ICMP: u8 = 1;
    /// Transmission Control Protocol.
    pub const TCP: u8 = 6;
    /// User Datagram Protocol.
    pub const UDP: u8 = 17;
    /// Datagram Congestion Control Protocol.
    pub const DCCP: u8 = 33;
    /// Encapsulating Security Payload.
    pub const ESP: u8 = 50;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// Stream Control Transmission Protocol.
    pub const SCTP: u8 = 132;
    /// Lightweight UDP.
    pub const UDP_LITE: u8 = 136;
}

/// IPv6 extension headers that may precede the transport header (RFC 8200 section 4.1).
mod extension {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const DESTINATION: u8 = 60;
    /// Limit of the chain of headers; the ports behind a longer chain are not read.
    pub(super) const MOST: usize = 8;
}

/// A part of a datagram that was larger than a link carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Number that all fragments of the datagram share; of IPv4 16 bits.
    pub identification: u32,
    /// Whether it is the first one, which has the transport's header.
    pub is_first: bool,
}

/// The fields of an IP packet's headers that classification uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// The transport's protocol number.
    pub protocol: u8,
    /// Differentiated services code point (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// Explicit congestion notification (RFC 3168), 0 to 3.
    pub ecn: u8,
    /// Source and destination port; `None` for protocols without ports and for later fragments, unless
    /// [`Fragments`](crate::fragments::Fragments) knows the first one.
    pub ports: Option<(u16, u16)>,
    /// Set if it is a fragment.
    pub fragment: Option<Fragment>,
    /// Whether it is TCP without data, mostly an acknowledgement; `false` if the total length is unknown (super-packets).
    pub is_bare_ack: bool,
    /// Bytes of the IP header, its extensions and the transport's header, which each segment of a super-packet repeats; of other
    /// transports than TCP and UDP those up to the transport.
    pub length: usize,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

impl Headers {
    /// Reads an IPv4 or IPv6 header, by the version field; `None` for other packets and for truncated headers.
    #[must_use]
    pub fn read(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::read_v4(packet),
            6 => Self::read_v6(packet),
            _ => None,
        }
    }

    fn read_v4(packet: &[u8]) -> Option<Self> {
        let header = usize::from(packet[0] & 15) * 4;
        if header < 20 {
            return None;
        }
        let service = *packet.get(1)?;
        let total = usize::from(u16_at(packet, 2)?);
        let identification = u16_at(packet, 4)?;
        let fragment = u16_at(packet, 6)?;
        let source = Ipv4Addr::from(array::<4>(packet, 12)?);
        let destination = Ipv4Addr::from(array::<4>(packet, 16)?);
        // The flag "more fragments", or an offset (RFC 791).
        let fragment = (fragment & 0x3fff != 0)
            .then(|| Fragment { identification: identification.into(), is_first: fragment & 0x1fff == 0 });
        Some(
            Self {
                source: source.into(),
                destination: destination.into(),
                protocol: packet[9],
                dscp: service >> 2,
                ecn: service & 3,
                ports: None,
                fragment,
                is_bare_ack: false,
                length: header,
            }
            .with_transport(packet.get(header..).unwrap_or_default(), total.checked_sub(header)),
        )
    }

    fn read_v6(packet: &[u8]) -> Option<Self> {
        let service = (u16_at(packet, 0)? >> 4) as u8;
        let payload = usize::from(u16_at(packet, 4)?);
        let source = Ipv6Addr::from(array::<16>(packet, 8)?);
        let destination = Ipv6Addr::from(array::<16>(packet, 24)?);
        let mut next = *packet.get(6)?;
        let mut at = 40usize;
        let mut fragment = None;
        for _ in 0..extension::MOST {
            let length = match next {
                extension::FRAGMENT => {
                    let (Some(word), Some(number)) = (u16_at(packet, at + 2), array::<4>(packet, at + 4))
                    else {
                        break;
                    };
                    let identification = u32::from_be_bytes(number);
                    let one = Fragment { identification, is_first: word >> 3 == 0 };
                    fragment = fragment.or(Some(one));
                    8
                }
                extension::HOP_BY_HOP | extension::ROUTING | extension::DESTINATION => {
                    let Some(units) = packet.get(at + 1) else { break };
                    (usize::from(*units) + 1) * 8
                }
                // The length is in 32-bit words less two (RFC 4302 section 2.2).
                extension::AUTHENTICATION => {
                    let Some(words) = packet.get(at + 1) else { break };
                    (usize::from(*words) + 2) * 4
                }
                _ => break,
            };
            let Some(following) = packet.get(at) else { break };
            next = *following;
            at += length;
            if fragment.is_some_and(|fragment| !fragment.is_first) {
                // Data of the datagram follow.
                break;
            }
        }
        // Jumbograms and super-packets have a length of 0.
        let left = if payload == 0 { None } else { (payload + 40).checked_sub(at) };
        Some(
            Self {
                source: source.into(),
                destination: destination.into(),
                protocol: next,
                dscp: service >> 2,
                ecn: service & 3,
                ports: None,
                fragment,
                is_bare_ack: false,
                length: at,
            }
            .with_transport(packet.get(at..).unwrap_or_default(), left),
        )
    }

    /// Adds ports, and whether TCP carries data; `length` is that of transport header and data.
    fn with_transport(mut self, transport: &[u8], length: Option<usize>) -> Self {
        use protocol::{DCCP, SCTP, TCP, UDP, UDP_LITE};
        let is_later = self.fragment.is_some_and(|fragment| !fragment.is_first);
        if is_later || !matches!(self.protocol, TCP | UDP | DCCP | SCTP | UDP_LITE) {
            return self;
        }
        self.ports = u16_at(transport, 0).zip(u16_at(transport, 2));
        if self.fragment.is_some() {
            return self;
        }
        match (self.protocol, transport.get(12)) {
            (TCP, Some(offset)) => {
                let header = usize::from(offset >> 4) * 4;
                self.is_bare_ack = length == Some(header);
                self.length += header;
            }
            (UDP, _) => self.length += 8,
            _ => {}
        }
        self
    }

    /// A hash of the flow: SipHash over addresses, protocol and ports, with random keys, so that a remote host cannot choose addresses
    /// that collide. All later fragments of a protocol between a pair of hosts are one flow, unless their ports are known.
    #[must_use]
    pub fn flow_hash(&self, keys: &RandomState) -> u64 {
        keys.hash_one((self.source, self.destination, self.protocol, self.ports))
    }
}

/// Sets the code point of congestion experienced (RFC 3168, section 5) in an IP header, and its checksum in IPv4; nothing else is read.
pub fn mark_congestion(packet: &mut [u8]) {
    match packet {
        [first, service, _, _, _, _, _, _, _, _, sum_high, sum_low, ..] if *first >> 4 == 4 => {
            // HC' = ~(~HC + ~m + m'), of 16-bit words (RFC 1624, equation 3).
            let before = u16::from_be_bytes([*first, *service]);
            *service |= 3;
            let after = u16::from_be_bytes([*first, *service]);
            let sum = u16::from_be_bytes([*sum_high, *sum_low]);
            let wide = u32::from(!sum) + u32::from(!before) + u32::from(after);
            let folded = (wide & 0xffff) + (wide >> 16);
            let folded = ((folded & 0xffff) + (folded >> 16)) as u16;
            [*sum_high, *sum_low] = (!folded).to_be_bytes();
        }
        [first, second, ..] if *first >> 4 == 6 => *second |= 0x30,
        _ => {}
    }
}

/// The mapping of code points to user priorities that cfg80211 applies without a QoS map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriorityMap {
    /// The three upper bits of the code point: cfg80211 before 6.8.
    Precedence,
    /// The exceptions of RFC 8325 section 4 without AF31 to AF33, which are 3: from 6.8 on (commit 6fdb8b8781d5).
    Rfc8325Early,
    /// All exceptions of RFC 8325 section 4: 6.12 and newer, 6.11.2 and 6.10.13 (commit a68b22e2905b).
    Rfc8325,
}

impl PriorityMap {
    /// The mapping of the loaded cfg80211, by the version of Linux that it was taken from: that of the kernel, or, of backported modules
    /// (OpenWrt), the one that they state under `/sys/module`.
    #[must_use]
    pub fn of_cfg80211(kernel: &str) -> Self {
        let states = ["cfg80211/version", "compat/parameters/backported_kernel_version"];
        let stated = states.map(|file| std::fs::read_to_string(format!("/sys/module/{file}")).ok());
        Self::of_modules(kernel, stated.each_ref().map(Option::as_deref))
    }

    /// The mapping by the kernel's release, and by what the modules state of their origin: "backported from Linux (v6.12.96-0-g1234) using
    /// backports …" or "v6.12.96-0-g1234". A text without a version, such as that of a git tree, says nothing.
    fn of_modules(kernel: &str, stated: [Option<&str>; 2]) -> Self {
        let origin = stated.into_iter().flatten().find_map(|text| {
            let from = text.split([' ', '(', ')', '\n']).find_map(|word| word.strip_prefix('v'))?;
            from.starts_with(|first: char| first.is_ascii_digit()).then_some(from)
        });
        Self::of_release(origin.unwrap_or(kernel))
    }

    /// The mapping of a release of Linux, such as "6.12.95+deb12-amd64".
    #[must_use]
    pub fn of_release(release: &str) -> Self {
        let mut numbers =
            release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        match (next(), next(), next()) {
            (6, 8 | 9, _) | (6, 10, 0..=12) | (6, 11, 0 | 1) => Self::Rfc8325Early,
            version if version >= (6, 10, 13) => Self::Rfc8325,
            _ => Self::Precedence,
        }
    }

    /// The user priority (TID 0 to 7) that mac80211 assigns to a packet: `priority` is `skb->priority`, `vlan` the tag control information
    /// (cfg80211_classify8021d in net/wireless/util.c).
    #[must_use]
    pub const fn user_priority(self, priority: u32, vlan: Option<u16>, dscp: Option<u8>) -> u8 {
        // Set by the sending program or a firewall rule.
        if priority >= 256 && priority <= 263 {
            return (priority - 256) as u8;
        }
        if let Some(tag) = vlan {
            let code_point = (tag >> 13) as u8;
            if code_point != 0 {
                return code_point;
            }
        }
        match (dscp, self) {
            (None, _) => 0,
            (Some(dscp), Self::Precedence) => (dscp >> 3) & 7,
            (Some(26 | 28 | 30), Self::Rfc8325Early) => 3,
            (Some(dscp), Self::Rfc8325Early | Self::Rfc8325) => match dscp & 63 {
                // AF11-13, CS2: high throughput, administration.
                10 | 12 | 14 | 16 => 0,
                // AF21-23: low latency.
                18 | 20 | 22 => 3,
                // CS3, AF31-33: broadcast and streaming.
                24 | 26 | 28 | 30 => 4,
                // VA, EF: telephony.
                44 | 46 => 6,
                // CS6: network control.
                48 => 7,
                other => other >> 3,
            },
        }
    }

    /// The access category of a packet; see [`Self::user_priority`].
    #[must_use]
    pub const fn category(self, priority: u32, vlan: Option<u16>, dscp: Option<u8>) -> Category {
        Category::of_user_priority(self.user_priority(priority, vlan, dscp))
    }
}

/// A bridged frame: the fields of its header, and its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Destination address.
    pub destination: crate::MacAddress,
    /// Source address.
    pub source: crate::MacAddress,
    /// The outer tag's control information, if it is tagged.
    pub vlan: Option<u16>,
    /// EtherType after all tags.
    pub ethertype: u16,
    /// The bytes after the header.
    pub payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads an Ethernet header with up to two VLAN tags (802.1Q clause 9); `None` if it is truncated.
    #[must_use]
    pub fn read(frame: &'a [u8]) -> Option<Self> {
        let destination = crate::MacAddress::from_slice(frame)?;
        let source = crate::MacAddress::from_slice(frame.get(6..)?)?;
        let mut ethertype = u16_at(frame, 12)?;
        let mut at = 14;
        let mut vlan = None;
        for _ in 0..2 {
            if !matches!(ethertype, ethertype::VLAN | ethertype::PROVIDER_VLAN) {
                break;
            }
            vlan = vlan.or(Some(u16_at(frame, at)?));
            ethertype = u16_at(frame, at + 2)?;
            at += 4;
        }
        Some(Self { destination, source, vlan, ethertype, payload: frame.get(at..).unwrap_or_default() })
    }

    /// Its IP headers; `None` if it does not carry IP.
    #[must_use]
    pub fn headers(&self) -> Option<Headers> {
        match self.ethertype {
            ethertype::IPV4 | ethertype::IPV6 => Headers::read(self.payload),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "../tests/parsers/packet.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet of a protocol with these bytes after the header.
    fn v4(protocol: u8, service: u8, fragment: u16, transport: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, service, 0, 20 + transport.len() as u8, 0, 0];
        packet.extend_from_slice(&fragment.to_be_bytes());
        packet.extend_from_slice(&[64, protocol, 0, 0, 10, 1, 0, 2, 10, 0, 0, 11]);
        packet.extend_from_slice(transport);
        packet
    }

    fn v6(next: u8, service: u8, rest: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60 | service >> 4, service << 4, 0, 0, 0, rest.len() as u8, next, 64];
        packet.extend_from_slice(&[0xfd; 16]);
        packet.extend_from_slice(&[0xfe; 16]);
        packet.extend_from_slice(rest);
        packet
    }

    const TCP_ACK: [u8; 20] = [0x14, 0x51, 0x9c, 0x40, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0, 64, 0, 0, 0, 0];

    #[test]
    fn a_mark_keeps_the_checksum_right() {
        // The sum of all words of a header with its checksum (RFC 1071).
        let sum = |packet: &[u8]| {
            let words =
                packet[..20].chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
            words.fold(0, |sum, word| (sum + word) % 0xffff)
        };
        for service in [0, 1, 2, 3, 0xb9, 0xfe] {
            for high in [0, 0x12, 0xff] {
                let mut packet = v4(protocol::UDP, service, 0, &[0; 8]);
                packet[4] = high;
                let check = !u16::try_from(sum(&packet)).expect("a word");
                packet[10..12].copy_from_slice(&check.to_be_bytes());
                mark_congestion(&mut packet);
                let headers = Headers::read(&packet).expect("headers");
                assert_eq!((headers.ecn, headers.dscp), (3, service >> 2));
                assert_eq!(sum(&packet), 0, "{packet:?}");
            }
        }
        let mut packet = v6(protocol::UDP, 46 << 2 | 2, &[0; 8]);
        mark_congestion(&mut packet);
        let headers = Headers::read(&packet).expect("headers");
        assert_eq!((headers.ecn, headers.dscp), (3, 46));
        for short in [&[][..], &[0x45, 0], &[0x60], &[0xff; 40]] {
            let mut packet = short.to_vec();
            mark_congestion(&mut packet);
            assert_eq!(packet, short);
        }
    }

    #[test]
    fn ipv4_with_tcp() {
        let headers = Headers::read(&v4(protocol::TCP, 46 << 2 | 1, 0x4000, &TCP_ACK)).expect("headers");
        assert_eq!(headers.destination, "10.0.0.11".parse::<IpAddr>().expect("address"));
        assert_eq!((headers.dscp, headers.ecn, headers.ports), (46, 1, Some((0x1451, 40000))));
        assert!(headers.is_bare_ack && headers.fragment.is_none());
        let mut with_data = TCP_ACK.to_vec();
        with_data.push(1);
        assert!(!Headers::read(&v4(protocol::TCP, 0, 0, &with_data)).expect("headers").is_bare_ack);
    }

    #[test]
    fn only_the_first_fragment_has_ports() {
        for (fragment, ports) in [(0x2000, Some((0x1451, 40000))), (0x0001, None), (0x2001, None)] {
            let headers = Headers::read(&v4(protocol::UDP, 0, fragment, &TCP_ACK)).expect("headers");
            let is_first = ports.is_some();
            assert_eq!(headers.fragment, Some(Fragment { identification: 0, is_first }));
            assert_eq!(headers.ports, ports);
        }
        // Of a later fragment over IPv6 the bytes behind the fragment header are data, even if they look like options.
        let rest = [60, 0, 0, 8, 0, 0, 0, 9, protocol::UDP, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
        let headers = Headers::read(&v6(44, 0, &rest)).expect("headers");
        assert_eq!((headers.protocol, headers.ports), (60, None));
        assert_eq!(headers.fragment, Some(Fragment { identification: 9, is_first: false }));
    }

    #[test]
    fn ipv6_behind_extension_headers() {
        // Hop by hop (8 bytes), then destination options (16 bytes), then UDP.
        let mut rest = vec![60, 0, 0, 0, 0, 0, 0, 0, protocol::UDP, 1];
        rest.extend_from_slice(&[0; 14]);
        rest.extend_from_slice(&[0x30, 0x39, 0, 53, 0, 8, 0, 0]);
        let headers = Headers::read(&v6(0, 40 << 2, &rest)).expect("headers");
        assert_eq!((headers.protocol, headers.dscp), (protocol::UDP, 40));
        assert_eq!(headers.ports, Some((12345, 53)));
    }

    #[test]
    fn a_flow_is_one_number() {
        let one = Headers::read(&v4(protocol::TCP, 0, 0, &TCP_ACK)).expect("headers");
        let marked = Headers::read(&v4(protocol::TCP, 46 << 2, 0, &TCP_ACK)).expect("headers");
        let (keys, others) = (RandomState::new(), RandomState::new());
        assert_eq!(one.flow_hash(&keys), marked.flow_hash(&keys));
        assert_ne!(one.flow_hash(&keys), one.flow_hash(&others));
        let mut other = TCP_ACK;
        other[1] ^= 1;
        let other = Headers::read(&v4(protocol::TCP, 0, 0, &other)).expect("headers");
        assert_ne!(one.flow_hash(&keys), other.flow_hash(&keys));
    }

    #[test]
    fn priorities_as_mac80211_gives_them() {
        let new = PriorityMap::of_release("6.12.95+deb12-amd64");
        let old = PriorityMap::of_release("6.1.0-44-amd64");
        assert_eq!((new, old), (PriorityMap::Rfc8325, PriorityMap::Precedence));
        assert_eq!((new.user_priority(0, None, Some(46)), old.user_priority(0, None, Some(46))), (6, 5));
        assert_eq!(new.category(0, None, Some(8)), Category::Bk);
        assert_eq!(new.user_priority(262, Some(0xa000), Some(46)), 6);
        assert_eq!(new.user_priority(0, Some(0xa001), Some(46)), 5);
        assert_eq!(new.user_priority(0, Some(0x0001), Some(34)), 4);
        assert_eq!(new.user_priority(0, None, None), 0);
    }

    #[test]
    fn priorities_are_those_of_the_module_and_not_of_the_kernel() {
        let of =
            |kernel, stated, dscp| PriorityMap::of_modules(kernel, stated).user_priority(0, None, Some(dscp));
        // Ubuntu 24.04: EF is voice, AF31 still best effort.
        assert_eq!((of("6.8.0-45-generic", [None; 2], 46), of("6.8.0-45-generic", [None; 2], 26)), (6, 3));
        assert_eq!((of("6.7.12", [None; 2], 46), of("6.12.1", [None; 2], 26)), (5, 4));
        assert_eq!((of("6.11.1", [None; 2], 26), of("6.11.10-amd64", [None; 2], 26)), (3, 4));
        // OpenWrt 24.10.
        let version = "backported from Linux (v6.12.96-0-g0d3a9bc) using backports v6.12.96-1-0-g1\n";
        let backports = [Some(version), None];
        assert_eq!((of("6.6.130", backports, 46), of("6.6.130", backports, 26)), (6, 4));
        let backports = [None, Some("v6.1.145-0-g1\n")];
        assert_eq!((of("6.12.3", backports, 46), of("6.12.3", backports, 26)), (5, 3));
        // A version of a module of its own, and a tree of git, say nothing.
        assert_eq!(of("6.6.130", [Some("version 2"), Some("(see git)\n")], 46), 5);
    }

    #[test]
    fn a_frame_with_two_tags() {
        let mut frame = vec![2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 2, 0, 0x88, 0xa8, 0xc0, 5, 0x81, 0, 0, 7, 0x08, 0];
        frame.extend_from_slice(&v4(protocol::TCP, 0, 0, &TCP_ACK));
        let frame = Frame::read(&frame).expect("a frame");
        assert_eq!((frame.vlan, frame.ethertype), (Some(0xc005), 0x0800));
        assert_eq!(frame.headers().and_then(|headers| headers.ports), Some((0x1451, 40000)));
    }
}
