//! The wired part of a path: a bottleneck with a drop-tail queue common to all flows, then the delay, jitter and loss of each
//! flow. A path never reorders.

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use airbound_random::Stream;

/// The bottleneck of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Bottleneck {
    /// `None` for no bottleneck.
    rate: Option<BitRate>,
    /// Upper limit on waiting packets, including the one in service.
    limit: usize,
    /// Departures of the waiting packets.
    waiting: VecDeque<Instant>,
}

impl Bottleneck {
    pub(crate) fn new(rate: Option<BitRate>, limit: usize) -> Self {
        Self { rate, limit, waiting: VecDeque::new() }
    }

    /// The departure of a packet sent at `sent`; `None` if the queue is full. Call in the order of sending.
    fn pass(&mut self, sent: Instant, size: ByteCount) -> Option<Instant> {
        let Some(rate) = self.rate else { return Some(sent) };
        while self.waiting.front().is_some_and(|&gone| gone <= sent) {
            self.waiting.pop_front();
        }
        if self.waiting.len() >= self.limit {
            return None;
        }
        let departure = self.waiting.back().copied().unwrap_or(sent).max(sent) + rate.time_for(size);
        self.waiting.push_back(departure);
        Some(departure)
    }
}

/// The path of one flow.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    /// One-way propagation delay.
    pub(crate) delay: Span,
    /// Greatest additional delay, uniform from zero.
    pub(crate) jitter: Span,
    /// Share of lost packets, 0 to 1.
    pub(crate) loss: f64,
    last_arrival: Instant,
    draws: Stream,
    /// Whether its packets do not touch the wire.
    bypasses: bool,
}

impl Way {
    pub(crate) fn new(delay: Span, jitter: Span, loss: f64, draws: Stream) -> Self {
        Self { delay, jitter, loss, last_arrival: Instant::ZERO, draws, bypasses: false }
    }

    /// A path beside the wire and its bottleneck.
    pub(crate) const fn bypass(draws: Stream) -> Self {
        let (delay, jitter, loss) = (Span::ZERO, Span::ZERO, 0.0);
        Self { delay, jitter, loss, last_arrival: Instant::ZERO, draws, bypasses: true }
    }

    /// Arrival of a packet that leaves at `departure`; `None` if it is lost.
    fn pass(&mut self, departure: Instant) -> Option<Instant> {
        if self.loss > 0.0 && self.draws.unit() < self.loss {
            return None;
        }
        let jitter = if self.jitter.is_zero() { Span::ZERO } else { self.jitter.mul_f64(self.draws.unit()) };
        self.last_arrival = self.last_arrival.max(departure + self.delay + jitter);
        Some(self.last_arrival)
    }
}

/// One direction of the wire: the bottleneck and the paths behind it, by flow.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    bottleneck: Bottleneck,
    ways: Vec<Way>,
}

impl Wire {
    pub(crate) fn new(bottleneck: Bottleneck, ways: Vec<Way>) -> Self {
        Self { bottleneck, ways }
    }

    /// No wire.
    pub(crate) fn none() -> Self {
        Self::new(Bottleneck::new(None, 0), Vec::new())
    }

    /// Whether it has no effect.
    pub(crate) fn is_transparent(&self) -> bool {
        let plain = |way: &Way| way.delay.is_zero() && way.jitter.is_zero() && way.loss == 0.0;
        self.bottleneck.rate.is_none() && self.ways.iter().all(plain)
    }

    /// The earliest possible arrival of a packet that `flow` sends at `sent`.
    pub(crate) fn soonest(&self, flow: usize, sent: Instant) -> Instant {
        self.ways.get(flow).map_or(sent, |way| sent + way.delay)
    }

    /// Arrival of a packet that `flow` sends at `sent`; `None` if it is lost. Call in the order of sending.
    pub(crate) fn transit(&mut self, flow: usize, sent: Instant, size: ByteCount) -> Option<Instant> {
        match self.ways.get_mut(flow) {
            Some(way) if way.bypasses => Some(sent),
            Some(way) => way.pass(self.bottleneck.pass(sent, size)?),
            None => self.bottleneck.pass(sent, size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airbound_random::Purpose;

    fn wire(rate: Option<u64>, limit: usize, jitter: Span) -> Wire {
        let draws = Stream::new(1, Purpose::Wire, 0);
        let way = Way::new(Span::from_millis(10), jitter, 0.0, draws);
        Wire::new(Bottleneck::new(rate.map(BitRate::from_mbps), limit), vec![way])
    }

    #[test]
    fn a_bottleneck_serialises_and_drops_at_its_limit() {
        let mut wire = wire(Some(12), 2, Span::ZERO);
        let size = ByteCount::new(1500); // 1 ms at 12 Mb/s
        let arrivals: Vec<_> = (0..3).map(|_| wire.transit(0, Instant::ZERO, size)).collect();
        let at = |ms| Some(Instant::ZERO + Span::from_millis(ms));
        assert_eq!(arrivals, [at(11), at(12), None]);
        assert_eq!(wire.transit(0, Instant::ZERO + Span::from_millis(5), size), at(16));
    }

    #[test]
    fn jitter_never_reorders() {
        let mut wire = wire(None, 1, Span::from_millis(5));
        let mut last = Instant::ZERO;
        for step in 0..1000 {
            let sent = Instant::ZERO + Span::from_micros(100) * step;
            let arrival = wire.transit(0, sent, ByteCount::new(100)).unwrap();
            assert!(arrival >= last && arrival >= sent + Span::from_millis(10));
            last = arrival;
        }
    }

    #[test]
    fn a_lossy_way_loses_its_share() {
        let draws = Stream::new(1, Purpose::Wire, 0);
        let way = Way::new(Span::ZERO, Span::ZERO, 0.25, draws);
        let mut wire = Wire::new(Bottleneck::new(None, 0), vec![way]);
        let lost =
            (0..10_000).filter(|_| wire.transit(0, Instant::ZERO, ByteCount::new(1)).is_none()).count();
        assert!((2300..2700).contains(&lost), "{lost}");
    }
}
