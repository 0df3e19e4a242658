//! Pacing: sends segments in short bursts at a rate, not as fast as the window opens.

use airbound_units::{BitRate, ByteCount, Instant, Span};

/// Linux does not pace the first ten segments of a connection (`tcp_update_skb_after_send`).
const UNPACED_SEGMENTS: u64 = 10;
/// A burst carries about a millisecond of data (`sk_pacing_shift` 10) ...
const BURST_SHIFT: u32 = 10;
/// ... at least two segments and at most what one buffer holds (`GSO_LEGACY_MAX_SIZE`).
const MIN_BURST_SEGMENTS: u64 = 2;
const MAX_BURST: u64 = 65_536;

/// Spaces transmissions.
#[derive(Debug, Clone)]
pub(crate) struct Pacer {
    on: bool,
    mss: u64,
    rate: Option<BitRate>,
    /// Earliest start of the next burst.
    next_release: Instant,
    /// Bytes that the present burst may still carry.
    burst_left: u64,
    /// Bytes of the next burst, if a bound on what is below has determined them.
    next_burst: Option<u64>,
    sent: u64,
}

impl Pacer {
    pub(crate) fn new(on: bool, mss: u32) -> Self {
        Self {
            on,
            mss: u64::from(mss),
            rate: None,
            next_release: Instant::ZERO,
            burst_left: 0,
            next_burst: None,
            sent: 0,
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    pub(crate) fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    pub(crate) fn set_rate(&mut self, rate: Option<BitRate>) {
        self.rate = rate.filter(|rate| !rate.is_zero());
    }

    pub(crate) fn next_release(&self) -> Instant {
        self.next_release
    }

    /// Determines the bytes of the burst that begins now.
    pub(crate) fn begin_burst(&mut self, bytes: u64) {
        self.next_burst = Some(bytes);
    }

    /// `None` if a segment may be sent now, else the earliest time.
    #[inline]
    pub(crate) fn blocked_until(&self, now: Instant) -> Option<Instant> {
        (self.on && self.burst_left == 0 && now < self.next_release).then_some(self.next_release)
    }

    /// Notes a transmitted segment of `bytes`.
    #[inline]
    pub(crate) fn on_transmit(&mut self, now: Instant, bytes: u32) {
        if !self.on {
            return;
        }
        self.sent = self.sent.saturating_add(1);
        let Some(rate) = self.rate else { return };
        if self.sent <= UNPACED_SEGMENTS {
            return;
        }
        let bytes = u64::from(bytes);
        let time = rate.time_for(ByteCount::new(bytes));
        if self.burst_left == 0 {
            self.burst_left = self.next_burst.take().unwrap_or_else(|| burst(rate, self.mss));
            // A burst that starts late may catch up by at most half of its first segment (Linux permits the same for
            // timer slack).
            let late = now.since(self.next_release).min(time / 2);
            self.next_release = now - late;
        }
        self.burst_left = self.burst_left.saturating_sub(bytes.max(self.mss));
        self.next_release += time;
    }
}

/// Bytes of one burst at `rate`.
pub(crate) fn burst(rate: BitRate, mss: u64) -> u64 {
    let segments = ((rate.as_bps() / 8) >> BURST_SHIFT).min(MAX_BURST) / mss.max(1);
    segments.max(MIN_BURST_SEGMENTS) * mss
}

/// The rate at which Linux paces CUBIC and Reno (`tcp_update_pacing_rate`): twice the window per round trip in the
/// first half of slow start, 1.2 times after.
pub(crate) fn window_rate(segments: u32, mss: u32, rtt: Span, early: bool) -> BitRate {
    let bits = u64::from(segments) * u64::from(mss) * 8;
    let percent = if early { 200 } else { 120 };
    // Below 2^63 for every window of 2^24 segments of 1448 bytes.
    let nanos = rtt.as_nanos().max(1);
    let scaled = u128::from(bits) * percent * 10_000_000 / u128::from(nanos);
    BitRate::from_bps(u64::try_from(scaled).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_ratios() {
        // 100 segments of 1448 B in 20 ms are 57.92 Mb/s.
        let rtt = Span::from_millis(20);
        assert_eq!(window_rate(100, 1448, rtt, true), BitRate::from_kbps(115_840));
        assert_eq!(window_rate(100, 1448, rtt, false), BitRate::from_kbps(69_504));
    }

    #[test]
    fn bursts_keep_the_rate() {
        let mut pacer = Pacer::new(true, 1448);
        pacer.set_rate(Some(BitRate::from_mbps(100)));
        let mut now = Instant::ZERO;
        let mut sent = 0_u64;
        while now < Instant::ZERO + Span::from_secs(1) {
            match pacer.blocked_until(now) {
                Some(release) => now = release,
                None => {
                    pacer.on_transmit(now, 1448);
                    sent += 1448;
                }
            }
        }
        let rate = sent as f64 * 8.0 / 1e8;
        assert!((0.99..1.01).contains(&rate), "{rate}");
    }

    #[test]
    fn a_burst_is_a_millisecond_but_two_segments_at_least() {
        assert_eq!(burst(BitRate::from_mbps(100), 1448), 8 * 1448);
        assert_eq!(burst(BitRate::from_mbps(1), 1448), 2 * 1448);
        assert_eq!(burst(BitRate::from_mbps(10_000), 1448), 45 * 1448);
    }
}
