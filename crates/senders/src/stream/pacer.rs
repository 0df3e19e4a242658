//! Pacing: the packets of a frame, spread over its interval.

use airbound_units::{ByteCount, Instant, Span};

use super::error::StreamError;

/// Upper limit on packets that wait.
const MOST_WAITING: u32 = 65_536;

/// Packets that may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowed {
    /// Number of packets that may be sent now.
    pub packets: u32,
    /// When the next one may be sent; `None` if nothing waits.
    pub next: Option<Instant>,
}

/// Spaces packets.
#[derive(Debug, Clone)]
pub(super) struct Pacer {
    waiting: u32,
    bytes: u64,
    /// Time of the next packet.
    next: Instant,
    gap: Span,
    /// Largest number of packets at once.
    burst: u32,
}

impl Pacer {
    pub(super) const fn new(burst: u32) -> Self {
        Self { waiting: 0, bytes: 0, next: Instant::ZERO, gap: Span::from_nanos(1), burst }
    }

    /// Takes a frame to be sent within `time`; packets keep at least the time of their bits at `pace`, in bit/s.
    pub(super) fn frame(
        &mut self,
        now: Instant,
        bytes: ByteCount,
        packets: u32,
        time: Span,
        pace: f64,
    ) -> Result<(), StreamError> {
        let waiting = self.waiting.saturating_add(packets);
        if waiting > MOST_WAITING {
            return Err(StreamError::Full(
                "more than 65536 packets wait to be sent: drop frames, or lower the rate",
            ));
        }
        self.next = self.next.max(now);
        self.waiting = waiting;
        self.bytes = self.bytes.saturating_add(bytes.as_u64());
        self.gap = Span::from_nanos(time.as_nanos() / u64::from(waiting)).max(self.least_gap(pace));
        Ok(())
    }

    /// Time at which the last packet that waits is due.
    pub(super) fn ends(&self) -> Instant {
        self.next + self.gap.mul_f64(f64::from(self.waiting.saturating_sub(1)))
    }

    /// Takes a pace that may have fallen.
    pub(super) fn slow_down(&mut self, pace: f64) {
        if self.waiting > 0 {
            self.gap = self.gap.max(self.least_gap(pace));
        }
    }

    fn least_gap(&self, pace: f64) -> Span {
        let bits = self.bytes as f64 * 8.0 / f64::from(self.waiting.max(1));
        Span::from_secs_f64(bits / pace).max(Span::from_nanos(1))
    }

    /// The packets that may be sent at `now`. A sender that comes late may send at most one burst at once.
    pub(super) fn allowed(&mut self, now: Instant) -> Allowed {
        if self.waiting == 0 {
            return Allowed { packets: 0, next: None };
        }
        if now < self.next {
            return Allowed { packets: 0, next: Some(self.next) };
        }
        let due = (now - self.next).div_floor(self.gap).saturating_add(1);
        if due > u64::from(self.burst) {
            self.next = now - self.gap.mul_f64(f64::from(self.burst - 1));
        }
        let packets = u32::try_from(due).unwrap_or(u32::MAX).min(self.burst).min(self.waiting);
        let next = self.next + self.gap.mul_f64(f64::from(packets));
        Allowed { packets, next: (packets < self.waiting).then_some(next) }
    }

    /// Notes sent packets.
    pub(super) fn sent(&mut self, packets: u32, bytes: ByteCount) {
        self.waiting = self.waiting.saturating_sub(packets);
        self.bytes = if self.waiting == 0 { 0 } else { self.bytes.saturating_sub(bytes.as_u64()) };
        self.next += self.gap.mul_f64(f64::from(packets));
    }

    /// Moves the time of the next packet when the caller's clock was set back.
    pub(super) fn set_back(&mut self, moved: impl Fn(Instant) -> Instant) {
        self.next = moved(self.next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Span::from_micros(micros)
    }

    fn pacer() -> Pacer {
        Pacer::new(32)
    }

    #[test]
    fn a_frame_is_spread_over_its_time() {
        let mut pacer = pacer();
        pacer.frame(at(0), ByteCount::new(12_000), 10, Span::from_millis(10), 1e9).expect("room");
        let mut sent = Vec::new();
        for micros in 0..20_000 {
            let allowed = pacer.allowed(at(micros));
            if allowed.packets > 0 {
                sent.push((micros, allowed.packets));
                pacer.sent(allowed.packets, ByteCount::new(1200));
            }
        }
        assert_eq!(sent, (0..10).map(|packet| (packet * 1000, 1)).collect::<Vec<_>>());
        assert_eq!(pacer.allowed(at(20_000)), Allowed { packets: 0, next: None });
    }

    #[test]
    fn a_large_frame_is_not_faster_than_the_pace() {
        let mut pacer = pacer();
        // 1 Mbit in 1 ms at a pace of 100 Mbit/s takes 10 ms.
        pacer.frame(at(0), ByteCount::new(125_000), 100, Span::from_millis(1), 100e6).expect("room");
        pacer.sent(1, ByteCount::new(1250));
        assert_eq!(pacer.allowed(at(99)), Allowed { packets: 0, next: Some(at(100)) });
        assert_eq!(pacer.allowed(at(100)).packets, 1);
    }

    #[test]
    fn a_late_sender_owes_at_most_a_burst() {
        let mut pacer = pacer();
        pacer.frame(at(0), ByteCount::new(120_000), 100, Span::from_millis(10), 1e9).expect("room");
        assert_eq!(pacer.allowed(at(9000)).packets, 32);
        pacer.sent(32, ByteCount::new(38_400));
        assert_eq!(pacer.allowed(at(9000)), Allowed { packets: 0, next: Some(at(9100)) });
    }

    #[test]
    fn frames_without_end_are_refused() {
        let mut pacer = pacer();
        for _ in 0..64 {
            pacer.frame(at(0), ByteCount::new(1024), 1024, Span::ZERO, 1e6).expect("room");
        }
        let more = pacer.frame(at(0), ByteCount::new(1), 1, Span::ZERO, 1e6);
        assert!(matches!(more, Err(StreamError::Full(_))));
    }
}
