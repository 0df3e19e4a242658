//! The stations of IP addresses: a copy of the kernel's neighbour table of an interface (rtnetlink).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::netlink::message::{DUMP, Message, u16_at, u32_at};
use crate::netlink::socket::{ROUTE, Socket};
use crate::{LinuxError, MacAddress};

const NEW_NEIGHBOUR: u16 = 28;
const DELETE_NEIGHBOUR: u16 = 29;
const GET_NEIGHBOUR: u16 = 30;
/// Bytes of `struct ndmsg`.
const FIXED: usize = 12;
/// `NDA_DST`, `NDA_LLADDR`.
const DESTINATION: u16 = 1;
const HARDWARE_ADDRESS: u16 = 2;
/// `NUD_INCOMPLETE`, `NUD_FAILED`, `NUD_NOARP`: states without a station's address.
const WITHOUT_ADDRESS: u16 = 0x01 | 0x20 | 0x40;
const IPV4: u8 = 2;
const IPV6: u8 = 10;

/// An entry of the neighbour table, or its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neighbour {
    /// The interface.
    pub interface: u32,
    /// The IP address.
    pub ip: IpAddr,
    /// The station that has it; `None` if the kernel knows none.
    pub station: Option<MacAddress>,
}

/// The station of each IP address behind one interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Neighbours {
    interface: u32,
    stations: BTreeMap<IpAddr, MacAddress>,
}

impl Neighbours {
    /// Reads the kernel's table for an interface.
    ///
    /// # Errors
    /// rtnetlink failed.
    pub fn of(interface: u32) -> Result<Self, LinuxError> {
        let mut neighbours = Self { interface, stations: BTreeMap::new() };
        let mut fixed = [0; FIXED];
        fixed[4..8].copy_from_slice(&interface.to_ne_bytes());
        Socket::open(ROUTE)?.request(
            "list neighbours",
            GET_NEIGHBOUR,
            DUMP,
            &fixed,
            |_| {},
            |message| {
                if let Some(neighbour) = read(message) {
                    neighbours.apply(&neighbour);
                }
            },
        )?;
        Ok(neighbours)
    }

    /// The station that has an address. It is unknown for the first packet to a new address, which precedes the kernel's ARP request.
    #[must_use]
    pub fn station(&self, ip: IpAddr) -> Option<MacAddress> {
        self.stations.get(&ip).copied()
    }

    /// The addresses of a station.
    pub fn addresses(&self, station: MacAddress) -> impl Iterator<Item = IpAddr> {
        self.stations.iter().filter(move |(_, other)| **other == station).map(|(ip, _)| *ip)
    }

    /// Applies a change reported by [`crate::monitor`]; changes of other interfaces are ignored.
    pub fn apply(&mut self, change: &Neighbour) {
        if change.interface != self.interface {
            return;
        }
        match change.station {
            Some(station) => self.stations.insert(change.ip, station),
            None => self.stations.remove(&change.ip),
        };
    }

    /// The number of known addresses.
    #[must_use]
    pub fn len(&self) -> usize {
        self.stations.len()
    }

    /// Whether no address is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stations.is_empty()
    }
}

/// Reads rtnetlink's message about a neighbour; `None` for other messages.
pub(crate) fn read(message: &Message<'_>) -> Option<Neighbour> {
    if !matches!(message.kind, NEW_NEIGHBOUR | DELETE_NEIGHBOUR) {
        return None;
    }
    let attributes = message.attributes(FIXED);
    let destination = attributes.find(DESTINATION)?.value;
    let ip = match *message.body.first()? {
        IPV4 => Ipv4Addr::from(*destination.first_chunk::<4>()?).into(),
        IPV6 => Ipv6Addr::from(*destination.first_chunk::<16>()?).into(),
        _ => return None,
    };
    let state = u16_at(message.body, 8)?;
    let known = message.kind == NEW_NEIGHBOUR && state & WITHOUT_ADDRESS == 0;
    let address = attributes.find(HARDWARE_ADDRESS).and_then(|address| MacAddress::from_slice(address.value));
    let station = address.filter(|address| known && !address.is_group());
    Some(Neighbour { interface: u32_at(message.body, 4)?, ip, station })
}
