//! The receiving end: arrivals and acknowledgements.

use airbound_units::{ByteCount, Instant};

use super::config::{DelayedAck, TcpConfig, TcpConfigError};
use super::ranges::RangeSet;
use super::segment::{Ack, SackBlock};

/// Number of blocks kept for repetition (RFC 2018 section 4).
const RECENT_BLOCKS: usize = 4;

/// Most full segments that generic receive offload merges: 64 KiB of packets (Linux `GRO_LEGACY_MAX_SIZE`).
const MERGED_SEGMENTS: u64 = 44;

/// The receiving end. In-order bytes are delivered to the application at once; later ones wait for the gap to close.
///
/// Every second full segment is acknowledged, a single one after the delayed-acknowledgement timeout. Segments out of
/// order, duplicates, and those that fill a gap are acknowledged at once (RFC 5681 section 4.2), as are the first of a
/// connection and of a burst after a pause (Linux `tcp_enter_quickack_mode`).
///
/// With [`DelayedAck::gro`] TCP takes what arrived in order at one instant as one segment: its acknowledgement is due at that instant, after
/// the last arrival.
#[derive(Debug, Clone)]
pub struct TcpReceiver {
    window: u64,
    mss: u64,
    policy: DelayedAck,
    now: Instant,
    /// RCV.NXT.
    next: u64,
    /// The cumulative acknowledgement last sent.
    acknowledged: u64,
    early: RangeSet,
    recent: [SackBlock; RECENT_BLOCKS],
    recent_count: usize,
    duplicate: Option<SackBlock>,
    /// TS.Recent.
    timestamp: Instant,
    last_arrival: Option<Instant>,
    quick: u32,
    deadline: Option<Instant>,
    /// Segments that generic receive offload holds, if any.
    merging: Option<Merging>,
}

/// Merged segments: their stamp in ms, and when a delayed acknowledgement was due before them.
#[derive(Debug, Clone, Copy)]
struct Merging {
    stamp: u64,
    due: Option<Instant>,
}

impl TcpReceiver {
    /// Creates a receiver before the first byte.
    ///
    /// # Errors
    /// The first value of `config` that is out of range.
    pub fn new(config: &TcpConfig) -> Result<Self, TcpConfigError> {
        let mss = config.checked_mss()?;
        Ok(Self {
            window: config.receive_window.as_u64(),
            mss: u64::from(mss),
            policy: config.delayed_ack,
            now: Instant::ZERO,
            next: 0,
            acknowledged: 0,
            early: RangeSet::default(),
            recent: [SackBlock::default(); RECENT_BLOCKS],
            recent_count: 0,
            duplicate: None,
            timestamp: Instant::ZERO,
            last_arrival: None,
            quick: config.delayed_ack.quick_segments,
            deadline: None,
            merging: None,
        })
    }

    /// Sets the acknowledgement policy from the next segment on, as TACK adapts it to the path. A policy of 0 segments
    /// counts as one of 1.
    pub const fn set_policy(&mut self, policy: DelayedAck) {
        self.policy = policy;
    }

    /// Number of bytes delivered to the application: all before this offset, each once.
    #[must_use]
    pub fn delivered(&self) -> ByteCount {
        ByteCount::new(self.next)
    }

    /// Takes a segment of `len` bytes at offset `seq`, stamped `sent` by the sender. Returns an immediate
    /// acknowledgement, if any. Data beyond the advertised window is refused and acknowledged.
    pub fn on_segment(&mut self, now: Instant, seq: u64, len: u32, sent: Instant) -> Option<Ack> {
        self.now = self.now.max(now);
        if self.last_arrival.is_none_or(|last| self.now.since(last) > self.policy.idle) {
            self.quick = self.policy.quick_segments;
        }
        self.last_arrival = Some(self.now);
        // RFC 7323 section 4.3: only a segment at or below the last acknowledgement updates the echo.
        if seq <= self.acknowledged && sent > self.timestamp {
            self.timestamp = sent;
        }
        let end = seq.saturating_add(u64::from(len));
        if len == 0 || end > self.next.saturating_add(self.window) {
            return Some(self.acknowledge());
        }
        if seq < self.next {
            self.duplicate = Some(SackBlock { start: seq, end: end.min(self.next) });
        }
        if end <= self.next {
            return Some(self.acknowledge());
        }
        if seq <= self.next && self.early.is_empty() {
            if self.policy.gro {
                return self.merge(end, sent);
            }
            self.next = end;
            return self.in_order();
        }
        if seq > self.next && self.early.contains(seq, end) {
            self.duplicate = Some(SackBlock { start: seq, end });
        }
        let (start, end) = self.early.insert(seq.max(self.next), end, |_, _| {});
        if let Some((_, end)) = self.early.first().filter(|first| first.0 <= self.next) {
            self.next = end;
            self.early.remove_below(end);
            self.forget_below(end);
        } else {
            self.remember(SackBlock { start, end });
        }
        Some(self.acknowledge())
    }

    /// When a delayed acknowledgement is due.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the delayed acknowledgement, if it is due, or that of merged segments.
    pub fn on_deadline(&mut self, now: Instant) -> Option<Ack> {
        self.now = self.now.max(now);
        self.deadline.filter(|deadline| *deadline <= self.now)?;
        match self.merging.take() {
            Some(merged) => self.take_merged(merged),
            None => Some(self.acknowledge()),
        }
    }

    /// Adds the segment that ends at `end` to the merged ones. Those merged before go to TCP first if they do not take it.
    fn merge(&mut self, end: u64, sent: Instant) -> Option<Ack> {
        let stamp = sent.as_nanos() / 1_000_000;
        let full = self.next - self.acknowledged >= MERGED_SEGMENTS.saturating_mul(self.mss);
        let ack = match self.merging {
            Some(merged) if full || merged.stamp != stamp => {
                self.merging = None;
                self.take_merged(merged)
            }
            _ => None,
        };
        self.next = end;
        if self.merging.is_none() {
            self.merging = Some(Merging { stamp, due: self.deadline });
            self.deadline = Some(self.now);
        }
        ack
    }

    fn take_merged(&mut self, merged: Merging) -> Option<Ack> {
        self.deadline = merged.due;
        self.in_order()
    }

    fn in_order(&mut self) -> Option<Ack> {
        if self.quick > 0 {
            self.quick -= 1;
            return Some(self.acknowledge());
        }
        // Linux counts bytes: more than `segments` - 1 full segments are waiting.
        let patience = self.mss.saturating_mul(u64::from(self.policy.segments.saturating_sub(1)));
        if self.next - self.acknowledged > patience || self.duplicate.is_some() || self.is_pushed() {
            return Some(self.acknowledge());
        }
        if self.deadline.is_none() {
            self.deadline = Some(self.now + self.policy.timeout);
        }
        None
    }

    /// Whether the sender pushed the last segment in order.
    fn is_pushed(&self) -> bool {
        self.policy.pushed.is_some_and(|segments| {
            let distance = self.mss.saturating_mul(u64::from(segments)).max(1);
            self.next % distance < self.mss
        })
    }

    fn acknowledge(&mut self) -> Ack {
        self.deadline = None;
        self.merging = None;
        self.acknowledged = self.next;
        let mut sack = [SackBlock::default(); 3];
        let blocks = self.duplicate.take().into_iter().chain(self.recent.into_iter().take(self.recent_count));
        let mut sack_count = 0;
        for (slot, block) in sack.iter_mut().zip(blocks) {
            *slot = block;
            sack_count += 1;
        }
        Ack {
            cumulative: self.next,
            sack,
            sack_count,
            window: ByteCount::new(self.window),
            echoed: self.timestamp,
        }
    }

    /// Puts the newest block first and drops those that it includes.
    fn remember(&mut self, newest: SackBlock) {
        let old = self.recent;
        let kept = old
            .into_iter()
            .take(self.recent_count)
            .filter(|block| block.end < newest.start || newest.end < block.start);
        self.recent_count = 0;
        for (slot, block) in self.recent.iter_mut().zip(std::iter::once(newest).chain(kept)) {
            *slot = block;
            self.recent_count += 1;
        }
    }

    fn forget_below(&mut self, cut: u64) {
        let old = self.recent;
        let kept = old.into_iter().take(self.recent_count).filter(|block| block.start > cut);
        self.recent_count = 0;
        for (slot, block) in self.recent.iter_mut().zip(kept) {
            *slot = block;
            self.recent_count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airbound_units::Span;

    const MSS: u32 = 1448;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn receiver(quick: u32) -> TcpReceiver {
        let mut config = TcpConfig::default();
        config.delayed_ack.quick_segments = quick;
        TcpReceiver::new(&config).expect("valid")
    }

    fn segment(receiver: &mut TcpReceiver, millis: u64, number: u64) -> Option<Ack> {
        receiver.on_segment(at(millis), number * u64::from(MSS), MSS, at(millis))
    }

    #[test]
    fn every_second_segment_and_after_40_ms() {
        let mut receiver = receiver(0);
        assert_eq!(segment(&mut receiver, 1, 0), None);
        let ack = segment(&mut receiver, 2, 1).expect("second");
        assert_eq!(ack.cumulative, 2 * u64::from(MSS));
        // The echo is that of the first of the two: the round trip includes the delay.
        assert_eq!(ack.echoed, at(1));
        assert_eq!(receiver.next_deadline(), None);
        assert_eq!(segment(&mut receiver, 10, 2), None);
        assert_eq!(receiver.next_deadline(), Some(at(50)));
        assert_eq!(receiver.on_deadline(at(49)), None);
        assert_eq!(receiver.on_deadline(at(50)).expect("due").cumulative, 3 * u64::from(MSS));
        assert_eq!(receiver.next_deadline(), None);
    }

    #[test]
    fn a_pushed_segment_is_acknowledged_at_once() {
        let mut receiver = receiver(0);
        receiver.set_policy(DelayedAck { pushed: Some(3), quick_segments: 0, ..DelayedAck::default() });
        let acks: Vec<u64> = (0..9).filter(|number| segment(&mut receiver, 1, *number).is_some()).collect();
        // The second of two and the third, which is pushed; without it the ninth waits.
        assert_eq!(acks, [1, 2, 4, 5, 7, 8]);
        assert_eq!(receiver.next_deadline(), None);
    }

    /// A receiver with generic receive offload, which takes `count` segments from number `first` on at one instant.
    fn merged(receiver: &mut TcpReceiver, millis: u64, first: u64, count: u64) -> Vec<u64> {
        let mut acks: Vec<_> =
            (first..first + count).filter_map(|number| segment(receiver, millis, number)).collect();
        if receiver.next_deadline() == Some(at(millis)) {
            acks.extend(receiver.on_deadline(at(millis)));
        }
        acks.into_iter().map(|ack| ack.cumulative / u64::from(MSS)).collect()
    }

    #[test]
    fn merged_segments_get_one_acknowledgement() {
        let mut receiver = receiver(0);
        receiver.set_policy(DelayedAck { gro: true, quick_segments: 0, ..DelayedAck::default() });
        assert_eq!(merged(&mut receiver, 1, 0, 32), [32]);
        // At most 44 at once, and the rest.
        assert_eq!(merged(&mut receiver, 2, 32, 100), [32 + 44, 32 + 88, 132]);
        // One alone waits as without.
        assert_eq!(merged(&mut receiver, 3, 132, 1), []);
        assert_eq!(receiver.next_deadline(), Some(at(43)));
        assert_eq!(merged(&mut receiver, 10, 133, 1), [134]);
        assert_eq!(receiver.next_deadline(), None);
        // Other stamps are not merged.
        let mss = u64::from(MSS);
        assert_eq!(receiver.on_segment(at(20), 134 * mss, MSS, at(15)), None);
        assert_eq!(receiver.on_segment(at(20), 135 * mss, MSS, at(15)), None);
        let ack = receiver.on_segment(at(20), 136 * mss, MSS, at(16)).expect("the two before");
        assert_eq!(ack.cumulative, 136 * mss);
        assert_eq!(receiver.on_deadline(at(20)), None);
        assert_eq!(receiver.next_deadline(), Some(at(60)));
        // A gap is reported at once, with what was merged before it.
        assert_eq!(segment(&mut receiver, 30, 137), None);
        assert_eq!(segment(&mut receiver, 30, 139).expect("gap").cumulative, 138 * mss);
        assert_eq!(receiver.next_deadline(), None);
    }

    #[test]
    fn the_first_sixteen_are_acknowledged_at_once_and_again_after_a_pause() {
        let mut receiver = receiver(16);
        for number in 0..16 {
            assert!(segment(&mut receiver, 0, number).is_some());
        }
        assert!(segment(&mut receiver, 0, 16).is_none());
        assert!(segment(&mut receiver, 201, 17).is_some());
        assert!(segment(&mut receiver, 201, 18).is_some());
    }

    #[test]
    fn gaps_are_reported_newest_first_and_closed_at_once() {
        let mut receiver = receiver(0);
        let mss = u64::from(MSS);
        for number in [2, 4, 6, 8] {
            segment(&mut receiver, number, number);
        }
        let ack = segment(&mut receiver, 9, 4 + 1).expect("out of order");
        let block = |from: u64, to: u64| SackBlock { start: from * mss, end: to * mss };
        assert_eq!(ack.cumulative, 0);
        assert_eq!(ack.blocks(), [block(4, 7), block(8, 9), block(2, 3)]);
        assert_eq!(segment(&mut receiver, 10, 0).expect("gap").cumulative, mss);
        let ack = segment(&mut receiver, 11, 1).expect("gap");
        assert_eq!(ack.cumulative, 3 * mss);
        assert_eq!(ack.blocks(), [block(4, 7), block(8, 9)]);
    }

    #[test]
    fn duplicates_are_reported_first() {
        let mut receiver = receiver(0);
        let mss = u64::from(MSS);
        segment(&mut receiver, 0, 0);
        segment(&mut receiver, 0, 1);
        let ack = segment(&mut receiver, 1, 0).expect("duplicate");
        assert_eq!(ack.blocks(), [SackBlock { start: 0, end: mss }]);
        segment(&mut receiver, 2, 5);
        let ack = segment(&mut receiver, 3, 5).expect("duplicate");
        let block = SackBlock { start: 5 * mss, end: 6 * mss };
        assert_eq!(ack.blocks(), [block, block]);
    }

    #[test]
    fn data_beyond_the_window_is_refused() {
        let mut receiver = receiver(0);
        let ack = receiver.on_segment(at(0), 3 << 20, 1, at(0)).expect("refused");
        assert_eq!((ack.cumulative, ack.sack_count), (0, 0));
        assert_eq!(receiver.delivered(), ByteCount::ZERO);
    }
}
