//! Whether a segment waits for transmissions below: small queues at the sending end.

use airbound_units::Span;

use super::connection::TcpSender;
use super::small_queue::{BURST_OVERHEAD, largest_burst, limit, memory};

impl TcpSender {
    /// Notes that the transmitter below has sent a segment with `len` bytes of payload, or dropped it. Call
    /// [`TcpSender::poll_transmit`] afterwards. Without [`super::TcpConfig::small_queue`] it has no effect.
    pub fn on_left(&mut self, len: u32) {
        self.small_queue.on_left(len);
    }

    /// Bytes that the pacing rate sends in `time`; all where the rate is not known yet.
    fn paced(&self, time: Span) -> u64 {
        self.pacer.rate().map_or(u64::MAX, |rate| rate.bytes_in(time).as_u64())
    }

    /// Whether at most one burst is unacknowledged: Linux then sends in any case (`tcp_rtx_queue_empty_or_single_skb`).
    const fn has_single_burst(&self) -> bool {
        self.first_unacked >= self.small_queue.start
    }

    /// Whether the next new segment, of `len` bytes, waits for transmissions below; begins a burst if it does not.
    pub(super) fn is_throttled(&mut self, len: u32) -> bool {
        let Some(time) = self.small_queue.time else { return false };
        if self.small_queue.burst > 0 {
            return false;
        }
        let (mss, paced) = (u64::from(self.mss), self.paced(time));
        let in_window = u64::from(self.window.cwnd.saturating_sub(self.board.in_flight())) * mss;
        let data = if self.unlimited { self.room() } else { self.unsent() };
        let burst = largest_burst(paced, self.rtt.min(), mss)
            .min(in_window)
            .min(data.as_u64())
            .min(self.window_end.saturating_sub(self.next))
            .max(u64::from(len));
        if self.small_queue.below > limit(paced, burst + BURST_OVERHEAD) && !self.has_single_burst() {
            return true;
        }
        self.small_queue.burst = burst;
        self.small_queue.start = self.next;
        self.pacer.begin_burst(burst);
        false
    }

    /// Whether a retransmission waits for transmissions below: at twice the limit (`tcp_xmit_retransmit_queue`), and never the first
    /// after a timeout (`tcp_retransmit_timer`).
    pub(super) fn is_retransmission_throttled(&self) -> bool {
        let Some(time) = self.small_queue.time else { return false };
        let limit = 2 * limit(self.paced(time), memory(self.mss));
        self.small_queue.below > limit && self.board.in_flight() > 0 && !self.has_single_burst()
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::{ByteCount, Instant};
    use bolero::{TypeGenerator, produce};

    use super::super::small_queue::MAX_LIMIT;
    use super::super::{Ack, Backlog, Segment, TcpConfig, TcpReceiver};
    use super::*;
    use crate::congestion::Congestion;

    const SEGMENT: u64 = 4352;

    fn config(time: Option<Span>) -> TcpConfig {
        TcpConfig { small_queue: time, initial_window: 1000, ..TcpConfig::default() }
    }

    /// A bulk sender with a window of 1000 segments, after one acknowledged segment and a round trip of 40 ms.
    fn bulk(time: Option<Span>) -> (TcpSender, Instant) {
        let mut sender = TcpSender::new(config(time)).unwrap();
        let mut receiver = TcpReceiver::new(&config(time)).unwrap();
        sender.write(Instant::ZERO, Backlog::Bytes(ByteCount::new(1448)));
        let first = sender.poll_transmit(Instant::ZERO).unwrap();
        sender.on_left(first.len);
        let now = Instant::ZERO + Span::from_millis(40);
        let ack = receiver.on_segment(now, first.seq, first.len, first.sent).unwrap();
        sender.on_ack(now, &ack);
        sender.write(now, Backlog::Unlimited);
        (sender, now)
    }

    fn sent(sender: &mut TcpSender, now: Instant) -> u64 {
        std::iter::from_fn(|| sender.poll_transmit(now)).count() as u64
    }

    #[test]
    fn without_a_bound_the_window_goes_down_and_with_it_some_bursts() {
        let (mut free, now) = bulk(None);
        assert_eq!(sent(&mut free, now), 1000);
        // Twice the window of 1000 segments in 40 ms (slow start) is 579 200 B in 8 ms: bursts have 45 segments. The 134th segment exceeds
        // the limit, in the third burst.
        let (mut bound, now) = bulk(Some(Span::from_millis(8)));
        assert_eq!(bound.paced(Span::from_millis(8)), 579_200);
        assert_eq!(sent(&mut bound, now), 3 * 45);
        assert_eq!(bound.small_queue.below, 3 * 45 * SEGMENT);
        // With 1 ms: 72 400 B, less than two bursts of 45 segments before they are cut (132 112 B). One exceeds it, and one more goes down
        // in any case.
        let (mut tight, now) = bulk(Some(Span::from_millis(1)));
        assert_eq!(sent(&mut tight, now), 2 * 45);
    }

    #[test]
    fn a_burst_goes_down_as_soon_as_the_limit_permits() {
        let (mut sender, now) = bulk(Some(Span::from_millis(1)));
        assert_eq!(sent(&mut sender, now), 90);
        // The limit is 2 (45 * 1448 + 896) = 132 112 B: 30 segments of 4352 B.
        for left in 90..90 + 59 {
            assert_eq!(sent(&mut sender, now), 0, "{left}");
            sender.on_left(1448);
        }
        assert_eq!(sender.small_queue.below, 31 * SEGMENT);
        assert_eq!(sent(&mut sender, now), 0);
        sender.on_left(1448);
        assert_eq!(sent(&mut sender, now), 45);
        assert_eq!(sender.small_queue.below, (30 + 45) * SEGMENT);
    }

    #[test]
    fn reports_without_segments_leave_nothing_below_zero() {
        let (mut sender, now) = bulk(Some(Span::from_millis(1)));
        sender.on_left(u32::MAX);
        assert_eq!(sender.small_queue.below, 0);
        assert_eq!(sent(&mut sender, now), 90);
    }

    #[derive(Debug, Clone, Copy, TypeGenerator)]
    enum Op {
        Wait {
            micros: u16,
        },
        Write {
            bytes: u16,
        },
        Unlimited,
        Transmit {
            segments: u8,
        },
        /// The segment at a place below is transmitted, and arrives or is lost.
        Leave {
            place: u8,
            lost: bool,
        },
        Answer,
        Deadline,
    }

    struct Below {
        now: Instant,
        sender: TcpSender,
        receiver: TcpReceiver,
        below: Vec<Segment>,
        acks: Vec<Ack>,
    }

    impl Below {
        fn transmit(&mut self) -> bool {
            let before = self.sender.small_queue.below;
            let Some(segment) = self.sender.poll_transmit(self.now) else { return false };
            // No limit is larger, and a burst goes beyond it by no more than itself; probes and the first segment after a timeout
            // are not bound.
            assert!(before <= 2 * MAX_LIMIT + 46 * SEGMENT);
            self.below.push(segment);
            true
        }

        fn leave(&mut self, place: usize, lost: bool) {
            if self.below.is_empty() {
                return;
            }
            let segment = self.below.remove(place % self.below.len());
            self.sender.on_left(segment.len);
            if !lost {
                self.acks.extend(self.receiver.on_segment(self.now, segment.seq, segment.len, segment.sent));
            }
        }

        fn answer(&mut self) {
            for ack in std::mem::take(&mut self.acks) {
                self.sender.on_ack(self.now, &ack);
            }
        }

        fn deadline(&mut self) -> bool {
            let deadlines = [self.sender.next_deadline(), self.receiver.next_deadline()];
            let Some(at) = deadlines.into_iter().flatten().min() else { return false };
            self.now = self.now.max(at);
            self.sender.on_deadline(self.now);
            self.acks.extend(self.receiver.on_deadline(self.now));
            true
        }

        fn apply(&mut self, op: Op) {
            match op {
                Op::Wait { micros } => self.now += Span::from_micros(u64::from(micros)),
                Op::Write { bytes } => {
                    self.sender.write(self.now, Backlog::Bytes(ByteCount::new(u64::from(bytes))));
                }
                Op::Unlimited => drop(self.sender.write(self.now, Backlog::Unlimited)),
                Op::Transmit { segments } => {
                    (0..segments).take_while(|_| self.transmit()).count();
                }
                Op::Leave { place, lost } => self.leave(usize::from(place), lost),
                Op::Answer => self.answer(),
                Op::Deadline => drop(self.deadline()),
            }
            let held: u64 = self.below.iter().map(|segment| memory(segment.len)).sum();
            assert_eq!(self.sender.small_queue.below, held);
            self.sender.check();
        }

        /// With nothing lost from now on, all data arrives.
        fn finish(mut self) {
            self.sender.end_backlog();
            let total = self.sender.next + self.sender.unsent().as_u64();
            for _ in 0..100_000 {
                while self.transmit() {}
                if self.below.is_empty() && self.acks.is_empty() {
                    if !self.deadline() {
                        break;
                    }
                    continue;
                }
                self.now += Span::from_micros(200);
                self.leave(0, false);
                self.answer();
                self.sender.check();
            }
            assert!(self.sender.is_idle());
            assert_eq!(self.receiver.delivered().as_u64(), total);
        }
    }

    #[test]
    fn what_is_below_is_counted_and_nothing_waits_for_ever() {
        let operations = produce::<Vec<Op>>().with().len(0_usize..200);
        let input = (produce::<u8>(), produce::<bool>(), operations);
        bolero::check!().with_generator(input).with_max_len(8_192).for_each(|(time, bbr, ops)| {
            let congestion = if *bbr { Congestion::Bbr } else { Congestion::Cubic };
            let time = Some(Span::from_millis(1 + u64::from(*time % 20)));
            let config = TcpConfig { small_queue: time, congestion, ..TcpConfig::default() };
            let mut below = Below {
                now: Instant::ZERO,
                sender: TcpSender::new(config.clone()).unwrap(),
                receiver: TcpReceiver::new(&config).unwrap(),
                below: Vec::new(),
                acks: Vec::new(),
            };
            for op in ops {
                below.apply(*op);
            }
            below.finish();
        });
    }
}
