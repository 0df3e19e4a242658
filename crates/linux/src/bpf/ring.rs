//! The buffer between eBPF programs and us (BPF_MAP_TYPE_RINGBUF; kernel/bpf/ringbuf.c): the consumer's end.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use crate::sys::{Map, MapKind, Mapping};

/// The record is not finished yet; the program gave it up.
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
/// Bytes before each record.
const HEADER: usize = 8;

/// A ring of records.
#[derive(Debug)]
pub(crate) struct Ring {
    map: Map,
    ours: Mapping,
    theirs: Mapping,
    page: usize,
    mask: u64,
}

impl AsFd for Ring {
    /// Readable when there are records and a program asked for us to be woken.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

impl Ring {
    /// A ring of at least `size` bytes, at most 64 MiB.
    pub(crate) fn new(name: &str, size: u32) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let size = (size as usize).clamp(page, 64 << 20).next_power_of_two();
        let map = Map::new(MapKind::RingBuffer, name, 0, 0, size as u32)?;
        // A page with our position; one with theirs, and the data twice, so that each record is in one piece.
        let ours = Mapping::new(map.as_fd(), page, 0, true)?;
        let theirs = Mapping::new(map.as_fd(), page + 2 * size, page, false)?;
        Ok(Self { map, ours, theirs, page, mask: size as u64 - 1 })
    }

    /// Gives each finished record to `each`, oldest first: its first `N` bytes, and its length. Those that came meanwhile, too, but
    /// no more than the ring holds at once.
    pub(crate) fn drain<const N: usize>(&self, mut each: impl FnMut(&[u8; N], usize)) {
        let mut position = self.ours.load_u64(0).unwrap_or(0);
        let until = position.wrapping_add(self.mask + 1);
        while position != self.theirs.load_u64(0).unwrap_or(position) && position < until {
            let at = self.page + (position & self.mask) as usize;
            let Some(header) = self.theirs.load_u32(at) else { break };
            if header & BUSY != 0 {
                break;
            }
            let length = (header & !DISCARDED) as usize;
            if header & DISCARDED == 0 {
                let mut record = [0; N];
                if let Some(()) = self.theirs.copy(at + HEADER, &mut record[..length.min(N)]) {
                    each(&record, length);
                }
            }
            position = position.wrapping_add((length + HEADER).next_multiple_of(8) as u64);
            self.ours.store_u64(0, position);
        }
    }
}
