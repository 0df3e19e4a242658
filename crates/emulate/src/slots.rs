//! Flow slots: which flow of the simulation carries the packets of a connection.
//!
//! A simulation has a fixed number of flows, applications open as many connections as they like. Each [`Lane`] (one station, direction and
//! category) has [`SLOTS`] flows. A new connection takes the next free one, then the one that was idle longest, and where none is idle the
//! one that a hash of it names: as in a stochastic fair queue.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::net::IpAddr;

use airbound_linux::packet::{Headers, protocol};
use airbound_units::{Instant, Span};

/// Flows of a lane.
pub const SLOTS: usize = 64;
/// A connection without a packet for so long may lose its slot.
const IDLE: Span = Span::from_secs(30);

/// Protocol, addresses and ports of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol number of the transport.
    pub protocol: u8,
    /// Source and destination port, if the protocol has ports and the packet shows them.
    pub ports: Option<(u16, u16)>,
}

impl Tuple {
    /// The tuple of a packet.
    #[must_use]
    pub const fn of(headers: &Headers) -> Self {
        let Headers { source, destination, protocol, ports, .. } = *headers;
        Self { source, destination, protocol, ports }
    }

    /// The name of its transport, or its number.
    #[must_use]
    pub fn transport(&self) -> String {
        match self.protocol {
            protocol::TCP => "tcp".to_owned(),
            protocol::UDP => "udp".to_owned(),
            protocol::ICMP | protocol::ICMPV6 => "icmp".to_owned(),
            other => format!("proto {other}"),
        }
    }

    /// The tuple of the answers.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let ports = self.ports.map(|(source, destination)| (destination, source));
        Self { source: self.destination, destination: self.source, protocol: self.protocol, ports }
    }
}

impl std::fmt::Display for Tuple {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = |address: IpAddr, port: Option<u16>| match (address, port) {
            (IpAddr::V6(address), Some(port)) => format!("[{address}]:{port}"),
            (address, Some(port)) => format!("{address}:{port}"),
            (address, None) => address.to_string(),
        };
        let (source, destination) = self.ports.unzip();
        let (source, destination) = (end(self.source, source), end(self.destination, destination));
        write!(f, "{} {source} > {destination}", self.transport())
    }
}

/// A slot in use.
#[derive(Debug, Clone)]
struct Slot {
    tuple: Tuple,
    used: Instant,
    /// The first connection that it had.
    first: Tuple,
    /// Other connections that it had later.
    others: u64,
}

/// The slots of one lane.
#[derive(Debug, Clone, Default)]
pub struct Lane {
    slots: Vec<Slot>,
    known: HashMap<Tuple, usize>,
}

/// The slot of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// Its number, below [`SLOTS`].
    pub slot: usize,
    /// Whether no packet had it before.
    pub is_new: bool,
}

impl Lane {
    /// The slot of a packet at `now`; times do not descend.
    pub fn choose(&mut self, tuple: Tuple, now: Instant) -> Chosen {
        if let Some(slot) = self.known.get(&tuple).copied() {
            self.slots[slot].used = now;
            return Chosen { slot, is_new: false };
        }
        if self.slots.len() < SLOTS {
            let slot = self.slots.len();
            self.slots.push(Slot { tuple, used: now, first: tuple, others: 0 });
            self.known.insert(tuple, slot);
            return Chosen { slot, is_new: true };
        }
        let oldest = self.slots.iter().enumerate().min_by_key(|(_, slot)| slot.used);
        let idle = oldest.filter(|(_, slot)| now.since(slot.used) >= IDLE).map(|(number, _)| number);
        let slot = match idle {
            Some(number) => {
                self.known.remove(&self.slots[number].tuple);
                self.known.insert(tuple, number);
                self.slots[number].tuple = tuple;
                self.slots[number].others += 1;
                number
            }
            None => (BuildHasherDefault::<DefaultHasher>::new().hash_one(tuple) % SLOTS as u64) as usize,
        };
        self.slots[slot].used = now;
        Chosen { slot, is_new: false }
    }

    /// The slots in use: the first connection of each, and the number of others that took it over later.
    pub fn used(&self) -> impl Iterator<Item = (&Tuple, u64)> {
        self.slots.iter().map(|slot| (&slot.first, slot.others))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn tuple(port: u16) -> Tuple {
        let address = |last| IpAddr::from(Ipv4Addr::new(10, 77, 0, last));
        let ports = Some((port, 443));
        Tuple { source: address(2), destination: address(1), protocol: protocol::TCP, ports }
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn connections_have_slots_of_their_own_while_there_are_free_ones() {
        let mut lane = Lane::default();
        for port in 0..64 {
            assert_eq!(lane.choose(tuple(50_000 + port), at(0)), Chosen { slot: port.into(), is_new: true });
        }
        assert_eq!(lane.choose(tuple(50_003), at(1)), Chosen { slot: 3, is_new: false });
        // All are in use: two connections share a slot, and a packet of one always has the same.
        let shared = lane.choose(tuple(60_000), at(2));
        assert!(!shared.is_new);
        assert_eq!(lane.choose(tuple(60_000), at(3)), shared);
        assert_eq!(lane.used().map(|(_, others)| others).sum::<u64>(), 0);
        // After half a minute the oldest one is free.
        let late = lane.choose(tuple(60_001), at(30));
        assert_eq!(late, Chosen { slot: usize::from(shared.slot == 0), is_new: false });
        assert_eq!(lane.choose(tuple(60_001), at(31)), late);
        assert_eq!(lane.used().map(|(_, others)| others).sum::<u64>(), 1);
        assert_eq!(lane.used().next().map(|(first, _)| *first), Some(tuple(50_000)));
    }

    #[test]
    fn a_tuple_reads_well() {
        assert_eq!(tuple(50_000).to_string(), "tcp 10.77.0.2:50000 > 10.77.0.1:443");
        assert_eq!(tuple(50_000).reversed().to_string(), "tcp 10.77.0.1:443 > 10.77.0.2:50000");
        let ping = Tuple { protocol: protocol::ICMP, ports: None, ..tuple(1) };
        assert_eq!(ping.to_string(), "icmp 10.77.0.2 > 10.77.0.1");
        let six = Tuple { source: "fd00::1".parse().expect("an address"), ..tuple(7) };
        assert_eq!(six.to_string(), "tcp [fd00::1]:7 > 10.77.0.1:443");
    }

    #[test]
    fn any_bytes_are_read_without_panic() {
        bolero::check!().with_type::<(bool, Vec<u8>)>().for_each(|(is_v6, bytes)| {
            let mut bytes = bytes.clone();
            // A valid version reaches more of the parser.
            if let Some(first) = bytes.first_mut() {
                *first = if *is_v6 { 0x60 } else { 0x40 | *first & 15 };
            }
            let Some(headers) = Headers::read(&bytes) else { return };
            let tuple = Tuple::of(&headers);
            let chosen = Lane::default().choose(tuple, at(0));
            assert_eq!(chosen, Chosen { slot: 0, is_new: true });
            assert!(tuple.to_string().contains(" > ") && !tuple.transport().is_empty());
        });
    }

    /// Packets of any tuple in any order of time.
    #[derive(Debug, Clone, bolero::TypeGenerator)]
    struct Step {
        wait_ms: u16,
        protocol: u8,
        last: u8,
        ports: Option<(u8, u8)>,
    }

    #[test]
    fn any_packets_have_a_slot_and_the_table_stays_small() {
        bolero::check!().with_type::<Vec<Step>>().for_each(|steps| {
            let (mut lane, mut now) = (Lane::default(), Instant::ZERO);
            let mut new = 0;
            for step in steps {
                now += Span::from_millis(step.wait_ms.into());
                let ports = step.ports.map(|(source, destination)| (source.into(), destination.into()));
                let source = Ipv4Addr::new(10, 0, 0, step.last).into();
                let packet = Tuple { source, protocol: step.protocol, ports, ..tuple(1) };
                let chosen = lane.choose(packet, now);
                assert!(chosen.slot < SLOTS);
                if chosen.is_new {
                    assert_eq!(chosen.slot, new);
                    new += 1;
                }
                assert_eq!(lane.choose(packet, now), Chosen { is_new: false, ..chosen });
            }
            assert_eq!(lane.used().count(), new);
            assert_eq!(lane.known.len(), new);
        });
    }
}
