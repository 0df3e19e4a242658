//! The flows of a scenario that carry packets of applications.

use std::collections::HashMap;

use airbound_agent::expression::{Expression, Facts};
use airbound_control::queue::Demand;
use airbound_linux::packet::{Headers, PriorityMap};
use airbound_record::ApplicationFlow;
use airbound_scenario::{Datagrams, Direction, Flow, Scenario, Traffic};
use airbound_sim::{Kind, Plugins, Reach, Run};
use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};
use airbound_wifi::edca::Category;

use crate::hosts::{Host, Place};
use crate::slots::{Chosen, Lane, SLOTS, Tuple};

/// A part of a packet's way over the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leg {
    /// From a station to a host behind the wire.
    Up,
    /// From a host behind the wire to a station.
    Down,
    /// From a station to the access point, for another station.
    ToAccessPoint,
    /// From the access point to a station, for another station.
    FromAccessPoint,
}

impl Leg {
    const ALL: [Self; 4] = [Self::Up, Self::Down, Self::ToAccessPoint, Self::FromAccessPoint];

    const fn direction(self) -> Direction {
        match self {
            Self::Up | Self::ToAccessPoint => Direction::Up,
            Self::Down | Self::FromAccessPoint => Direction::Down,
        }
    }

    const fn reach(self) -> Reach {
        match self {
            Self::Up | Self::Down => Reach::Wire,
            Self::ToAccessPoint | Self::FromAccessPoint => Reach::AccessPoint,
        }
    }

    const fn name(self) -> &'static str {
        match self.direction() {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// A condition on packets, and what is demanded for the flows that begin with one.
#[derive(Debug, Clone)]
pub struct Protected {
    /// The condition.
    pub condition: Expression,
    /// The demand.
    pub demand: Demand,
}

/// A flow of the simulation.
#[derive(Debug, Clone, Copy)]
struct SlotFlow {
    /// Its number in the scenario.
    flow: usize,
    /// The number of its next packet.
    next: u64,
    activity: Activity,
}

/// The packets of one flow: when the first was sent and the last was sent or delivered, and bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Activity {
    first: Option<Instant>,
    last: Instant,
    sent: u64,
    delivered: u64,
}

impl Activity {
    fn on_sent(&mut self, now: Instant, size: usize) {
        self.first = self.first.or(Some(now));
        self.last = self.last.max(now);
        self.sent += size as u64;
    }

    fn on_delivered(&mut self, at: Instant, size: usize) {
        self.last = self.last.max(at);
        self.delivered += size as u64;
    }

    fn length(&self) -> Span {
        self.first.map_or(Span::ZERO, |first| self.last.since(first))
    }
}

/// All lanes of all stations.
#[derive(Debug)]
pub struct Lanes {
    /// By station, leg and category.
    lanes: Vec<Lane>,
    /// By lane and slot.
    flows: Vec<SlotFlow>,
    /// The number of a host among the stations.
    stations: Vec<Option<usize>>,
    names: Vec<(String, usize)>,
    /// The port by which a connection is known, by the tuple of its first packet: its destination.
    services: HashMap<Tuple, u16>,
    protected: Vec<Protected>,
    /// Whether each condition met a packet.
    met: Vec<bool>,
}

const CATEGORIES: usize = Category::ALL.len();
/// No interval of a flow's own traffic counts: the gate replaces it.
const PLACEHOLDER: Datagrams = Datagrams { rate: BitRate::from_kbps(1), size: ByteCount::new(1000) };

impl Lanes {
    /// Adds the flows of all stations among `hosts` to `scenario` and to the gate of `plugins`. Flows of several networks are put in the
    /// order of networks.
    #[must_use]
    pub fn add(
        scenario: &mut Scenario,
        plugins: &mut Plugins,
        hosts: &[Host],
        protected: Vec<Protected>,
    ) -> Self {
        let mut names = Vec::new();
        let mut stations = vec![None; hosts.len()];
        let mut count = 0;
        for (host, place) in hosts.iter().zip(&mut stations) {
            let Place::Station(_) = host.place else { continue };
            *place = Some(count);
            count += 1;
            for leg in Leg::ALL {
                for category in Category::ALL {
                    for slot in 0..SLOTS {
                        // A colon is in no name of a scenario.
                        let name = format!("{}:{leg:?}:{category:?}:{slot}", host.name);
                        plugins.open_gate(&name, leg.reach());
                        scenario.flows.push(slot_flow(&name, &host.name, leg, category, scenario));
                        names.push(name);
                    }
                }
            }
        }
        let order: Vec<&str> = scenario.networks.iter().map(|network| network.name.as_str()).collect();
        let network_of = |flow: &Flow| {
            let station = scenario.stations.iter().find(|station| station.name == flow.station)?;
            order.iter().position(|name| station.network.as_deref() == Some(*name))
        };
        if !order.is_empty() {
            let mut flows: Vec<(Option<usize>, Flow)> =
                scenario.flows.iter().map(|flow| (network_of(flow), flow.clone())).collect();
            flows.sort_by_key(|(network, _)| *network);
            scenario.flows = flows.into_iter().map(|(_, flow)| flow).collect();
        }
        let numbers: HashMap<&str, usize> =
            scenario.flows.iter().enumerate().map(|(number, flow)| (flow.name.as_str(), number)).collect();
        let flows = names.iter().filter_map(|name| numbers.get(name.as_str()));
        Self {
            lanes: vec![Lane::default(); count * Leg::ALL.len() * CATEGORIES],
            flows: flows
                .map(|flow| SlotFlow { flow: *flow, next: 0, activity: Activity::default() })
                .collect(),
            stations,
            names: Vec::new(),
            services: HashMap::new(),
            met: vec![false; protected.len()],
            protected,
        }
    }

    /// Checks that the scheme supports all demands, in both directions.
    ///
    /// # Errors
    /// The condition and the reason.
    pub fn check_demands(&self, run: &mut Run) -> Result<(), (String, ConfigError)> {
        for Protected { condition, demand } in &self.protected {
            for leg in [Leg::Up, Leg::Down] {
                let place =
                    self.stations.iter().flatten().next().map(|station| lane_of(*station, leg, 0) * SLOTS);
                let Some(slot) = place.and_then(|place| self.flows.get(place)) else { continue };
                run.try_demand(slot.flow, *demand).map_err(|error| (condition.to_string(), error))?;
            }
        }
        Ok(())
    }

    /// Sends a packet over the air: `host` is the station's, `tag` comes back with its fate. Returns the place of its flow, for
    /// [`Lanes::on_delivered`]; `None` if it is no station's.
    pub fn push(
        &mut self,
        run: &mut Run,
        (host, leg): (&Host, Leg),
        station: usize,
        headers: &Headers,
        packet: Pushed,
    ) -> Option<usize> {
        let place = self.stations.get(station).copied().flatten()?;
        let category = PriorityMap::Rfc8325.category(0, None, Some(headers.dscp));
        let lane = lane_of(place, leg, category.index());
        let tuple = Tuple::of(headers);
        let Chosen { slot, is_new } = self.lanes[lane].choose(tuple, run.now());
        let slot = lane * SLOTS + slot;
        let SlotFlow { flow, next, activity } = &mut self.flows[slot];
        let (flow, number) = (*flow, *next);
        *next += 1;
        activity.on_sent(run.now(), packet.size);
        if is_new {
            let name = self.name(&host.name, leg, category, &tuple);
            let demand = self.demand(headers);
            // Checked before the run.
            let _ = run.open_flow(flow, &name, demand);
            self.names.push((name, slot));
        }
        let kind = match headers.ecn {
            0 => Kind::Datagram,
            3 => Kind::Marked,
            _ => Kind::Capable,
        };
        run.push_as(kind, flow, number, packet.tag, ByteCount::new(packet.size as u64));
        Some(slot)
    }

    /// Notes that a packet of the flow at this place arrived.
    pub fn on_delivered(&mut self, place: usize, at: Instant, size: usize) {
        if let Some(flow) = self.flows.get_mut(place) {
            flow.activity.on_delivered(at, size);
        }
    }

    /// The conditions that no connection began with.
    #[must_use]
    pub fn unmet(&self) -> Vec<String> {
        let all = self.protected.iter().zip(&self.met);
        all.filter(|(_, met)| !**met).map(|(one, _)| one.condition.to_string()).collect()
    }

    /// The demand for a flow that begins with this packet.
    fn demand(&mut self, headers: &Headers) -> Option<Demand> {
        let facts = Facts {
            source: headers.source,
            destination: headers.destination,
            protocol: headers.protocol,
            ports: headers.ports,
            dscp: headers.dscp,
            station: None,
            mark: 0,
        };
        let place = self.protected.iter().position(|one| one.condition.matches(&facts))?;
        self.met[place] = true;
        Some(self.protected[place].demand)
    }

    /// The port by which the connection of a tuple is known: the destination of its first packet, in whichever direction that went.
    fn service(&mut self, tuple: &Tuple) -> Option<u16> {
        let (_, destination) = tuple.ports?;
        let answered = self.services.get(&tuple.reversed()).copied();
        answered.or_else(|| Some(*self.services.entry(*tuple).or_insert(destination)))
    }

    /// A name that no other flow has: `laptop down tcp 443`, the next one `laptop down tcp 443 #2`.
    fn name(&mut self, host: &str, leg: Leg, category: Category, tuple: &Tuple) -> String {
        let mut name = format!("{host} {} {}", leg.name(), tuple.transport());
        if let Some(port) = self.service(tuple) {
            name += &format!(" {port}");
        }
        if category != Category::Be {
            name += &format!(" {category:?}").to_lowercase();
        }
        let is_taken = |name: &str| self.names.iter().any(|(known, _)| known == name);
        let mut unique = name.clone();
        let mut number = 1;
        while is_taken(&unique) {
            number += 1;
            unique = format!("{name} #{number}");
        }
        unique
    }

    /// The flows that had packets, in the order of the results.
    #[must_use]
    pub fn used(&self, run: &mut Run) -> Vec<ApplicationFlow> {
        let mut names: Vec<(usize, &String, usize)> =
            self.names.iter().map(|(name, slot)| (self.flows[*slot].flow, name, *slot)).collect();
        names.sort_unstable();
        let used = names.into_iter().filter_map(|(_, name, slot)| {
            let (first, others) = self.lanes[slot / SLOTS].used().nth(slot % SLOTS)?;
            let SlotFlow { flow, activity, .. } = self.flows[slot];
            Some(ApplicationFlow {
                name: name.clone(),
                first: first.to_string(),
                others,
                active_s: activity.length().as_secs_f64(),
                sent_bytes: activity.sent,
                delivered_bytes: activity.delivered,
                demand_seconds: run.demand_seconds(flow),
            })
        });
        used.collect()
    }
}

/// A packet to be sent.
#[derive(Debug, Clone, Copy)]
pub struct Pushed {
    /// Comes back with its fate.
    pub tag: u64,
    /// Bytes from the IP header on.
    pub size: usize,
}

const fn lane_of(station: usize, leg: Leg, category: usize) -> usize {
    (station * Leg::ALL.len() + leg as usize) * CATEGORIES + category
}

fn slot_flow(name: &str, station: &str, leg: Leg, category: Category, scenario: &Scenario) -> Flow {
    Flow {
        name: name.to_owned(),
        group: name.to_owned(),
        station: station.to_owned(),
        direction: leg.direction(),
        category,
        start: Span::ZERO,
        stop: None,
        protected: false,
        demand: None,
        wire: scenario.wire.way,
        traffic: Traffic::Cbr(PLACEHOLDER),
    }
}
