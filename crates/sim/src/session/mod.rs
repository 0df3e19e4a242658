//! A conference in a scenario: from its `[session]` to a [`ConferenceSpec`], and from the counters to the summary of a run.

mod spec;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use airbound_control::frame::DropReason;
use airbound_record::{
    Component, ConferenceSummary, Direction, DistributionRow, FlowSummary, Jain, LatencyHistogram,
    LatencyStats, PacketCounts, RunInfo, Summary, UserSummary,
};
use airbound_senders::conference::{ConferenceConfig, PlumConfig, Welfare};
use airbound_units::{BitRate, Span};

use crate::blueprint::slot_config;
use crate::conference::measure::WayMeter;
use crate::conference::tables::{OnPipe, Tables};
use crate::conference::{AccessSpec, AirSpec, Conference, ConferenceSpec};
use crate::error::BuildError;
use crate::flow::Flow;
use crate::measure::{Audience, Figures};
use crate::networks::{self, Built};
use crate::outcome::Outcome;
use crate::path::{PipeSpec, Way};
use crate::plugins::Plugins;
use crate::world::World;
use airbound_air::trace::{Format, Trace};
use airbound_random::{Purpose, seed_for};
use airbound_scenario::{Access, Client, Scenario, Scheme, Station};

pub use spec::play;

/// A session of a scenario: who its clients are.
#[derive(Debug)]
pub(crate) struct SessionRun {
    scenario: Scenario,
    scheme: Scheme,
    /// The clients in the order of the conference: those on the air first.
    clients: Vec<Client>,
    on_air: usize,
    /// The place of each flow of the scenario among those that the networks carry.
    places: Vec<usize>,
    /// The names of all flows of the run.
    names: Vec<String>,
}

impl SessionRun {
    /// Prepares the world of a scenario that has a session.
    ///
    /// # Errors
    /// The scheme has no policy for the session, or its parameters are wrong.
    pub(crate) fn new(
        scenario: &Scenario,
        scheme: &Scheme,
        seed: u64,
        plugins: &Plugins,
    ) -> Result<(Self, World), BuildError> {
        let missing =
            || BuildError::Slot { slot: "session", reason: "the scenario has no [session]".to_owned() };
        let described = scenario.session.as_ref().ok_or_else(missing)?;
        let slot = scheme.session.as_ref().ok_or_else(missing)?;
        // Those on the air come first, network by network: each is an access link that its clients share.
        let mut clients: Vec<Client> = Vec::new();
        let mut access = Vec::new();
        let mut homes = Vec::new();
        let mut flows = Vec::new();
        let whole = Arc::new(Scenario { session: None, ..scenario.clone() });
        let names: Vec<Option<&String>> = match scenario.networks.as_slice() {
            [] => vec![None],
            networks => networks.iter().map(|network| Some(&network.name)).collect(),
        };
        for home in names {
            let is_home = |station: &Station| station.network.as_ref() == home;
            let stations: BTreeSet<&str> =
                scenario.stations.iter().filter(|one| is_home(one)).map(|one| &*one.name).collect();
            let on_air = |client: &&Client| matches!(&client.access, Access::Station(name) if stations.contains(&**name));
            let own: Vec<Client> = described.clients.iter().filter(on_air).cloned().collect();
            flows.extend(own.iter().flat_map(Client::flows));
            flows.extend(scenario.flows.iter().filter(|flow| stations.contains(&*flow.station)).cloned());
            if !own.is_empty() {
                let names = own.iter().map(|client| client.flows()[0].station.clone()).collect();
                access.push(AccessSpec::Air(AirSpec { scenario: Arc::clone(&whole), clients: names }));
                homes.push(home);
            }
            clients.extend(own);
        }
        let on_air = clients.len();
        let elsewhere = scenario.clients_elsewhere().cloned();
        clients.extend(elsewhere);
        for client in &clients[on_air..] {
            access.extend(pipe_of(&client.access)?.map(AccessSpec::Pipe));
        }
        let spec = ConferenceSpec {
            encoder: described.encoder,
            transport: described
                .transport()
                .map_err(|reason| BuildError::Slot { slot: "session", reason })?,
            server: described.server,
            delay: described.delay,
            weights: clients.iter().map(|client| client.weight).collect(),
            duration: scenario.duration,
            warm_up: scenario.warm_up,
            ..ConferenceSpec::new(access, slot_config(slot, "session")?, seed)
        };
        let numbered: BTreeMap<&str, usize> = flows.iter().map(|flow| &*flow.name).zip(0..).collect();
        let places = scenario.flows.iter().filter_map(|flow| numbered.get(&*flow.name).copied()).collect();
        let (mut world, names) = match scenario.stations.is_empty() {
            true => (World::new(Vec::new(), Vec::new()), Vec::new()),
            false => {
                let mut plugins = plugins.clone();
                clients[..on_air].iter().for_each(|client| {
                    plugins.carry(client.up());
                    plugins.carry(client.down());
                    client.flows().into_iter().for_each(|flow| plugins.seat(flow.station));
                });
                let carrying = Scenario { flows, session: None, ..scenario.clone() };
                let seed = seed_for(seed, Purpose::Session, 2 << 32);
                let Built { world, flows } = networks::build(&carrying, scheme, seed, &plugins)?;
                (world, flows)
            }
        };
        let place =
            |home: &Option<&String>| world.members().position(|(member, _)| member.name.as_ref() == *home);
        let networks: Vec<usize> = homes.iter().filter_map(place).collect();
        let conference = Conference::new(spec, networks)?;
        let own = described.clients.iter().flat_map(|client| [client.down(), client.up()]);
        let own = own.chain(scenario.flows.iter().map(|flow| flow.name.clone()));
        let carried = 2 * on_air + scenario.flows.len();
        let names: Vec<String> = own.chain(names.iter().skip(carried).cloned()).collect();
        let session =
            Self { clients, on_air, places, names, scenario: scenario.clone(), scheme: scheme.clone() };
        session.number(&mut world, carried);
        Ok((session, world.with_session(conference)))
    }

    /// The names of all flows: for each client its received and its sent media, then those of the scenario, then those of feedback.
    pub(crate) fn flows(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The place of a flow of the scenario among those that the networks carry.
    pub(crate) fn place(&self, flow: usize) -> usize {
        self.places.get(flow).copied().unwrap_or(usize::MAX)
    }

    /// The number in the run of a flow of the scenario.
    pub(crate) fn number_of(&self, flow: usize) -> usize {
        2 * self.clients.len() + flow
    }

    /// The number in the run of the flow with a name.
    fn flow(&self, name: &str) -> u32 {
        self.names.iter().position(|known| known == name).unwrap_or(0) as u32
    }

    /// Numbers the flows of all networks over the run; `carried` flows come from the scenario and its clients.
    fn number(&self, world: &mut World, carried: usize) {
        let shift = (2 * self.clients.len() + self.scenario.flows.len() - carried) as u32;
        for network in world.networks_mut() {
            let parts = &mut network.parts;
            let numbers = &mut parts.meters.rows.numbers;
            let number = |(flow, before): (&Flow, &u32)| {
                if (*before as usize) < carried { self.flow(&flow.name) } else { before + shift }
            };
            numbers.flows = parts.flows.iter().zip(&*numbers.flows).map(number).collect();
            numbers.all_flows = self.names.len() as u64;
        }
    }

    /// Passes the rows of packets on pipes to an audience.
    pub(crate) fn observe(&self, world: &mut World, audience: &Audience, info: &RunInfo) {
        if !audience.wants.packets && !audience.wants.series {
            return;
        }
        let number = |client: &Client| info.stations.iter().position(|name| *name == client.name);
        let client = |(place, client): (usize, &Client)| OnPipe {
            flows: [client.up(), client.down()].map(|name| self.flow(&name)),
            station: number(client).unwrap_or(0) as u16,
            is_on_air: place < self.on_air,
        };
        let clients = self.clients.iter().enumerate().map(client).collect();
        let tables = Tables::new(audience.clone(), clients, self.names.len() as u64, self.scenario.window);
        if let Some(conference) = world.session() {
            conference.write(tables);
        }
    }

    /// The results of a world that has run to its end, measured for `duration`: for each client its received and its sent media, then the other flows.
    pub(crate) fn outcome(self, mut world: World, info: RunInfo, duration: Span) -> Outcome {
        let events = world.processed();
        let mut parts = world.figures(&info);
        parts.sort_by_key(|(member, _)| member.place);
        let networks = networks::summaries(&parts);
        let air = Figures::of_all(parts.into_iter().map(|(member, figures)| (member.channel, figures)));
        let mut meters =
            world.session().map(|conference| std::mem::take(&mut conference.meters)).unwrap_or_default();
        let mut flows = Vec::new();
        let mut distributions = Vec::new();
        for client in self.scenario.session.iter().flat_map(|session| &session.clients) {
            let Some(number) = self.clients.iter().position(|known| known.name == client.name) else {
                continue;
            };
            for way in [Way::Down, Way::Up] {
                let meter = meters[number].way(way);
                let name = if way == Way::Down { client.down() } else { client.up() };
                let carried =
                    air.flows.iter().find(|flow| flow.name == name).filter(|_| number < self.on_air);
                distributions.extend(frame_rows(flows.len() as u32, &meter.frames));
                flows.push(flow_summary(client, way, meter, carried, duration));
            }
        }
        let ours = flows.len();
        let mut wifi_latency = vec![LatencyStats::default(); ours];
        // Those of the clients are counted by the session.
        let is_carried = |flow: &FlowSummary| {
            self.clients[..self.on_air]
                .iter()
                .any(|client| flow.name == client.up() || flow.name == client.down())
        };
        for (flow, latency) in
            air.flows.into_iter().zip(air.wifi_latency).filter(|(flow, _)| !is_carried(flow))
        {
            flows.push(flow);
            wifi_latency.push(latency);
        }
        distributions.extend(air.distributions.into_iter().filter(|row| row.flow as usize >= ours));
        let mut stations = air.stations;
        stations.sort_by_key(|station| self.scenario.station_index(&station.name));
        let session = self.quality_of_experience(&flows);
        let goodput = Jain::index(&flows.iter().map(|flow| flow.goodput_mbps).collect::<Vec<_>>());
        let summary = Summary {
            airbound: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: info.scenario,
            scheme: airbound_record::Scheme {
                queue: self.scheme.queue.name().to_owned(),
                rate: self.scheme.rate.name().to_owned(),
                sender: Some(self.scheme.sender.name().to_owned()),
                session: self.scheme.session.map(|session| session.name().to_owned()),
            },
            seed: info.seed,
            duration_s: duration.as_secs_f64(),
            flows,
            stations,
            air: air.air,
            jain: Jain { goodput, airtime: air.jain.airtime },
            session: Some(session),
            networks,
            emulation: None,
        };
        Outcome { summary, wifi_latency, distributions, events }
    }

    /// The quality of experience of the users, by the scheme's Plum configuration, or else by that of the scenario, so that policies
    /// are scored alike; `flows` begins with those of the clients.
    fn quality_of_experience(&self, flows: &[FlowSummary]) -> ConferenceSummary {
        let slots = [self.scheme.session.as_ref(), self.scenario.scheme.session.as_ref()];
        let plum = slots.into_iter().flatten().find_map(|slot| match slot_config(slot, "session") {
            Ok(ConferenceConfig::Plum(config)) => Some(config),
            _ => None,
        });
        let PlumConfig { rho, qoe, max_bitrate, .. } = plum.unwrap_or_default();
        let most = max_bitrate.as_mbps_f64();
        let clients = self.scenario.session.iter().flat_map(|session| &session.clients);
        // Two flows for each client, the downlink first.
        let users: Vec<UserSummary> = clients
            .zip(flows.iter().step_by(2))
            .map(|(client, down)| UserSummary {
                name: client.name.clone(),
                weight: client.weight,
                qoe: qoe.value(down.goodput_mbps / most, most),
            })
            .collect();
        let all: f64 = users.iter().map(|user| user.weight).sum();
        let values: Vec<f64> = users.iter().map(|user| user.qoe).collect();
        let weights: Vec<f64> = users.iter().map(|user| user.weight / all).collect();
        let Welfare { mean, fairness, utility } = Welfare::of(&values, &weights, rho);
        let qoe = qoe.name().to_owned();
        ConferenceSummary { qoe, max_bitrate_mbps: most, rho, users, mean_qoe: mean, fairness, utility }
    }
}

/// The pipe of a client that is not on the air; `None` for one that is.
fn pipe_of(access: &Access) -> Result<Option<PipeSpec>, BuildError> {
    let constant = |rate: BitRate| {
        let text = format!("0 {}\n", rate.as_mbps_f64());
        let trace = Trace::parse(&text, "a client's rate", Format::Bandwidth, 1.0, true);
        trace
            .map(|trace| PipeSpec::new(Arc::new(trace)))
            .map_err(|error| BuildError::Slot { slot: "session", reason: error.to_string() })
    };
    Ok(match access {
        Access::Station(_) => None,
        Access::Rate(rate) => Some(constant(*rate)?),
        Access::Wire(rate) => {
            let wire = constant(*rate)?.trace;
            Some(PipeSpec::separate(Arc::clone(&wire), wire))
        }
        Access::Trace(link) => Some(PipeSpec::new(Arc::clone(&link.trace))),
    })
}

fn frame_rows(flow: u32, frames: &LatencyHistogram) -> Vec<DistributionRow> {
    let mean = frames.mean().unwrap_or(Span::ZERO);
    let row =
        |(low, high, count)| DistributionRow { flow, component: Component::Frame, low, high, count, mean };
    frames.buckets().map(row).collect()
}

/// The summary of one direction of a client; `carried` is that of its packets on the air.
fn flow_summary(
    client: &Client,
    way: Way,
    meter: &WayMeter,
    carried: Option<&FlowSummary>,
    measured: Span,
) -> FlowSummary {
    let mbps = |bytes: u64| bytes as f64 * 8e-6 / measured.as_secs_f64();
    let delivered = meter.packets.count();
    let dropped: u64 = meter.dropped.iter().sum();
    let drops: BTreeMap<String, u64> = DropReason::ALL
        .iter()
        .zip(meter.dropped)
        .filter(|(_, count)| *count > 0)
        .map(|(reason, count)| (reason.name().to_owned(), count))
        .collect();
    let (name, direction) = match way {
        Way::Down => (client.down(), Direction::Downlink),
        Way::Up => (client.up(), Direction::Uplink),
    };
    FlowSummary {
        name,
        kind: "session".to_owned(),
        station: client.name.clone(),
        direction,
        offered_mbps: mbps(meter.offered),
        goodput_mbps: mbps(meter.arrived),
        latency_ms: meter.packets.stats(),
        rtt_ms: None,
        rpm: None,
        loss_rate: match delivered + dropped {
            0 => None,
            settled => Some(dropped as f64 / settled as f64),
        },
        packets: PacketCounts {
            sent: meter.sent,
            delivered,
            dropped,
            queued: meter.sent.saturating_sub(delivered + dropped),
        },
        drops,
        fps: Some(meter.frames.count() as f64 / measured.as_secs_f64()),
        frame_latency_ms: Some(meter.frames.stats()),
        stall_rate: None,
        rtc: None,
        demand: carried.and_then(|flow| flow.demand),
        found: carried.and_then(|flow| flow.found.clone()),
    }
}
