//! UDP in batches: recvmmsg(2) with addresses, receive stamps and merged datagrams; sendmmsg(2) with segmentation.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

use super::check;

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

/// Control data of one message, aligned as the kernel writes it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Room for several datagrams with their addresses and stamps, filled by one system call.
pub(crate) struct Datagrams {
    /// Content of all slots, contiguous; the kernel writes here, through `headers`. So it does in the next two.
    room: NonNull<[u8]>,
    names: NonNull<[libc::sockaddr_storage]>,
    controls: NonNull<[Control]>,
    _parts: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
    size: usize,
    received: usize,
}

impl std::fmt::Debug for Datagrams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Datagrams").field("slots", &self.headers.len()).finish_non_exhaustive()
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
        let slots = slots.clamp(1, 1024);
        let room = NonNull::from(Box::leak(vec![0u8; slots * size].into_boxed_slice()));
        // SAFETY: all bytes zero is a valid sockaddr_storage.
        let name: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let names = NonNull::from(Box::leak(vec![name; slots].into_boxed_slice()));
        let controls = NonNull::from(Box::leak(vec![Control([0; CONTROL]); slots].into_boxed_slice()));
        let first = room.cast::<u8>();
        let mut parts: Box<[libc::iovec]> = (0..slots)
            .map(|slot| libc::iovec {
                // SAFETY: `slot * size` lies within the room.
                iov_base: unsafe { first.add(slot * size) }.as_ptr().cast(),
                iov_len: size,
            })
            .collect();
        let start = parts.as_mut_ptr();
        let headers = (0..slots)
            .map(|slot| {
                // SAFETY: all bytes zero is a valid mmsghdr.
                let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
                // SAFETY: there are as many parts, names and controls as slots.
                unsafe {
                    header.msg_hdr.msg_iov = start.add(slot);
                    header.msg_hdr.msg_name =
                        names.cast::<libc::sockaddr_storage>().add(slot).as_ptr().cast();
                    header.msg_hdr.msg_control = controls.cast::<Control>().add(slot).as_ptr().cast();
                }
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        let mut made = Self { room, names, controls, _parts: parts, headers, size, received: slots };
        made.reset();
        made
    }

    /// Restores the lengths of name and control data that the kernel has changed.
    fn reset(&mut self) {
        for header in self.headers.iter_mut().take(self.received) {
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_hdr.msg_controllen = CONTROL as _;
        }
        self.received = 0;
    }

    /// Receives pending datagrams, without waiting. Replaces those of the last call.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        self.reset();
        // SAFETY: each header points to a slot, a name and control data of the lengths that it names; all live as long as `self`, and
        // nothing else refers to them meanwhile (`&mut self`).
        let received = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        self.received = check(received.into())? as usize;
        Ok(self.received)
    }

    /// The datagrams of the last call, without truncated ones.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Datagram<'_>> {
        // SAFETY: `self` owns these, and the kernel does not write there while `self` is borrowed.
        let (room, names) = unsafe { (self.room.as_ref(), self.names.as_ref()) };
        self.headers.iter().take(self.received).enumerate().filter_map(move |(slot, header)| {
            if header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
                return None;
            }
            let bytes = room.get(slot * self.size..)?.get(..(header.msg_len as usize).min(self.size))?;
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
            Some(Datagram { from: names.get(slot).and_then(address_of), bytes, segment, stamp })
        })
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        // SAFETY: they were leaked in `new`, and are freed once.
        unsafe {
            drop(Box::from_raw(self.room.as_ptr()));
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
        if let [first, _, ..] = message.datagrams {
            header.msg_control = ptr::from_mut(control).cast();
            // SAFETY: CMSG_SPACE computes a number.
            header.msg_controllen = unsafe { libc::CMSG_SPACE(2) } as _;
            // SAFETY: the control data has room for a header and two bytes, and is aligned.
            unsafe {
                let cmsg = libc::CMSG_FIRSTHDR(ptr::from_ref(header));
                (*cmsg).cmsg_level = libc::SOL_UDP;
                (*cmsg).cmsg_type = UDP_SEGMENT;
                (*cmsg).cmsg_len = libc::CMSG_LEN(2) as _;
                libc::CMSG_DATA(cmsg).cast::<u16>().write_unaligned(first.len() as u16);
            }
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
