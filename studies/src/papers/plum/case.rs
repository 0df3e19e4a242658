//! Conferences that the claims ask for: each run once, several at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use airbound_senders::conference::{ConferenceConfig, LastNConfig, PlumConfig, Qoe, TackConfig};
use airbound_sim::conference::{AccessSpec, Conference, ConferenceOutcome, ConferenceSpec};
use airbound_sim::path::PipeSpec;
use airbound_units::{BitRate, Span};

use super::traces::{Set, TraceSets, second_of};
use crate::trial::in_parallel;
use crate::{Effort, TrialError};

/// The scheme that decides, as far as a table names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    Vanilla,
    LastN,
    Tack,
    /// Plum with a QoE function, by its place in the table, and rho in per cent.
    Plum(u8, u8),
}

impl Who {
    /// As the paper sets it: linear, rho 0.5.
    pub(super) const PLUM: Self = Self::Plum(0, 50);
    /// The mean alone counts.
    pub(super) const MEAN: Self = Self::Plum(0, 0);
    pub(super) const BASELINES: [Self; 3] = [Self::Vanilla, Self::LastN, Self::Tack];

    pub(super) fn name(self) -> String {
        match self {
            Self::Vanilla => "Vanilla".to_owned(),
            Self::LastN => "LastN".to_owned(),
            Self::Tack => "TACK".to_owned(),
            Self::PLUM => "Plum".to_owned(),
            Self::MEAN => "Plum, rho 0".to_owned(),
            Self::Plum(0, rho) => format!("Plum, rho {}", f64::from(rho) / 100.0),
            Self::Plum(qoe, _) => format!("Plum, {}", Self::qoe(qoe).name()),
        }
    }

    pub(super) fn qoe(place: u8) -> Qoe {
        Qoe::ALL[usize::from(place) % Qoe::ALL.len()]
    }

    pub(super) fn config(self) -> ConferenceConfig {
        match self {
            Self::Vanilla => ConferenceConfig::Plain,
            Self::LastN => ConferenceConfig::LastN(LastNConfig::default()),
            Self::Tack => ConferenceConfig::Tack(TackConfig::default()),
            Self::Plum(qoe, rho) => ConferenceConfig::Plum(PlumConfig {
                qoe: Self::qoe(qoe),
                rho: f64::from(rho) / 100.0,
                ..PlumConfig::default()
            }),
        }
    }
}

/// One session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Case {
    pub(super) set: Set,
    pub(super) clients: usize,
    /// Outbound bandwidth of the server in Mb/s; `None` for ample.
    pub(super) server: Option<u32>,
    /// Number of clients that share one access link; 1 for none.
    pub(super) sharing: usize,
    pub(super) who: Who,
    pub(super) seed: u64,
    pub(super) seconds: u32,
}

impl Case {
    /// Eight clients, an ample server, links of their own.
    pub(super) fn usual(set: Set, clients: usize, who: Who, effort: Effort) -> Self {
        Self { set, clients, server: None, sharing: 1, who, seed: 1, seconds: effort.seconds(120, 30) }
    }

    /// The same for every seed.
    pub(super) fn seeds(self, effort: Effort) -> impl Iterator<Item = Self> {
        let seeds = match (effort.quick, effort.standard) {
            (true, _) => 1,
            (false, true) => 2,
            (false, false) => 4,
        };
        (1..=seeds).map(move |seed| Self { seed, ..self })
    }

    /// The capacities of all clients' links in a second of the run, in Mb/s.
    pub(super) fn capacities(&self, traces: &TraceSets, second: u32) -> Vec<f64> {
        (0..self.clients).map(|client| second_of(&traces.pick(self.set, self.seed, client), second)).collect()
    }

    fn spec(&self, traces: &TraceSets) -> ConferenceSpec {
        let mut access = Vec::new();
        let mut client = 0;
        while client < self.clients {
            let mut pipe = PipeSpec::new(Arc::clone(&traces.pick(self.set, self.seed, client)));
            if client == 0 {
                pipe.clients = self.sharing;
            }
            client += pipe.clients;
            access.push(AccessSpec::Pipe(pipe));
        }
        let mut spec = ConferenceSpec::new(access, self.who.config(), self.seed);
        spec.server = self.server.map(|mbps| BitRate::from_mbps(u64::from(mbps)));
        spec.duration = Span::from_secs(u64::from(self.seconds)) - spec.warm_up;
        spec
    }

    fn run(&self, traces: &TraceSets) -> Result<ConferenceOutcome, TrialError> {
        let wrong = |error: airbound_sim::BuildError| TrialError {
            name: format!("session of {} under {}", self.clients, self.who.name()),
            reason: error.to_string(),
        };
        Ok(Conference::new(self.spec(traces)).map_err(wrong)?.finish())
    }
}

/// Outcomes of all sessions.
#[derive(Debug, Default)]
pub(super) struct Conferences(BTreeMap<Case, ConferenceOutcome>);

impl Conferences {
    pub(super) fn of(
        cases: impl IntoIterator<Item = Case>,
        traces: &TraceSets,
        effort: Effort,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self, TrialError> {
        let mut all: Vec<Case> = cases.into_iter().collect();
        all.sort();
        all.dedup();
        // The longest first, so that none of them is left for the end.
        all.sort_by_key(|case| std::cmp::Reverse(case.clients));
        let done = AtomicUsize::new(0);
        let outcomes = in_parallel(&all, effort.jobs, |case| {
            let outcome = case.run(traces);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, all.len());
            outcome
        })?;
        Ok(Self(all.into_iter().zip(outcomes).collect()))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The sessions of a case over its seeds.
    pub(super) fn over_seeds(&self, case: Case, effort: Effort) -> Vec<&ConferenceOutcome> {
        case.seeds(effort).filter_map(|case| self.0.get(&case)).collect()
    }

    /// The mean over seeds of what `figure` reads.
    pub(super) fn mean(
        &self,
        case: Case,
        effort: Effort,
        figure: impl Fn(&ConferenceOutcome) -> f64,
    ) -> Option<f64> {
        let values: Vec<f64> = self.over_seeds(case, effort).into_iter().map(figure).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}
