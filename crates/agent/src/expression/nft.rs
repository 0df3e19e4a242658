//! A condition in nftables' language.

use std::fmt::Display;
use std::net::IpAddr;

use super::{End, Prefix, Test};

/// The most alternatives of a condition: each is a rule of nftables.
const MOST: usize = 32;
/// The versions of IP, which are all that a rule matches; a bridge has other packets, too.
const IP: &str = "meta protocol { ip, ip6 }";
/// Protocols with ports (UDP, TCP, SCTP, UDP-Lite).
const WITH_PORTS: &str = "meta l4proto { 17, 6, 132, 136 }";

/// Conditions of which one has to hold; `None` if nftables has no words for it.
pub(super) fn conditions(test: &Test) -> Option<Vec<String>> {
    let all = alternatives(test)?;
    Some(
        all.into_iter()
            .map(|one| if one.is_empty() { IP.to_owned() } else { format!("{IP} {one}") })
            .collect(),
    )
}

fn alternatives(test: &Test) -> Option<Vec<String>> {
    let found = match test {
        Test::Any => vec![String::new()],
        Test::Protocol(protocols) => protocols.iter().map(|one| format!("meta l4proto {one}")).collect(),
        Test::Version(4) => vec!["meta protocol ip".to_owned()],
        Test::Version(_) => vec!["meta protocol ip6".to_owned()],
        Test::Ports(end, ranges) => each(*end, ranges, |end, range| {
            format!("{WITH_PORTS} th {end}port {}-{}", range.start(), range.end())
        }),
        Test::Addresses(end, prefixes) => each(*end, prefixes, |end, prefix| prefix.condition(end)),
        Test::Dscp(points) => ["ip", "ip6"]
            .into_iter()
            .flat_map(|version| points.iter().map(move |point| format!("{version} dscp {point}")))
            .collect(),
        Test::Mark { value, mask } => vec![format!("meta mark & {mask:#010x} == {:#010x}", value & mask)],
        Test::Some(tests) => {
            let each: Option<Vec<Vec<String>>> = tests.iter().map(alternatives).collect();
            each?.concat()
        }
        Test::All(tests) => {
            let mut all = vec![String::new()];
            for test in tests {
                let more = alternatives(test)?;
                if all.len() * more.len() > MOST {
                    return None;
                }
                all = all.iter().flat_map(|one| more.iter().map(move |other| joined(one, other))).collect();
            }
            all
        }
        Test::Station(_) | Test::Not(_) => return None,
    };
    (found.len() <= MOST).then_some(found)
}

fn joined(one: &str, other: &str) -> String {
    match (one, other) {
        ("", text) | (text, "") => text.to_owned(),
        (one, other) => format!("{one} {other}"),
    }
}

/// A condition for each value and each end, by the first letter of its name.
fn each<T>(end: End, values: &[T], condition: impl Fn(char, &T) -> String) -> Vec<String> {
    let ends: &[char] = match end {
        End::Source => &['s'],
        End::Destination => &['d'],
        End::Either => &['s', 'd'],
    };
    ends.iter().flat_map(|end| values.iter().map(|value| condition(*end, value))).collect()
}

impl Prefix {
    fn condition(&self, end: char) -> String {
        let Self { address, bits } = self;
        let (version, width) = if address.is_ipv4() { ("ip", 32) } else { ("ip6", 128) };
        let shift = u32::from(width - (*bits).min(width));
        let network: &dyn Display = match address {
            // A shift by the full width would overflow.
            _ if *bits == 0 => return format!("meta protocol {version}"),
            IpAddr::V4(address) => &std::net::Ipv4Addr::from(u32::from(*address) >> shift << shift),
            IpAddr::V6(address) => &std::net::Ipv6Addr::from(u128::from(*address) >> shift << shift),
        };
        format!("{version} {end}addr {network}/{bits}")
    }
}

#[cfg(test)]
mod tests {
    use crate::expression::Expression;

    fn nft(text: &str) -> Option<Vec<String>> {
        let conditions = text.parse::<Expression>().expect("valid").to_nft()?;
        Some(
            conditions
                .iter()
                .map(|one| one.replacen("meta protocol { ip, ip6 }", "", 1).trim().to_owned())
                .collect(),
        )
    }

    #[test]
    fn conditions_become_alternatives() {
        let ports = "meta l4proto { 17, 6, 132, 136 } th";
        assert_eq!(nft("any"), Some(vec![String::new()]));
        assert_eq!(nft("udp dport 5000"), Some(vec![format!("meta l4proto 17 {ports} dport 5000-5000")]));
        assert_eq!(
            nft("port 53 or ip6"),
            Some(vec![
                format!("{ports} sport 53-53"),
                format!("{ports} dport 53-53"),
                "meta protocol ip6".to_owned()
            ])
        );
        assert_eq!(
            nft("(saddr 10.1.2.3/8 or daddr fd00::1/16) and mark 0x30/0xf0"),
            Some(vec![
                "ip saddr 10.0.0.0/8 meta mark & 0x000000f0 == 0x00000030".to_owned(),
                "ip6 daddr fd00::/16 meta mark & 0x000000f0 == 0x00000030".to_owned(),
            ])
        );
        assert_eq!(nft("dscp ef"), Some(vec!["ip dscp 46".to_owned(), "ip6 dscp 46".to_owned()]));
        assert_eq!(nft("addr 0.0.0.0/0"), Some(vec!["meta protocol ip".to_owned(); 2]));
    }

    #[test]
    fn what_nftables_has_no_words_for() {
        assert_eq!(nft("not udp"), None);
        assert_eq!(nft("station 02:00:00:00:01:00 or udp"), None);
        let many = "port 1,2,3,4,5,6 port 7,8,9,10";
        assert_eq!(nft(many), None);
    }
}
