//! The real bytes of packets that a caller sends through a run.

use std::sync::{Arc, Mutex, PoisonError};

use airbound_sim::{Kind, Packet};

/// Set in the tag of each packet whose bytes the caller keeps here.
const KEPT: u64 = 1 << 63;

/// Bytes by the caller's number, shared between the caller and the capture.
#[derive(Debug, Clone)]
pub struct Contents {
    all: Arc<Mutex<Vec<Vec<u8>>>>,
    /// Marks the bytes of a packet that a queue marked.
    mark: fn(&mut [u8]),
}

impl Contents {
    /// Nothing is kept. `mark` is applied to the bytes of packets that a queue marked.
    #[must_use]
    pub fn new(mark: fn(&mut [u8])) -> Self {
        Self { all: Arc::default(), mark }
    }

    /// Of a run without a caller.
    pub(super) fn none() -> Self {
        Self::new(|_| {})
    }

    /// Keeps the bytes of a packet under a number of the caller's choice, dense from 0, until others are kept there. The result is the tag
    /// with which the packet is to be sent.
    pub fn keep(&self, number: usize, bytes: &[u8]) -> u64 {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() <= number {
            all.resize_with(number + 1, Vec::new);
        }
        let place = &mut all[number];
        place.clear();
        place.extend_from_slice(bytes);
        number as u64 | KEPT
    }

    /// The number in a tag, kept or not.
    #[must_use]
    pub const fn number(tag: u64) -> usize {
        (tag & !KEPT) as usize
    }

    /// Appends the bytes of a packet with the length that it has in the run; `false` if none are kept.
    pub(super) fn append(&self, packet: &Packet, to: &mut Vec<u8>) -> bool {
        if packet.tag & KEPT == 0 || !packet.kind.is_datagram() {
            return false;
        }
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bytes) = all.get(Self::number(packet.tag)) else { return false };
        let begin = to.len();
        to.extend_from_slice(bytes);
        if packet.kind == Kind::Marked {
            (self.mark)(&mut to[begin..]);
        }
        true
    }
}

/// The EtherType of a packet's bytes.
pub(super) const fn ethertype(first: Option<&u8>) -> u16 {
    match first {
        Some(byte) if *byte >> 4 == 6 => 0x86dd,
        _ => 0x0800,
    }
}
