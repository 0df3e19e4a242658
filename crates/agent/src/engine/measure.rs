//! Fates and latencies of protected packets by rule, and whether the demand is kept.

use airbound_control::frame::DropReason;
use airbound_control::queue::Demand;
use airbound_record::{LatencyHistogram, Resolution};
use airbound_units::{ByteCount, Instant, Span};

use super::config::Protected;
use super::output::Decision;

/// The window over which a demand is judged.
const WINDOW: Span = Span::from_secs(1);

/// Counters and latencies of one rule.
#[derive(Debug, Clone)]
pub struct RuleRecord {
    /// Its name.
    pub name: String,
    /// The demand on these packets.
    pub demand: Demand,
    /// Packets that arrived, and their bytes.
    pub arrived: u64,
    /// See [`RuleRecord::arrived`].
    pub bytes: ByteCount,
    /// Packets released to the kernel.
    pub released: u64,
    /// Packets that completed and were acknowledged, and their bytes.
    pub acknowledged: u64,
    /// See [`RuleRecord::acknowledged`].
    pub acknowledged_bytes: ByteCount,
    /// Packets that completed without an acknowledgement.
    pub failed: u64,
    /// Packets dropped by the agent, in the order of [`DropReason::ALL`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Packets without a completion.
    pub unknown: u64,
    /// Waiting time of released packets in the agent.
    pub held: LatencyHistogram,
    /// Time from arrival at the agent to the acknowledgement.
    pub latency: LatencyHistogram,
    /// Seconds with acknowledged packets, and those of them whose percentile met the demand.
    pub seconds: u64,
    /// See [`RuleRecord::seconds`].
    pub seconds_met: u64,
    /// The percentile of the last second with acknowledged packets.
    pub last: Option<Span>,
    window: LatencyHistogram,
    was_met: Option<bool>,
}

impl RuleRecord {
    fn new(rule: &Protected) -> Self {
        Self {
            name: rule.name.clone(),
            demand: rule.demand,
            arrived: 0,
            bytes: ByteCount::ZERO,
            released: 0,
            acknowledged: 0,
            acknowledged_bytes: ByteCount::ZERO,
            failed: 0,
            dropped: Default::default(),
            unknown: 0,
            held: LatencyHistogram::new(Resolution::Fine),
            latency: LatencyHistogram::new(Resolution::Fine),
            seconds: 0,
            seconds_met: 0,
            last: None,
            window: LatencyHistogram::new(Resolution::Coarse),
            was_met: None,
        }
    }

    pub(super) fn on_arrival(&mut self, size: ByteCount) {
        self.arrived += 1;
        self.bytes += size;
    }

    pub(super) fn on_release(&mut self, waited: Span) {
        self.released += 1;
        self.held.record(waited);
    }

    pub(super) fn on_done(&mut self, acknowledged: bool, size: ByteCount, took: Span) {
        if acknowledged {
            self.acknowledged += 1;
            self.acknowledged_bytes += size;
            self.latency.record(took);
            self.window.record(took);
        } else {
            self.failed += 1;
        }
    }

    pub(super) fn on_drop(&mut self, reason: DropReason) {
        if let Some(count) = self.dropped.get_mut(usize::from(reason.code())) {
            *count += 1;
        }
    }

    /// Judges the second that ended.
    fn close(&mut self) -> Option<Decision> {
        let measured = self.window.quantile(self.demand.percentile() / 100.0)?;
        let packets = self.window.count();
        let met = measured <= self.demand.latency();
        self.window.clear();
        self.last = Some(measured);
        self.seconds += 1;
        self.seconds_met += u64::from(met);
        // A first second that meets the demand is not reported.
        let changed = self.was_met.replace(met).unwrap_or(true) != met;
        changed.then(|| Decision::Demand {
            rule: self.name.clone(),
            met,
            measured,
            demand: self.demand.latency(),
            packets,
        })
    }

    /// The share of seconds that met the demand, of those with acknowledged packets.
    #[must_use]
    pub fn met_share(&self) -> Option<f64> {
        (self.seconds > 0).then(|| self.seconds_met as f64 / self.seconds as f64)
    }
}

/// The records of all rules.
#[derive(Debug, Clone)]
pub(super) struct Measures {
    rules: Vec<RuleRecord>,
    window_end: Instant,
}

impl Measures {
    pub(super) fn new(rules: &[Protected]) -> Self {
        Self { rules: rules.iter().map(RuleRecord::new).collect(), window_end: Instant::ZERO }
    }

    pub(super) fn of(&mut self, rule: Option<u16>) -> Option<&mut RuleRecord> {
        self.rules.get_mut(usize::from(rule?))
    }

    pub(super) fn all(&self) -> &[RuleRecord] {
        &self.rules
    }

    /// Judges all seconds that ended before `now`.
    pub(super) fn advance(&mut self, now: Instant, decisions: &mut Vec<Decision>) {
        if self.rules.is_empty() || now < self.window_end {
            return;
        }
        if self.window_end > Instant::ZERO {
            decisions.extend(self.rules.iter_mut().filter_map(RuleRecord::close));
        }
        self.window_end = now + WINDOW;
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        (!self.rules.is_empty()).then_some(self.window_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn only_changes_are_reported_and_every_second_counts() {
        let demand = Demand::new(Span::from_millis(20), 95.0).expect("valid");
        let mut measures = Measures::new(&[Protected { name: "vr".into(), demand }]);
        let mut decisions = Vec::new();
        measures.advance(at(0), &mut decisions);
        let mut second = |from: u64, latency: u64, slow: u64| {
            measures.advance(at(from), &mut decisions);
            for number in 0..100 {
                let took = if number < slow { 40 } else { latency };
                measures.of(Some(0)).expect("one rule").on_done(
                    true,
                    ByteCount::new(100),
                    Span::from_millis(took),
                );
            }
            measures.advance(at(from + 1000), &mut decisions);
            std::mem::take(&mut decisions).len()
        };
        assert_eq!(second(1, 5, 5), 0, "five of a hundred may be late");
        assert_eq!(second(1001, 5, 6), 1, "six may not");
        assert_eq!(second(2001, 30, 0), 0, "still late");
        assert_eq!(second(3001, 5, 0), 1);
        let rule = &measures.all()[0];
        assert_eq!((rule.seconds, rule.met_share()), (4, Some(0.5)));
        assert_eq!(rule.acknowledged, 400);
    }
}
