//! A conference in a scenario: from its `[session]` to a [`ConferenceSpec`], and from the counters to the summary of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use airbound_control::frame::DropReason;
use airbound_record::{
    AirSummary, Component, ConferenceSummary, Direction, DistributionRow, FlowSummary, Jain,
    LatencyHistogram, LatencyStats, PacketCounts, RunInfo, Summary, UserSummary,
};
use airbound_senders::conference::{ConferenceConfig, PlumConfig, Welfare};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::Category;

use super::measure::WayMeter;
use super::tables::{Numbered, Tables};
use super::{AccessSpec, AirSpec, Conference, ConferenceSpec, Link, PacketId};
use crate::blueprint::slot_config;
use crate::error::BuildError;
use crate::live::Live;
use crate::measure::Figures;
use crate::network::Imbalance;
use crate::networks::Audience;
use crate::outcome::Outcome;
use crate::path::{PipeSpec, Way};
use crate::plugins::Plugins;
use crate::snapshot::Snapshot;
use airbound_air::trace::{Format, Trace};
use airbound_scenario::{self as scenario, Access, Client, Scenario, Scheme, Traffic, WireWay};

/// A run of a scenario with a session.
#[derive(Debug)]
pub(crate) struct ConferenceRun {
    conference: Conference,
    scenario: Scenario,
    scheme: Scheme,
    /// The clients in the order of the conference.
    clients: Vec<Client>,
    now: Instant,
}

impl ConferenceRun {
    /// Prepares a run of a scenario that has a session.
    ///
    /// # Errors
    /// The scheme has no policy for the session, or its parameters are wrong.
    pub(crate) fn new(
        scenario: &Scenario,
        scheme: &Scheme,
        seed: u64,
        plugins: &Plugins,
    ) -> Result<Self, BuildError> {
        let missing =
            || BuildError::Slot { slot: "session", reason: "the scenario has no [session]".to_owned() };
        let described = scenario.session.as_ref().ok_or_else(missing)?;
        let slot = scheme.session.as_ref().ok_or_else(missing)?;
        // Those on the air come first, as they share one access link.
        let (mut clients, others): (Vec<Client>, Vec<Client>) =
            described.clients.iter().cloned().partition(|client| matches!(client.access, Access::Station(_)));
        let mut access = Vec::new();
        if !scenario.stations.is_empty() {
            access.push(AccessSpec::Air(air_of(scenario, scheme, &clients)));
        }
        for client in &others {
            access.extend(pipe_of(&client.access)?.map(AccessSpec::Pipe));
        }
        clients.extend(others);
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
        Ok(Self {
            conference: Conference::with_plugins(spec, plugins)?,
            clients,
            now: Instant::ZERO,
            scenario: scenario.clone(),
            scheme: scheme.clone(),
        })
    }

    /// The names of its flows: for each client its received and its sent media, then those of the scenario, then those of feedback.
    pub(crate) fn flows(&self) -> Vec<String> {
        let session = self.scenario.session.iter();
        let clients =
            session.flat_map(|session| &session.clients).flat_map(|client| [client.down(), client.up()]);
        let own = self.scenario.flows.iter().map(|flow| flow.name.clone());
        let skipped = 2 * self.on_air() + self.scenario.flows.len();
        let others = self.network().into_iter().flat_map(|air| &air.network.parts.flows).skip(skipped);
        let others = others.map(|flow| flow.name.clone());
        clients.chain(own).chain(others).collect()
    }

    /// Passes the packets of all access links to an audience; call before the first event.
    pub(crate) fn observe(&mut self, audience: &Audience, info: &RunInfo) {
        let number = |name: &str| info.flows.iter().position(|known| known == name).unwrap_or(0) as u32;
        let flows: Vec<[u32; 2]> =
            self.clients.iter().map(|client| [number(&client.up()), number(&client.down())]).collect();
        let station =
            |client: &Client| info.stations.iter().position(|name| *name == client.name).unwrap_or(0);
        let stations = self.clients.iter().map(|client| station(client) as u16).collect();
        let total = info.flows.len() as u64;
        let (on_air, clients) = (self.on_air(), 2 * self.clients.len());
        if let Some(Link::Air(air)) = self.conference.links.first_mut() {
            let own = flows.iter().take(on_air).flatten().copied();
            let others = clients as u32..info.flows.len() as u32;
            let flows = own.chain(others).collect();
            let numbered = Numbered { audience: audience.clone(), flows, total };
            air.network.parts.meters.observe(Box::new(numbered));
        }
        if audience.wants().packets {
            self.conference.tables = Some(Tables { audience: audience.clone(), flows, stations, total });
        }
    }

    /// The number of clients on the air.
    fn on_air(&self) -> usize {
        self.clients.iter().filter(|client| matches!(client.access, Access::Station(_))).count()
    }

    fn network(&self) -> Option<&Live<PacketId>> {
        match self.conference.links.first() {
            Some(Link::Air(air)) => Some(air),
            _ => None,
        }
    }

    /// The state of the network's controllers and queues, if there is one.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.network().map(|air| Snapshot::of(&air.network)).unwrap_or_default()
    }

    /// The present simulated time.
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// End of the run.
    pub(crate) fn end(&self) -> Instant {
        self.conference.measured.to
    }

    /// Advances until `until` or the end of the run, whichever comes first.
    pub(crate) fn advance(&mut self, until: Instant) {
        self.now = until.min(self.end());
        self.conference.advance(self.now);
    }

    /// Runs to the end and returns the results: for each client its received and its sent media, then the other flows.
    ///
    /// # Errors
    /// [`Imbalance`] if a packet was lost or counted twice, which is a defect of the simulator.
    pub(crate) fn finish(mut self, info: RunInfo) -> Result<Outcome, Imbalance> {
        self.conference.advance(Instant::MAX);
        self.conference.tables = None;
        let stations: Vec<String> =
            self.scenario.stations.iter().map(|station| station.name.clone()).collect();
        let mut events = self.conference.processed;
        let mut air = None;
        for link in std::mem::take(&mut self.conference.links) {
            if let Link::Air(mut link) = link {
                events += link.processed();
                let network = &mut link.network;
                network.advance(Instant::MAX);
                network.take_in_all();
                network.check_conservation()?;
                network.note_found();
                network.end_frames();
                air = Some(network.parts.meters.figures(&stations));
            }
        }
        let mut flows = Vec::new();
        let mut distributions = Vec::new();
        let described = self.scenario.session.iter().flat_map(|session| &session.clients);
        for client in described {
            let Some(number) = self.clients.iter().position(|known| known.name == client.name) else {
                continue;
            };
            for way in [Way::Down, Way::Up] {
                let meter = self.conference.meters[number].way(way);
                let on_air = match client.access {
                    Access::Station(_) => air.as_ref(),
                    _ => None,
                };
                let carried =
                    on_air.and_then(|air| air.flows.get(2 * number + usize::from(way == Way::Down)));
                distributions.extend(frame_rows(flows.len() as u32, &meter.frames));
                flows.push(flow_summary(client, way, meter, carried, self.scenario.duration));
            }
        }
        let mut wifi_latency = vec![LatencyStats::default(); flows.len()];
        let mut stations = Vec::new();
        let mut summary = AirSummary { busy_share: 0.0, collision_rate: None };
        let mut airtime = None;
        if let Some(Figures {
            flows: all,
            stations: own,
            air,
            jain,
            wifi_latency: wifi,
            distributions: rows,
            attempts: _,
        }) = air
        {
            let carried = 2 * self.conference.spec.access.first().map_or(0, AccessSpec::clients);
            let ours = flows.len() as u32;
            flows.extend(all.into_iter().skip(carried));
            wifi_latency.extend(wifi.into_iter().skip(carried));
            let rows = rows.into_iter().filter(|row| row.flow as usize >= carried);
            distributions
                .extend(rows.map(|row| DistributionRow { flow: row.flow - carried as u32 + ours, ..row }));
            (stations, summary, airtime) = (own, air, jain.airtime);
            stations.sort_by_key(|station| self.scenario.station_index(&station.name));
        }
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
            duration_s: self.scenario.duration.as_secs_f64(),
            flows,
            stations,
            air: summary,
            jain: Jain { goodput, airtime },
            session: Some(session),
            networks: Vec::new(),
            emulation: None,
        };
        Ok(Outcome { summary, wifi_latency, distributions, events })
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

/// The network of the scenario, with two flows for each client that carry the demands on its packets.
fn air_of(scenario: &Scenario, scheme: &Scheme, clients: &[Client]) -> AirSpec {
    let mut air = Scenario { session: None, scheme: scheme.clone(), ..scenario.clone() };
    let on_air = clients.iter().filter_map(|client| match &client.access {
        Access::Station(station) => Some((client, station)),
        _ => None,
    });
    let directions = [scenario::Direction::Up, scenario::Direction::Down];
    let own: Vec<scenario::Flow> = on_air
        .clone()
        .flat_map(|(client, station)| {
            directions.map(|direction| {
                let demand = client.demand.clone().filter(|_| direction == scenario::Direction::Down);
                scenario::Flow {
                    name: if direction == scenario::Direction::Down { client.down() } else { client.up() },
                    group: client.group.clone(),
                    station: station.clone(),
                    direction,
                    category: Category::Be,
                    start: Span::ZERO,
                    stop: None,
                    protected: demand.is_some(),
                    demand,
                    // The conference has its own delay.
                    wire: WireWay { delay: Span::ZERO, loss: 0.0, jitter: Span::ZERO },
                    traffic: Traffic::Cbr(scenario::Datagrams {
                        rate: BitRate::ZERO,
                        size: ByteCount::new(1000),
                    }),
                }
            })
        })
        .collect();
    air.flows.splice(0..0, own);
    let clients = on_air.map(|(_, station)| station.clone()).collect();
    AirSpec { scenario: Arc::new(air), clients }
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
