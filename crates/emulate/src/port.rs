//! The side of a host at which its packets leave and arrive.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use airbound_linux::forward::Forwarder;
use airbound_linux::packet::Headers;
use airbound_linux::segments::PREFIX;
use airbound_linux::tun::Tun;

/// A host's packets.
#[derive(Debug)]
pub enum Port {
    /// A namespace of its own.
    Tun(Tun),
    /// The networks behind a device of this machine.
    Device(Forwarder),
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tun(tun) => tun.as_fd(),
            Self::Device(device) => device.as_fd(),
        }
    }
}

impl Port {
    /// Reads one packet that the host sends, without waiting; its length, or `None` if there is none.
    ///
    /// # Errors
    /// The device is gone.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Tun(tun) => tun.read(into),
            Self::Device(device) => device.read(into),
        }
    }

    /// Passes one packet to the host. Returns whether it took it.
    pub fn write(&self, packet: &[u8]) -> bool {
        match self {
            Self::Tun(tun) => tun.write(packet),
            Self::Device(device) => {
                Headers::read(packet).is_some_and(|headers| device.write(packet, headers.destination))
            }
        }
    }

    /// Passes a packet of [`Joiner::finish`](airbound_linux::segments::Joiner::finish) to the host. Returns whether it took it.
    pub fn write_joined(&self, packet: &[u8]) -> bool {
        match self {
            Self::Tun(tun) => tun.write_joined(packet),
            Self::Device(_) => packet.get(PREFIX..).is_some_and(|packet| self.write(packet)),
        }
    }

    /// Whether several segments may be written as one packet.
    #[must_use]
    pub const fn joins(&self) -> bool {
        matches!(self, Self::Tun(_))
    }

    /// Whether an address lies behind it, as the device tells; of a namespace, the table of hosts decides.
    #[must_use]
    pub fn leads_to(&self, address: IpAddr) -> bool {
        match self {
            Self::Tun(_) => false,
            Self::Device(device) => device.leads_to(address),
        }
    }

    /// Packets dropped so far because they were read too late, or were too long; `None` if the kernel does not tell.
    pub fn dropped(&mut self) -> Option<u64> {
        match self {
            Self::Tun(tun) => tun.dropped(),
            Self::Device(device) => Some(device.too_long()),
        }
    }

    /// Whether a process of the host listens.
    pub fn has_server(&mut self) -> bool {
        match self {
            Self::Tun(tun) => tun.has_server(),
            Self::Device(_) => false,
        }
    }
}
