//! The language of a rule's condition, such as `udp dport 9944 and not dscp cs1`.
//!
//! | words | match |
//! |---|---|
//! | `udp`, `tcp`, `icmp`, `proto 132` | the transport protocol |
//! | `ip4`, `ip6` | the version of IP |
//! | `sport 5000`, `dport 5000-5010,9944`, `port 53` | source port, destination port, either |
//! | `saddr 10.0.0.0/8`, `daddr fd00::/8,10.1.0.100`, `addr …` | source address, destination address, either |
//! | `dscp ef`, `dscp af41,cs4,34` | differentiated services code point |
//! | `station 02:00:00:00:01:00` | the station that the packet goes to |
//! | `mark 0x10`, `mark 0x10/0xf0` | netfilter's mark, under a mask |
//! | `any` | everything |
//!
//! `and` (which may be left out), `or`, `not` and parentheses combine them; `not` binds most tightly, then `and`, then `or`. A later
//! fragment has the ports of the first one, as far as that was seen.

mod nft;
mod parse;

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

use airbound_linux::MacAddress;

pub use parse::ParseExpressionError;

/// Properties of a packet that a rule may test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// The transport's protocol number.
    pub protocol: u8,
    /// Source and destination port; `None` for later fragments of a datagram whose first one was not seen.
    pub ports: Option<(u16, u16)>,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// The receiving station.
    pub station: Option<MacAddress>,
    /// Netfilter's mark.
    pub mark: u32,
}

/// The field of a packet that a test refers to: source, destination, or either of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Source,
    Destination,
    Either,
}

/// An address prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    fn contains(&self, address: IpAddr) -> bool {
        fn same(a: u128, b: u128, width: u8, bits: u8) -> bool {
            // A shift by the full width would overflow.
            bits == 0 || (a ^ b) >> (width - bits.min(width)) == 0
        }
        match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => same(u32::from(a).into(), u32::from(b).into(), 32, self.bits),
            (IpAddr::V6(a), IpAddr::V6(b)) => same(a.into(), b.into(), 128, self.bits),
            _ => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Any,
    Protocol(Vec<u8>),
    Version(u8),
    Ports(End, Vec<RangeInclusive<u16>>),
    Addresses(End, Vec<Prefix>),
    Dscp(Vec<u8>),
    Station(Vec<MacAddress>),
    Mark { value: u32, mask: u32 },
    Not(Box<Test>),
    All(Vec<Test>),
    Some(Vec<Test>),
}

impl Test {
    fn matches(&self, facts: &Facts) -> bool {
        match self {
            Self::Any => true,
            Self::Protocol(protocols) => protocols.contains(&facts.protocol),
            Self::Version(version) => {
                matches!((version, facts.destination), (4, IpAddr::V4(_)) | (6, IpAddr::V6(_)))
            }
            Self::Ports(end, ranges) => facts.ports.is_some_and(|(source, destination)| {
                let within = |port: u16| ranges.iter().any(|range| range.contains(&port));
                end.holds(|| within(source), || within(destination))
            }),
            Self::Addresses(end, prefixes) => {
                let within = |address: IpAddr| prefixes.iter().any(|prefix| prefix.contains(address));
                end.holds(|| within(facts.source), || within(facts.destination))
            }
            Self::Dscp(points) => points.contains(&facts.dscp),
            Self::Station(stations) => facts.station.is_some_and(|station| stations.contains(&station)),
            Self::Mark { value, mask } => facts.mark & mask == value & mask,
            Self::Not(test) => !test.matches(facts),
            Self::All(tests) => tests.iter().all(|test| test.matches(facts)),
            Self::Some(tests) => tests.iter().any(|test| test.matches(facts)),
        }
    }
}

impl End {
    fn holds(self, source: impl Fn() -> bool, destination: impl Fn() -> bool) -> bool {
        match self {
            Self::Source => source(),
            Self::Destination => destination(),
            Self::Either => source() || destination(),
        }
    }
}

/// A rule's condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    text: String,
    test: Test,
}

impl Expression {
    /// Whether a packet matches.
    #[must_use]
    pub fn matches(&self, facts: &Facts) -> bool {
        self.test.matches(facts)
    }

    /// The same in nftables' language, as conditions of which one has to hold; `None` if it has no words for it: a station, `not`, or
    /// too many alternatives.
    #[must_use]
    pub fn to_nft(&self) -> Option<Vec<String>> {
        nft::conditions(&self.test)
    }
}

impl FromStr for Expression {
    type Err = ParseExpressionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self { test: parse::parse(text)?, text: text.trim().to_owned() })
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        Facts {
            source: "10.1.0.100".parse().expect("an address"),
            destination: "10.0.0.11".parse().expect("an address"),
            protocol: 17,
            ports: Some((40_000, 9944)),
            dscp: 34,
            station: Some(MacAddress([2, 0, 0, 0, 1, 0])),
            mark: 0x1234,
        }
    }

    fn holds(text: &str) -> bool {
        text.parse::<Expression>().unwrap_or_else(|error| panic!("{text}: {error}")).matches(&facts())
    }

    #[test]
    fn each_word() {
        for text in [
            "any",
            "udp",
            "proto 6,17",
            "proto udp",
            "ip4",
            "dport 9944",
            "dport 1-10,9900-9950",
            "sport 40000",
            "port 40000",
            "saddr 10.1.0.0/16",
            "daddr 192.168.0.0/16,10.0.0.11",
            "addr 0.0.0.0/0",
            "dscp af41",
            "dscp 34",
            "station 02:00:00:00:01:00",
            "mark 0x1234",
            "mark 0x30/0xf0",
            "UDP dport 9944",
        ] {
            assert!(holds(text), "{text}");
            assert!(
                !holds(&format!("not {text}")) || text.contains(' ') && !text.contains("dport 9944"),
                "{text}"
            );
            assert!(!holds(&format!("not ({text})")), "{text}");
        }
        for text in
            ["tcp", "icmp", "ip6", "dport 9945", "port 1", "daddr fd00::/8", "dscp ef", "mark 1", "dscp cs0"]
        {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn binding() {
        assert!(holds("tcp or udp dport 9944"));
        assert!(!holds("(tcp or udp) and dport 1"));
        assert!(holds("tcp and dport 1 or udp"), "and binds more tightly");
        assert!(!holds("tcp and (dport 1 or udp)"));
        assert!(holds("not tcp udp"), "not binds most tightly");
        assert!(holds("not not udp"));
    }

    #[test]
    fn a_fragment_alone_has_no_ports() {
        let fragment = Facts { ports: None, ..facts() };
        assert!(!"dport 0-65535".parse::<Expression>().expect("valid").matches(&fragment));
        assert!("udp".parse::<Expression>().expect("valid").matches(&fragment));
    }
}
