//! History of one flow: its bursts and its rate over a window.

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Instant, Span};

/// Upper limit on remembered bursts. 150 frames in a second make 300 in a window of two; a flow with more of them is judged by
/// the latest.
const MOST_BURSTS: usize = 320;

/// Parts of a window; a flow is judged at the end of each.
pub(super) const PARTS: usize = 8;

/// Packets that arrived without a gap between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Burst {
    pub(super) start: Instant,
    pub(super) bytes: u64,
}

/// The recent past of a flow.
#[derive(Debug, Clone)]
pub(super) struct History {
    bursts: VecDeque<Burst>,
    /// Bytes in each part of the window, the latest last.
    bytes: [u64; PARTS],
    /// Parts that have passed since the flow was first seen, up to [`PARTS`].
    parts: usize,
    part_end: Instant,
    last: Instant,
}

impl History {
    /// Creates the history of a flow whose first packet arrives at `now` and begins a burst.
    pub(super) fn new(now: Instant, part: Span) -> Self {
        Self {
            bursts: VecDeque::new(),
            bytes: [0; PARTS],
            parts: 0,
            part_end: now + part,
            last: Instant::ZERO,
        }
    }

    /// Arrival time of the last packet.
    pub(super) const fn last(&self) -> Instant {
        self.last
    }

    /// Begins the parts of the window that have started by `now`. Returns whether there were any.
    pub(super) fn advance(&mut self, now: Instant, part: Span) -> bool {
        if now < self.part_end {
            return false;
        }
        let passed = (now.since(self.part_end).div_floor(part) + 1).min(PARTS as u64) as usize;
        self.bytes.rotate_left(passed % PARTS);
        // The unfinished part is the last one and does not count.
        self.parts = (self.parts + passed).min(PARTS);
        for bytes in &mut self.bytes[PARTS - passed..] {
            *bytes = 0;
        }
        self.part_end = if passed == PARTS { now + part } else { self.part_end + part * passed as u64 };
        true
    }

    /// Adds a packet that arrives at `now`.
    pub(super) fn add(&mut self, now: Instant, size: ByteCount, gap: Span) {
        let begins = self.bursts.is_empty() || now.since(self.last) >= gap;
        if begins {
            if self.bursts.len() >= MOST_BURSTS {
                self.bursts.pop_front();
            }
            self.bursts.push_back(Burst { start: now, bytes: 0 });
        }
        if let Some(burst) = self.bursts.back_mut() {
            burst.bytes = burst.bytes.saturating_add(size.as_u64());
        }
        self.bytes[PARTS - 1] = self.bytes[PARTS - 1].saturating_add(size.as_u64());
        self.last = now;
    }

    /// Forgets bursts that began before `from`.
    pub(super) fn forget(&mut self, from: Instant) {
        while self.bursts.front().is_some_and(|burst| burst.start < from) {
            self.bursts.pop_front();
        }
    }

    /// Number of complete parts of the window.
    pub(super) const fn parts(&self) -> usize {
        self.parts
    }

    /// The mean rate over the complete parts. Call it right after [`History::advance`], before the next packet.
    pub(super) fn rate(&self, part: Span) -> BitRate {
        let bytes = self.bytes.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        BitRate::of(ByteCount::new(bytes), part * self.parts.clamp(1, PARTS - 1) as u64)
    }

    /// The bursts, oldest first.
    pub(super) fn bursts(&self) -> impl Iterator<Item = Burst> + Clone + '_ {
        self.bursts.iter().copied()
    }
}
