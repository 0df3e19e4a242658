//! The name server of an emulation without a way out: answers for the hosts, and says of any other name that it does not exist (RFC 1035).
//! Pure.

use std::net::Ipv4Addr;

use crate::hosts::{GATEWAY, Hosts};

/// Port of name servers, protocol number of UDP, bytes of its header and of that of a DNS message.
const PORT: u16 = 53;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
const MESSAGE_HEADER: usize = 12;
/// Types of records: addresses of IPv4 and IPv6.
const A: u16 = 1;
const AAAA: u16 = 28;
/// An answer, authoritative, with recursion desired and available.
const ANSWER: u16 = 0x8580;
/// Codes: the query cannot be read, the name does not exist.
const FORMAT_ERROR: u16 = 1;
const NO_NAME: u16 = 3;
/// A name that stands at the beginning of the question.
const POINTER: [u8; 2] = [0xc0, 12];
/// Seconds for which an answer may be kept.
const LIFETIME: u32 = 60;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

/// The packet that answers a packet to the name server; `None` if it is no query.
#[must_use]
pub fn answer(packet: &[u8], hosts: &Hosts) -> Option<Vec<u8>> {
    let header = usize::from(packet.first()? & 15) * 4;
    let is_query = packet[0] >> 4 == 4
        && header >= 20
        && *packet.get(9)? == UDP
        && packet.get(16..20)? == GATEWAY.octets()
        && u16_at(packet, header + 2)? == PORT;
    let asking: Ipv4Addr = <[u8; 4]>::try_from(packet.get(12..16)?).ok()?.into();
    let message = packet.get(header + UDP_HEADER..)?;
    // An answer is not answered.
    if !is_query || message.len() < MESSAGE_HEADER || message[2] & 0x80 != 0 {
        return None;
    }
    let said = reply(message, hosts);
    let port = u16_at(packet, header)?;
    Some(datagram(asking, port, &said))
}

/// The answer to a message.
fn reply(message: &[u8], hosts: &Hosts) -> Vec<u8> {
    let question = question(message);
    let (code, asked, records) = match &question {
        None => (FORMAT_ERROR, &[][..], Vec::new()),
        Some(Question { bytes, name, kind }) => match hosts.number(name) {
            None => (NO_NAME, *bytes, Vec::new()),
            Some(number) => (0, *bytes, records(number, *kind)),
        },
    };
    let mut said = message[..2].to_vec();
    for field in [ANSWER | code, u16::from(!asked.is_empty()), u16::from(!records.is_empty()), 0, 0] {
        said.extend(field.to_be_bytes());
    }
    said.extend(asked);
    said.extend(records);
    said
}

struct Question<'a> {
    bytes: &'a [u8],
    name: String,
    kind: u16,
}

/// The only question of a message.
fn question(message: &[u8]) -> Option<Question<'_>> {
    if u16_at(message, 4)? != 1 {
        return None;
    }
    let mut at = MESSAGE_HEADER;
    let mut labels = Vec::new();
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        match length {
            0 => break,
            1..=63 => labels.push(String::from_utf8_lossy(message.get(at..at + length)?).to_lowercase()),
            _ => return None,
        }
        at += length;
    }
    let kind = u16_at(message, at)?;
    let bytes = message.get(MESSAGE_HEADER..at + 4)?;
    Some(Question { bytes, name: labels.join("."), kind })
}

/// The address of a host as a record, if it is one of the type that was asked for.
fn records(number: usize, kind: u16) -> Vec<u8> {
    let (four, six) = Hosts::addresses(number);
    let address: &[u8] = match kind {
        A => &four.octets(),
        AAAA => &six.octets(),
        _ => return Vec::new(),
    };
    let mut record = POINTER.to_vec();
    record.extend(kind.to_be_bytes());
    record.extend(1_u16.to_be_bytes());
    record.extend(LIFETIME.to_be_bytes());
    record.extend((address.len() as u16).to_be_bytes());
    record.extend(address);
    record
}

/// A datagram from the name server. Its own checksum is left out, as IPv4 permits (RFC 768).
fn datagram(to: Ipv4Addr, port: u16, content: &[u8]) -> Vec<u8> {
    let length = (UDP_HEADER + content.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend((length + 20).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, UDP, 0, 0]);
    packet.extend(GATEWAY.octets());
    packet.extend(to.octets());
    let sum: u32 = packet.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let check = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[10..12].copy_from_slice(&check.to_be_bytes());
    for field in [PORT, port, length, 0] {
        packet.extend(field.to_be_bytes());
    }
    packet.extend(content);
    packet
}

#[cfg(test)]
mod tests {
    use airbound_linux::packet::Headers;
    use airbound_scenario::{Overrides, Scenario};

    use super::*;

    fn hosts() -> Hosts {
        let scenario = Scenario::open("my-flat", &Overrides::none()).expect("a scenario");
        Hosts::new(&scenario, &["laptop"], &[]).expect("hosts")
    }

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut message = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            message.push(label.len() as u8);
            message.extend(label.bytes());
        }
        message.push(0);
        message.extend(kind.to_be_bytes());
        message.extend(1_u16.to_be_bytes());
        let mut packet = datagram(Ipv4Addr::new(10, 77, 0, 2), 4321, &message);
        packet[12..16].copy_from_slice(&[10, 77, 0, 2]);
        packet[16..20].copy_from_slice(&GATEWAY.octets());
        packet[20..24].copy_from_slice(&[0x10, 0xe1, 0, 53]);
        packet
    }

    #[test]
    fn hosts_have_both_addresses_and_others_none() {
        let said = |name: &str, kind| answer(&query(name, kind), &hosts()).expect("an answer");
        let code = |packet: &[u8]| packet[31] & 15;
        let four = said("laptop", A);
        assert!(four.ends_with(&[0, 4, 10, 77, 0, 2]) && code(&four) == 0);
        assert_eq!(four[28..30], [0xab, 0xcd]);
        let headers = Headers::read(&four).expect("headers");
        assert_eq!(
            (headers.ports, headers.destination.to_string()),
            (Some((53, 0x10e1)), "10.77.0.2".to_owned())
        );
        assert!(
            said("SERVER", AAAA).ends_with(&[0xfd, 0x77, 0xa1, 0xb0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
        );
        // A name without such a record exists all the same.
        let mail = said("server", 15);
        assert_eq!((code(&mail), mail[34..36].to_vec()), (0, vec![0, 0]));
        assert_eq!(code(&said("example.org", A)), 3);
    }

    #[test]
    fn other_packets_have_no_answer_and_none_panics() {
        let whole = query("laptop", A);
        for length in 0..whole.len() {
            let _ = answer(&whole[..length], &hosts());
        }
        for (at, byte) in [(9, 6), (16, 9), (23, 54), (30, 0x80)] {
            let mut other = whole.clone();
            other[at] = byte;
            assert_eq!(answer(&other, &hosts()), None, "{at}");
        }
        let mut compressed = whole.clone();
        compressed[40] = 0xc0;
        assert_eq!(answer(&compressed, &hosts()).expect("an answer")[31] & 15, 1);
    }
}
