//! A run: one scenario, one scheme, one seed.

use airbound_record::{RunInfo, Summary};
use airbound_units::{Instant, Span};

use crate::error::BuildError;
use crate::flow::flow_id;
use crate::measure::{Audience, Figures, NoObserver, Observer};
use crate::network::Imbalance;
use crate::networks::{self, Built};
use crate::outcome::Outcome;
use crate::plugins::Plugins;
use crate::session::SessionRun;
use crate::snapshot::Snapshot;
use crate::world::World;
use airbound_control::frame::DropReason;
use airbound_control::queue::Protection;
use airbound_scenario::{Scenario, Scheme, Traffic};

/// A run in progress.
pub struct Run {
    pub(crate) world: World,
    pub(crate) session: Option<SessionRun>,
    audience: Audience,
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
        let (world, session, flows) = if scenario.session.is_some() {
            let (session, world) = SessionRun::new(scenario, scheme, seed, plugins)?;
            let flows = session.flows();
            (world, Some(session), flows)
        } else {
            let Built { world, flows } = networks::build(scenario, scheme, seed, plugins)?;
            (world, None, flows)
        };
        // A flow of the gate has its name from the first packet on.
        let flows =
            flows.into_iter().map(|name| if plugins.gate(&name).is_some() { String::new() } else { name });
        Ok(Self {
            world,
            session,
            audience: Audience::default(),
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
        self.audience = Audience::new(observer);
        self.world.observe(&self.audience);
        if let Some(session) = &self.session {
            session.observe(&mut self.world, &self.audience, &self.info);
        }
    }

    /// The header of this run's record.
    #[must_use]
    pub const fn info(&self) -> &RunInfo {
        &self.info
    }

    /// The present simulated time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.world.now()
    }

    /// The end of the run.
    #[must_use]
    pub const fn end(&self) -> Instant {
        self.world.end()
    }

    /// Advances by `span` of simulated time. Returns whether the run is unfinished.
    pub fn advance(&mut self, span: Span) -> bool {
        self.world.advance(self.now() + span);
        self.now() < self.end()
    }

    /// The present state of controllers and queues; of several networks, that of the first one on the first channel.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.world.networks().next().map(Snapshot::of).unwrap_or_default()
    }

    /// The protection of a flow, by its number in the scenario; `None` without a demand, or if the queue of the flow's
    /// data does not support demands. Between two calls of [`Run::advance`] it shows the state of the controller.
    #[must_use]
    pub fn protection(&self, flow: usize) -> Option<Protection> {
        let flow = self.place(flow);
        let mut members = self.world.members();
        let (member, network) = members.find(|(member, _)| member.flows.contains(&flow))?;
        let flow = flow_id(flow - member.flows.start);
        let nodes = network.parts.transmitters.iter();
        nodes.map(|node| node.link.queue()).find_map(|queue| queue.protection(flow))
    }

    /// Runs to the end, checks conservation, and returns the results and the observer; without one a [`NoObserver`].
    ///
    /// # Errors
    /// [`Imbalance`] if a packet was lost or counted twice, which is a defect of the simulator.
    pub fn finish(self) -> Result<(Outcome, Box<dyn Observer>), Imbalance> {
        let Self { mut world, session, audience, info, .. } = self;
        world.run_out()?;
        let outcome = match session {
            Some(session) => session.outcome(world, info, self.duration),
            None => {
                let sender =
                    if self.has_sender { Some(self.scheme.sender.name()) } else { self.media_sender };
                outcome(world, info, &self.scheme, sender, self.duration)
            }
        };
        // No network shares it any more.
        Ok((outcome, audience.into_observer().unwrap_or_else(|| Box::new(NoObserver))))
    }
}

/// The results of networks that have run to their end.
fn outcome(
    mut world: World,
    info: RunInfo,
    scheme: &Scheme,
    sender: Option<&str>,
    duration: Span,
) -> Outcome {
    let mut parts = world.figures(&info);
    parts.sort_by_key(|(member, _)| member.place);
    let networks = networks::summaries(&parts);
    let figures = Figures::of_all(parts.into_iter().map(|(member, figures)| (member.channel, figures)));
    let summary = Summary {
        airbound: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: info.scenario,
        scheme: airbound_record::Scheme {
            queue: scheme.queue.name().to_owned(),
            rate: scheme.rate.name().to_owned(),
            sender: sender.map(str::to_owned),
            session: None,
        },
        seed: info.seed,
        duration_s: duration.as_secs_f64(),
        flows: figures.flows,
        stations: figures.stations,
        air: figures.air,
        jain: figures.jain,
        session: None,
        networks,
        emulation: None,
    };
    Outcome {
        summary,
        wifi_latency: figures.wifi_latency,
        distributions: figures.distributions,
        events: world.processed(),
    }
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
