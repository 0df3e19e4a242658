//! Figures of the runs of a setting: round-trip time and goodput, over seeds.

use airbound_report::{Bar, Line};

use super::RUNS;
use crate::Effort;
use crate::papers::experiment::{Measured, Results};
use crate::papers::shown;

/// Returns the figures of a cell's runs; `None` if one is missing.
pub(super) fn figures(cell: &[&str], effort: Effort, results: &Results) -> Option<Figures> {
    results.all(&RUNS.experiments(cell, effort)).map(|runs| Figures::of(&runs))
}

/// A value over seeds: its mean and its range.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Value {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Value {
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { mean: values.iter().sum::<f64>() / values.len().max(1) as f64, low, high }
    }

    pub(super) fn bar(self) -> Bar {
        Bar { value: self.mean, range: Some((self.low, self.high)), reference: None }
    }
}

/// Figures of a case, over seeds.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    /// Names of the flows.
    pub(super) flows: Vec<String>,
    /// Round-trip time of each flow, ms.
    pub(super) rtt_ms: Vec<Value>,
    /// 99th percentile of all round-trip times, ms; the largest of the flows.
    pub(super) rtt_p99_ms: Value,
    /// Goodput of all flows together, Mb/s.
    pub(super) goodput: Value,
    /// Fairness of their goodput.
    pub(super) jain: Value,
    /// Mean MPDUs of an aggregate to the first node.
    pub(super) ampdu: Value,
    /// Mean round-trip time of the flows in each run, ms; goodput of all flows together; and their fairness.
    pub(super) runs: Vec<[f64; 3]>,
    /// Share of round-trip times up to each latency, of all flows and seeds together: (ms, %).
    pub(super) distribution: Vec<(f64, f64)>,
}

impl Figures {
    fn of(runs: &[&Measured]) -> Self {
        let flows = runs.first().map_or(0, |run| run.outcome.summary.flows.len());
        let over_runs = |value: &dyn Fn(&Measured) -> f64| Value::of(runs.iter().map(|run| value(run)));
        let rtt = |run: &Measured, flow: usize, pick: fn(&airbound_record::LatencyStats) -> Option<f64>| {
            run.outcome
                .summary
                .flows
                .get(flow)
                .and_then(|flow| flow.rtt_ms.as_ref())
                .and_then(pick)
                .unwrap_or(0.0)
        };
        let one = |run: &Measured| {
            let rtts = (0..flows).map(|flow| rtt(run, flow, |stats| stats.mean)).sum::<f64>();
            let goodput = run.outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).sum();
            [rtts / flows.max(1) as f64, goodput, run.outcome.summary.jain.goodput.unwrap_or(1.0)]
        };
        let names = runs.first().map(|run| run.outcome.summary.flows.iter().map(|flow| flow.name.clone()));
        Self {
            flows: names.map(Iterator::collect).unwrap_or_default(),
            rtt_ms: (0..flows).map(|flow| over_runs(&|run| rtt(run, flow, |stats| stats.mean))).collect(),
            rtt_p99_ms: over_runs(&|run| {
                (0..flows).map(|flow| rtt(run, flow, |stats| stats.p99)).fold(0.0, f64::max)
            }),
            goodput: over_runs(&|run| run.outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).sum()),
            jain: over_runs(&|run| run.outcome.summary.jain.goodput.unwrap_or(1.0)),
            ampdu: over_runs(&|run| {
                run.outcome.summary.stations.first().and_then(|station| station.mean_ampdu).unwrap_or(0.0)
            }),
            runs: runs.iter().map(|run| one(run)).collect(),
            distribution: crate::papers::distribution::shares(runs, airbound_record::Component::RoundTrip),
        }
    }

    /// Round-trip time, mean over the flows, ms.
    pub(super) fn rtt(&self) -> f64 {
        self.rtt_ms.iter().map(|value| value.mean).sum::<f64>() / self.rtt_ms.len().max(1) as f64
    }

    /// One value of each run together with the same of other runs, which have the same seeds.
    pub(super) fn with<'a>(
        &'a self,
        other: &'a Self,
        value: impl Fn([f64; 3], [f64; 3]) -> f64 + 'a,
    ) -> impl Iterator<Item = f64> + 'a {
        self.runs.iter().zip(&other.runs).map(move |(ours, theirs)| value(*ours, *theirs))
    }

    /// The columns of most tables: round-trip time, its 99th percentile, goodput, fairness, aggregates.
    pub(super) fn columns(&self) -> [String; 5] {
        let Self { rtt_p99_ms, goodput, jain, ampdu, .. } = self;
        [self.rtt(), rtt_p99_ms.mean, goodput.mean, jain.mean, ampdu.mean].map(shown)
    }

    pub(super) fn line(&self, name: &str) -> Line {
        Line::whole(name, self.distribution.iter().copied())
    }
}
