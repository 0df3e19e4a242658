//! Converts the kernel's packets and completions into those of the engine.

use std::hash::RandomState;
use std::net::IpAddr;

use airbound_linux::completions::{self, Fate, RateTry};
use airbound_linux::fragments::Fragments;
use airbound_linux::neighbours::{Neighbour, Neighbours};
use airbound_linux::nfqueue::{Layer, Packet};
use airbound_linux::packet::{Headers, PriorityMap};
use airbound_linux::{MacAddress, nl80211};
use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::edca::Category;
use airbound_wifi::rate::{GuardInterval, Legacy, Rate, Width};

use crate::config::Rule;
use crate::engine::{Arrival, Carried, Completion, FlowKey, StationFacts, Ticket};
use crate::expression::Facts;

use super::waiting::Waiting;

/// The upper byte of the mark of released packets; it identifies the agent's frames at completion.
const MARK: u32 = 0xab00_0000;
/// Mask of the bits of a packet's number that the mark carries.
const NUMBER: u32 = 0x00ff_ffff;
/// The upper byte of the mark of packets that go through without a verdict; the others are the number of the rule that matches, counted
/// from 1, or 0.
const THROUGH: u32 = 0xac00_0000;
/// Bytes of a frame's headers before the IP header: 802.11 with a QoS field, LLC and SNAP.
const BEFORE_IP: u64 = 34;
/// Length of the segments of a super-packet, from the IP header on: an assumption, since NFQUEUE does not report it. With shorter ones a
/// super-packet counts as complete before its last frame; with longer ones it would wait for frames that never come.
const SEGMENT: u64 = 1500;

/// The number of frames that a super-packet becomes.
fn segments_of(length: ByteCount, headers: usize) -> u16 {
    let headers = headers as u64;
    let each = SEGMENT.saturating_sub(headers).max(1);
    let count = length.as_u64().saturating_sub(headers).div_ceil(each).max(1);
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// The mark of a released packet.
pub(super) const fn mark_of(ticket: Ticket) -> u32 {
    MARK | (ticket.0 & NUMBER)
}

/// The mark of packets that go through and match a rule, by its index, or none.
pub(super) fn mark_through(rule: Option<u16>) -> u32 {
    THROUGH | rule.map_or(0, |rule| u32::from(rule) + 1)
}

/// The receivers behind an interface.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts {
    /// The interface's number.
    pub(super) interface: u32,
    pub(super) neighbours: Neighbours,
    /// The only station of an interface whose frames have four addresses: all receivers are behind it.
    pub(super) relay: Option<MacAddress>,
}

/// Classifies packets: station, flow, rule, access category.
#[derive(Debug)]
pub(super) struct Classifier {
    pub(super) rules: Vec<Rule>,
    /// By interface; there are few.
    pub(super) hosts: Vec<Hosts>,
    priorities: PriorityMap,
    /// Random keys of the flow hashes (SipHash), so that a remote host cannot construct flows that collide.
    keys: RandomState,
    fragments: Fragments,
    waiting: Waiting,
    /// The number of the last packet.
    last: u32,
}

impl Classifier {
    pub(super) fn new(rules: Vec<Rule>, kernel: &str) -> Self {
        let priorities = PriorityMap::of_cfg80211(kernel);
        Self {
            rules,
            hosts: Vec::new(),
            priorities,
            keys: RandomState::new(),
            fragments: Fragments::default(),
            waiting: Waiting::default(),
            last: 0,
        }
    }

    /// The arrival of a packet. Its station is `None` if the packet is not IP or its receiver is unknown.
    pub(super) fn arrival(&mut self, packet: &Packet<'_>) -> Arrival {
        self.last = packet.id.0;
        let mut headers = Headers::read(packet.head);
        if let Some(headers) = &mut headers {
            self.fragments.complete(headers);
        }
        let station = headers.and_then(|headers| self.station(packet, headers.destination));
        let facts = headers.map(|headers| Facts {
            source: headers.source,
            destination: headers.destination,
            protocol: headers.protocol,
            ports: headers.ports,
            dscp: headers.dscp,
            station,
            mark: packet.mark,
        });
        let rule = facts.and_then(|facts| self.rules.iter().position(|rule| rule.condition.matches(&facts)));
        let dscp = headers.map(|headers| headers.dscp);
        let segments = match headers {
            Some(headers) if packet.is_super_packet => segments_of(packet.length, headers.length),
            _ => 1,
        };
        let arrival = Arrival {
            ticket: Ticket(packet.id.0),
            station,
            flow: FlowKey(headers.map_or(0, |headers| headers.flow_hash(&self.keys))),
            rule: rule.and_then(|rule| u16::try_from(rule).ok()),
            category: self.priorities.category(packet.priority, packet.vlan, dscp),
            size: packet.length,
            segments,
        };
        if let (None, Layer::Network, Some(headers)) = (station, packet.layer, headers) {
            self.waiting.on_packet(packet.out_interface, headers.destination, arrival.most_counted());
        }
        arrival
    }

    /// Takes a change of the neighbour table. Returns the station whose address became known, and the bytes that waited for it.
    pub(super) fn on_neighbour(&mut self, change: &Neighbour) -> Option<(MacAddress, ByteCount)> {
        self.hosts.iter_mut().for_each(|hosts| hosts.neighbours.apply(change));
        self.waiting.on_neighbour(change)
    }

    fn station(&self, packet: &Packet<'_>, destination: IpAddr) -> Option<MacAddress> {
        let hosts = self.hosts.iter().find(|hosts| hosts.interface == packet.out_interface);
        hosts.and_then(|hosts| hosts.relay).or_else(|| match packet.layer {
            Layer::Link => packet.destination(),
            Layer::Network => hosts?.neighbours.station(destination),
        })
    }

    /// Splits a completion into one for each frame.
    pub(super) fn completions(
        &self,
        seen: &completions::Completion,
    ) -> impl Iterator<Item = Completion> + use<> {
        let frames = seen.frames;
        let each = |total: u64| total.checked_div(u64::from(frames)).unwrap_or(0);
        let carried = match seen.details.map(|details| details.mark) {
            None => Carried::Unknown,
            Some(mark) if mark & !NUMBER == MARK => Carried::Packet(self.ticket(mark)),
            Some(mark) if mark & !NUMBER == THROUGH => Carried::Bypassed {
                rule: u16::try_from(mark & NUMBER).ok().and_then(|number| number.checked_sub(1)),
                took: seen.details.and_then(|details| details.in_host).unwrap_or_default(),
            },
            Some(_) => Carried::Other,
        };
        let is_dropped = seen.fate == Fate::Dropped;
        let airtime = seen.airtime.map(|airtime| Span::from_nanos(each(airtime.as_nanos())));
        let one = Completion {
            station: seen.station,
            carried,
            category: seen.details.map(|details| Category::of_user_priority(details.tid)),
            size: matches!(carried, Carried::Bypassed { .. })
                .then(|| ByteCount::new(each(seen.bytes.as_u64()).saturating_sub(BEFORE_IP))),
            acknowledged: seen.fate == Fate::Acknowledged,
            rate: seen.details.and_then(|details| details.rates.iter().flatten().last().and_then(rate_of)),
            tries: u8::try_from(each(u64::from(seen.tries))).unwrap_or(u8::MAX),
            // Frames dropped above the radio took no airtime.
            airtime: if is_dropped { Some(Span::ZERO) } else { airtime },
            at: seen.at,
        };
        std::iter::repeat_n(one, usize::try_from(frames).unwrap_or(0).min(MOST_FRAMES))
    }

    /// The latest packet whose number has the low bits of `mark`.
    const fn ticket(&self, mark: u32) -> Ticket {
        let candidate = (self.last & !NUMBER) | (mark & NUMBER);
        // The kernel's 32-bit packet numbers wrap to 0.
        Ticket(if mark & NUMBER > self.last & NUMBER {
            candidate.wrapping_sub(NUMBER + 1)
        } else {
            candidate
        })
    }
}

/// Upper bound of the frames that complete between two readings of a counter.
const MOST_FRAMES: usize = 65_536;

/// The PHY rate of a step of a rate chain (`struct ieee80211_tx_rate`). Legacy indices are taken as those of the 5 GHz band.
fn rate_of(step: &RateTry) -> Option<BitRate> {
    const HT: u16 = 1 << 3;
    const VHT: u16 = 1 << 8;
    let width = match step.flags {
        flags if flags & (1 << 10) != 0 => Width::Mhz160,
        flags if flags & (1 << 9) != 0 => Width::Mhz80,
        flags if flags & (1 << 5) != 0 => Width::Mhz40,
        _ => Width::Mhz20,
    };
    let guard = if step.flags & (1 << 7) != 0 { GuardInterval::Ns400 } else { GuardInterval::Ns800 };
    let index = u8::try_from(step.index).ok()?;
    let rate = if step.flags & VHT != 0 {
        Rate::vht(index & 15, (index >> 4) + 1, width, guard).ok()?
    } else if step.flags & HT != 0 {
        Rate::ht(index, width, guard).ok()?
    } else {
        Rate::legacy(*Legacy::ALL.get(usize::from(index))?)
    };
    Some(rate.bit_rate())
}

/// Converts nl80211's record of a station.
pub(super) fn facts_of(station: &nl80211::Station) -> StationFacts {
    let rate = station.transmit_rate;
    StationFacts {
        station: station.address,
        rate: rate.map(|rate| rate.rate).filter(|rate| !rate.is_zero()),
        aggregates: rate.is_none_or(|rate| rate.standard != "legacy"),
        sent: station.sent_bytes,
    }
}

/// `part` / `whole`; `None` if `part` is unknown or `whole` is zero.
pub(super) fn share(part: Option<Span>, whole: Span) -> Option<f64> {
    (!whole.is_zero()).then_some(part?.as_secs_f64() / whole.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classifier(last: u32) -> Classifier {
        Classifier { last, ..Classifier::new(Vec::new(), "6.12.0") }
    }

    #[test]
    fn a_mark_finds_its_packet_again() {
        for (last, number) in
            [(5, 5), (5, 3), (0x0100_0002, 0x00ff_fff0), (0x0100_0002, 0x0100_0001), (1, u32::MAX - 3)]
        {
            let mark = mark_of(Ticket(number));
            assert_eq!(mark >> 24, 0xab);
            assert_eq!(classifier(last).ticket(mark), Ticket(number), "{last} {number}");
        }
    }

    #[test]
    fn fragments_match_as_their_datagram() {
        let rule = |text: &str| Rule {
            name: text.to_owned(),
            condition: text.parse().expect("a condition"),
            demand: airbound_control::queue::Demand::new(Span::from_millis(20), 95.0).expect("a demand"),
            rate: None,
        };
        let mut classifier = Classifier::new(vec![rule("udp sport 5001")], "6.12.0");
        let mut arrival = |identification: u8, offset: u8, more: bool| {
            let mut head = vec![0x45, 0, 0, 28, 0, identification, if more { 0x20 } else { 0 }, offset];
            head.extend([64, 17, 0, 0, 10, 1, 0, 2, 10, 0, 0, 11]);
            head.extend(if offset == 0 { [0x13, 0x89, 0xc0, 1, 0, 8, 0, 0] } else { [0; 8] });
            classifier.arrival(&Packet {
                id: airbound_linux::nfqueue::PacketId(1),
                layer: Layer::Network,
                ethertype: 0x0800,
                head: &head,
                length: ByteCount::new(28),
                is_super_packet: false,
                in_interface: 1,
                out_interface: 2,
                link_header: &[],
                vlan: None,
                source: None,
                mark: 0,
                priority: 0,
            })
        };
        let first = arrival(7, 0, true);
        assert_eq!(first.rule, Some(0));
        for (offset, more) in [(185, true), (200, false)] {
            let later = arrival(7, offset, more);
            assert_eq!((later.rule, later.flow), (first.rule, first.flow), "{offset}");
        }
        assert_eq!(arrival(8, 185, false).rule, None, "of another datagram");
    }

    #[test]
    fn a_super_packet_becomes_as_many_frames_as_the_kernel_makes() {
        // TCP over IPv4 with timestamps: 52 B of headers, segments of 1448 B.
        for (segments, last) in [(1, 100), (1, 1448), (2, 1), (2, 1448), (44, 1448)] {
            let length = ByteCount::new(52 + (u64::from(segments) - 1) * 1448 + last);
            assert_eq!(segments_of(length, 52), segments, "{segments} {last}");
        }
        assert_eq!(segments_of(ByteCount::ZERO, 52), 1);
        assert_eq!(segments_of(ByteCount::new(65_535), usize::MAX), 1);
    }

    #[test]
    fn rates_of_chains() {
        let rate =
            |index, flags| rate_of(&RateTry { index, tries: 1, flags }).map(|rate| rate.as_bps() / 100_000);
        assert_eq!(rate(7, 1 << 3), Some(650));
        assert_eq!(rate(7, 1 << 3 | 1 << 5 | 1 << 7), Some(1500));
        assert_eq!(rate(0x19, 1 << 8 | 1 << 9), Some(7800), "VHT MCS 9, two streams, 80 MHz");
        assert_eq!(rate(0, 0), Some(60));
        assert_eq!((rate(-1, 0), rate(99, 0), rate(99, 1 << 3)), (None, None, None));
    }

    #[test]
    fn counters_are_split_into_frames() {
        let seen = completions::Completion {
            at: airbound_units::Instant::ZERO,
            station: MacAddress([2, 0, 0, 0, 1, 0]),
            fate: Fate::Acknowledged,
            frames: 4,
            bytes: ByteCount::new(6000),
            tries: 8,
            airtime: Some(Span::from_micros(800)),
            details: None,
        };
        let all: Vec<Completion> = classifier(0).completions(&seen).collect();
        assert_eq!(all.len(), 4);
        assert_eq!(
            (all[0].carried, all[0].tries, all[0].airtime),
            (Carried::Unknown, 2, Some(Span::from_micros(200)))
        );
        let many = completions::Completion { frames: u32::MAX, ..seen };
        assert_eq!(classifier(0).completions(&many).count(), MOST_FRAMES);
    }
}
