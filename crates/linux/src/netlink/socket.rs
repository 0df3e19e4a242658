//! A netlink socket: requests with their responses, dumps, and multicast.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, socket_with,
};

use super::message::{ACK, Builder, DONE, DUMP, Message, Messages, REQUEST};
use crate::{LinuxError, sys};

/// Bytes of the receive buffer, above any datagram of a dump (NLMSG_GOODSIZE is a page; nl80211's wiphys use up to 32 KiB).
const DATAGRAM: usize = 64 << 10;
/// Time limit of a response; the kernel normally responds within the system call.
const TIMEOUT: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// A descriptor above those of an agent and below the usual limit of 1024.
const HIGH: i32 = 1000;

/// `NETLINK_ROUTE`.
pub(crate) const ROUTE: Option<Protocol> = None;
/// `NETLINK_GENERIC`.
pub(crate) const GENERIC: Option<Protocol> = Some(rustix::net::netlink::GENERIC);
/// `NETLINK_NETFILTER`.
pub(crate) const NETFILTER: Option<Protocol> = Some(rustix::net::netlink::NETFILTER);

/// `NFNL_MSG_BATCH_BEGIN`, `NFNL_MSG_BATCH_END`.
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;

/// A netlink socket.
#[derive(Debug)]
pub(crate) struct Socket {
    fd: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    pub(crate) fn open(protocol: Option<Protocol>) -> Result<Self, LinuxError> {
        let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
            .map_err(LinuxError::system("open a netlink socket"))?;
        bind(&fd, &SocketAddrNetlink::new(0, 0)).map_err(LinuxError::system("bind a netlink socket"))?;
        // Acknowledgements with explanations, and without a copy of the request; older kernels have neither.
        let _ = sys::set_netlink_option(fd.as_fd(), sys::NetlinkOption::ExtendedAcknowledgement, 1);
        let _ = sys::set_netlink_option(fd.as_fd(), sys::NetlinkOption::CapAcknowledgement, 1);
        Ok(Self { fd, sequence: 0, buffer: vec![0; DATAGRAM] })
    }

    /// Moves the socket to a descriptor above all others of the process. The kernel releases the descriptors of a dead process from the
    /// highest down (`close_files` lists them upwards, `task_work_run` takes the last first), and detaching an eBPF program takes 100 ms.
    /// If no high descriptor is available, the socket keeps its own.
    pub(crate) fn closed_first(mut self) -> Self {
        if let Ok(fd) = rustix::io::fcntl_dupfd_cloexec(&self.fd, HIGH) {
            self.fd = fd;
        }
        self
    }

    /// Joins a multicast group.
    pub(crate) fn join(&self, group: u32) -> Result<(), LinuxError> {
        sys::set_netlink_option(self.fd.as_fd(), sys::NetlinkOption::AddMembership, group)
            .map_err(LinuxError::system("join a netlink group"))
    }

    fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1).max(1);
        self.sequence
    }

    /// Sends a request with the attributes of `write`, and passes every message of the response to `each`, up to the end of the dump if
    /// `flags` request one, else up to the acknowledgement.
    pub(crate) fn request(
        &mut self,
        action: &'static str,
        kind: u16,
        flags: u16,
        fixed: &[u8],
        write: impl FnOnce(&mut Builder),
        mut each: impl FnMut(&Message<'_>),
    ) -> Result<(), LinuxError> {
        let sequence = self.next_sequence();
        let flags = if flags & DUMP == DUMP { flags } else { flags | ACK };
        let mut builder = Builder::with_capacity(256);
        builder.begin(kind, REQUEST | flags, sequence, fixed);
        write(&mut builder);
        self.send(builder.as_bytes()).map_err(LinuxError::system(action))?;
        self.await_response(action, sequence, &mut each)
    }

    /// Sends one change to a subsystem of nfnetlink that takes changes in batches only, with the attributes of `write`.
    pub(crate) fn change(
        &mut self,
        action: &'static str,
        kind: u16,
        flags: u16,
        fixed: &[u8],
        write: impl FnOnce(&mut Builder),
    ) -> Result<(), LinuxError> {
        let sequence = self.next_sequence();
        let [_, subsystem] = (kind >> 8).to_be_bytes();
        // `struct nfgenmsg` without a family, for the subsystem.
        let bound = [0, 0, 0, subsystem];
        let mut builder = Builder::with_capacity(256);
        builder.begin(BATCH_BEGIN, REQUEST, sequence, &bound);
        builder.begin(kind, REQUEST | ACK | flags, sequence, fixed);
        write(&mut builder);
        builder.begin(BATCH_END, REQUEST, sequence, &bound);
        self.send(builder.as_bytes()).map_err(LinuxError::system(action))?;
        self.await_response(action, sequence, &mut |_| {})
    }

    /// Passes the messages of a response to `each`, up to its end.
    fn await_response(
        &mut self,
        action: &'static str,
        sequence: u32,
        each: &mut dyn FnMut(&Message<'_>),
    ) -> Result<(), LinuxError> {
        loop {
            self.wait(action)?;
            let length = match self.receive_raw() {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(source) => return Err(LinuxError::System { action, source }),
            };
            for message in Messages(&self.buffer[..length]).filter(|message| message.sequence == sequence) {
                if message.kind == DONE {
                    // The end of a dump carries an error number, too.
                    let errno = message.body.first_chunk().copied().map_or(0, i32::from_ne_bytes);
                    return outcome(action, errno.saturating_neg(), "");
                }
                if let Some((errno, reason)) = message.outcome() {
                    return outcome(action, errno, reason);
                }
                each(&message);
            }
        }
    }

    fn wait(&self, action: &'static str) -> Result<(), LinuxError> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        match poll(&mut fds, Some(&TIMEOUT)) {
            Ok(0) => Err(LinuxError::System { action, source: io::ErrorKind::TimedOut.into() }),
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(LinuxError::System { action, source: error.into() }),
        }
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        // The kernel's address is all zero.
        rustix::net::sendto(&self.fd, bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        Ok(())
    }

    /// Receives one datagram into the buffer, without waiting.
    fn receive_raw(&mut self) -> io::Result<usize> {
        let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
        let (_, full) = rustix::net::recv(&self.fd, &mut self.buffer[..], flags)?;
        if full > self.buffer.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the response exceeds 64 KiB"));
        }
        Ok(full)
    }

    /// The messages of one multicast datagram; `None` if none is pending.
    pub(crate) fn receive(&mut self) -> io::Result<Option<Messages<'_>>> {
        match self.receive_raw() {
            Ok(length) => Ok(Some(Messages(&self.buffer[..length]))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn outcome(action: &'static str, errno: i32, reason: &str) -> Result<(), LinuxError> {
    match errno {
        0 => Ok(()),
        errno => Err(LinuxError::Refused {
            action,
            source: io::Error::from_raw_os_error(errno),
            reason: reason.to_owned(),
        }),
    }
}
