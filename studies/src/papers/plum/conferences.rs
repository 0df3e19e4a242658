//! Conferences that the claims ask for: each run once, several at a time.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use airbound_runs::jobs;
use airbound_senders::conference::ConferenceConfig;
use airbound_sim::conference::{AccessSpec, ClientOutcome, ConferenceOutcome, ConferenceSpec, Forwarding};
use airbound_sim::path::PipeSpec;
use airbound_sim::play;
use airbound_units::{BitRate, Span};
use serde::Deserialize;

use super::fluid::Limits;
use super::links::{Division, Source, links};
use super::scene::{self, Air};
use super::traces::{Set, TraceSets};
use crate::{Effort, TrialError};

/// The conferences as data.
pub(super) static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    toml::from_str(include_str!("conferences.toml"))
        .unwrap_or_else(|error| panic!("the conferences of plum are wrong: {error}"))
});

/// Contents of `conferences.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    pub(super) schemes: BTreeMap<String, ConferenceConfig>,
    pub(super) traces: OverTraces,
    pub(super) walks: Walks,
    pub(super) fluid: Fluid,
}

/// Conferences over traces.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OverTraces {
    pub(super) length: Length,
    pub(super) figures: BTreeMap<String, Figure>,
}

/// Conferences of a figure: all combinations, for both sets of traces.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    /// Division of the links; none for half-duplex ones.
    #[serde(default)]
    links: Option<Division>,
    /// Whether each source may have all of a viewer's rate.
    #[serde(default)]
    whole: bool,
    /// Whether acknowledgements wait behind data on divided links.
    #[serde(default)]
    fifo: bool,
    /// Highest bitrate of the encoders in Mb/s.
    #[serde(default = "usual_encoder")]
    encoder: u32,
    /// Rates of the server's outbound link in Mb/s; none for ample.
    #[serde(default)]
    servers: Vec<u32>,
    #[serde(default = "one")]
    sharing: usize,
    /// Capacity of the traces in per cent of what they are.
    #[serde(default = "whole_capacity")]
    capacity: Vec<u32>,
    /// Share of each of those that share a trace, in per cent of it.
    #[serde(default = "halves")]
    parts: Vec<u32>,
    pub(super) clients: By<Vec<usize>>,
    schemes: Vec<String>,
    /// Draws of the traces, where they are more than those of the length.
    draws: Option<By<u64>>,
}

/// Conferences of Fig. 14.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Walks {
    pub(super) length: Length,
    pub(super) settings: Vec<Setting>,
}

/// A setting of Fig. 14.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setting {
    pub(super) air: Air,
    /// Whether each source may have all of a viewer's rate.
    #[serde(default)]
    pub(super) whole: bool,
    pub(super) schemes: Vec<String>,
}

/// Number and length of the conferences of each cell.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Length {
    seeds: By<u64>,
    seconds: By<u32>,
}

/// Looks of the fluid models at the traces.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fluid {
    pub(super) limits: By<Vec<Limits>>,
    pub(super) step: By<usize>,
}

/// A value, or one for each effort.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum By<T> {
    Effort { full: T, quick: T },
    Always(T),
}

const fn one() -> usize {
    1
}

fn whole_capacity() -> Vec<u32> {
    vec![100]
}

fn halves() -> Vec<u32> {
    vec![50]
}

/// The public code's.
const fn usual_encoder() -> u32 {
    10
}

impl<T> By<T> {
    pub(super) const fn at(&self, effort: Effort) -> &T {
        match self {
            Self::Effort { quick, .. } if effort.quick => quick,
            Self::Effort { full, .. } => full,
            Self::Always(value) => value,
        }
    }
}

impl Length {
    pub(super) fn seeds(&self, effort: Effort) -> RangeInclusive<u64> {
        effort.seeds(*self.seeds.at(effort))
    }

    pub(super) fn seconds(&self, effort: Effort) -> u32 {
        *self.seconds.at(effort)
    }
}

/// Links of the clients of a session, its encoders and its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Links {
    /// Links whose speeds are traces.
    Traces {
        set: Set,
        clients: usize,
        /// Number of clients that share the first trace; 1 for none.
        sharing: usize,
        model: Model,
        /// Outbound bandwidth of the server in Mb/s; `None` for ample.
        server: Option<u32>,
    },
    /// Three clients, the first of them walking.
    Walk {
        /// Number of the setting.
        setting: usize,
        /// Number of clients on Wi-Fi.
        wireless: usize,
    },
}

/// Model of links, encoders and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Model {
    /// Division between two links; `None` for a half-duplex one.
    pub(super) division: Option<Division>,
    /// Whether acknowledgements wait behind data on divided links.
    pub(super) fifo: bool,
    /// Whether each source may have all of a viewer's rate.
    pub(super) whole: bool,
    /// Highest bitrate of the encoders in Mb/s.
    pub(super) encoder: u32,
    /// Capacity of divided links in per cent of their traces.
    pub(super) capacity: u32,
    /// Share of each of those that share a divided trace, in per cent of it.
    pub(super) part: u32,
}

impl Model {
    /// Half-duplex links, a viewer's rate divided among the sources.
    pub(super) const LOOP: Self =
        Self { division: None, fifo: false, whole: false, encoder: usual_encoder(), capacity: 100, part: 50 };

    /// That of the paper's figures.
    pub(super) const fn paper(division: Division) -> Self {
        Self { division: Some(division), whole: true, ..Self::LOOP }
    }
}

impl Links {
    /// A link for each client, and an ample server.
    pub(super) const fn own(set: Set, clients: usize, model: Model) -> Self {
        Self::Traces { set, clients, model, sharing: 1, server: None }
    }

    fn length(self) -> &'static Length {
        match self {
            Self::Traces { .. } => &PLAN.traces.length,
            Self::Walk { .. } => &PLAN.walks.length,
        }
    }

    fn access(self, traces: &TraceSets, seed: u64, seconds: u32) -> Result<Vec<AccessSpec>, TrialError> {
        match self {
            Self::Traces { set, clients, sharing, model, .. } => match model.division {
                None => {
                    let pipe = |client| {
                        let pipe = PipeSpec::new(traces.pick(set, seed, client));
                        AccessSpec::Pipe(PipeSpec { clients: if client == 0 { sharing } else { 1 }, ..pipe })
                    };
                    Ok(std::iter::once(0).chain(sharing..clients).map(pipe).collect())
                }
                Some(division) => {
                    // Each of those that share a trace has links with its part of it.
                    let capacity = f64::from(model.capacity) / 100.0;
                    let source = |client| match client < sharing && sharing > 1 {
                        true => (traces.pick(set, seed, 0), capacity * f64::from(model.part) / 100.0),
                        false => (traces.pick(set, seed, client), capacity),
                    };
                    let sources: Vec<Source> = (0..clients).map(source).collect();
                    Ok(links(&sources, division, !model.fifo, seconds)?
                        .into_iter()
                        .map(AccessSpec::Pipe)
                        .collect())
                }
            },
            Self::Walk { setting, wireless } => {
                let link = |place| scene::wireless(place, &PLAN.walks.settings[setting].air, seconds);
                let second = if wireless > 1 { link(scene::STILL)? } else { scene::wired()? };
                Ok(vec![link(scene::Place::Walk(seed))?, second, scene::wired()?])
            }
        }
    }

    /// Changes a session's encoders and server to the model's.
    fn apply(self, spec: &mut ConferenceSpec) {
        let whole = match self {
            Self::Traces { model, server, .. } => {
                spec.encoder.most = BitRate::from_mbps(u64::from(model.encoder));
                spec.server = server.map(|mbps| BitRate::from_mbps(u64::from(mbps)));
                model.whole
            }
            Self::Walk { setting, .. } => PLAN.walks.settings[setting].whole,
        };
        spec.forwarding = if whole { Forwarding::Whole } else { Forwarding::Divided };
    }
}

type Cell = (Links, &'static str);

impl Plan {
    /// All conferences, with the number of their seeds.
    pub(super) fn cells(&'static self, effort: Effort) -> BTreeMap<Cell, u64> {
        let mut cells = BTreeMap::new();
        let mut add = |cell, draws: u64| {
            let known = cells.entry(cell).or_default();
            *known = draws.max(*known);
        };
        for figure in self.traces.figures.values() {
            let draws = *figure.draws.as_ref().unwrap_or(&self.traces.length.seeds).at(effort);
            let Figure { links: division, whole, fifo, encoder, servers, sharing, .. } = figure;
            let usual =
                Model { division: *division, fifo: *fifo, whole: *whole, encoder: *encoder, ..Model::LOOP };
            let capacities = figure.capacity.iter().map(|capacity| Model { capacity: *capacity, ..usual });
            let models: Vec<Model> = capacities
                .flat_map(|model| figure.parts.iter().map(move |part| Model { part: *part, ..model }))
                .collect();
            let ample = servers.is_empty().then_some(None);
            let servers: Vec<Option<u32>> = servers.iter().copied().map(Some).chain(ample).collect();
            for set in Set::ALL {
                let models =
                    models.iter().flat_map(|model| servers.iter().map(move |server| (*model, *server)));
                for (model, server) in models {
                    for clients in figure.clients.at(effort) {
                        let links =
                            Links::Traces { set, clients: *clients, sharing: *sharing, model, server };
                        figure.schemes.iter().for_each(|scheme| add((links, scheme.as_str()), draws));
                    }
                }
            }
        }
        let draws = *self.walks.length.seeds.at(effort);
        for (setting, Setting { schemes, .. }) in self.walks.settings.iter().enumerate() {
            for links in [1, 2].map(|wireless| Links::Walk { setting, wireless }) {
                schemes.iter().for_each(|scheme| add((links, scheme.as_str()), draws));
            }
        }
        cells
    }
}

/// Outcomes of all conferences, by seed.
#[derive(Debug, Default)]
pub(super) struct Conferences(BTreeMap<Cell, Vec<ConferenceOutcome>>);

impl Conferences {
    /// Runs all conferences of the plan.
    pub(super) fn run(
        traces: &TraceSets,
        effort: Effort,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self, TrialError> {
        let cells = PLAN.cells(effort).into_iter();
        let mut all: Vec<(Cell, u64)> =
            cells.flat_map(|(cell, draws)| effort.seeds(draws).map(move |seed| (cell, seed))).collect();
        // The longest first, so that none of them is left for the end.
        all.sort_by_key(|((links, _), _)| match links {
            Links::Traces { clients, .. } => (1, std::cmp::Reverse(*clients)),
            Links::Walk { wireless, .. } => (0, std::cmp::Reverse(*wireless)),
        });
        let outcomes = jobs::counted(effort.jobs.get(), &all, progress, |((links, scheme), seed)| {
            let wrong = |error: airbound_sim::BuildError| TrialError {
                name: format!("session over {links:?} under {scheme}"),
                reason: error.to_string(),
            };
            let seconds = links.length().seconds(effort);
            let access = links.access(traces, *seed, seconds)?;
            let mut spec = ConferenceSpec::new(access, PLAN.schemes[*scheme], *seed);
            spec.duration = Span::from_secs(u64::from(seconds)) - spec.warm_up;
            links.apply(&mut spec);
            play(spec).map_err(wrong)
        })?;
        let mut conferences = Self::default();
        for ((cell, _), outcome) in all.into_iter().zip(outcomes) {
            conferences.0.entry(cell).or_default().push(outcome);
        }
        Ok(conferences)
    }

    /// Returns the number of conferences.
    pub(super) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Returns the outcomes of a session by seed.
    ///
    /// # Panics
    /// If `conferences.toml` has no such session, which is a defect of this crate.
    pub(super) fn of(&self, links: Links, scheme: &'static str) -> &[ConferenceOutcome] {
        let found = self.0.get(&(links, scheme));
        found.unwrap_or_else(|| panic!("conferences.toml has no session over {links:?} under {scheme}"))
    }

    /// Returns the mean over seeds of what `figure` reads.
    pub(super) fn mean(
        &self,
        links: Links,
        scheme: &'static str,
        figure: impl Fn(&ConferenceOutcome) -> f64,
    ) -> f64 {
        let outcomes = self.of(links, scheme);
        outcomes.iter().map(figure).sum::<f64>() / outcomes.len() as f64
    }

    /// Returns what `samples` reads of each client, of all seeds, in order.
    pub(super) fn sorted(
        &self,
        links: Links,
        scheme: &'static str,
        samples: fn(&ClientOutcome) -> &[f64],
    ) -> Vec<f64> {
        let clients = self.of(links, scheme).iter().flat_map(|outcome| &outcome.clients);
        let mut all: Vec<f64> = clients.flat_map(samples).copied().collect();
        all.sort_by(f64::total_cmp);
        all
    }
}
