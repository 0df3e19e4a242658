//! An episode for learning: a run in steps of equal length, with decisions of the caller between them.
//!
//! A step sets the values of a [`Decision`], advances, and measures each flow of the scenario ([`GAUGES`]). Equal scenarios, schemes,
//! seeds and values give equal measurements.

mod decision;
mod gauges;
mod queue;
mod rate;
mod sender;

use airbound_control::frame::StationId;
use airbound_scenario::{Scenario, Scheme};
use airbound_units::{ConfigError, Span};
use airbound_wifi::edca::Category;

pub use decision::{Decision, Knob};
pub use gauges::{GAUGES, GREATEST};

use crate::error::BuildError;
use crate::network::Imbalance;
use crate::outcome::Outcome;
use crate::plugins::{Plugin, Plugins};
use crate::run::Run;
use decision::{Settings, has_sender};
use gauges::Gauges;

/// Bounds of the length of a step, those of a window of the time series.
const STEP: std::ops::RangeInclusive<Span> = Span::from_millis(1)..=Span::from_secs(3600);

/// The reason why an episode cannot begin or continue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EpisodeError {
    /// The run cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The slot of the decision cannot be filled.
    #[error("{0}")]
    Scheme(String),
    /// The scenario has a session or several networks.
    #[error("the scenario has {found}; allowed is one network without a session")]
    Shape {
        /// The part that is not allowed.
        found: &'static str,
    },
    /// The scenario has nothing that the decision refers to.
    #[error("the scenario has nothing to decide for {decision}; allowed are scenarios {}", match *.decision {
        "sender" => "with a flow over TCP that uses the scheme's sender",
        "contention" => "whose channel is no trace",
        _ => "with a station",
    })]
    NothingToDecide {
        /// The name of the decision.
        decision: &'static str,
    },
    /// The length of a step is out of range.
    #[error("a step is {step}; allowed is 1 ms to 1 h")]
    Step {
        /// The length.
        step: Span,
    },
    /// The number of values is wrong.
    #[error("an action has {given} values; allowed are {expected}")]
    Count {
        /// The given number.
        given: usize,
        /// The number of knobs.
        expected: usize,
    },
    /// A value is out of range.
    #[error("{name} of an action is {value}; allowed is {least} to {most}")]
    Value {
        /// The name of the knob.
        name: String,
        /// The value.
        value: u64,
        /// Least value.
        least: u64,
        /// Greatest value.
        most: u64,
    },
}

impl From<ConfigError> for EpisodeError {
    fn from(error: ConfigError) -> Self {
        Self::Build(error.into())
    }
}

/// A run in steps.
///
/// ```
/// use airbound_scenario::find_shipped;
/// use airbound_sim::{Decision, Episode, Plugins};
/// use airbound_units::Span;
///
/// let scenario = find_shipped("hello")?.load(&airbound_scenario::Overrides::none())?;
/// let (scheme, plugins) = (scenario.scheme.clone(), Plugins::default());
/// let mut episode =
///     Episode::new("hello", &scenario, (&scheme, &plugins), Decision::Queue, Span::from_millis(10), 1)?;
/// let targets: Vec<u64> = episode.knobs().iter().map(|_| 5_000_000).collect();
/// let mut measured = Vec::new();
/// assert!(episode.step(&targets)?, "more steps follow");
/// episode.measured(&mut measured);
/// assert_eq!(measured.len(), scenario.flows.len() * airbound_sim::GAUGES.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Episode {
    run: Run,
    decision: Decision,
    knobs: Vec<Knob>,
    settings: Settings,
    gauges: Gauges,
    stations: u16,
    step: Span,
}

impl Episode {
    /// Prepares an episode in steps of `step`; the decision takes its slot of the scheme. `name` is that of the scenario.
    ///
    /// # Errors
    /// See [`EpisodeError`].
    pub fn new(
        name: &str,
        scenario: &Scenario,
        (scheme, plugins): (&Scheme, &Plugins),
        decision: Decision,
        step: Span,
        seed: u64,
    ) -> Result<Self, EpisodeError> {
        if !STEP.contains(&step) {
            return Err(EpisodeError::Step { step });
        }
        for (is_there, found) in
            [(scenario.session.is_some(), "a session"), (!scenario.networks.is_empty(), "several networks")]
        {
            if is_there {
                return Err(EpisodeError::Shape { found });
            }
        }
        let knobs = decision.knobs(scenario)?;
        let settings = Settings::new(&knobs);
        let (mut scheme, mut plugins) = (scheme.clone(), plugins.clone());
        if let Some(plugin) = plugin(decision, scenario, &settings) {
            scheme = scheme.with_custom(plugin.part(), "decided").map_err(EpisodeError::Scheme)?;
            plugins.add(plugin);
        }
        let scenario = Scenario { window: step, ..scenario.clone() };
        let mut run = Run::with_plugins(name, &scenario, &scheme, seed, &plugins)?;
        if decision == Decision::Contention && !run.world.has_contention() {
            return Err(EpisodeError::NothingToDecide { decision: decision.name() });
        }
        let gauges = Gauges::new(scenario.flows.len());
        run.observe(Box::new(gauges.clone()));
        let stations = scenario.stations.len() as u16;
        Ok(Self { run, decision, knobs, settings, gauges, stations, step })
    }

    /// The values to decide at each step.
    #[must_use]
    pub fn knobs(&self) -> &[Knob] {
        &self.knobs
    }

    /// Decides, and advances by a step. Returns whether the run has room for another; what remains after the last is part of
    /// [`Episode::finish`].
    ///
    /// # Errors
    /// The number of values, or a value, is out of range; then nothing is done.
    pub fn step(&mut self, values: &[u64]) -> Result<bool, EpisodeError> {
        Knob::check(&self.knobs, values)?;
        self.settings.set(values);
        if self.decision == Decision::Contention {
            self.contend(values);
        }
        self.gauges.clear();
        self.run.advance(self.step);
        Ok(self.run.now() + self.step <= self.run.end())
    }

    /// Appends the measurements of the last step: for each flow of the scenario the values of [`GAUGES`].
    pub fn measured(&self, into: &mut Vec<f32>) {
        self.gauges.read(into);
    }

    /// Runs to the end, and returns the results.
    ///
    /// # Errors
    /// [`Imbalance`] if a packet was lost or counted twice, which is a defect of the simulator.
    pub fn finish(self) -> Result<Outcome, Imbalance> {
        self.run.finish().map(|(outcome, _)| outcome)
    }

    /// Sets the contention parameters of best effort, as the beacons of the access point would.
    fn contend(&mut self, values: &[u64]) {
        let &[own_window, own_aifsn, window, aifsn] = values else { return };
        let access = |exponent: u64, aifsn: u64| (aifsn as u8, (1u16 << exponent) - 1);
        let stations = self.stations;
        self.run.world.act(0, |network, shared| {
            for node in 0..=stations {
                let access = if node == 0 { access(own_window, own_aifsn) } else { access(window, aifsn) };
                network.set_access(shared, StationId(node), Category::Be, access);
            }
        });
    }
}

/// The part of the scheme that follows a decision; `None` if the channel does.
fn plugin(decision: Decision, scenario: &Scenario, settings: &Settings) -> Option<Plugin> {
    let settings = settings.clone();
    match decision {
        Decision::Queue => {
            Some(Plugin::queue(move |site| queue::Targets::new(settings.clone(), site.number)))
        }
        Decision::Rate => Some(Plugin::rate(move |site| rate::Rates::new(settings.clone(), site.number))),
        Decision::Sender => {
            let decided: Vec<bool> = scenario.flows.iter().map(has_sender).collect();
            Some(Plugin::sender(move |site| {
                let before = decided.iter().take(site.number as usize);
                let index = before.filter(|is_decided| **is_decided).count();
                sender::Paced { settings: settings.clone(), index }
            }))
        }
        Decision::Contention => None,
    }
}
