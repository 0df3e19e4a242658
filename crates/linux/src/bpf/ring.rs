//! The consumer's end of the ring buffer that eBPF programs write (BPF_MAP_TYPE_RINGBUF; kernel/bpf/ringbuf.c).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{Ordering, fence};

use crate::sys::{Map, MapKind, Mapping};

/// The record is not submitted yet; the program discarded it.
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
/// Bytes of a record's header.
const HEADER: usize = 8;

/// A ring of records.
#[derive(Debug)]
pub(crate) struct Ring {
    map: Map,
    consumer: Mapping,
    producer: Mapping,
    page: usize,
    mask: u64,
}

impl AsFd for Ring {
    /// Readable when a program has requested a wake-up.
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
        // A page with the consumer's position; a page with the producer's, followed by the data mapped twice, so that each record is
        // contiguous.
        let consumer = Mapping::new(map.as_fd(), page, 0, true)?;
        let producer = Mapping::new(map.as_fd(), page + 2 * size, page, false)?;
        Ok(Self { map, consumer, producer, page, mask: size as u64 - 1 })
    }

    /// Whether a record is there, which may not be submitted yet.
    pub(crate) fn is_pending(&self) -> bool {
        // A program that does not see the consumer's position yet wakes nobody, so its record has to be seen here.
        fence(Ordering::SeqCst);
        self.consumer.load_u64(0) != self.producer.load_u64(0)
    }

    /// Passes each submitted record to `each`, oldest first: its first `N` bytes and its length. Includes records that arrive meanwhile,
    /// up to one full ring.
    pub(crate) fn drain<const N: usize>(&self, mut each: impl FnMut(&[u8; N], usize)) {
        let mut position = self.consumer.load_u64(0).unwrap_or(0);
        let until = position.wrapping_add(self.mask + 1);
        while position != self.producer.load_u64(0).unwrap_or(position) && position < until {
            let at = self.page + (position & self.mask) as usize;
            let Some(header) = self.producer.load_u32(at) else { break };
            if header & BUSY != 0 {
                break;
            }
            let length = (header & !DISCARDED) as usize;
            if header & DISCARDED == 0 {
                let mut record = [0; N];
                if let Some(()) = self.producer.copy(at + HEADER, &mut record[..length.min(N)]) {
                    each(&record, length);
                }
            }
            position = position.wrapping_add((length + HEADER).next_multiple_of(8) as u64);
            self.consumer.store_u64(0, position);
        }
    }
}
