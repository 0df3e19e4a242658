//! UDP in batches: recvmmsg(2) with addresses, receive stamps and merged datagrams; sendmmsg(2) with segmentation.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

use super::{Batch, check};

/// `UDP_SEGMENT`, `UDP_GRO` (include/uapi/linux/udp.h), of level `SOL_UDP`.
const UDP_SEGMENT: libc::c_int = 103;
const UDP_GRO: libc::c_int = 104;
/// Room for the stamp (`timespec`) and the size of merged datagrams (`int`), with their headers.
const CONTROL: usize = 64;

/// An option of a UDP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UdpOption {
    /// Datagrams are never fragmented, whatever the path's MTU is said to be (`IP_PMTUDISC_PROBE`).
    NoFragments,
    /// Each datagram has a receive stamp of the kernel (`SO_TIMESTAMPNS`).
    Stamps,
    /// The kernel may hand over several datagrams of one flow as one (`UDP_GRO`).
    Merging,
    /// Time of sending for each datagram (`SO_TXTIME` by CLOCK_MONOTONIC).
    SendTime,
}

/// Sets an option of a socket for IPv4 or IPv6.
pub(crate) fn set_udp_option(fd: BorrowedFd<'_>, option: UdpOption, is_v6: bool) -> io::Result<()> {
    let (level, name, value): (_, _, [libc::c_int; 2]) = match option {
        UdpOption::NoFragments if is_v6 => {
            (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, [libc::IPV6_PMTUDISC_PROBE, 0])
        }
        UdpOption::NoFragments => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, [libc::IP_PMTUDISC_PROBE, 0]),
        UdpOption::Stamps => (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, [1, 0]),
        UdpOption::Merging => (libc::SOL_UDP, UDP_GRO, [1, 0]),
        // `struct sock_txtime`: clock and flags.
        UdpOption::SendTime => (libc::SOL_SOCKET, libc::SO_TXTIME, [libc::CLOCK_MONOTONIC, 0]),
    };
    let length = if option == UdpOption::SendTime { 8 } else { 4 };
    // SAFETY: the kernel reads `length` of the 8 bytes of a value that lives until the call returns.
    let result = unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value.as_ptr().cast(), length) };
    check(result.into()).map(drop)
}

/// Binds a socket to an interface: what it sends leaves there, and what arrives elsewhere is not its own.
pub(crate) fn bind_to_device(fd: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    let (level, option) = (libc::SOL_SOCKET, libc::SO_BINDTODEVICE);
    // SAFETY: the kernel reads as many bytes of the name as it has.
    let result =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, name.as_ptr().cast(), name.len() as _) };
    check(result.into()).map(drop)
}

/// Control data of one message, aligned as the kernel writes it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// A batch of datagrams with their addresses and stamps.
pub(crate) struct Datagrams {
    batch: Batch,
    /// The kernel writes names and control data here, through the headers of the batch.
    names: NonNull<[libc::sockaddr_storage]>,
    controls: NonNull<[Control]>,
}

impl std::fmt::Debug for Datagrams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Datagrams").field("batch", &self.batch).finish_non_exhaustive()
    }
}

/// A received datagram, or several merged ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Datagram<'a> {
    pub(crate) from: Option<SocketAddr>,
    pub(crate) bytes: &'a [u8],
    /// Size of each merged datagram but the last; `None` for a single one.
    pub(crate) segment: Option<usize>,
    /// Receive stamp by CLOCK_REALTIME: seconds and nanoseconds.
    pub(crate) stamp: Option<(i64, i64)>,
}

impl Datagrams {
    /// `slots` (1 to 1024) of at most `size` bytes.
    pub(crate) fn new(slots: usize, size: usize) -> Self {
        let mut batch = Batch::new(slots, size);
        let slots = batch.capacity();
        // SAFETY: all bytes zero is a valid sockaddr_storage.
        let name: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let names = NonNull::from(Box::leak(vec![name; slots].into_boxed_slice()));
        let controls = NonNull::from(Box::leak(vec![Control([0; CONTROL]); slots].into_boxed_slice()));
        for (slot, header) in batch.headers.iter_mut().enumerate() {
            // SAFETY: there are as many names and controls as headers.
            unsafe {
                header.msg_hdr.msg_name = names.cast::<libc::sockaddr_storage>().add(slot).as_ptr().cast();
                header.msg_hdr.msg_control = controls.cast::<Control>().add(slot).as_ptr().cast();
            }
        }
        let mut made = Self { batch, names, controls };
        made.put_lengths(slots);
        made
    }

    /// Writes the lengths of name and control data, which the kernel has changed in the first `count` headers.
    fn put_lengths(&mut self, count: usize) {
        for header in self.batch.headers.iter_mut().take(count) {
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_hdr.msg_controllen = CONTROL as _;
        }
    }

    /// Receives pending datagrams, without waiting. Replaces those of the last call.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        self.put_lengths(self.batch.received);
        self.batch.receive(fd)
    }

    /// The datagrams of the last call, without truncated ones.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Datagram<'_>> {
        // SAFETY: `self` owns these, and the kernel does not write there while `self` is borrowed.
        let names = unsafe { self.names.as_ref() };
        self.batch.datagrams().zip(&self.batch.headers).zip(names).filter_map(|((bytes, header), name)| {
            let bytes = bytes?;
            let (mut stamp, mut segment) = (None, None);
            // SAFETY: the kernel has filled the control data of this header, which `self` owns, as far as its length says; the macros
            // stay within that.
            unsafe {
                let mut next = libc::CMSG_FIRSTHDR(&raw const header.msg_hdr);
                while let Some(control) = next.as_ref() {
                    let data = libc::CMSG_DATA(next);
                    if (control.cmsg_level, control.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) {
                        let time = data.cast::<libc::timespec>().read_unaligned();
                        stamp = Some((time.tv_sec as i64, time.tv_nsec as i64));
                    } else if (control.cmsg_level, control.cmsg_type) == (libc::SOL_UDP, UDP_GRO) {
                        let size = data.cast::<libc::c_int>().read_unaligned();
                        segment = usize::try_from(size).ok().filter(|size| *size > 0 && *size < bytes.len());
                    }
                    next = libc::CMSG_NXTHDR(&raw const header.msg_hdr, next);
                }
            }
            Some(Datagram { from: address_of(name), bytes, segment, stamp })
        })
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        // SAFETY: they were leaked in `new`, and are freed once.
        unsafe {
            drop(Box::from_raw(self.names.as_ptr()));
            drop(Box::from_raw(self.controls.as_ptr()));
        }
    }
}

/// The address in a structure that the kernel has written; `None` for another family.
fn address_of(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match libc::c_int::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: a sockaddr_storage is as large and as aligned as any address; this family says which one it is.
            let v4 = unsafe { ptr::from_ref(name).cast::<libc::sockaddr_in>().read() };
            let address = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Some(SocketAddrV4::new(address, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let v6 = unsafe { ptr::from_ref(name).cast::<libc::sockaddr_in6>().read() };
            let address = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            Some(
                SocketAddrV6::new(address, u16::from_be(v6.sin6_port), v6.sin6_flowinfo, v6.sin6_scope_id)
                    .into(),
            )
        }
        _ => None,
    }
}

/// Writes an address; returns its length.
fn put_address(address: SocketAddr, name: &mut libc::sockaddr_storage) -> libc::socklen_t {
    match address {
        SocketAddr::V4(v4) => {
            // SAFETY: all bytes zero is a valid sockaddr_in.
            let mut raw: libc::sockaddr_in = unsafe { std::mem::zeroed() };
            raw.sin_family = libc::AF_INET as libc::sa_family_t;
            raw.sin_port = v4.port().to_be();
            raw.sin_addr.s_addr = u32::from(*v4.ip()).to_be();
            // SAFETY: a sockaddr_storage has room for any address, and is aligned for it.
            unsafe { ptr::from_mut(name).cast::<libc::sockaddr_in>().write(raw) };
            size_of::<libc::sockaddr_in>() as libc::socklen_t
        }
        SocketAddr::V6(v6) => {
            // SAFETY: all bytes zero is a valid sockaddr_in6.
            let mut raw: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
            raw.sin6_family = libc::AF_INET6 as libc::sa_family_t;
            raw.sin6_port = v6.port().to_be();
            raw.sin6_addr.s6_addr = v6.ip().octets();
            raw.sin6_flowinfo = v6.flowinfo();
            raw.sin6_scope_id = v6.scope_id();
            // SAFETY: as above.
            unsafe { ptr::from_mut(name).cast::<libc::sockaddr_in6>().write(raw) };
            size_of::<libc::sockaddr_in6>() as libc::socklen_t
        }
    }
}

/// Datagrams to one address, all of the same length but a shorter last one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Message<'a> {
    /// `None` on a connected socket.
    pub(crate) to: Option<SocketAddr>,
    pub(crate) datagrams: &'a [io::IoSlice<'a>],
    /// Time of sending in ns by the clock of [`UdpOption::SendTime`]; `None` for at once.
    pub(crate) leaves: Option<u64>,
}

/// Writes control data of one kind. Returns its length with padding.
fn put_control<T>(room: &mut [u8], level: libc::c_int, kind: libc::c_int, value: T) -> usize {
    let length = size_of::<T>() as libc::c_uint;
    // SAFETY: CMSG_SPACE and CMSG_LEN compute numbers.
    let (space, own) = unsafe { (libc::CMSG_SPACE(length), libc::CMSG_LEN(length)) };
    assert!(room.len() >= space as usize, "the room is a constant of this file");
    let control = room.as_mut_ptr().cast::<libc::cmsghdr>();
    // SAFETY: there is room for a header and the value, as just checked; the value follows the header.
    unsafe {
        let mut header: libc::cmsghdr = std::mem::zeroed();
        (header.cmsg_level, header.cmsg_type, header.cmsg_len) = (level, kind, own as _);
        control.write_unaligned(header);
        libc::CMSG_DATA(control).cast::<T>().write_unaligned(value);
    }
    space as usize
}

/// Sends messages in order, without waiting. Returns how many the kernel took, at least one without an error.
pub(crate) fn send_messages(fd: BorrowedFd<'_>, messages: &[Message<'_>]) -> io::Result<usize> {
    const MOST: usize = 64;
    let count = messages.len().min(MOST);
    // SAFETY: all bytes zero is a valid sockaddr_storage, and a valid mmsghdr.
    let (mut names, mut headers) = unsafe {
        ([std::mem::zeroed::<libc::sockaddr_storage>(); MOST], [std::mem::zeroed::<libc::mmsghdr>(); MOST])
    };
    let mut controls = [Control([0; CONTROL]); MOST];
    let slots = headers.iter_mut().zip(&mut names).zip(&mut controls);
    for (message, ((header, name), control)) in messages.iter().zip(slots) {
        let header = &mut header.msg_hdr;
        if let Some(to) = message.to {
            header.msg_namelen = put_address(to, name);
            header.msg_name = ptr::from_mut(name).cast();
        }
        // An IoSlice has the layout of an iovec. The kernel does not write there.
        header.msg_iov = message.datagrams.as_ptr().cast_mut().cast();
        header.msg_iovlen = message.datagrams.len() as _;
        let mut used = 0;
        if let [first, _, ..] = message.datagrams {
            used += put_control(&mut control.0[used..], libc::SOL_UDP, UDP_SEGMENT, first.len() as u16);
        }
        if let Some(leaves) = message.leaves {
            used += put_control(&mut control.0[used..], libc::SOL_SOCKET, libc::SCM_TXTIME, leaves);
        }
        if used > 0 {
            header.msg_control = ptr::from_mut(control).cast();
            header.msg_controllen = used as _;
        }
    }
    // SAFETY: the first `count` headers point to names, control data and datagrams that live until the call returns.
    let sent = unsafe {
        libc::sendmmsg(fd.as_raw_fd(), headers.as_mut_ptr(), count as libc::c_uint, libc::MSG_DONTWAIT as _)
    };
    check(sent.into()).map(|sent| sent as usize)
}

/// Lets timers of this thread end as late as this many ns.
pub(crate) fn set_timer_slack(nanos: u64) -> io::Result<()> {
    // SAFETY: no memory is passed.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanos as libc::c_ulong, 0, 0, 0) }.into()).map(drop)
}
