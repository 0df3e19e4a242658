//! A network device as one side of a path that this process carries on itself: IP packets that reach the machine over it, and packets to
//! the networks behind it. No rule, route or address of the machine is changed; `CAP_NET_RAW` is required.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::interface::Interface;
use crate::netlink::message::{DUMP, Message, u32_at};
use crate::netlink::socket::{ROUTE, Socket};
use crate::{LinuxError, sys};

const GET_ADDRESS: u16 = 22;
const NEW_ADDRESS: u16 = 20;
/// Bytes of `struct ifaddrmsg`.
const FIXED: usize = 8;
/// `IFA_ADDRESS`, `IFA_LOCAL`.
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
/// `IPPROTO_RAW`: the sender writes the IP header.
const RAW: u32 = 255;
/// Bytes that may wait to be read.
const BACKLOG: usize = 4 << 20;

/// An address of the machine and the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Own {
    interface: u32,
    address: IpAddr,
    prefix: u8,
}

/// A device and the networks behind it.
#[derive(Debug)]
pub struct Forwarder {
    captured: OwnedFd,
    four: OwnedFd,
    six: Option<OwnedFd>,
    /// Addresses of the machine on this device.
    behind: Vec<Own>,
    /// Super-packets, which no path carries.
    too_long: u64,
}

impl AsFd for Forwarder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.captured.as_fd()
    }
}

impl Forwarder {
    /// Opens a device that has addresses.
    ///
    /// # Errors
    /// There is no such device, it has no address, or the right to raw sockets is missing.
    pub fn open(name: &str) -> Result<Self, LinuxError> {
        let interface = Interface::find(name)?;
        let behind: Vec<Own> =
            addresses()?.into_iter().filter(|own| own.interface == interface.index).collect();
        if behind.is_empty() {
            let what = "forwarding between devices";
            return Err(LinuxError::Unavailable { what, why: format!("{name} has no address") });
        }
        let open = |family, kind, protocol| {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            rustix::net::socket_with(family, kind, flags, protocol).map_err(io::Error::from)
        };
        let refused = |error: io::Error| LinuxError::Unavailable {
            what: "forwarding between devices",
            why: format!("{error}; run it as root, or with the capability NET_RAW"),
        };
        let captured = open(AddressFamily::PACKET, SocketType::DGRAM, None).map_err(refused)?;
        sockopt::set_socket_recv_buffer_size(&captured, BACKLOG)
            .map_err(io::Error::from)
            .map_err(LinuxError::system("set the buffer of a packet socket"))?;
        sys::capture_arrivals(captured.as_fd(), interface.index)
            .map_err(LinuxError::system("capture the packets of a device"))?;
        let raw = std::num::NonZeroU32::new(RAW).map(Protocol::from_raw);
        let four = open(AddressFamily::INET, SocketType::RAW, raw).map_err(refused)?;
        // A kernel without IPv6 carries IPv4.
        let six = open(AddressFamily::INET6, SocketType::RAW, raw).ok();
        Ok(Self { captured, four, six, behind, too_long: 0 })
    }

    /// Whether an address lies in a network behind the device and is not the machine's own.
    #[must_use]
    pub fn leads_to(&self, address: IpAddr) -> bool {
        let is_single = match address {
            IpAddr::V4(address) => !address.is_multicast() && !address.is_broadcast(),
            IpAddr::V6(address) => !address.is_multicast() && !address.is_unicast_link_local(),
        };
        let is_behind = self.behind.iter().any(|own| shares_prefix(own, address));
        is_single && is_behind && self.behind.iter().all(|own| own.address != address)
    }

    /// Reads one packet that came over the device, without waiting; its length, or `None` if there is none.
    ///
    /// # Errors
    /// The device is gone.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match rustix::net::recv(&self.captured, &mut *into, RecvFlags::TRUNC) {
                Ok((read, length)) if length > read => self.too_long += 1,
                Ok((read, _)) => return Ok(Some(read)),
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Sends one IP packet on by the machine's routes. Returns whether the kernel took it.
    pub fn write(&self, packet: &[u8], to: IpAddr) -> bool {
        let socket = match to {
            IpAddr::V4(_) => Some(&self.four),
            IpAddr::V6(_) => self.six.as_ref(),
        };
        let to = SocketAddr::new(to, 0);
        socket.is_some_and(|socket| rustix::net::sendto(socket, packet, SendFlags::DONTWAIT, &to).is_ok())
    }

    /// Packets so far that were longer than those of any path: segmentation offload is on at their sender.
    #[must_use]
    pub const fn too_long(&self) -> u64 {
        self.too_long
    }
}

/// The addresses of this machine.
fn addresses() -> Result<Vec<Own>, LinuxError> {
    let mut found = Vec::new();
    Socket::open(ROUTE)?.request(
        "list addresses",
        GET_ADDRESS,
        DUMP,
        &[0; FIXED],
        |_| {},
        |message| found.extend(read(message)),
    )?;
    Ok(found)
}

fn read(message: &Message<'_>) -> Option<Own> {
    if message.kind != NEW_ADDRESS {
        return None;
    }
    let prefix = *message.body.get(1)?;
    let interface = u32_at(message.body, 4)?;
    let attributes = message.attributes(FIXED);
    let bytes = attributes.find(LOCAL).or_else(|| attributes.find(ADDRESS))?.value;
    let address = match bytes.len() {
        4 => IpAddr::from(*bytes.first_chunk::<4>()?),
        16 => IpAddr::from(*bytes.first_chunk::<16>()?),
        _ => return None,
    };
    Some(Own { interface, address, prefix })
}

fn shares_prefix(own: &Own, other: IpAddr) -> bool {
    let (a, b, length) = match (own.address, other) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (u128::from(a.to_bits()), u128::from(b.to_bits()), 32),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits(), b.to_bits(), 128),
        _ => return false,
    };
    let behind = u32::from(length - own.prefix.min(length));
    (a ^ b).checked_shr(behind).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_decides_what_lies_behind() {
        let own =
            |address: &str, prefix| Own { interface: 1, address: address.parse().expect("one"), prefix };
        let is = |address: &str, prefix, other: &str| {
            shares_prefix(&own(address, prefix), other.parse().expect("one"))
        };
        assert!(is("193.167.0.2", 24, "193.167.0.100") && !is("193.167.0.2", 24, "193.167.100.100"));
        assert!(is("193.167.0.2", 0, "8.8.8.8") && !is("193.167.0.2", 32, "193.167.0.3"));
        assert!(is("fd00:cafe::2", 64, "fd00:cafe::64") && !is("fd00:cafe::2", 64, "fd00:cafe:0:1::64"));
        assert!(is("fd00::", 0, "::1") && !is("fd00::1", 128, "fd00::2"));
        assert!(!is("193.167.0.2", 0, "::1"));
    }
}
