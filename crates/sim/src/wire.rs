//! The wired part of a path: a bottleneck with a drop-tail queue, then delay, jitter and loss. It never reorders.

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::random::Stream;

/// What the wire does to packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WireConfig {
    /// Rate of the bottleneck; `None` for no bottleneck.
    pub(crate) rate: Option<BitRate>,
    /// Propagation, one way.
    pub(crate) delay: Span,
    /// Most packets that wait at the bottleneck, the one in service included.
    pub(crate) limit: usize,
    /// Share of packets lost on the way, 0 to 1.
    pub(crate) loss: f64,
    /// Largest additional delay, uniform from zero.
    pub(crate) jitter: Span,
}

/// One direction of the wire.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    config: WireConfig,
    /// Departures of the packets that are at the bottleneck.
    waiting: VecDeque<Instant>,
    last_arrival: Instant,
    draws: Stream,
}

impl Wire {
    pub(crate) fn new(config: WireConfig, draws: Stream) -> Self {
        Self { config, waiting: VecDeque::new(), last_arrival: Instant::ZERO, draws }
    }

    /// Whether it changes nothing at all.
    pub(crate) fn is_transparent(&self) -> bool {
        self.config.rate.is_none()
            && self.config.delay.is_zero()
            && self.config.jitter.is_zero()
            && self.config.loss == 0.0
    }

    /// The soonest that a packet sent at `sent` can arrive.
    pub(crate) fn soonest(&self, sent: Instant) -> Instant {
        sent + self.config.delay
    }

    /// When a packet sent at `sent` arrives; `None` if it is lost. Packets have to be given in the order of sending.
    pub(crate) fn transit(&mut self, sent: Instant, size: ByteCount) -> Option<Instant> {
        let mut departure = sent;
        if let Some(rate) = self.config.rate {
            while self.waiting.front().is_some_and(|&gone| gone <= sent) {
                self.waiting.pop_front();
            }
            if self.waiting.len() >= self.config.limit {
                return None;
            }
            departure = self.waiting.back().copied().unwrap_or(sent).max(sent) + rate.time_for(size);
            self.waiting.push_back(departure);
        }
        if self.config.loss > 0.0 && self.draws.unit() < self.config.loss {
            return None;
        }
        let jitter = if self.config.jitter.is_zero() {
            Span::ZERO
        } else {
            self.config.jitter.mul_f64(self.draws.unit())
        };
        self.last_arrival = self.last_arrival.max(departure + self.config.delay + jitter);
        Some(self.last_arrival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn wire(rate: Option<u64>, limit: usize, jitter: Span) -> Wire {
        let config = WireConfig {
            rate: rate.map(BitRate::from_mbps),
            delay: Span::from_millis(10),
            limit,
            loss: 0.0,
            jitter,
        };
        Wire::new(config, Stream::new(1, Purpose::Wire, 0))
    }

    #[test]
    fn a_bottleneck_serialises_and_drops_at_its_limit() {
        let mut wire = wire(Some(12), 2, Span::ZERO);
        let size = ByteCount::new(1500); // 1 ms at 12 Mb/s
        let arrivals: Vec<_> = (0..3).map(|_| wire.transit(Instant::ZERO, size)).collect();
        let at = |ms| Some(Instant::ZERO + Span::from_millis(ms));
        assert_eq!(arrivals, [at(11), at(12), None]);
        assert_eq!(wire.transit(Instant::ZERO + Span::from_millis(5), size), at(16));
    }

    #[test]
    fn jitter_never_reorders() {
        let mut wire = wire(None, 1, Span::from_millis(5));
        let mut last = Instant::ZERO;
        for step in 0..1000 {
            let sent = Instant::ZERO + Span::from_micros(100) * step;
            let arrival = wire.transit(sent, ByteCount::new(100)).unwrap();
            assert!(arrival >= last && arrival >= sent + Span::from_millis(10));
            last = arrival;
        }
    }
}
