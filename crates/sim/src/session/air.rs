//! An access link that is the simulated air of a BSS: the stations of a scenario are the clients.

use airbound_control::payload::FlowId;
use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::parcel::{ParcelId, Way};
use crate::build::{BuildError, Plan, flow_id};
use crate::engine::Simulation;
use crate::engine::carrier::Carried;
use crate::flow::Ends;
use crate::measure::Nobody;
use crate::scenario::{self, Scenario, Traffic};

/// The air between an access point and some of the clients.
pub(super) struct Air {
    simulation: Simulation,
    /// Of each client, the next number of its packets up and down.
    numbers: Vec<[u64; 2]>,
    carried: Vec<Carried>,
}

impl std::fmt::Debug for Air {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Air").field("numbers", &self.numbers).finish_non_exhaustive()
    }
}

/// The flow of a client: up first, then down.
fn flow_of(client: usize, way: Way) -> FlowId {
    flow_id(2 * client + usize::from(way == Way::Down))
}

impl Air {
    /// The network of `scenario` without its own flows, for `duration`.
    pub(super) fn new(scenario: &Scenario, seed: u64, duration: Span) -> Result<Self, BuildError> {
        let mut scenario = scenario.clone();
        scenario.warm_up = Span::ZERO;
        scenario.duration = duration;
        let Some(pattern) = scenario.flows.first().cloned() else {
            let reason = "its air has no flow to be like".to_owned();
            return Err(BuildError::Slot { slot: "session", reason });
        };
        let ways = [("up", scenario::Direction::Up), ("down", scenario::Direction::Down)];
        scenario.flows = scenario
            .stations
            .iter()
            .flat_map(|station| ways.map(|way| (station, way)))
            .map(|(station, (name, direction))| scenario::Flow {
                name: format!("{} {name}", station.name),
                group: station.name.clone(),
                station: station.name.clone(),
                direction,
                // The session's own packets are all that it sends.
                traffic: Traffic::Cbr(scenario::Datagrams {
                    rate: BitRate::ZERO,
                    size: ByteCount::new(1000),
                }),
                demand: None,
                ..pattern.clone()
            })
            .collect();
        let plan = Plan { scenario: &scenario, scheme: &scenario.scheme, seed };
        let mut parts = plan.parts(Box::new(Nobody))?;
        let clients = scenario.stations.len();
        for flow in parts.flows.iter_mut().take(2 * clients) {
            flow.ends = Ends::Carried;
        }
        let simulation = Simulation::new(parts);
        Ok(Self { simulation, numbers: vec![[0; 2]; clients], carried: Vec::new() })
    }

    /// How far it was advanced.
    pub(super) const fn now(&self) -> Instant {
        self.simulation.now
    }

    /// When something happens next.
    pub(super) fn next_event(&self) -> Instant {
        self.simulation.next_event()
    }

    /// Advances to `now` and says which packets arrived, and which were lost.
    pub(super) fn advance(&mut self, now: Instant, arrived: &mut Vec<ParcelId>, lost: &mut Vec<ParcelId>) {
        self.simulation.advance(now);
        self.simulation.take_carried(&mut self.carried);
        for Carried { tag, lost: is_lost } in self.carried.drain(..) {
            let id = ParcelId(tag as u32);
            if is_lost { lost.push(id) } else { arrived.push(id) }
        }
    }

    /// Takes a packet at the moment to which it was advanced last.
    pub(super) fn offer(&mut self, client: usize, way: Way, id: ParcelId, size: u32) {
        let number = &mut self.numbers[client][usize::from(way == Way::Down)];
        let flow = flow_of(client, way);
        self.simulation.carry(flow, *number, u64::from(id.0), ByteCount::new(u64::from(size)));
        *number += 1;
    }
}
