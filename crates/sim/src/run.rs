//! A run: one scenario, one scheme, one seed.

use airbound_record::{RunInfo, Summary};
use airbound_units::{Instant, Span};

use crate::conference::ConferenceRun;
use crate::error::BuildError;
use crate::flow::flow_id;
use crate::measure::{Figures, NoObserver, Observer};
use crate::network::{Domains, Imbalance};
use crate::networks::{self, Audience, Built, Member};
use crate::outcome::Outcome;
use crate::plugins::Plugins;
use crate::snapshot::Snapshot;
use airbound_control::frame::DropReason;
use airbound_control::queue::Protection;
use airbound_scenario::{Scenario, Scheme, Traffic};

/// The simulated part of a run.
pub(crate) enum Engine {
    /// Networks, and their members in the scenario, in the order of the domains.
    Networks(Domains, Vec<Member>),
    /// A conference, optionally over a network.
    Conference(Box<ConferenceRun>),
}

/// A run in progress.
pub struct Run {
    pub(crate) engine: Engine,
    audience: Option<Audience>,
    pub(crate) info: RunInfo,
    scheme: Scheme,
    /// Whether a flow uses the scheme's sender.
    has_sender: bool,
    /// The congestion control of the first real-time video.
    media_sender: Option<&'static str>,
    pub(crate) duration: Span,
}

impl Run {
    /// Prepares a run. `name` is that of the scenario.
    ///
    /// # Errors
    /// The parameters of the scheme are wrong.
    pub fn new(name: &str, scenario: &Scenario, scheme: &Scheme, seed: u64) -> Result<Self, BuildError> {
        Self::with_plugins(name, scenario, scheme, seed, &Plugins::default())
    }

    /// Prepares a run with `plugins` in the slots that the scheme leaves to them.
    ///
    /// # Errors
    /// The parameters of the scheme are wrong, or a plugin is missing.
    pub fn with_plugins(
        name: &str,
        scenario: &Scenario,
        scheme: &Scheme,
        seed: u64,
        plugins: &Plugins,
    ) -> Result<Self, BuildError> {
        plugins.check_flows(scenario)?;
        let (engine, flows) = if scenario.session.is_some() {
            let conference = ConferenceRun::new(scenario, scheme, seed, plugins)?;
            let flows = conference.flows();
            (Engine::Conference(Box::new(conference)), flows)
        } else {
            let Built { domains, members, flows } = networks::build(scenario, scheme, seed, plugins)?;
            (Engine::Networks(domains, members), flows)
        };
        // A flow of the gate has its name from the first packet on.
        let flows =
            flows.into_iter().map(|name| if plugins.gate(&name).is_some() { String::new() } else { name });
        Ok(Self {
            engine,
            audience: None,
            info: info(name, scenario, scheme, seed, flows.collect()),
            scheme: scheme.clone(),
            has_sender: scenario.flows.iter().any(|flow| {
                matches!(
                    flow.traffic,
                    Traffic::Tcp(_) | Traffic::TcpShort(_) | Traffic::Vr(_) | Traffic::Paced(_)
                )
            }),
            media_sender: scenario.flows.iter().find_map(|flow| flow.traffic.media_sender(scheme)),
            duration: scenario.duration,
        })
    }

    /// Attaches an observer of the run's events, replacing an earlier one. Call it before the first [`Run::advance`]; later calls miss
    /// earlier events.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.audience = match &mut self.engine {
            Engine::Networks(domains, members) => networks::observe(domains, members, observer),
            Engine::Conference(conference) => {
                let audience = Audience::new(observer);
                conference.observe(&audience, &self.info);
                Some(audience)
            }
        };
    }

    /// The header of this run's record.
    #[must_use]
    pub const fn info(&self) -> &RunInfo {
        &self.info
    }

    /// The present simulated time.
    #[must_use]
    pub fn now(&self) -> Instant {
        match &self.engine {
            Engine::Networks(domains, _) => domains.now(),
            Engine::Conference(conference) => conference.now(),
        }
    }

    /// The end of the run.
    #[must_use]
    pub fn end(&self) -> Instant {
        match &self.engine {
            Engine::Networks(domains, _) => domains.end(),
            Engine::Conference(conference) => conference.end(),
        }
    }

    /// Advances by `span` of simulated time. Returns whether the run is unfinished.
    pub fn advance(&mut self, span: Span) -> bool {
        let until = self.now() + span;
        match &mut self.engine {
            Engine::Networks(domains, _) => domains.advance(until),
            Engine::Conference(conference) => conference.advance(until),
        }
        self.now() < self.end()
    }

    /// The present state of controllers and queues; of several networks, that of the first one on the first channel.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        match &self.engine {
            Engine::Networks(domains, _) => domains.networks().next().map(Snapshot::of).unwrap_or_default(),
            Engine::Conference(conference) => conference.snapshot(),
        }
    }

    /// The protection of a flow, by its number in the scenario; `None` without a demand, or if the queue of the flow's
    /// data does not support demands. Between two calls of [`Run::advance`] it shows the state of the controller.
    #[must_use]
    pub fn protection(&self, flow: usize) -> Option<Protection> {
        let Engine::Networks(domains, members) = &self.engine else { return None };
        let mut networks = members.iter().zip(domains.networks());
        let (member, network) = networks.find(|(member, _)| member.flows().contains(&flow))?;
        let flow = flow_id(flow - member.flows().start);
        let nodes = network.parts.transmitters.iter();
        nodes.map(|node| node.link.queue()).find_map(|queue| queue.protection(flow))
    }

    /// Runs to the end, checks conservation, and returns the results and the observer; without one a [`NoObserver`].
    ///
    /// # Errors
    /// [`Imbalance`] if a packet was lost or counted twice, which is a defect of the simulator.
    pub fn finish(self) -> Result<(Outcome, Box<dyn Observer>), Imbalance> {
        let (mut domains, members) = match self.engine {
            Engine::Networks(domains, members) => (domains, members),
            Engine::Conference(conference) => {
                let outcome = conference.finish(self.info)?;
                return Ok((outcome, returned_observer(self.audience, Box::new(NoObserver))));
            }
        };
        domains.advance(Instant::MAX);
        domains.take_in_all();
        let events = domains.processed();
        let mut parts = Vec::new();
        let mut observer: Box<dyn Observer> = Box::new(NoObserver);
        for network in domains.networks_mut() {
            network.check_conservation()?;
            network.note_found();
            network.end_frames();
        }
        for (member, mut network) in members.iter().zip(domains.into_networks()) {
            parts.push((member, network.parts.meters.figures(member.stations(&self.info))));
            observer = network.parts.meters.into_observer();
        }
        parts.sort_by_key(|(member, _)| member.place());
        let networks = networks::summaries(&parts);
        let figures = Figures::of_all(
            parts.into_iter().map(|(member, figures)| (member.channel, member.flows().start as u32, figures)),
        );
        let sender = if self.has_sender { Some(self.scheme.sender.name()) } else { self.media_sender };
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
            networks,
            emulation: None,
        };
        let outcome = Outcome {
            summary,
            wifi_latency: figures.wifi_latency,
            distributions: figures.distributions,
            events,
        };
        Ok((outcome, returned_observer(self.audience, observer)))
    }
}

/// The observer of a run: that of its audience, which a network no longer shares, or the only network's own.
fn returned_observer(audience: Option<Audience>, of_network: Box<dyn Observer>) -> Box<dyn Observer> {
    let Some(audience) = audience else { return of_network };
    drop(of_network);
    audience.into_observer().unwrap_or_else(|| Box::new(NoObserver))
}

/// The header of a run's record.
fn info(name: &str, scenario: &Scenario, scheme: &Scheme, seed: u64, flows: Vec<String>) -> RunInfo {
    RunInfo {
        scenario: name.to_owned(),
        scheme: scheme.to_string(),
        seed,
        flows,
        stations: scenario.station_names(),
        transmitters: scenario.transmitter_names(),
        drop_reasons: DropReason::ALL.iter().map(|reason| reason.name().to_owned()).collect(),
    }
}
