//! TUN devices: IP packets between a network namespace and this process.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read as _, Seek as _, Write as _};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt as _;

use airbound_units::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::interface::Interface;
use crate::netlink::message::Builder;
use crate::netlink::socket::{ROUTE, Socket};
use crate::segments::{Cutter, PREFIX};
use crate::{LinuxError, sys};

const SET_LINK: u16 = 19;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
/// `NLM_F_CREATE`, `NLM_F_EXCL`.
const CREATE: u16 = 0x600;
/// `IFF_UP`.
const UP: u32 = 1;
/// `IFA_F_NODAD`: an address that may be used at once.
const NO_DETECTION: u32 = 2;
/// Tables of sockets, and the state of a server's there: TCP_LISTEN, and TCP_CLOSE of a UDP socket that is not connected.
const SOCKETS: [(&str, &str); 4] = [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")];
/// The loopback device has this number in each network namespace.
const LOOPBACK: u32 = 1;

mod attribute {
    pub(super) const MTU: u16 = 4;
    pub(super) const QUEUE_LENGTH: u16 = 13;
    pub(super) const ADDRESS: u16 = 1;
    pub(super) const LOCAL: u16 = 2;
    /// `IFA_CACHEINFO`: lifetimes of an address.
    pub(super) const LIFETIMES: u16 = 6;
    pub(super) const FLAGS: u16 = 8;
    /// Of a route: its device.
    pub(super) const DEVICE: u16 = 4;
}

/// A TUN device. It belongs to the network namespace in which it was made, and can be read and written from any other one.
#[derive(Debug)]
pub struct Tun {
    file: File,
    cutter: Cutter,
    /// The counters of the namespace's devices.
    counters: Option<File>,
    /// The namespace's tables of sockets, and the state of those that a server has.
    sockets: Vec<(File, &'static str)>,
    name: String,
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Tun {
    /// Creates a device in this network namespace, with its addresses and their prefix lengths, and sets it and the loopback device up.
    /// `queue` is the number of packets that may wait to be read. IPv6 addresses are left out where the kernel has no IPv6; they are
    /// deprecated (RFC 4862, section 5.5.4), so that resolvers put those of IPv4 first (RFC 6724, section 6, rule 3): many receivers
    /// listen on 0.0.0.0 only.
    ///
    /// # Errors
    /// There is no `/dev/net/tun`, or the kernel refuses.
    pub fn create(name: &str, mtu: u32, queue: u32, addresses: &[(IpAddr, u8)]) -> Result<Self, LinuxError> {
        let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/net/tun");
        let file = file.map_err(|error| LinuxError::Unavailable {
            what: "/dev/net/tun",
            why: format!(
                "{error}; load the module with `modprobe tun`, and in a container pass the device on"
            ),
        })?;
        sys::attach_tun(file.as_fd(), name).map_err(LinuxError::system("make a TUN device"))?;
        let index = Interface::find(name)?.index;
        let mut socket = Socket::open(ROUTE)?;
        let up = |index: u32| {
            let mut fixed = [0; 16];
            fixed[4..8].copy_from_slice(&index.to_ne_bytes());
            fixed[8..12].copy_from_slice(&UP.to_ne_bytes());
            fixed[12..16].copy_from_slice(&UP.to_ne_bytes());
            fixed
        };
        socket.request("set the loopback device up", SET_LINK, 0, &up(LOOPBACK), |_| {}, |_| {})?;
        let sizes = |builder: &mut Builder| {
            builder.put_u32(attribute::MTU, mtu);
            builder.put_u32(attribute::QUEUE_LENGTH, queue);
        };
        for (address, prefix) in addresses {
            let added = add_address(&mut socket, index, *address, *prefix);
            if address.is_ipv4() {
                added?;
            }
        }
        socket.request("set a TUN device up", SET_LINK, 0, &up(index), sizes, |_| {})?;
        // Opened here, it shows this namespace's devices from wherever it is read.
        let open = |table: &str| File::open(format!("/proc/thread-self/net/{table}")).ok();
        let tables = SOCKETS.iter().filter_map(|(table, state)| Some((open(table)?, *state)));
        Ok(Self {
            file,
            cutter: Cutter::default(),
            counters: open("dev"),
            sockets: tables.collect(),
            name: name.to_owned(),
        })
    }

    /// Sends all IPv4 packets of this network namespace to other networks over the device, which has to be its own.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_way_out(&self) -> Result<(), LinuxError> {
        /// IPv4, to everywhere, by the main table, set by an administrator, on the link, for single receivers.
        const ROUTE_TO_ALL: [u8; 12] = [2, 0, 0, 0, 254, 4, 253, 1, 0, 0, 0, 0];
        let index = Interface::find(&self.name)?.index;
        let over = |builder: &mut Builder| builder.put_u32(attribute::DEVICE, index);
        let mut socket = Socket::open(ROUTE)?;
        socket.request("add a route", NEW_ROUTE, CREATE, &ROUTE_TO_ALL, over, |_| {})
    }

    /// Reads one packet that the namespace sends, without waiting; its length, or `None` if there is none. Segments that were sent at once
    /// come one by one: after them, more may be there although [`wait`] does not see it.
    ///
    /// # Errors
    /// The device is gone.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        if let Some(length) = self.cutter.next(into) {
            return Ok(Some(length));
        }
        match (&self.file).read(self.cutter.room()) {
            Ok(length) => {
                self.cutter.take(length);
                Ok(self.cutter.next(into))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Passes one packet to the namespace at once. Returns whether the namespace took it.
    pub fn write(&self, packet: &[u8]) -> bool {
        (&self.file).write_vectored(&[IoSlice::new(&[0; PREFIX]), IoSlice::new(packet)]).is_ok()
    }

    /// Passes a packet of [`Joiner::finish`](crate::segments::Joiner::finish) to the namespace. Returns whether the namespace took it.
    pub fn write_joined(&self, packet: &[u8]) -> bool {
        (&self.file).write(packet).is_ok()
    }

    /// Whether a process of the namespace listens: to TCP connections, or has a UDP socket that is not connected.
    pub fn has_server(&mut self) -> bool {
        self.sockets.iter_mut().any(|(table, state)| {
            let mut text = String::new();
            table.rewind().and_then(|()| table.read_to_string(&mut text)).is_ok()
                && text.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(state))
        })
    }

    /// Packets dropped so far because nobody read them in time, or the namespace had no room; `None` if the kernel does not tell.
    pub fn dropped(&mut self) -> Option<u64> {
        let file = self.counters.as_mut()?;
        let mut text = String::new();
        file.rewind().ok()?;
        file.read_to_string(&mut text).ok()?;
        dropped_in(&text, &self.name)
    }
}

/// Waits until a packet can be read from one of the devices, or for `span`.
pub fn wait<'a>(devices: impl Iterator<Item = BorrowedFd<'a>>, span: Span) {
    let mut fds: Vec<PollFd<'_>> =
        devices.map(|device| PollFd::from_borrowed_fd(device, PollFlags::IN)).collect();
    let (seconds, nanos) = (span.as_nanos() / 1_000_000_000, span.as_nanos() % 1_000_000_000);
    let time = Timespec { tv_sec: seconds as i64, tv_nsec: nanos as _ };
    // A signal ends the wait, too.
    let _ = poll(&mut fds, Some(&time));
}

/// The drops of a device in the text of `/proc/net/dev`, of both directions.
fn dropped_in(text: &str, name: &str) -> Option<u64> {
    let (_, figures) =
        text.lines().filter_map(|line| line.split_once(':')).find(|(device, _)| device.trim() == name)?;
    let figure = |place: usize| figures.split_whitespace().nth(place)?.parse::<u64>().ok();
    Some(figure(3)?.saturating_add(figure(11)?))
}

fn add_address(socket: &mut Socket, index: u32, address: IpAddr, prefix: u8) -> Result<(), LinuxError> {
    // AF_INET, AF_INET6.
    let family = if address.is_ipv4() { 2 } else { 10 };
    let mut fixed = [family, prefix, 0, 0, 0, 0, 0, 0];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    // `struct ifa_cacheinfo`: not preferred, valid for ever, and two stamps of the kernel.
    let lifetimes = [0, u32::MAX, 0, 0].map(u32::to_ne_bytes).concat();
    let mut put = |bytes: &[u8]| {
        let write = |builder: &mut Builder| {
            builder.put(attribute::LOCAL, bytes);
            builder.put(attribute::ADDRESS, bytes);
            builder.put_u32(attribute::FLAGS, NO_DETECTION);
            if address.is_ipv6() {
                builder.put(attribute::LIFETIMES, &lifetimes);
            }
        };
        socket.request("add an address", NEW_ADDRESS, CREATE, &fixed, write, |_| {})
    };
    match address {
        IpAddr::V4(address) => put(&address.octets()),
        IpAddr::V6(address) => put(&address.octets()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_both_directions_are_counted() {
        let text = "Inter-|   Receive                 |  Transmit\n face |bytes\n    lo:  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                    air0: 720 9 0 17 0 0 0 0 300 4 0 25 0 0 0 0\n";
        assert_eq!(dropped_in(text, "air0"), Some(42));
        assert_eq!(dropped_in(text, "lo"), Some(16));
        assert_eq!(dropped_in(text, "air"), None);
        assert_eq!(dropped_in("air0: 1 2", "air0"), None);
    }
}
