//! A session that a scenario describes: from its tables to a [`SessionSpec`], and from what was measured to the summary of a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use airbound_control::frame::DropReason;
use airbound_record::{
    AirSummary, Component, Direction, DistributionRow, FlowSummary, Jain, LatencyHistogram, LatencyStats,
    PacketCounts, RunInfo, SessionSummary, Summary, UserSummary,
};
use airbound_senders::conference::{ConferenceConfig, PlumConfig, Welfare};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::Category;

use super::config::{AccessSpec, AirSpec, PipeSpec, SessionSpec, Sharing};
use super::measure::WayMeter;
use super::parcel::Way;
use super::run::{Link, Session};
use crate::build::{BuildError, slot_config};
use crate::engine::Imbalance;
use crate::measure::Figures;
use crate::plugins::Plugins;
use crate::run::{Outcome, info};
use crate::scenario::{self, Access, Client, Scenario, Scheme, Traffic, VideoSession, WireWay};
use airbound_air::trace::{Format, Trace};

/// A run of a scenario with a session.
#[derive(Debug)]
pub struct SessionRun {
    session: Session,
    scenario: Scenario,
    scheme: Scheme,
    clients: Vec<Client>,
    info: RunInfo,
    now: Instant,
    end: Instant,
}

impl SessionRun {
    /// Prepares a run of a scenario that has a session; `name` is that of the scenario.
    ///
    /// # Errors
    /// The scenario has no session, or the parameters of the scheme are wrong.
    pub fn new(
        name: &str,
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
            let air = air_of(scenario, scheme, &clients);
            access.push(AccessSpec::Air(AirSpec { scenario: Arc::new(air), clients: clients.len() }));
        }
        for client in &others {
            access.extend(pipe_of(&client.access)?.map(AccessSpec::Pipe));
        }
        clients.extend(others);
        let spec = SessionSpec {
            encoder: described.encoder,
            congestion: described.congestion,
            server: described.server,
            delay: described.delay,
            weights: clients.iter().map(|client| client.weight).collect(),
            duration: scenario.duration,
            warm_up: scenario.warm_up,
            ..SessionSpec::new(access, slot_config(slot, "session")?, seed)
        };
        let flows = names(described).chain(scenario.flows.iter().map(|flow| flow.name.clone())).collect();
        Ok(Self {
            session: Session::with_plugins(spec, plugins)?,
            clients,
            info: info(name, scenario, scheme, seed, flows),
            now: Instant::ZERO,
            end: Instant::ZERO + scenario.end(),
            scenario: scenario.clone(),
            scheme: scheme.clone(),
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
        self.now
    }

    /// Advances by `span` of simulated time. Returns whether there is more to do.
    pub fn advance(&mut self, span: Span) -> bool {
        self.now = (self.now + span).min(self.end);
        self.session.advance(self.now);
        self.now < self.end
    }

    /// Runs to the end, and says what it brought: of each client what it receives and what it sends, then of the other flows.
    ///
    /// # Errors
    /// [`Imbalance`] if a packet was lost or counted twice, which is a defect of the simulator.
    pub fn finish(mut self) -> Result<Outcome, Imbalance> {
        self.session.advance(Instant::MAX);
        let mut events = self.session.processed();
        let mut air = None;
        for link in std::mem::take(&mut self.session.links) {
            if let Link::Air(link, _) = link {
                events += link.processed();
                air = Some(link.finish()?);
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
                let meter = self.session.meters[number].way(way);
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
            let carried = 2 * self.session.spec.access.first().map_or(0, AccessSpec::clients);
            let ours = flows.len() as u32;
            flows.extend(all.into_iter().skip(carried));
            wifi_latency.extend(wifi.into_iter().skip(carried));
            let rows = rows.into_iter().filter(|row| row.flow as usize >= carried);
            distributions
                .extend(rows.map(|row| DistributionRow { flow: row.flow - carried as u32 + ours, ..row }));
            (stations, summary, airtime) = (own, air, jain.airtime);
            stations.sort_by_key(|station| self.scenario.station_index(&station.name));
        }
        let session = self.worth(&flows);
        let goodput = Jain::index(&flows.iter().map(|flow| flow.goodput_mbps).collect::<Vec<_>>());
        let summary = Summary {
            airbound: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: self.info.scenario,
            scheme: airbound_record::Scheme {
                queue: self.scheme.queue.name().to_owned(),
                rate: self.scheme.rate.name().to_owned(),
                sender: Some(self.scheme.sender.name().to_owned()),
                session: self.scheme.session.map(|session| session.name().to_owned()),
            },
            seed: self.info.seed,
            duration_s: self.scenario.duration.as_secs_f64(),
            flows,
            stations,
            air: summary,
            jain: Jain { goodput, airtime },
            session: Some(session),
            networks: Vec::new(),
        };
        Ok(Outcome { summary, wifi_latency, distributions, events })
    }

    /// What the users make of what they received, as the Plum of the scheme sees it, or that of the scenario, so that policies are scored
    /// alike; `flows` begins with those of the clients.
    fn worth(&self, flows: &[FlowSummary]) -> SessionSummary {
        let slots = [self.scheme.session.as_ref(), self.scenario.scheme.session.as_ref()];
        let plum = slots.into_iter().flatten().find_map(|slot| match slot_config(slot, "session") {
            Ok(ConferenceConfig::Plum(config)) => Some(config),
            _ => None,
        });
        let PlumConfig { rho, qoe, max_bitrate, .. } = plum.unwrap_or_default();
        let most = max_bitrate.as_mbps_f64();
        let clients = self.scenario.session.iter().flat_map(|session| &session.clients);
        // Of each client two flows, the first of them down.
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
        SessionSummary { qoe, max_bitrate_mbps: most, rho, users, mean_qoe: mean, fairness, utility }
    }
}

/// What the directions of all clients are called, in the order of the summary.
fn names(session: &VideoSession) -> impl Iterator<Item = String> {
    session.clients.iter().flat_map(|client| [client.down(), client.up()])
}

/// The network of the scenario with the clients' stations first, and with two flows of each that say what is demanded of its packets.
fn air_of(scenario: &Scenario, scheme: &Scheme, clients: &[Client]) -> Scenario {
    let mut air = Scenario { session: None, scheme: scheme.clone(), ..scenario.clone() };
    let place = |name: &str| clients.iter().position(|client| client.is_on(name)).unwrap_or(clients.len());
    air.stations.sort_by_key(|station| place(&station.name));
    let directions = [scenario::Direction::Up, scenario::Direction::Down];
    let own = clients.iter().zip(&air.stations).flat_map(|(client, station)| {
        directions.map(|direction| {
            let downwards = direction == scenario::Direction::Down;
            scenario::Flow {
                name: if downwards { client.down() } else { client.up() },
                group: client.group.clone(),
                station: station.name.clone(),
                direction,
                category: Category::Be,
                start: Span::ZERO,
                stop: None,
                protected: downwards && client.demand.is_some(),
                demand: client.demand.clone().filter(|_| downwards),
                // The session has a delay of its own.
                wire: WireWay { delay: Span::ZERO, loss: 0.0, jitter: Span::ZERO },
                traffic: Traffic::Cbr(scenario::Datagrams {
                    rate: BitRate::ZERO,
                    size: ByteCount::new(1000),
                }),
            }
        })
    });
    let own: Vec<scenario::Flow> = own.collect();
    air.flows.splice(0..0, own);
    air
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
            Some(PipeSpec { sharing: Sharing::Split { up: 1.0, down: 1.0 }, ..constant(*rate)? })
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

/// What became of one direction of a client; `carried` is what the air says of its packets.
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
