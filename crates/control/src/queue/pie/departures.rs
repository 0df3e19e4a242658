//! Measurement of the departure rate: cycles of so many bytes, and an average of them.

use airbound_units::{ByteCount, Instant, Span};

use super::config::{PieConfig, PieRevision};

/// Least bytes of a cycle, and of a backlog in which one begins.
const fn threshold(revision: PieRevision) -> ByteCount {
    match revision {
        // `DQ_THRESHOLD`, RFC 8033, section 5.2: 2^14.
        PieRevision::Rfc8033 => ByteCount::new(1 << 14),
        // `QUEUE_THRESHOLD`.
        PieRevision::Linux3_17 => ByteCount::new(10_000),
    }
}

/// A measurement cycle in progress.
#[derive(Debug, Clone, Copy)]
struct Cycle {
    began: Instant,
    left: ByteCount,
}

/// The departures of one category.
#[derive(Debug, Clone, Default)]
pub(super) struct Departures {
    /// Average time for one byte to leave, in nanoseconds: the inverse of the average rate.
    byte_time: Option<f64>,
    cycle: Option<Cycle>,
    /// When the CPU handed out the last packet: packets that are taken at one instant leave one after the other.
    clock: Option<Instant>,
}

impl Departures {
    /// The time that `backlog` takes to leave; 0 before the first cycle has ended.
    pub(super) fn drain_time(&self, backlog: ByteCount) -> Span {
        let nanos = self.byte_time.map_or(0.0, |byte_time| backlog.as_u64() as f64 * byte_time);
        Span::from_nanos(nanos as u64)
    }

    /// Whether a cycle has ended since the last [`Departures::forget`].
    pub(super) const fn measured(&self) -> bool {
        self.byte_time.is_some()
    }

    /// Begins anew; the CPU's time goes on.
    pub(super) fn forget(&mut self) {
        *self = Self { clock: self.clock, ..Self::default() };
    }

    /// Notes a departing packet that leaves a backlog of `left`; returns the duration of a cycle that ends with it.
    pub(super) fn note(
        &mut self,
        config: &PieConfig,
        now: Instant,
        size: ByteCount,
        left: ByteCount,
    ) -> Option<Span> {
        let now = self.clock.map_or(now, |clock| now.max(clock + config.dequeue_time));
        self.clock = Some(now);
        let threshold = threshold(config.revision);
        let enough = match config.revision {
            PieRevision::Rfc8033 => left + size >= threshold,
            PieRevision::Linux3_17 => left >= threshold,
        };
        if self.cycle.is_none() && enough {
            self.cycle = Some(Cycle { began: now, left: ByteCount::ZERO });
        }
        let cycle = self.cycle.as_mut()?;
        cycle.left += size;
        let took = now.since(cycle.began);
        // A cycle without duration is continued.
        if cycle.left < threshold || took.is_zero() {
            return None;
        }
        let byte_time = took.as_nanos() as f64 / cycle.left.as_u64() as f64;
        self.byte_time = Some(self.byte_time.map_or(byte_time, |average| match config.revision {
            // An average of times; the weight is 2^14 / 2^16 (section 5.2).
            PieRevision::Rfc8033 => average * 0.75 + byte_time * 0.25,
            // An average of rates; the weight is 1/8.
            PieRevision::Linux3_17 => 1.0 / (0.875 / average + 0.125 / byte_time),
        }));
        self.cycle = (left >= threshold).then_some(Cycle { began: now, left: ByteCount::ZERO });
        Some(took)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::test_packet::at_micros;
    use super::*;

    const BACKLOG: ByteCount = ByteCount::new(100_000);

    /// The drain time of the backlog after a second in which `burst` packets of 1500 B leave at one instant each millisecond.
    fn drain_time(revision: PieRevision, burst: u64, dequeue_time: Span) -> f64 {
        let config = PieConfig { dequeue_time, ..PieConfig::of(revision) };
        let mut departures = Departures::default();
        for millis in 0..1000 {
            for _ in 0..burst {
                departures.note(&config, at_micros(millis * 1000), ByteCount::new(1500), BACKLOG);
            }
        }
        departures.drain_time(BACKLOG).as_millis_f64()
    }

    #[track_caller]
    fn assert_between(found: f64, low: f64, high: f64) {
        assert!((low..=high).contains(&found), "{found} is not within {low} and {high}");
    }

    #[test]
    fn single_departures_give_the_rate() {
        // 1500 B in 1 ms: 100 kB take 66.7 ms.
        for revision in [PieRevision::Rfc8033, PieRevision::Linux3_17] {
            assert_between(drain_time(revision, 1, Span::from_micros(1)), 60.0, 67.0);
        }
    }

    #[test]
    fn an_average_of_rates_takes_the_speed_of_the_cpu_for_that_of_the_link() {
        // 21 packets a millisecond: 100 kB take 3.17 ms. Of three cycles of seven packets two last 7 us, at 1500 B/us, and one
        // 986 us; the average of their rates is two thirds of 1500 B/us, so that 100 kB seem to take 0.1 ms.
        assert_between(drain_time(PieRevision::Linux3_17, 21, Span::from_micros(1)), 0.08, 0.12);
        assert_between(drain_time(PieRevision::Rfc8033, 21, Span::from_micros(1)), 2.0, 4.5);
        // Bursts below the threshold hold no cycle of their own.
        assert_between(drain_time(PieRevision::Linux3_17, 3, Span::from_micros(1)), 17.0, 24.0);
        // Without a cost no cycle ends within a burst.
        assert_between(drain_time(PieRevision::Linux3_17, 21, Span::ZERO), 2.0, 3.5);
    }

    #[test]
    fn the_clock_returns_to_that_of_the_link() {
        let config =
            PieConfig { dequeue_time: Span::from_micros(10), ..PieConfig::of(PieRevision::Linux3_17) };
        let mut departures = Departures::default();
        for _ in 0..5 {
            departures.note(&config, at_micros(0), ByteCount::new(1500), BACKLOG);
        }
        assert_eq!(departures.clock, Some(at_micros(40)));
        departures.note(&config, at_micros(1000), ByteCount::new(1500), BACKLOG);
        assert_eq!(departures.clock, Some(at_micros(1000)));
        departures.forget();
        assert!(!departures.measured());
    }
}
