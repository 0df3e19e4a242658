//! System calls without a safe wrapper elsewhere: bpf(2), shared memory of eBPF, netlink socket options, recvmmsg(2), and those that make
//! processes, namespaces and TUN devices. The interface is safe: callers pass slices and get numbers, slices and owned descriptors.
#![allow(unsafe_code)]

pub(crate) mod udp;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Options at level `SOL_NETLINK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NetlinkOption {
    AddMembership = 1,
    NoEnobufs = 5,
    CapAcknowledgement = 10,
    ExtendedAcknowledgement = 11,
}

/// Sets one of netlink's socket options.
pub(crate) fn set_netlink_option(fd: BorrowedFd<'_>, option: NetlinkOption, value: u32) -> io::Result<()> {
    let length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of a value that lives until the call returns.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_NETLINK,
            option as libc::c_int,
            ptr::from_ref(&value).cast(),
            length,
        )
    };
    check(result.into()).map(drop)
}

/// Buffers for several datagrams, filled by one system call.
///
/// The headers are initialised once, so that the cost of a call depends on the datagrams received and not on the capacity.
pub(crate) struct Batch {
    /// All slots, contiguous. Only the kernel writes here, through `headers`.
    room: NonNull<[u8]>,
    /// Address and length of each slot. `headers` point into it.
    _parts: Box<[libc::iovec]>,
    headers: Box<[libc::mmsghdr]>,
    size: usize,
    received: usize,
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("slots", &self.headers.len()).field("received", &self.received).finish()
    }
}

// SAFETY: every address in it is of memory that it owns; the kernel writes there only through `&mut self`, reads are through `&self`.
unsafe impl Send for Batch {}
// SAFETY: `&self` permits reads only.
unsafe impl Sync for Batch {}

impl Batch {
    /// `slots` datagrams (1 to 1024) of at most `size` bytes.
    pub(crate) fn new(slots: usize, size: usize) -> Self {
        let slots = slots.clamp(1, 1024);
        let room = NonNull::from(Box::leak(vec![0u8; slots * size].into_boxed_slice()));
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
                // SAFETY: all bytes zero is a valid mmsghdr: no name, no control data, no flags.
                let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
                // SAFETY: there are as many parts as slots.
                header.msg_hdr.msg_iov = unsafe { start.add(slot) };
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        Self { room, _parts: parts, headers, size, received: 0 }
    }

    /// Receives pending datagrams, without waiting. Replaces those of the last call.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>) -> io::Result<usize> {
        self.received = 0;
        // SAFETY: each header points to one part, each part to a slot of the length that it names; all live as long as `self`, and nothing
        // else refers to the slots meanwhile (`&mut self`). Of a header the kernel writes length and flags only: it has neither name nor
        // control data, or those of a `udp::Datagrams`, of the lengths that it names, which live as long as that and this.
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

    /// The number of datagrams that one call receives at most.
    pub(crate) fn capacity(&self) -> usize {
        self.headers.len()
    }

    /// The datagrams of the last call; `None` for a truncated one.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = Option<&[u8]>> {
        // SAFETY: `self` owns the buffer, and the kernel does not write there while `self` is borrowed.
        let room = unsafe { self.room.as_ref() };
        self.headers.iter().take(self.received).enumerate().map(|(slot, header)| {
            let is_cut = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            let slot = room.get(slot * self.size..)?;
            slot.get(..header.msg_len as usize).filter(|datagram| !is_cut && datagram.len() <= self.size)
        })
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: it was leaked in `new`, and is freed once.
        drop(unsafe { Box::from_raw(self.room.as_ptr()) });
    }
}

/// A shared mapping of a file descriptor.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is owned, and only reached through `&self` (reads, atomics) and `Drop`.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes from `offset` on.
    pub(crate) fn new(fd: BorrowedFd<'_>, length: usize, offset: usize, writable: bool) -> io::Result<Self> {
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                length,
                protection,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self { start, length })
    }

    fn at(&self, offset: usize, size: usize) -> Option<NonNull<u8>> {
        let fits = offset.is_multiple_of(size) && offset.checked_add(size)? <= self.length;
        // SAFETY: `offset` lies within the mapping.
        fits.then(|| unsafe { self.start.add(offset) })
    }

    /// Loads a 64-bit number with acquire ordering; `None` outside of the mapping or unaligned.
    pub(crate) fn load_u64(&self, offset: usize) -> Option<u64> {
        let place = self.at(offset, 8)?.cast::<AtomicU64>();
        // SAFETY: `at` checked bounds and alignment (the mapping begins at a page); it lives as long as `self`.
        Some(unsafe { place.as_ref() }.load(Ordering::Acquire))
    }

    /// Loads a 32-bit number with acquire ordering; `None` outside of the mapping or unaligned.
    pub(crate) fn load_u32(&self, offset: usize) -> Option<u32> {
        let place = self.at(offset, 4)?.cast::<AtomicU32>();
        // SAFETY: as above.
        Some(unsafe { place.as_ref() }.load(Ordering::Acquire))
    }

    /// Stores with release ordering. The mapping has to be writable; otherwise the store faults.
    pub(crate) fn store_u64(&self, offset: usize, value: u64) {
        if let Some(place) = self.at(offset, 8) {
            // SAFETY: as above.
            unsafe { place.cast::<AtomicU64>().as_ref() }.store(value, Ordering::Release);
        }
    }

    /// Copies bytes to `into`; `None` outside of the mapping. Bytes written concurrently by the other side have unspecified values.
    pub(crate) fn copy(&self, offset: usize, into: &mut [u8]) -> Option<()> {
        if offset.checked_add(into.len())? > self.length {
            return None;
        }
        // SAFETY: the source lies within the mapping, the target is borrowed exclusively.
        unsafe { ptr::copy_nonoverlapping(self.start.add(offset).as_ptr(), into.as_mut_ptr(), into.len()) };
        Some(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is exactly that of the mapping, and no reference to it exists any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// `union bpf_attr` (kernel include/uapi/linux/bpf.h) as bytes: every member has a fixed offset.
#[derive(Clone)]
#[repr(C, align(8))]
struct Attributes([u8; 144]);

impl Attributes {
    const fn new() -> Self {
        Self([0; 144])
    }

    fn u32(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn u64(mut self, at: usize, value: u64) -> Self {
        self.0[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn fd(self, at: usize, fd: BorrowedFd<'_>) -> Self {
        self.u32(at, fd.as_raw_fd() as u32)
    }

    /// At most 15 bytes of a name.
    fn name(mut self, at: usize, name: &str) -> Self {
        let name = &name.as_bytes()[..name.len().min(15)];
        self.0[at..at + name.len()].copy_from_slice(name);
        self
    }
}

const MAP_CREATE: libc::c_int = 0;
const PROGRAM_LOAD: libc::c_int = 5;
const INFO_BY_FD: libc::c_int = 15;
const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
const BTF_FD_BY_ID: libc::c_int = 19;
const BTF_NEXT_ID: libc::c_int = 23;

/// bpf(2).
///
/// # Safety
/// Every address in `attributes` that `command` uses is of live memory of the length given with it, writable where the command writes.
unsafe fn bpf(command: libc::c_int, attributes: &mut Attributes) -> io::Result<libc::c_long> {
    let size = size_of::<Attributes>();
    // SAFETY: the kernel reads and writes `size` bytes of `attributes`; the rest is the caller's promise. Newer members are zero,
    // which older kernels accept at any size.
    check(unsafe { libc::syscall(libc::SYS_bpf, command, attributes.0.as_mut_ptr(), size) })
}

/// bpf(2) for commands that return a descriptor.
///
/// # Safety
/// As [`bpf`], and `command` returns a new descriptor.
unsafe fn bpf_descriptor(command: libc::c_int, attributes: &mut Attributes) -> io::Result<OwnedFd> {
    // SAFETY: the caller's promise.
    let fd = unsafe { bpf(command, attributes) }?;
    // SAFETY: the kernel just created it, so it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

fn address<T>(of: &[T]) -> u64 {
    of.as_ptr() as u64
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Kind of a map (`enum bpf_map_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapKind {
    Array = 2,
    LruHash = 9,
    RingBuffer = 27,
}

/// `BPF_F_MMAPABLE`.
const MAPPABLE: u32 = 1 << 10;

/// A map.
#[derive(Debug)]
pub(crate) struct Map {
    fd: OwnedFd,
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Map {
    /// Creates a map of `entries` elements with keys of `key` bytes and values of `value` bytes. An array can be mapped into memory.
    pub(crate) fn new(kind: MapKind, name: &str, key: u32, value: u32, entries: u32) -> io::Result<Self> {
        let flags = if kind == MapKind::Array { MAPPABLE } else { 0 };
        let mut attributes = Attributes::new()
            .u32(0, kind as u32)
            .u32(4, key)
            .u32(8, value)
            .u32(12, entries)
            .u32(16, flags)
            .name(28, name);
        // SAFETY: this command has no addresses.
        let fd = unsafe { bpf_descriptor(MAP_CREATE, &mut attributes) }?;
        Ok(Self { fd })
    }
}

/// A program to be loaded.
#[derive(Debug)]
pub(crate) struct Tracing<'a> {
    pub(crate) name: &'a str,
    pub(crate) instructions: &'a [u64],
    /// Whether it runs at the function's exit instead of its entry.
    pub(crate) at_exit: bool,
    /// The function's type in the kernel's type information.
    pub(crate) function: u32,
    /// The module's type information; `None` for the kernel's own.
    pub(crate) module: Option<BorrowedFd<'a>>,
}

/// The licence of the programs: the kernel permits only GPL-compatible programs to read its memory.
const LICENSE: &CStr = c"Dual MIT/GPL";
/// `BPF_PROG_TYPE_TRACING`.
const TRACING: u32 = 26;
/// `BPF_TRACE_FENTRY`, `BPF_TRACE_FEXIT`.
const ATTACH: [u32; 2] = [24, 25];

/// Loads a program for the entry or exit of a kernel function. The verifier's log goes to `log`, if that is not empty.
pub(crate) fn bpf_load(program: &Tracing<'_>, log: &mut [u8]) -> io::Result<OwnedFd> {
    let mut attributes = Attributes::new()
        .u32(0, TRACING)
        .u32(4, program.instructions.len() as u32)
        .u64(8, address(program.instructions))
        .u64(16, LICENSE.as_ptr() as u64)
        .name(48, program.name)
        .u32(68, ATTACH[usize::from(program.at_exit)])
        .u32(108, program.function);
    if !log.is_empty() {
        attributes = attributes.u32(24, 1).u32(28, log.len() as u32).u64(32, log.as_mut_ptr() as u64);
    }
    if let Some(module) = program.module {
        attributes = attributes.fd(112, module);
    }
    // SAFETY: instructions, license and log live until the call returns and have the lengths named; only the log is written.
    unsafe { bpf_descriptor(PROGRAM_LOAD, &mut attributes) }
}

/// Attaches a loaded program, until the returned descriptor is closed.
pub(crate) fn bpf_attach(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut attributes = Attributes::new().fd(8, program);
    // SAFETY: no name is passed, since the program has its target.
    unsafe { bpf_descriptor(RAW_TRACEPOINT_OPEN, &mut attributes) }
}

/// The type information of a loaded module.
pub(crate) fn bpf_module_types(module: &str) -> io::Result<OwnedFd> {
    let mut id = 0;
    loop {
        let mut attributes = Attributes::new().u32(0, id);
        // SAFETY: this command has no addresses.
        unsafe { bpf(BTF_NEXT_ID, &mut attributes) }?;
        id = u32::from_ne_bytes([attributes.0[4], attributes.0[5], attributes.0[6], attributes.0[7]]);
        let mut attributes = Attributes::new().u32(0, id);
        // SAFETY: nor has this.
        let fd = match unsafe { bpf_descriptor(BTF_FD_BY_ID, &mut attributes) } {
            Ok(fd) => fd,
            // Unloaded meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => continue,
            Err(error) => return Err(error),
        };
        let mut name = [0u8; 64];
        // struct bpf_btf_info: address of the data, its size, number, address of the name, its length, whether it is the kernel's.
        let mut info = [0, 0, name.as_mut_ptr() as u64, name.len() as u64];
        let mut attributes = Attributes::new()
            .fd(0, fd.as_fd())
            .u32(4, size_of_val(&info) as u32)
            .u64(8, info.as_mut_ptr() as u64);
        // SAFETY: `info` has the size named, and in it the name has its length; data of length 0 is not written.
        unsafe { bpf(INFO_BY_FD, &mut attributes) }?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        if &name[..end] == module.as_bytes() {
            return Ok(fd);
        }
    }
}

/// Moves this thread, or its children to come, into new namespaces.
pub(crate) fn unshare(flags: rustix::thread::UnshareFlags) -> io::Result<()> {
    if flags.contains(rustix::thread::UnshareFlags::FILES) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: descriptors stay shared, as just checked.
    Ok(unsafe { rustix::thread::unshare_unsafe(flags) }?)
}

/// Starts a process that runs `act` in a copy of this one and ends with the code that it returns.
///
/// # Errors
/// This process has several threads, whose locks nobody would release in the copy, or the kernel refuses.
pub(crate) fn fork(act: impl FnOnce() -> u8) -> io::Result<rustix::process::Pid> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("the process has several threads"));
    }
    // SAFETY: this is the only thread, so that the copy is whole.
    let child = check(unsafe { libc::fork() }.into())?;
    if let Some(child) = rustix::process::Pid::from_raw(child as libc::pid_t) {
        return Ok(child);
    }
    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).unwrap_or(101);
    // SAFETY: no precondition. The parent's destructors and buffers are the parent's.
    unsafe { libc::_exit(code.into()) }
}

/// Starts a command within namespaces, which it enters in their order, and in `folder` as they show it. It is asked to end (SIGTERM) when
/// this process ends.
pub(crate) fn spawn_within(
    mut command: Command,
    namespaces: &[BorrowedFd<'_>],
    folder: std::ffi::CString,
) -> io::Result<Child> {
    let entered: Vec<libc::c_int> = namespaces.iter().map(AsRawFd::as_raw_fd).collect();
    let enter = move || {
        for fd in &entered {
            // SAFETY: no memory is passed. The descriptors are open: they are borrowed until the command is started.
            check(unsafe { libc::setns(*fd, 0) }.into())?;
        }
        // A folder that the namespaces do not show leaves the command at the root.
        let _ = rustix::process::chdir(&*folder);
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
        Ok(())
    };
    // SAFETY: the closure makes system calls only; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(enter) }.spawn()
}

/// include/uapi/linux/sched.h.
const SCHED_RESET_ON_FORK: libc::c_int = 0x4000_0000;

/// Puts this thread into the class SCHED_FIFO, in which its children are not.
pub(crate) fn set_real_time(priority: u8) -> io::Result<()> {
    // The kernel's sched_param. The call itself: musl has none, and its structure has other fields.
    let parameters = libc::c_int::from(priority);
    let policy = libc::SCHED_FIFO | SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads a value that lives until the call returns.
    check(unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const parameters) }).map(drop)
}

/// Binds a packet socket to a device: it receives IP packets that arrive there, and none that leave.
pub(crate) fn capture_arrivals(fd: BorrowedFd<'_>, interface: u32) -> io::Result<()> {
    // SAFETY: all bytes zero is a valid sockaddr_ll.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface as libc::c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    let yes: libc::c_int = 1;
    // SAFETY: the kernel reads a value that lives until the call returns.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            (&raw const yes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    check(result.into())?;
    // SAFETY: the kernel reads `length` bytes of an address that lives until the call returns.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) }.into()).map(drop)
}

/// Attaches a descriptor of `/dev/net/tun` to a new TUN device of this network namespace, with a `virtio_net_hdr` before its packets. It
/// takes checksums and TCP segmentation off the kernel.
pub(crate) fn attach_tun(fd: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    // SAFETY: all bytes zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    // SAFETY: the kernel reads and writes an ifreq, which lives until the call returns.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETIFF, &raw mut request) }.into())?;
    let offloads = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    // SAFETY: the argument is a number.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(offloads)) }.into())
        .map(drop)
}
