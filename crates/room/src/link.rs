//! A shaped link: one bottleneck for both directions, as a Wi-Fi channel is.

use std::time::{Duration, Instant};

/// Time for which a packet may wait before it is dropped.
const LONGEST_QUEUE: Duration = Duration::from_millis(150);
/// Bytes of the headers of IPv4 and UDP.
const HEADERS: usize = 28;

/// A half-duplex link: packets of both directions leave one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    rate: f64,
    delay: Duration,
    free: Option<Instant>,
    dropped: u64,
}

impl Link {
    /// Makes a link of a rate in bit/s and a delay.
    #[must_use]
    pub const fn new(rate: f64, delay: Duration) -> Self {
        Self { rate, delay, free: None, dropped: 0 }
    }

    /// Changes the rate.
    pub const fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// The present rate in bit/s.
    #[must_use]
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// When a packet that enters now arrives; `None` if the queue is full.
    pub fn pass(&mut self, now: Instant, bytes: usize) -> Option<Instant> {
        let begins = self.free.map_or(now, |free| free.max(now));
        if begins.saturating_duration_since(now) > LONGEST_QUEUE {
            self.dropped += 1;
            return None;
        }
        let ends = begins + Duration::from_secs_f64((bytes + HEADERS) as f64 * 8.0 / self.rate.max(1e3));
        self.free = Some(ends);
        Some(ends + self.delay)
    }

    /// The number of dropped packets.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_share_the_rate_and_a_full_queue_drops() {
        let start = Instant::now();
        let mut link = Link::new(1e6, Duration::from_millis(5));
        let arrivals: Vec<_> = (0..20).map(|_| link.pass(start, 1222)).collect();
        let passed: Vec<_> =
            arrivals.iter().flatten().map(|at| at.saturating_duration_since(start).as_millis()).collect();
        assert_eq!(passed[..3], [15, 25, 35]);
        assert_eq!((passed.len(), link.dropped()), (16, 4), "150 ms of 10 ms each, and the one in service");
    }
}
