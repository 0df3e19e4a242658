//! The flows of a scenario that carry packets of applications.

use airbound_agent::expression::{Expression, Facts};
use airbound_control::queue::Demand;
use airbound_linux::packet::{Headers, PriorityMap};
use airbound_scenario::{Datagrams, Direction, Flow, Scenario, Traffic};
use airbound_sim::{Kind, Plugins, Reach, Run};
use airbound_units::{BitRate, ByteCount, ConfigError, Span};
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
    protected: Vec<Protected>,
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
        let numbers: std::collections::HashMap<&str, usize> =
            scenario.flows.iter().enumerate().map(|(number, flow)| (flow.name.as_str(), number)).collect();
        let flows = names.iter().filter_map(|name| numbers.get(name.as_str()));
        Self {
            lanes: vec![Lane::default(); count * Leg::ALL.len() * CATEGORIES],
            flows: flows.map(|flow| SlotFlow { flow: *flow, next: 0 }).collect(),
            stations,
            names: Vec::new(),
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

    /// Sends a packet over the air: `host` is the station's, `tag` comes back with its fate.
    pub fn push(
        &mut self,
        run: &mut Run,
        (host, leg): (&Host, Leg),
        station: usize,
        headers: &Headers,
        packet: Pushed,
    ) {
        let Some(place) = self.stations.get(station).copied().flatten() else { return };
        let category = PriorityMap::Rfc8325.category(0, None, Some(headers.dscp));
        let lane = lane_of(place, leg, category.index());
        let tuple = Tuple::of(headers);
        let Chosen { slot, is_new } = self.lanes[lane].choose(tuple, run.now());
        let slot = lane * SLOTS + slot;
        let SlotFlow { flow, next } = &mut self.flows[slot];
        let (flow, number) = (*flow, *next);
        *next += 1;
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
    }

    /// The demand for a flow that begins with this packet.
    fn demand(&self, headers: &Headers) -> Option<Demand> {
        let facts = Facts {
            source: headers.source,
            destination: headers.destination,
            protocol: headers.protocol,
            ports: headers.ports,
            dscp: headers.dscp,
            station: None,
            mark: 0,
        };
        self.protected.iter().find(|one| one.condition.matches(&facts)).map(|one| one.demand)
    }

    /// A name that no other flow has: `laptop down tcp 443`, the next one `laptop down tcp 443 #2`.
    fn name(&self, host: &str, leg: Leg, category: Category, tuple: &Tuple) -> String {
        let mut name = format!("{host} {} {}", leg.name(), tuple.transport());
        if let Some(port) = tuple.service() {
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

    /// The flows that had packets: name, first connection, number of later ones; in the order of the results.
    #[must_use]
    pub fn used(&self) -> Vec<(String, String, u64)> {
        let mut names: Vec<(usize, &String, usize)> =
            self.names.iter().map(|(name, slot)| (self.flows[*slot].flow, name, *slot)).collect();
        names.sort_unstable();
        let used = names.into_iter().filter_map(|(_, name, slot)| {
            let (first, others) = self.lanes[slot / SLOTS].used().nth(slot % SLOTS)?;
            Some((name.clone(), first.to_string(), others))
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
