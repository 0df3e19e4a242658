//! Fragments of a datagram: only the first one has ports, the others are known by its identification. Pure.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use crate::packet::{Fragment, Headers};

/// First fragments that are remembered: the datagrams whose fragments may be interleaved.
const MOST: usize = 1024;

/// The fields that fragments of a datagram share (RFC 791, section 3.2; RFC 8200, section 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Datagram {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    identification: u32,
}

/// The ports of the last `MOST` datagrams that came in fragments. Later fragments of older ones, and those that overtook the first one,
/// have none.
#[derive(Debug, Default)]
pub struct Fragments {
    ports: HashMap<Datagram, (u16, u16)>,
    /// In order of appearance.
    known: VecDeque<Datagram>,
}

impl Fragments {
    /// Notes the ports of a first fragment, and gives them to a later one; other packets stay as they are.
    pub fn complete(&mut self, headers: &mut Headers) {
        let Some(Fragment { identification, is_first }) = headers.fragment else { return };
        let Headers { source, destination, protocol, .. } = *headers;
        let datagram = Datagram { source, destination, protocol, identification };
        if !is_first {
            headers.ports = self.ports.get(&datagram).copied();
            return;
        }
        let Some(ports) = headers.ports else { return };
        if self.ports.insert(datagram, ports).is_some() {
            return;
        }
        self.known.push_back(datagram);
        if self.known.len() > MOST
            && let Some(oldest) = self.known.pop_front()
        {
            self.ports.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::protocol;

    fn read(packet: &[u8]) -> Headers {
        Headers::read(packet).expect("headers")
    }

    /// A fragment of a datagram from port 5001 over IPv4 or IPv6; `offset` counts eight bytes.
    fn fragment(version: u8, identification: u16, offset: u16, more: bool) -> Headers {
        let [high, low] = identification.to_be_bytes();
        let content = [0x13, 0x89, 0xc0, 0x01, 0, 8, 0, 0];
        let mut packet = if version == 4 {
            let word = (offset | if more { 0x2000 } else { 0 }).to_be_bytes();
            let mut packet = vec![0x45, 0, 0, 28, high, low, word[0], word[1], 64, protocol::UDP, 0, 0];
            packet.extend([10, 77, 0, 1, 10, 77, 0, 2]);
            packet
        } else {
            let word = (offset << 3 | u16::from(more)).to_be_bytes();
            let mut packet = vec![0x60, 0, 0, 0, 0, 16, 44, 64];
            packet.extend([[0xfd; 16], [0xfe; 16]].concat());
            packet.extend([protocol::UDP, 0, word[0], word[1], 0, 0, high, low]);
            packet
        };
        packet.extend(if offset == 0 { content } else { [0xdd; 8] });
        read(&packet)
    }

    #[test]
    fn later_fragments_follow_the_first_by_identification() {
        for version in [4, 6] {
            let mut fragments = Fragments::default();
            let mut complete = |mut headers| {
                fragments.complete(&mut headers);
                headers.ports
            };
            let ports = Some((5001, 0xc001));
            assert_eq!(complete(fragment(version, 7, 185, true)), None, "it overtook the first one");
            assert_eq!(complete(fragment(version, 7, 0, true)), ports);
            assert_eq!(complete(fragment(version, 7, 185, true)), ports);
            assert_eq!(complete(fragment(version, 7, 370, false)), ports);
            assert_eq!(complete(fragment(version, 8, 185, true)), None, "of another datagram");
        }
    }

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let mut fragments = Fragments::default();
        for number in 0..5000 {
            fragments.complete(&mut fragment(4, number, 0, true));
        }
        assert_eq!((fragments.ports.len(), fragments.known.len()), (MOST, MOST));
        for (number, is_known) in [(4999, true), (5000 - 1024, true), (3975, false)] {
            let mut later = fragment(4, number, 185, false);
            fragments.complete(&mut later);
            assert_eq!(later.ports.is_some(), is_known, "{number}");
        }
    }
}
