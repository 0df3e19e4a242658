//! What arrives at an interface, with the kernel's receive stamps: frames of a monitor interface, or IP packets of another.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use airbound_units::Instant;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};

use crate::LinuxError;
use crate::interface::Interface;
use crate::sys;
use crate::sys::udp::{Datagrams, UdpOption, set_udp_option};
use crate::udp::of_stamp;

/// Packets of one call, and bytes of each: the largest A-MSDU with a radiotap header.
const BATCH: usize = 64;
const LARGEST: usize = 12_288;
const BUFFER: usize = 4 << 20;

/// A packet socket that never waits.
#[derive(Debug)]
pub struct Captures {
    socket: OwnedFd,
    batch: Datagrams,
}

impl AsFd for Captures {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Captures {
    /// Captures what arrives at an interface: with the link layer's header (`whole`; on a monitor interface radiotap's), or without.
    ///
    /// # Errors
    /// The right to raw sockets (NET_RAW) is missing, or the kernel refused.
    pub fn open(interface: &Interface, whole: bool) -> Result<Self, LinuxError> {
        let kind = if whole { SocketType::RAW } else { SocketType::DGRAM };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::PACKET, kind, flags, None).map_err(|error| {
            let why = format!("{error}; run it as root, or with the capability NET_RAW");
            LinuxError::Unavailable { what: "capturing packets", why }
        })?;
        let _ = sockopt::set_socket_recv_buffer_size(&socket, BUFFER);
        set_udp_option(socket.as_fd(), UdpOption::Stamps, false)
            .map_err(LinuxError::system("ask for stamps"))?;
        sys::capture_arrivals(socket.as_fd(), interface.index)
            .map_err(LinuxError::system("capture the packets of an interface"))?;
        Ok(Self { socket, batch: Datagrams::new(BATCH, LARGEST) })
    }

    /// Takes pending packets, without waiting: each with its stamp by CLOCK_REALTIME, since 1970. Returns whether there may be more.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn receive(&mut self, mut take: impl FnMut(Instant, &[u8])) -> io::Result<bool> {
        let received = match self.batch.receive(self.socket.as_fd()) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        for packet in self.batch.iter() {
            if let Some(stamp) = packet.stamp {
                take(of_stamp(stamp), packet.bytes);
            }
        }
        Ok(received == BATCH)
    }
}
