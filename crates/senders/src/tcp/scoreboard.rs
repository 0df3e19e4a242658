//! Scoreboard of the sending end: every segment between the first unacknowledged byte and the next to send.
//!
//! Segments are stored in sequence in a ring, so that the common acknowledgement only removes its front. Two queues of
//! segment numbers accompany it and drop stale entries when they reach them: the order of transmission, whose head is
//! the only segment that RACK has to check, and the lost segments, lowest first. Each costs a constant amount for each
//! transmission of a segment, independent of the acknowledgements.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use airbound_units::Instant;

use super::ranges::RangeSet;
use super::rate_sample::Snapshot;
use super::segment::SackBlock;

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// A retransmission is in flight.
const RETRANSMITTED: u8 = 4;
/// It was sent more than once.
const REPEATED: u8 = 8;
const APP_LIMITED: u8 = 16;

/// A segment in flight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) seq: u64,
    pub(super) len: u32,
    flags: u8,
    /// Its last transmission.
    pub(super) sent: Instant,
    delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
}

impl Sent {
    pub(super) fn end(&self) -> u64 {
        self.seq.saturating_add(u64::from(self.len))
    }

    /// Time of its last transmission, and one above its last byte.
    pub(super) fn last_sent(&self) -> (Instant, u64) {
        (self.sent, self.end())
    }

    fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether it was sent more than once, so that its round trip is ambiguous (Karn).
    pub(super) fn is_repeated(&self) -> bool {
        self.is(REPEATED)
    }

    pub(super) fn is_sacked(&self) -> bool {
        self.is(SACKED)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.is(APP_LIMITED),
        }
    }

    fn take_snapshot(&mut self, snapshot: Snapshot) {
        self.delivered = snapshot.delivered;
        self.delivered_at = snapshot.delivered_at;
        self.first_sent = snapshot.first_sent;
        self.flags = self.flags & !APP_LIMITED | if snapshot.app_limited { APP_LIMITED } else { 0 };
    }
}

/// The number of a segment since the connection began.
pub(super) type Number = u64;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Number of the first entry of `segments`.
    base: Number,
    /// Selectively acknowledged whole segments.
    ranges: RangeSet,
    order: VecDeque<(Number, Instant)>,
    lost: BinaryHeap<Reverse<Number>>,
    pub(super) sacked_out: u32,
    pub(super) lost_out: u32,
    pub(super) retransmitted_out: u32,
    /// The byte after the highest one selectively acknowledged.
    pub(super) highest_sacked: u64,
}

impl Scoreboard {
    /// Number of segments sent and not acknowledged cumulatively.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.segments.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Estimated number of segments in the network (Linux `tcp_packets_in_flight`).
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        (self.len() + self.retransmitted_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    pub(super) fn first(&self) -> Option<&Sent> {
        self.segments.front()
    }

    fn get(&self, number: Number) -> Option<&Sent> {
        self.segments.get(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }

    fn get_mut(&mut self, number: Number) -> Option<&mut Sent> {
        self.segments.get_mut(usize::try_from(number.checked_sub(self.base)?).ok()?)
    }

    /// Adds a segment with new bytes.
    #[inline]
    pub(super) fn push(&mut self, now: Instant, seq: u64, len: u32, snapshot: Snapshot) {
        let number = self.base + self.segments.len() as u64;
        let mut segment =
            Sent { seq, len, flags: 0, sent: now, delivered: 0, delivered_at: now, first_sent: now };
        segment.take_snapshot(snapshot);
        self.segments.push_back(segment);
        self.order.push_back((number, now));
    }

    /// Notes the retransmission of segment `number`; returns its first byte and length.
    pub(super) fn retransmit(
        &mut self,
        now: Instant,
        number: Number,
        snapshot: Snapshot,
    ) -> Option<(u64, u32)> {
        let segment = self.get_mut(number)?;
        let again = segment.is(RETRANSMITTED);
        segment.flags |= RETRANSMITTED | REPEATED;
        segment.sent = now;
        segment.take_snapshot(snapshot);
        let bytes = (segment.seq, segment.len);
        if !again {
            self.retransmitted_out += 1;
        }
        self.order.push_back((number, now));
        Some(bytes)
    }

    /// The lowest lost segment that is not being retransmitted.
    #[inline]
    pub(super) fn next_lost(&mut self) -> Option<Number> {
        if self.lost_out <= self.retransmitted_out && self.lost_out == 0 {
            self.lost.clear();
            return None;
        }
        while let Some(&Reverse(number)) = self.lost.peek() {
            if self.get(number).is_some_and(|s| s.is(LOST) && !s.is(RETRANSMITTED | SACKED)) {
                return Some(number);
            }
            self.lost.pop();
        }
        None
    }

    /// The highest segment that was not selectively acknowledged, for the tail loss probe.
    pub(super) fn last_unsacked(&self) -> Option<Number> {
        let back = self.segments.iter().rposition(|segment| !segment.is(SACKED))?;
        Some(self.base + back as u64)
    }

    /// The segment in flight whose last transmission is the oldest.
    pub(super) fn oldest(&mut self) -> Option<(Number, Sent)> {
        while let Some(&(number, sent)) = self.order.front() {
            if let Some(segment) = self.get(number) {
                let waiting = !segment.is(LOST) || segment.is(RETRANSMITTED);
                if segment.sent == sent && !segment.is(SACKED) && waiting {
                    return Some((number, *segment));
                }
            }
            self.order.pop_front();
        }
        None
    }

    /// Marks a segment as lost; returns whether a retransmission was lost.
    pub(super) fn mark_lost(&mut self, number: Number) -> bool {
        let Some(segment) = self.get_mut(number).filter(|segment| !segment.is(SACKED)) else { return false };
        let fresh = !segment.is(LOST);
        let retransmission = segment.is(RETRANSMITTED);
        segment.flags = segment.flags & !RETRANSMITTED | LOST;
        self.lost_out += u32::from(fresh);
        self.retransmitted_out -= u32::from(retransmission);
        if fresh || retransmission {
            self.lost.push(Reverse(number));
        }
        retransmission
    }

    /// Takes a block within the bytes in flight; `delivered` is called for each newly covered segment.
    pub(super) fn sack(&mut self, block: SackBlock, mut delivered: impl FnMut(&Sent)) {
        if self.ranges.contains(block.start, block.end) {
            return;
        }
        // Only whole segments count: the block shrinks to their bounds.
        let first = self.segments.partition_point(|segment| segment.seq < block.start);
        let after = self.segments.partition_point(|segment| segment.end() <= block.end);
        let (Some(start), Some(end)) = (
            self.segments.get(first).map(|segment| segment.seq),
            after.checked_sub(1).and_then(|last| self.segments.get(last)).map(Sent::end),
        ) else {
            return;
        };
        let Self { segments, ranges, sacked_out, lost_out, retransmitted_out, .. } = self;
        ranges.insert(start, end, |from, to| {
            let first = segments.partition_point(|segment| segment.seq < from);
            for segment in segments.range_mut(first..) {
                if segment.end() > to {
                    break;
                }
                if segment.is(SACKED) {
                    continue;
                }
                *lost_out -= u32::from(segment.is(LOST));
                *retransmitted_out -= u32::from(segment.is(RETRANSMITTED));
                *sacked_out += 1;
                delivered(segment);
                segment.flags = segment.flags & !(LOST | RETRANSMITTED) | SACKED;
            }
        });
        if start < end {
            self.highest_sacked = self.highest_sacked.max(end);
        }
    }

    /// Removes all bytes before `cumulative`; `acknowledged` is called for each whole segment.
    #[inline]
    pub(super) fn acknowledge(&mut self, cumulative: u64, mut acknowledged: impl FnMut(&Sent)) {
        let base = self.base;
        while let Some(segment) = self.segments.front_mut() {
            if segment.end() > cumulative {
                if segment.seq < cumulative {
                    // A part of it arrived: the rest stays in flight.
                    segment.len = u32::try_from(segment.end() - cumulative).unwrap_or(segment.len);
                    segment.seq = cumulative;
                }
                break;
            }
            acknowledged(segment);
            self.sacked_out -= u32::from(segment.is(SACKED));
            self.lost_out -= u32::from(segment.is(LOST));
            self.retransmitted_out -= u32::from(segment.is(RETRANSMITTED));
            self.segments.pop_front();
            self.base += 1;
        }
        if !self.ranges.is_empty() {
            self.ranges.remove_below(cumulative);
        }
        if self.segments.is_empty() {
            self.order.clear();
            self.lost.clear();
        } else if self.base > base {
            self.oldest();
        }
    }

    /// Handles the timer: marks the first segment as lost, and every other for which `is_lost` holds. A receiver that
    /// acknowledged the first one selectively but not cumulatively has discarded it: then all selective
    /// acknowledgements are void (RFC 2018 section 8).
    pub(super) fn mark_timeout(&mut self, is_lost: impl Fn(&Sent) -> bool) {
        let reneged = self.first().is_some_and(Sent::is_sacked);
        if reneged {
            self.ranges.clear();
            self.sacked_out = 0;
            self.highest_sacked = 0;
            for segment in &mut self.segments {
                segment.flags &= !SACKED;
            }
        }
        for index in 0..self.segments.len() as u64 {
            let number = self.base + index;
            let Some(segment) = self.get(number).filter(|segment| !segment.is(SACKED)) else { continue };
            if index == 0 || reneged || is_lost(segment) {
                self.mark_lost(number);
            }
        }
        if reneged {
            self.rebuild_order();
        }
    }

    /// Clears all loss marks.
    pub(super) fn unmark_lost(&mut self) {
        for segment in &mut self.segments {
            segment.flags &= !LOST;
        }
        self.lost_out = 0;
        self.lost.clear();
        self.rebuild_order();
    }

    fn rebuild_order(&mut self) {
        self.order.clear();
        let base = self.base;
        let waiting =
            |segment: &Sent| !segment.is(SACKED) && (!segment.is(LOST) || segment.is(RETRANSMITTED));
        self.order.extend(
            self.segments
                .iter()
                .enumerate()
                .filter(|(_, segment)| waiting(segment))
                .map(|(index, segment)| (base + index as u64, segment.sent)),
        );
        self.order.make_contiguous().sort_by_key(|&(number, sent)| (sent, number));
    }

    /// Asserts the invariants that hold between calls.
    #[cfg(test)]
    pub(super) fn check(&self, first_unacked: u64, next: u64) {
        let mut expected = first_unacked;
        let mut counts = [0_u32; 3];
        let mut sacked_bytes = 0;
        for segment in &self.segments {
            assert_eq!(segment.seq, expected);
            assert!(segment.len > 0);
            expected = segment.end();
            for (count, flag) in counts.iter_mut().zip([SACKED, LOST, RETRANSMITTED]) {
                *count += u32::from(segment.is(flag));
            }
            if segment.is(SACKED) {
                assert!(!segment.is(LOST | RETRANSMITTED));
                assert!(self.ranges.contains(segment.seq, segment.end()));
                sacked_bytes += u64::from(segment.len);
            }
        }
        assert_eq!(expected, next);
        assert_eq!(counts, [self.sacked_out, self.lost_out, self.retransmitted_out]);
        assert_eq!(sacked_bytes, self.ranges.total());
        let waiting = self.segments.iter().filter(|s| !s.is(SACKED) && (!s.is(LOST) || s.is(RETRANSMITTED)));
        for segment in waiting {
            assert!(self.order.iter().any(|&(number, sent)| {
                sent == segment.sent && self.get(number).is_some_and(|s| s.seq == segment.seq)
            }));
        }
    }
}
