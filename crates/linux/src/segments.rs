//! TCP segments that travel as one packet between this process and a TUN device (`virtio_net_hdr`). Pure.
//!
//! The kernel hands over up to 64 KiB that a sender sent at once, to be cut as a network card does (TSO); and it takes consecutive segments
//! of a connection as one packet, as the stack of a Wi-Fi driver merges those of an A-MPDU (GRO).

use crate::packet::protocol;

/// Length of the header before each packet.
pub const PREFIX: usize = 10;
/// Longest packet, the limit of an IPv4 header.
pub const LONGEST: usize = 65_535;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV4`.
const TCP4: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_TCPV6`.
const TCP6: u8 = 4;
/// `VIRTIO_NET_HDR_GSO_ECN`.
const ECN: u8 = 0x80;
/// Place of the checksum in a TCP header.
const CHECKSUM: usize = 16;

/// Flags of TCP.
mod flag {
    pub(super) const FIN: u8 = 1;
    pub(super) const PUSH: u8 = 8;
    pub(super) const ACK: u8 = 0x10;
    pub(super) const WINDOW_REDUCED: u8 = 0x80;
}

/// Lengths of a TCP packet's headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// Where TCP begins.
    tcp: usize,
    /// Where the data begin.
    data: usize,
}

impl Layout {
    /// The layout of a TCP packet over IPv4 without options, or over IPv6 without extensions, that is no fragment.
    fn of(packet: &[u8]) -> Option<Self> {
        let tcp = match packet.first()? >> 4 {
            4 if packet[0] == 0x45 && *packet.get(9)? == protocol::TCP => {
                let is_fragment = packet[6] & 0x3f != 0 || packet[7] != 0;
                if is_fragment {
                    return None;
                }
                20
            }
            6 if *packet.get(6)? == protocol::TCP => 40,
            _ => return None,
        };
        let told = if tcp == 20 { u16_at(packet, 2)? } else { u16_at(packet, 4)? + 40 };
        let data = tcp + usize::from(packet.get(tcp + 12)? >> 4) * 4;
        let is_whole = told == packet.len() && data >= tcp + 20 && data <= packet.len();
        is_whole.then_some(Self { tcp, data })
    }

    fn kind(self) -> u8 {
        if self.tcp == 20 { TCP4 } else { TCP6 }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk().map(|found| usize::from(u16::from_be_bytes(*found)))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |found| u32::from_be_bytes(*found))
}

/// The sum of 16-bit words, not yet complemented.
fn sum(bytes: &[u8], begin: u64) -> u16 {
    let (words, rest) = bytes.as_chunks::<2>();
    let total: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    let mut total = begin + total + rest.first().map_or(0, |last| u64::from(*last) << 8);
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

/// The sum of the addresses, the protocol and the length of what follows `tcp`.
fn pseudo_header(packet: &[u8], tcp: usize) -> u16 {
    let (addresses, protocol) = if tcp == 20 { (12..20, packet[9]) } else { (8..40, packet[6]) };
    sum(&packet[addresses], u64::from(protocol) + (packet.len() - tcp) as u64)
}

/// Writes the length of a packet into its IP header, and that header's checksum.
fn set_length(packet: &mut [u8], tcp: usize) {
    let length = packet.len();
    if tcp == 20 {
        packet[2..4].copy_from_slice(&(length as u16).to_be_bytes());
        packet[10..12].fill(0);
        let check = !sum(&packet[..20], 0);
        packet[10..12].copy_from_slice(&check.to_be_bytes());
    } else {
        packet[4..6].copy_from_slice(&((length - 40) as u16).to_be_bytes());
    }
}

/// A packet of the kernel, which may be several segments.
#[derive(Debug)]
pub struct Cutter {
    /// The header and the packet.
    bytes: Vec<u8>,
    length: usize,
    layout: Option<Layout>,
    /// Data in each segment.
    size: usize,
    /// Data that have been passed on.
    passed: usize,
}

impl Default for Cutter {
    fn default() -> Self {
        Self { bytes: vec![0; PREFIX + LONGEST], length: 0, layout: None, size: 0, passed: 0 }
    }
}

impl Cutter {
    /// Room for the next packet of the kernel with its header.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Takes `length` bytes that the kernel has put into the room. Of packets that are cut, [`Self::next`] has the segments; any others are
    /// whole, with their checksums completed.
    pub fn take(&mut self, length: usize) {
        let length = length.min(self.bytes.len());
        self.length = length.max(PREFIX);
        self.layout = None;
        self.passed = 0;
        let (prefix, packet) = self.bytes[..self.length].split_at_mut(PREFIX);
        let field = |at: usize| usize::from(u16::from_ne_bytes([prefix[at], prefix[at + 1]]));
        let (kind, size) = (prefix[1] & !ECN, field(4));
        if matches!(kind, TCP4 | TCP6) && size > 0 {
            self.layout = Layout::of(packet);
            self.size = size;
        }
        if self.layout.is_none() && prefix[0] & NEEDS_CHECKSUM != 0 {
            let (start, place) = (field(6), field(6) + field(8));
            // The field holds the sum of the pseudo header.
            if start < packet.len() && place + 2 <= packet.len() {
                let check = match !sum(&packet[start..], 0) {
                    // For UDP 0 means "no checksum".
                    0 => 0xffff,
                    other => other,
                };
                packet[place..place + 2].copy_from_slice(&check.to_be_bytes());
            }
        }
    }

    /// The next segment, or the whole packet, written into `into`; its length. `None` at the end, or if it does not fit.
    pub fn next(&mut self, into: &mut [u8]) -> Option<usize> {
        let packet = &self.bytes[PREFIX..self.length.max(PREFIX)];
        let Some(Layout { tcp, data }) = self.layout else {
            let length = packet.len();
            self.length = 0;
            into.get_mut(..length).filter(|_| length > 0)?.copy_from_slice(packet);
            return Some(length);
        };
        let rest = packet.len() - data - self.passed;
        let now = rest.min(self.size);
        let is_first = self.passed == 0;
        let is_last = rest <= self.size;
        let segment = into.get_mut(..data + now);
        if let (Some(segment), true) = (segment, is_first || now > 0) {
            let from = data + self.passed;
            segment[..data].copy_from_slice(&packet[..data]);
            segment[data..].copy_from_slice(&packet[from..from + now]);
            if tcp == 20 {
                let number =
                    u16::from_be_bytes([packet[4], packet[5]]).wrapping_add((self.passed / self.size) as u16);
                segment[4..6].copy_from_slice(&number.to_be_bytes());
            }
            set_length(segment, tcp);
            let sequence = u32_at(packet, tcp + 4).wrapping_add(self.passed as u32);
            segment[tcp + 4..tcp + 8].copy_from_slice(&sequence.to_be_bytes());
            if !is_last {
                segment[tcp + 13] &= !(flag::FIN | flag::PUSH);
            }
            if !is_first {
                segment[tcp + 13] &= !flag::WINDOW_REDUCED;
            }
            segment[tcp + CHECKSUM..tcp + CHECKSUM + 2].fill(0);
            let check = !sum(&segment[tcp..], u64::from(pseudo_header(segment, tcp)));
            segment[tcp + CHECKSUM..tcp + CHECKSUM + 2].copy_from_slice(&check.to_be_bytes());
            self.passed += now;
            if is_last {
                (self.length, self.layout) = (0, None);
            }
            return Some(data + now);
        }
        (self.length, self.layout) = (0, None);
        None
    }
}

/// Segments that become one packet of the kernel.
#[derive(Debug, Default)]
pub struct Joiner {
    /// The header and the packet.
    bytes: Vec<u8>,
    packets: u32,
    /// Of a packet that others may join.
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    layout: Layout,
    /// Data in each segment but the last.
    size: usize,
    /// Sequence number of the next segment.
    next: u32,
    is_complete: bool,
}

impl Joiner {
    /// Adds a packet, if it continues what waits, or if nothing does; whether it did. A packet of more than [`LONGEST`] bytes goes alone.
    pub fn push(&mut self, packet: &[u8]) -> bool {
        let found = Layout::of(packet).filter(|layout| {
            let flags = packet[layout.tcp + 13];
            flags & !flag::PUSH == flag::ACK && layout.data < packet.len()
        });
        if self.packets == 0 {
            self.bytes.clear();
            self.bytes.resize(PREFIX, 0);
            self.bytes.extend_from_slice(packet);
            self.packets = 1;
            self.open = found.map(|layout| {
                let size = packet.len() - layout.data;
                let next = u32_at(packet, layout.tcp + 4).wrapping_add(size as u32);
                Open { layout, size, next, is_complete: packet[layout.tcp + 13] & flag::PUSH != 0 }
            });
            return true;
        }
        let (Some(open), Some(layout)) = (&mut self.open, found) else { return false };
        let first = &mut self.bytes[PREFIX..];
        let data = packet.len() - layout.data;
        let joins = !open.is_complete
            && layout == open.layout
            && data <= open.size
            && u32_at(packet, layout.tcp + 4) == open.next
            && first.len() + data <= LONGEST
            && is_alike(first, packet, layout);
        if joins {
            open.next = open.next.wrapping_add(data as u32);
            open.is_complete = data < open.size || packet[layout.tcp + 13] & flag::PUSH != 0;
            first[layout.tcp + 13] |= packet[layout.tcp + 13] & flag::PUSH;
            self.bytes.extend_from_slice(&packet[layout.data..]);
            self.packets += 1;
        }
        joins
    }

    /// The packet for the kernel with its header, and the number of packets in it; `None` if there is none. Nothing waits afterwards.
    pub fn finish(&mut self) -> Option<(&[u8], u32)> {
        let packets = std::mem::take(&mut self.packets);
        if packets == 0 {
            return None;
        }
        if let (Some(Open { layout, size, .. }), true) = (self.open, packets > 1) {
            let (prefix, packet) = self.bytes.split_at_mut(PREFIX);
            set_length(packet, layout.tcp);
            let check = pseudo_header(packet, layout.tcp);
            packet[layout.tcp + CHECKSUM..layout.tcp + CHECKSUM + 2].copy_from_slice(&check.to_be_bytes());
            (prefix[0], prefix[1]) = (NEEDS_CHECKSUM, layout.kind());
            for (at, value) in [(2, layout.data), (4, size), (6, layout.tcp), (8, CHECKSUM)] {
                prefix[at..at + 2].copy_from_slice(&(value as u16).to_ne_bytes());
            }
        }
        Some((&self.bytes, packets))
    }

    /// Whether a packet waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

/// Whether the headers differ in nothing but lengths, numbers, checksums and the push flag.
fn is_alike(first: &[u8], packet: &[u8], Layout { tcp, data }: Layout) -> bool {
    let own = |at: usize| {
        let ip =
            if tcp == 20 { (2..6).contains(&at) || (10..12).contains(&at) } else { (4..6).contains(&at) };
        ip || (tcp + 4..tcp + 8).contains(&at) || at == tcp + 13 || (tcp + 16..tcp + 18).contains(&at)
    };
    (0..data).all(|at| own(at) || first[at] == packet[at])
}

#[cfg(test)]
mod tests {
    use bolero::{TypeGenerator, check};

    use super::*;

    /// A TCP packet: version, data, sequence number, flags.
    #[derive(Debug, Clone, TypeGenerator)]
    struct Packet {
        is_new: bool,
        #[generator(1..3000)]
        data: usize,
        sequence: u32,
        options: bool,
        finishes: bool,
        pushes: bool,
        reduced: bool,
        #[generator(1..1500)]
        size: usize,
    }

    impl Packet {
        fn bytes(&self) -> Vec<u8> {
            let tcp = if self.is_new { 40 } else { 20 };
            let data = tcp + if self.options { 32 } else { 20 };
            let mut bytes: Vec<u8> = (0..data + self.data).map(|at| (at * 7 + at / 251) as u8).collect();
            bytes[0] = if self.is_new { 0x60 } else { 0x45 };
            (bytes[6], bytes[7]) = if self.is_new { (protocol::TCP, 64) } else { (0x40, 0) };
            bytes[9] = if self.is_new { bytes[9] } else { protocol::TCP };
            bytes[tcp + 4..tcp + 8].copy_from_slice(&self.sequence.to_be_bytes());
            bytes[tcp + 12] = if self.options { 0x80 } else { 0x50 };
            bytes[tcp + 13] = flag::ACK
                | if self.finishes { flag::FIN } else { 0 }
                | if self.pushes { flag::PUSH } else { 0 }
                | if self.reduced { flag::WINDOW_REDUCED } else { 0 };
            bytes[tcp + CHECKSUM..tcp + CHECKSUM + 2].fill(0);
            set_length(&mut bytes, tcp);
            let check = !sum(&bytes[tcp..], u64::from(pseudo_header(&bytes, tcp)));
            bytes[tcp + CHECKSUM..tcp + CHECKSUM + 2].copy_from_slice(&check.to_be_bytes());
            bytes
        }

        fn cut(&self) -> Vec<Vec<u8>> {
            let packet = self.bytes();
            let mut cutter = Cutter::default();
            let room = cutter.room();
            room[..PREFIX].fill(0);
            (room[0], room[1]) = (NEEDS_CHECKSUM, if self.is_new { TCP6 } else { TCP4 });
            room[4..6].copy_from_slice(&(self.size as u16).to_ne_bytes());
            room[PREFIX..PREFIX + packet.len()].copy_from_slice(&packet);
            cutter.take(PREFIX + packet.len());
            let mut into = [0; 3100];
            std::iter::from_fn(|| cutter.next(&mut into).map(|length| into[..length].to_vec())).collect()
        }
    }

    /// Segments are correct packets that contain the data in order, and flags where a sender would set them.
    #[test]
    fn a_packet_is_cut_as_a_sender_would() {
        check!().with_type::<Packet>().with_iterations(2000).for_each(|packet| {
            let (whole, segments) = (packet.bytes(), packet.cut());
            let layout = Layout::of(&whole).expect("a TCP packet");
            assert_eq!(segments.len(), packet.data.div_ceil(packet.size));
            let (mut data, last) = (Vec::new(), segments.len() - 1);
            for (number, segment) in segments.iter().enumerate() {
                assert_eq!(Layout::of(segment), Some(layout));
                assert_eq!(
                    sum(&segment[layout.tcp..], u64::from(pseudo_header(segment, layout.tcp))),
                    0xffff
                );
                assert!(packet.is_new || sum(&segment[..20], 0) == 0xffff);
                let expected = packet.sequence.wrapping_add((number * packet.size) as u32);
                assert_eq!(u32_at(segment, layout.tcp + 4), expected);
                let flags = segment[layout.tcp + 13];
                assert_eq!(flags & flag::FIN != 0, packet.finishes && number == last);
                assert_eq!(flags & flag::PUSH != 0, packet.pushes && number == last);
                assert_eq!(flags & flag::WINDOW_REDUCED != 0, packet.reduced && number == 0);
                data.extend_from_slice(&segment[layout.data..]);
            }
            assert_eq!(data, whole[layout.data..]);
        });
    }

    /// The joined packet is the one that was cut, with the sum of the pseudo header in place of the checksum.
    #[test]
    fn segments_join_to_what_was_cut() {
        check!().with_type::<Packet>().with_iterations(2000).for_each(|packet| {
            let packet = Packet { finishes: false, reduced: false, ..packet.clone() };
            let (mut whole, segments) = (packet.bytes(), packet.cut());
            let mut joiner = Joiner::default();
            assert!(segments.iter().all(|segment| joiner.push(segment)));
            let (joined, count) = joiner.finish().expect("segments");
            assert_eq!(count as usize, segments.len());
            assert_eq!(joined[1] != 0, count > 1);
            let tcp = if packet.is_new { 40 } else { 20 };
            if count > 1 {
                let check = pseudo_header(&whole, tcp);
                whole[tcp + CHECKSUM..tcp + CHECKSUM + 2].copy_from_slice(&check.to_be_bytes());
            }
            assert_eq!(joined[PREFIX..], whole);
            assert!(joiner.finish().is_none());
        });
    }

    #[test]
    fn nothing_joins_that_is_not_next_or_differs() {
        let first = Packet {
            is_new: false,
            data: 100,
            sequence: 7,
            options: true,
            finishes: false,
            pushes: false,
            reduced: false,
            size: 100,
        };
        let next = Packet { sequence: 107, ..first.clone() };
        let joins = |second: &[u8]| {
            let mut joiner = Joiner::default();
            assert!(joiner.push(&first.bytes()));
            joiner.push(second)
        };
        assert!(joins(&next.bytes()));
        assert!(!joins(&Packet { sequence: 108, ..next.clone() }.bytes()), "a gap");
        assert!(!joins(&Packet { data: 101, ..next.clone() }.bytes()), "longer than the first");
        assert!(!joins(&Packet { finishes: true, ..next.clone() }.bytes()), "an end");
        assert!(!joins(&Packet { is_new: true, ..next.clone() }.bytes()), "another version");
        for (at, what) in [
            (1, "a mark"),
            (8, "a lifetime"),
            (12, "a sender"),
            (23, "a port"),
            (34, "a window"),
            (45, "an option"),
        ] {
            let mut other = next.bytes();
            other[at] ^= 1;
            assert!(!joins(&other), "{what}");
        }
        let mut joiner = Joiner::default();
        assert!(joiner.push(&Packet { pushes: true, ..first.clone() }.bytes()));
        assert!(!joiner.push(&next.bytes()), "after a push");
    }

    #[test]
    fn any_bytes_neither_panic_nor_get_lost() {
        check!().with_type::<Vec<Vec<u8>>>().with_iterations(2000).for_each(|packets| {
            let (mut joiner, mut cutter, mut into) = (Joiner::default(), Cutter::default(), [0; 1500]);
            let mut passed = 0;
            for packet in packets {
                if !joiner.push(packet) {
                    passed += joiner.finish().map_or(0, |(_, count)| count);
                    assert!(joiner.push(packet));
                }
                let length = packet.len().min(PREFIX + LONGEST);
                cutter.room()[..length].copy_from_slice(&packet[..length]);
                cutter.take(length);
                assert!(std::iter::from_fn(|| cutter.next(&mut into)).count() <= LONGEST);
            }
            passed += joiner.finish().map_or(0, |(_, count)| count);
            assert_eq!(passed as usize, packets.len());
        });
    }

    /// The checksum of RFC 1071, section 3: its example.
    #[test]
    fn the_sum_is_that_of_the_internet() {
        assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0), 0xddf2);
        assert_eq!(sum(&[0x12], 0), 0x1200);
    }

    #[test]
    fn a_checksum_that_the_kernel_left_out_is_completed() {
        // UDP with three bytes of data; the field holds the sum of the pseudo header.
        let mut packet = [
            0x45, 0, 0, 31, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 2, 3, 4, 0, 11, 0, 0,
            5, 6, 7,
        ];
        let begun = sum(&packet[12..20], 17 + 11);
        packet[26..28].copy_from_slice(&begun.to_be_bytes());
        let mut cutter = Cutter::default();
        let room = cutter.room();
        room[..PREFIX].fill(0);
        room[0] = NEEDS_CHECKSUM;
        room[6..8].copy_from_slice(&20_u16.to_ne_bytes());
        room[8..10].copy_from_slice(&6_u16.to_ne_bytes());
        room[PREFIX..PREFIX + 31].copy_from_slice(&packet);
        cutter.take(PREFIX + 31);
        let mut into = [0; 100];
        assert_eq!(cutter.next(&mut into), Some(31));
        assert_eq!(sum(&into[20..31], u64::from(sum(&packet[12..20], 17 + 11))), 0xffff);
    }
}
