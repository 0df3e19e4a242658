//! Lateness of released packets, and the verdict whether a run counts.

use airbound_record::{LatencyHistogram, Lateness, Resolution};
use airbound_units::Span;

/// A packet released later than this is late.
pub const LATE: Span = Span::from_millis(1);
/// A run with a larger share of late packets does not count.
pub const MOST_LATE: f64 = 0.01;

/// Lateness of a run.
#[derive(Debug, Clone)]
pub struct LatenessMeter {
    first: LatencyHistogram,
    last: LatencyHistogram,
    packets: u64,
    late: u64,
}

impl Default for LatenessMeter {
    fn default() -> Self {
        let empty = || LatencyHistogram::new(Resolution::Fine);
        Self { first: empty(), last: empty(), packets: 0, late: 0 }
    }
}

impl LatenessMeter {
    /// Notes an aggregate: how late its first packet was, and its last one after it was written.
    pub fn on_aggregate(&mut self, first: Span, last: Span) {
        self.first.record(first);
        self.last.record(last);
    }

    /// Notes a packet that was written so late.
    pub fn on_packet(&mut self, lateness: Span) {
        self.packets += 1;
        self.late += u64::from(lateness > LATE);
    }

    /// Packets so far.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Aggregates so far.
    #[must_use]
    pub fn aggregates(&self) -> u64 {
        self.first.count()
    }

    /// Share of late packets; `None` without packets.
    #[must_use]
    pub fn late_share(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.late as f64 / self.packets as f64)
    }

    /// Whether so few packets were late that the run counts.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.late_share().is_none_or(|share| share <= MOST_LATE)
    }

    /// Lateness of first and last packets.
    #[must_use]
    pub fn figures(&self) -> (Lateness, Lateness) {
        (figures(&self.first), figures(&self.last))
    }
}

fn figures(distribution: &LatencyHistogram) -> Lateness {
    let micros = |span: Span| span.as_nanos() as f64 / 1e3;
    let at = |quantile| distribution.quantile(quantile).map(micros);
    let max_us = (distribution.count() > 0).then(|| micros(distribution.max()));
    Lateness { p50_us: at(0.5), p99_us: at(0.99), p999_us: at(0.999), max_us }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_late_packet_in_a_hundred_is_permitted() {
        let mut meter = LatenessMeter::default();
        assert!(meter.counts() && meter.late_share().is_none());
        for _ in 0..99 {
            meter.on_packet(Span::from_millis(1));
        }
        meter.on_packet(Span::from_micros(1001));
        assert_eq!(meter.late_share(), Some(0.01));
        assert!(meter.counts());
        meter.on_packet(Span::from_millis(2));
        assert!(!meter.counts());
    }

    #[test]
    fn figures_are_in_microseconds() {
        let mut meter = LatenessMeter::default();
        for micros in 1..=1000 {
            meter.on_aggregate(Span::from_micros(micros), Span::from_micros(2 * micros));
        }
        let (first, last) = meter.figures();
        let near =
            |found: Option<f64>, wanted: f64| (found.expect("a figure") - wanted).abs() < wanted * 0.002;
        assert!(near(first.p50_us, 500.0) && near(first.p99_us, 990.0), "{first:?}");
        assert_eq!(last.max_us, Some(2000.0));
    }
}
