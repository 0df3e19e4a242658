//! The way between servers and access point.

use std::collections::VecDeque;

use airbound_random::{Purpose, Stream};
use airbound_scenario::{Scenario, WireWay};
use airbound_units::{BitRate, ByteCount, Instant};

/// One direction of the wire: a bottleneck with a drop-tail queue, then the delay, jitter and loss of each flow.
#[derive(Debug)]
pub(crate) struct Wire {
    rate: Option<BitRate>,
    limit: usize,
    /// Departures of the packets that wait.
    waiting: VecDeque<Instant>,
    ways: Vec<Way>,
}

#[derive(Debug)]
struct Way {
    way: WireWay,
    last: Instant,
    draws: Stream,
}

impl Wire {
    /// Direction 0 leads to the access point, direction 1 to the servers.
    pub(crate) fn new(scenario: &Scenario, seed: u64, direction: u64) -> Self {
        let ways = scenario.flows.iter().zip(0_u64..).map(|(flow, number)| Way {
            way: flow.wire,
            last: Instant::ZERO,
            draws: Stream::new(seed, Purpose::Wire, number * 2 + direction),
        });
        let wire = &scenario.wire;
        Self { rate: wire.rate, limit: wire.queue as usize, waiting: VecDeque::new(), ways: ways.collect() }
    }

    /// Arrival of a packet of a flow that leaves at `now`; `None` if it is lost. Packets keep their order.
    pub(crate) fn transit(&mut self, flow: usize, now: Instant, size: ByteCount) -> Option<Instant> {
        while self.waiting.front().is_some_and(|gone| *gone <= now) {
            self.waiting.pop_front();
        }
        let departure = match self.rate {
            None => now,
            Some(_) if self.waiting.len() >= self.limit => return None,
            Some(rate) => {
                let departure = self.waiting.back().copied().unwrap_or(now).max(now) + rate.time_for(size);
                self.waiting.push_back(departure);
                departure
            }
        };
        let Way { way, last, draws } = self.ways.get_mut(flow)?;
        if way.loss > 0.0 && draws.unit() < way.loss {
            return None;
        }
        let jitter = if way.jitter.is_zero() { way.jitter } else { way.jitter.mul_f64(draws.unit()) };
        *last = (*last).max(departure + way.delay + jitter);
        Some(*last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airbound_scenario::Overrides;

    fn wire(keys: &str) -> Wire {
        let text = format!(
            "duration = \"1 s\"\n[wire]\n{keys}\n[[station]]\nname = \"one\"\n[[flow]]\nname = \"call\"\nkind = \"voip\"\n\
             station = \"one\"\n"
        );
        let scenario = Scenario::parse(&text, "a test", &Overrides::default()).expect("a scenario");
        Wire::new(&scenario, 1, 0)
    }

    fn micros(arrival: Option<Instant>) -> u64 {
        arrival.expect("arrives").as_nanos() / 1000
    }

    #[test]
    fn a_bottleneck_sends_one_packet_after_the_other_and_drops_at_its_limit() {
        // 1250 B take 1 ms at 10 Mbit/s.
        let mut wire = wire("rate = \"10 Mbit/s\"\nqueue = 2\ndelay = \"5 ms\"");
        let size = ByteCount::new(1250);
        assert_eq!(micros(wire.transit(0, Instant::ZERO, size)), 6_000);
        assert_eq!(micros(wire.transit(0, Instant::ZERO, size)), 7_000);
        assert_eq!(wire.transit(0, Instant::ZERO, size), None);
    }

    #[test]
    fn jitter_keeps_the_order_and_its_bound() {
        let mut wire = wire("rate = \"unlimited\"\ndelay = \"2 ms\"\njitter = \"3 ms\"");
        let mut last = 0;
        for millis in 0..200 {
            let now = Instant::ZERO + airbound_units::Span::from_millis(millis);
            let arrival = micros(wire.transit(0, now, ByteCount::new(100)));
            assert!(arrival >= last && (2_000..=5_000).contains(&(arrival - 1_000 * millis)), "{arrival}");
            last = arrival;
        }
    }

    #[test]
    fn a_wire_that_loses_everything_delivers_nothing() {
        assert_eq!(wire("loss = 1.0").transit(0, Instant::ZERO, ByteCount::new(100)), None);
    }
}
