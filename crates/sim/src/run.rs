//! One run: a scenario, a scheme, a seed.

use airbound_record::{DistributionRow, LatencyStats, RunInfo, Summary};
use airbound_units::{Instant, Span};

use crate::build::{BuildError, Plan, flow_id};
use crate::engine::{Imbalance, Simulation};
use crate::measure::{Nobody, Observer};
use crate::scenario::{Scenario, Scheme};
use crate::view::View;
use airbound_control::payload::DropReason;
use airbound_control::queue::{Protection, Queue};

/// A run under way.
pub struct Run {
    simulation: Simulation,
    info: RunInfo,
    scheme: Scheme,
    /// Who decides over the rate of the first real-time video.
    media_sender: Option<&'static str>,
    duration: Span,
}

/// What a run brought.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The summary, whose form is stable.
    pub summary: Summary,
    /// From entering the queue of the transmitter to the acknowledgement, in ms, for each flow of the summary: what the
    /// LAST-PQ paper calls latency (Sec. III).
    pub wifi_latency: Vec<LatencyStats>,
    /// Latency distributions, by flow and stage.
    pub distributions: Vec<DistributionRow>,
    /// Events that were processed, transmissions included.
    pub events: u64,
}

impl Run {
    /// Prepares a run. `name` is that of the scenario.
    ///
    /// # Errors
    /// The parameters of the scheme are wrong.
    pub fn new(name: &str, scenario: &Scenario, scheme: &Scheme, seed: u64) -> Result<Self, BuildError> {
        Self::observed(name, scenario, scheme, seed, Box::new(Nobody))
    }

    /// Prepares a run of which `observer` is told everything.
    ///
    /// # Errors
    /// The parameters of the scheme are wrong.
    pub fn observed(
        name: &str,
        scenario: &Scenario,
        scheme: &Scheme,
        seed: u64,
        observer: Box<dyn Observer>,
    ) -> Result<Self, BuildError> {
        if scenario.session.is_some() {
            let reason = "this scenario is a session, which airbound run and airbound compare can simulate";
            return Err(BuildError::Slot { slot: "session", reason: reason.to_owned() });
        }
        let plan = Plan { scenario, scheme, seed };
        let parts = plan.parts(observer)?;
        let info =
            info(name, scenario, scheme, seed, parts.flows.iter().map(|flow| flow.name.clone()).collect());
        Ok(Self {
            simulation: Simulation::new(parts),
            info,
            scheme: scheme.clone(),
            media_sender: scenario.flows.iter().find_map(|flow| flow.traffic.media_sender(scheme)),
            duration: scenario.duration,
        })
    }

    /// What the record of this run says of it.
    #[must_use]
    pub const fn info(&self) -> &RunInfo {
        &self.info
    }

    /// How far it has come.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.simulation.now
    }

    /// When it ends.
    #[must_use]
    pub const fn end(&self) -> Instant {
        self.simulation.parts.end
    }

    /// Advances by `span` of simulated time. Returns whether there is more to do.
    pub fn advance(&mut self, span: Span) -> bool {
        self.simulation.advance(self.simulation.now + span);
        self.simulation.now < self.simulation.parts.end
    }

    /// What controllers and queues say at this moment.
    #[must_use]
    pub fn view(&self) -> View {
        View::of(&self.simulation)
    }

    /// How the protection of a flow fares, by its number in the scenario; `None` without a demand, or where the queue that decides
    /// over the flow's data protects nobody. Between two calls of [`Run::advance`] it shows the controller at work.
    #[must_use]
    pub fn protection(&self, flow: usize) -> Option<Protection> {
        let nodes = self.simulation.parts.nodes.iter();
        nodes.map(|node| node.link.queue()).find_map(|queue| queue.protection(flow_id(flow)))
    }

    /// Runs to the end, closes the books, and gives the observer back.
    ///
    /// # Errors
    /// [`Imbalance`] if a packet was lost or counted twice, which is a defect of the simulator.
    pub fn finish(mut self) -> Result<(Outcome, Box<dyn Observer>), Imbalance> {
        self.simulation.advance(Instant::MAX);
        self.simulation.check_conservation()?;
        self.simulation.note_found();
        self.simulation.end_frames();
        let events = self.simulation.processed();
        let meters = self.simulation.parts.meters;
        let figures = meters.figures(&self.info.stations);
        let has_sender = figures
            .flows
            .iter()
            .any(|flow| flow.kind.starts_with("tcp") || flow.kind == "vr" || flow.kind == "paced");
        let sender = if has_sender { Some(self.scheme.sender.name()) } else { self.media_sender };
        let summary = Summary {
            airbound: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: self.info.scenario.clone(),
            scheme: airbound_record::Scheme {
                queue: self.scheme.queue.name().to_owned(),
                rate: self.scheme.rate.name().to_owned(),
                sender: sender.map(str::to_owned),
                session: None,
            },
            seed: self.info.seed,
            duration_s: self.duration.as_secs_f64(),
            flows: figures.flows,
            stations: figures.stations,
            air: figures.air,
            jain: figures.jain,
            session: None,
        };
        let outcome = Outcome {
            summary,
            wifi_latency: figures.wifi_latency,
            distributions: figures.distributions,
            events,
        };
        Ok((outcome, meters.into_observer()))
    }
}

/// What the record of a run says of it.
pub(crate) fn info(
    name: &str,
    scenario: &Scenario,
    scheme: &Scheme,
    seed: u64,
    flows: Vec<String>,
) -> RunInfo {
    let stations: Vec<String> = scenario.stations.iter().map(|station| station.name.clone()).collect();
    let neighbours = scenario.neighbours.iter().flat_map(|network| {
        (1..=network.transmitters).map(move |number| format!("{}-{number}", network.name))
    });
    let transmitters = std::iter::once("access-point".to_owned())
        .chain(stations.iter().cloned())
        .chain(neighbours)
        .collect();
    RunInfo {
        scenario: name.to_owned(),
        scheme: scheme.to_string(),
        seed,
        flows,
        stations,
        transmitters,
        drop_reasons: DropReason::ALL.iter().map(|reason| reason.name().to_owned()).collect(),
    }
}
