//! TCP small queues: the bound on what a socket has below it (Linux `tcp_small_queue_check`, `tcp_tso_autosize`).
//!
//! New segments leave in bursts, as one buffer with segmentation offload does. The next burst waits while the layers below hold more
//! than the limit, until a transmission is reported ([`SmallQueue::on_left`]). A burst ends when nothing more may be sent, so that it
//! is no larger than window, data and buffer permit when it begins. Counted is memory, as the kernel does: the segments of a burst are
//! cut before the Wi-Fi queue and have a buffer each.
//!
//! Not modelled: a burst that waits for more of the window (`tcp_tso_should_defer`), and retransmissions held back while the original
//! is still below (`skb_still_in_host_queue`).

use airbound_units::Span;

/// `MAX_TCP_HEADER` with tunnels, as distributions have them, and `skb_shared_info`; `sk_buff`. Linux 6.12, x86-64.
const HEADERS: u64 = 320;
const SHARED_INFO: u64 = 320;
const BUFFER: u64 = 256;
/// Alignment of the data of a buffer (`SKB_DATA_ALIGN`).
const LINE: u64 = 64;
/// Memory of a burst beyond its payload before it is cut: `sk_buff`, `skb_shared_info` and `MAX_TCP_HEADER`.
pub(super) const BURST_OVERHEAD: u64 = BUFFER + SHARED_INFO + HEADERS;
/// Largest burst (`GSO_LEGACY_MAX_SIZE`), and the smallest in segments (`tcp_min_tso_segs`).
const MAX_BURST: u64 = 65_536;
const MIN_SEGMENTS: u64 = 2;
/// Largest limit (`tcp_limit_output_bytes`).
pub(super) const MAX_LIMIT: u64 = 1 << 20;
/// A short round trip permits larger bursts: the largest one, halved for each 2^9 us of it (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;

/// Memory of a segment with `len` bytes of payload (`SKB_TRUESIZE`): 4352 B for 1448 B. A device that does not gather (`NETIF_F_SG`) gets
/// segments in one piece, with the headroom of the burst that they are cut from (`skb_segment`); the allocator rounds up to a power of two.
pub(super) fn memory(len: u32) -> u64 {
    let data = (u64::from(len) + HEADERS).next_multiple_of(LINE) + SHARED_INFO;
    data.next_power_of_two() + BUFFER
}

/// The bound of a connection, and what counts against it.
#[derive(Debug, Clone, Default)]
pub(super) struct SmallQueue {
    /// The time of sending that may be below; `None` without a bound.
    pub(super) time: Option<Span>,
    /// Memory of the segments below.
    pub(super) below: u64,
    /// Payload that the present burst may still carry.
    pub(super) burst: u64,
    /// First byte of the last burst.
    pub(super) start: u64,
}

impl SmallQueue {
    pub(super) fn new(time: Option<Span>) -> Self {
        Self { time, ..Self::default() }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.time.is_some()
    }

    /// Notes a segment with `len` bytes of payload that goes down.
    pub(super) fn on_sent(&mut self, len: u32) {
        if self.is_on() {
            self.below = self.below.saturating_add(memory(len));
            self.burst = self.burst.saturating_sub(u64::from(len));
        }
    }

    /// Notes that a segment with `len` bytes of payload was transmitted or dropped below.
    pub(super) fn on_left(&mut self, len: u32) {
        self.below = self.below.saturating_sub(memory(len));
    }

    /// Ends a burst: nothing more may be sent now.
    pub(super) fn end_burst(&mut self) {
        self.burst = 0;
    }
}

/// Payload of the largest burst at a pacing rate that sends `paced` bytes in the time of the bound (`tcp_tso_autosize`).
pub(super) fn largest_burst(paced: u64, min_rtt: Option<Span>, mss: u64) -> u64 {
    let shift = min_rtt.map_or(u64::MAX, |rtt| rtt.as_micros() >> RTT_SHIFT);
    let extra = if shift < 32 { MAX_BURST >> shift } else { 0 };
    let segments = paced.saturating_add(extra).min(MAX_BURST) / mss.max(1);
    segments.max(MIN_SEGMENTS) * mss
}

/// The largest memory below at which a buffer of `size` bytes may still go down (`tcp_small_queue_check`).
pub(super) fn limit(paced: u64, size: u64) -> u64 {
    paced.max(2 * size).min(MAX_LIMIT)
}

#[cfg(test)]
mod tests {
    use airbound_units::BitRate;

    use super::*;

    #[test]
    fn sizes_are_those_of_the_kernel() {
        // 1448 + 320 of 64 B each, and 320: 2112 B of 4096. A segment that fits 2048 has 2304.
        assert_eq!([1448, 1408, 1, u32::MAX].map(memory), [4352, 2304, 1280, (1 << 33) + 256]);
        // 57.92 Mb/s send 56 562 B in 2^-7 s: 39 segments; a round trip of 2 ms adds 65 536 >> 3 = 8192 B: 44.
        let paced = BitRate::from_kbps(57_920).bytes_in(Span::from_nanos(7_812_500)).as_u64();
        assert_eq!(paced, 56_562);
        assert_eq!(largest_burst(paced, None, 1448), 39 * 1448);
        assert_eq!(largest_burst(paced, Some(Span::from_millis(2)), 1448), 44 * 1448);
        // At most 65 536 B, at least two segments.
        assert_eq!(largest_burst(paced, Some(Span::from_micros(500)), 1448), 45 * 1448);
        assert_eq!(largest_burst(0, Some(Span::from_millis(40)), 1448), 2 * 1448);
        assert_eq!(limit(56_562, 4352), 56_562);
        assert_eq!(limit(56_562, 57_368), 114_736);
        assert_eq!(limit(u64::MAX, 4352), 1 << 20);
    }
}
