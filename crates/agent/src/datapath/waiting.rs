//! Packets accepted without a known receiver: the kernel keeps them while it asks for the address, and sends them with the answer.

use std::collections::BTreeMap;
use std::net::IpAddr;

use airbound_linux::MacAddress;
use airbound_linux::neighbours::Neighbour;
use airbound_units::ByteCount;

/// The most bytes that the kernel keeps for an address (`unres_qlen_bytes`, by default); it drops the oldest beyond.
const KEPT: u64 = 212_992;
/// The most addresses that are counted, so that a scan costs no memory.
const MOST_ADDRESSES: usize = 256;

/// Bytes that wait, by interface and address.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting {
    bytes: BTreeMap<(u32, IpAddr), u64>,
}

impl Waiting {
    /// A packet was accepted although no station is known to have its address.
    pub(super) fn on_packet(&mut self, interface: u32, destination: IpAddr, bytes: u64) {
        let place = (interface, destination);
        // Nobody is asked for a group's address.
        if destination.is_multicast()
            || (self.bytes.len() >= MOST_ADDRESSES && !self.bytes.contains_key(&place))
        {
            return;
        }
        let waiting = self.bytes.entry(place).or_default();
        *waiting = (*waiting + bytes).min(KEPT);
    }

    /// The kernel has an answer, or has given up and dropped the packets. Returns the station and the bytes that it sends to it now.
    pub(super) fn on_neighbour(&mut self, change: &Neighbour) -> Option<(MacAddress, ByteCount)> {
        let bytes = self.bytes.remove(&(change.interface, change.ip))?;
        change.station.map(|station| (station, ByteCount::new(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const STATION: MacAddress = MacAddress([2, 0, 0, 0, 1, 0]);

    fn ip(number: u32) -> IpAddr {
        Ipv4Addr::from(0x0a00_0000 + number).into()
    }

    fn change(interface: u32, number: u32, station: Option<MacAddress>) -> Neighbour {
        Neighbour { interface, ip: ip(number), station }
    }

    #[test]
    fn what_waits_goes_to_the_station_that_answers() {
        let mut waiting = Waiting::default();
        waiting.on_packet(3, ip(1), 1000);
        waiting.on_packet(3, ip(1), 500);
        waiting.on_packet(3, ip(2), 700);
        assert_eq!(waiting.on_neighbour(&change(4, 1, Some(STATION))), None, "another interface");
        let sent = Some((STATION, ByteCount::new(1500)));
        assert_eq!(waiting.on_neighbour(&change(3, 1, Some(STATION))), sent);
        assert_eq!(waiting.on_neighbour(&change(3, 1, Some(STATION))), None, "once");
        assert_eq!(waiting.on_neighbour(&change(3, 2, None)), None, "nobody answered");
        assert_eq!(waiting.on_neighbour(&change(3, 2, Some(STATION))), None, "dropped before");
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut waiting = Waiting::default();
        waiting.on_packet(3, Ipv4Addr::new(239, 1, 2, 3).into(), 1000);
        for number in 0..2 * MOST_ADDRESSES as u32 {
            waiting.on_packet(3, ip(number), 2 * KEPT);
            waiting.on_packet(3, ip(0), 2 * KEPT);
        }
        assert_eq!(waiting.bytes.len(), MOST_ADDRESSES);
        let sent = waiting.on_neighbour(&change(3, 0, Some(STATION)));
        assert_eq!(sent, Some((STATION, ByteCount::new(KEPT))));
    }
}
