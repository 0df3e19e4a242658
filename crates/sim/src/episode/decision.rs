//! Decisions that the caller of an episode makes between its steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use airbound_scenario::{Flow, Scenario};

use super::EpisodeError;

/// A kind of decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// CoDel's target of each station's packets, ns. Packets leave in the order of arrival plus target.
    Queue,
    /// The index of the PHY rate of each station's link, in both directions, the slowest first.
    Rate,
    /// The pacing rate of each flow over TCP, bit/s, without a congestion window.
    Sender,
    /// Best effort's contention window (2^k - 1 slots at first) and AIFSN of the access point, then of all stations.
    Contention,
}

/// A value to decide, with its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knob {
    /// The station or flow, or what is decided.
    pub name: String,
    /// Least value.
    pub least: u64,
    /// Greatest value.
    pub most: u64,
}

impl Knob {
    /// Checks the values of an action, one for each knob.
    ///
    /// # Errors
    /// [`EpisodeError::Count`] for another number of values, [`EpisodeError::Value`] for one out of range.
    pub fn check(knobs: &[Self], values: &[u64]) -> Result<(), EpisodeError> {
        let (given, expected) = (values.len(), knobs.len());
        if given != expected {
            return Err(EpisodeError::Count { given, expected });
        }
        let mut pairs = knobs.iter().zip(values);
        match pairs.find(|(knob, value)| !(knob.least..=knob.most).contains(value)) {
            None => Ok(()),
            Some((Self { name, least, most }, &value)) => {
                Err(EpisodeError::Value { name: name.clone(), value, least: *least, most: *most })
            }
        }
    }
}

impl Decision {
    /// All decisions.
    pub const ALL: [Self; 4] = [Self::Queue, Self::Rate, Self::Sender, Self::Contention];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Rate => "rate",
            Self::Sender => "sender",
            Self::Contention => "contention",
        }
    }

    /// The decision of a name; `None` for an unknown one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.name() == name)
    }

    /// The values to decide at each step of a scenario.
    ///
    /// # Errors
    /// The scenario has nothing to decide, or capabilities of a station are out of range.
    pub fn knobs(self, scenario: &Scenario) -> Result<Vec<Knob>, EpisodeError> {
        let stations = scenario.stations.iter();
        let knob = |name: &str, least, most| Knob { name: name.to_owned(), least, most };
        let knobs: Vec<Knob> = match self {
            Self::Queue => stations.map(|station| knob(&station.name, 1_000_000, 1_000_000_000)).collect(),
            Self::Rate => {
                let highest = |station| {
                    let rates = scenario.capabilities(station, scenario.access_point.streams).rate_set()?;
                    Ok::<_, airbound_units::ConfigError>(rates.as_slice().len().saturating_sub(1) as u64)
                };
                stations
                    .map(|station| Ok(knob(&station.name, 0, highest(station)?)))
                    .collect::<Result<_, EpisodeError>>()?
            }
            Self::Sender => {
                let decided = scenario.flows.iter().filter(|flow| has_sender(flow));
                decided.map(|flow| knob(&flow.name, 100_000, 1_000_000_000)).collect()
            }
            Self::Contention => ["access-point", "stations"]
                .iter()
                .flat_map(|who| {
                    [knob(&format!("{who}.cw-min-exponent"), 0, 10), knob(&format!("{who}.aifsn"), 1, 15)]
                })
                .collect(),
        };
        if knobs.is_empty() {
            Err(EpisodeError::NothingToDecide { decision: self.name() })
        } else {
            Ok(knobs)
        }
    }
}

/// Whether a flow sends over TCP with the sender of the scheme.
pub(super) fn has_sender(flow: &Flow) -> bool {
    flow.traffic.tcp().is_some_and(|tcp| tcp.congestion.is_none())
}

/// The decided values, shared with the parts of the run that follow them.
#[derive(Debug, Clone)]
pub(super) struct Settings(Arc<[AtomicU64]>);

impl Settings {
    pub(super) fn new(knobs: &[Knob]) -> Self {
        Self(knobs.iter().map(|knob| AtomicU64::new(knob.least)).collect())
    }

    /// The value with this index; 0 if there is none.
    pub(super) fn get(&self, index: usize) -> u64 {
        self.0.get(index).map_or(0, |value| value.load(Ordering::Relaxed))
    }

    pub(super) fn set(&self, values: &[u64]) {
        for (own, value) in self.0.iter().zip(values) {
            own.store(*value, Ordering::Relaxed);
        }
    }
}

/// The index of a link's station, which is the end that is not the access point, as seen by `own` towards `peer`.
pub(super) const fn station_of(own: u32, peer: u16) -> usize {
    let station = if peer == 0 { own as usize } else { peer as usize };
    station.saturating_sub(1)
}
