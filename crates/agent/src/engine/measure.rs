//! Fates and latencies of protected packets by rule, and whether the demand is kept.

use std::collections::BTreeSet;

use airbound_control::frame::DropReason;
use airbound_control::queue::Demand;
use airbound_record::{LatencyHistogram, Resolution};
use airbound_units::{ByteCount, Instant, Span};

use super::config::Protected;
use super::output::Decision;
use crate::control::Period;

/// The window over which a demand is judged.
const WINDOW: Span = Span::from_secs(1);

/// Whether the demand of a rule was met in the last second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// No packet was acknowledged.
    #[default]
    Idle,
    /// It was.
    Met,
    /// It was not.
    Missed,
    /// Packets of the rule may have passed the agent unseen.
    Unknown,
}

impl State {
    /// Its name in status and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Unknown => "unknown",
        }
    }
}

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
    /// The same since the demand is in force.
    pub under_demand: LatencyHistogram,
    /// When the demand came into force; zero for that of the configuration.
    pub since: Instant,
    /// Seconds with acknowledged packets since then, and those of them whose percentile met the demand.
    pub seconds: u64,
    /// See [`RuleRecord::seconds`].
    pub seconds_met: u64,
    /// The percentile of the last second with acknowledged packets.
    pub last: Option<Span>,
    /// The 95th percentile of that second.
    pub last_p95: Option<Span>,
    /// Whether the demand was met in the last second.
    pub state: State,
    window: LatencyHistogram,
    was_met: Option<bool>,
    /// Whether traffic past the agent goes to a station of the rule.
    has_unseen: bool,
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
            under_demand: LatencyHistogram::new(Resolution::Fine),
            since: Instant::ZERO,
            seconds: 0,
            seconds_met: 0,
            last: None,
            last_p95: None,
            window: LatencyHistogram::new(Resolution::Coarse),
            was_met: None,
            state: State::Idle,
            has_unseen: false,
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
            self.under_demand.record(took);
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

    /// Puts another demand in the place of the present one, whose record ends.
    fn change(&mut self, now: Instant, demand: Demand) -> Period {
        let ended = Period {
            demand_ms: self.demand.latency().as_millis_f64(),
            percentile: self.demand.percentile(),
            measured_ms: self.measured().map(Span::as_millis_f64),
            seconds: self.seconds,
            seconds_met: self.seconds_met,
        };
        self.demand = demand;
        self.since = now;
        self.under_demand.clear();
        self.window.clear();
        (self.seconds, self.seconds_met) = (0, 0);
        ended
    }

    /// The demanded percentile since the demand is in force.
    #[must_use]
    pub fn measured(&self) -> Option<Span> {
        self.under_demand.quantile(self.demand.percentile() / 100.0)
    }

    /// Judges the second that ended.
    fn close(&mut self, any_unseen: bool) -> Option<Decision> {
        let measured = self.window.quantile(self.demand.percentile() / 100.0);
        let packets = self.window.count();
        let p95 = self.window.quantile(0.95);
        self.window.clear();
        // Without packets of its own a rule may be all in what is not seen.
        if self.has_unseen || (any_unseen && measured.is_none()) {
            self.lose_sight();
            return None;
        }
        self.state = State::Idle;
        let measured = measured?;
        self.last_p95 = p95;
        let met = measured <= self.demand.latency();
        self.state = if met { State::Met } else { State::Missed };
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

    fn lose_sight(&mut self) {
        self.state = State::Unknown;
        self.last = None;
    }

    /// The share of seconds that met the demand, of those with acknowledged packets; `None` while it is unknown.
    #[must_use]
    pub fn met_share(&self) -> Option<f64> {
        (self.seconds > 0 && self.state != State::Unknown)
            .then(|| self.seconds_met as f64 / self.seconds as f64)
    }
}

/// The records of all rules.
#[derive(Debug, Clone)]
pub(super) struct Measures {
    rules: Vec<RuleRecord>,
    window_end: Instant,
    /// Whether traffic passes the agent unseen.
    any_unseen: bool,
}

impl Measures {
    pub(super) fn new(rules: &[Protected]) -> Self {
        Self {
            rules: rules.iter().map(RuleRecord::new).collect(),
            window_end: Instant::ZERO,
            any_unseen: false,
        }
    }

    pub(super) fn of(&mut self, rule: Option<u16>) -> Option<&mut RuleRecord> {
        self.rules.get_mut(usize::from(rule?))
    }

    /// Changes the demand of a rule. Returns the record of the one before.
    pub(super) fn change(&mut self, now: Instant, rule: usize, demand: Demand) -> Option<Period> {
        self.rules.get_mut(rule).map(|rule| rule.change(now, demand))
    }

    pub(super) fn all(&self) -> &[RuleRecord] {
        &self.rules
    }

    /// Traffic passes the agent: of the stations of `rules`, or of any.
    pub(super) fn on_unseen(&mut self, any: bool, rules: &BTreeSet<u16>) {
        self.any_unseen = any;
        for (rule, number) in self.rules.iter_mut().zip(0..) {
            rule.has_unseen = rules.contains(&number);
            if rule.has_unseen {
                rule.lose_sight();
            }
        }
    }

    /// Judges all seconds that ended before `now`.
    pub(super) fn advance(&mut self, now: Instant, decisions: &mut Vec<Decision>) {
        if self.rules.is_empty() || now < self.window_end {
            return;
        }
        if self.window_end > Instant::ZERO {
            let unseen = self.any_unseen;
            decisions.extend(self.rules.iter_mut().filter_map(|rule| rule.close(unseen)));
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
        let mut measures = Measures::new(&[Protected { name: "vr".into(), demand, rate: None }]);
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
