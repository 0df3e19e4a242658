//! An access link that is the simulated air of a BSS: the stations of a scenario are the clients.

use airbound_control::frame::{DropReason, FlowId};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::parcel::{ParcelId, Way};
use crate::build::{BuildError, Plan, flow_id};
use crate::engine::carrier::Carried;
use crate::engine::{Imbalance, Simulation};
use crate::flow::Ends;
use crate::measure::{Figures, Nobody};
use crate::networks::SharedChannel;
use crate::plugins::Plugins;
use crate::scenario::{self, Scenario, Traffic};

/// The air between an access point and some of the clients.
pub(super) struct Air {
    simulation: Simulation,
    /// Of each client, the next number of its packets up and down.
    numbers: Vec<[u64; 2]>,
    carried: Vec<Carried>,
    /// Names of the stations, in their order.
    stations: Vec<String>,
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
    /// The network of `scenario`, measured for a duration after a warm-up. Its first stations are the clients, whose flows are the session's; the other flows are as
    /// they are written.
    pub(super) fn new(
        scenario: &Scenario,
        clients: usize,
        seed: u64,
        plugins: &Plugins,
        [warm_up, duration]: [Span; 2],
    ) -> Result<Self, BuildError> {
        let mut scenario = scenario.clone();
        scenario.warm_up = warm_up;
        scenario.duration = duration;
        let refused = |reason: &str| BuildError::Slot { slot: "session", reason: reason.to_owned() };
        if clients > scenario.stations.len() {
            return Err(refused("its air has fewer stations than clients"));
        }
        let Some(any) = scenario.flows.first().cloned() else {
            return Err(refused("its air has no flow to be like"));
        };
        let names: Vec<String> =
            scenario.stations.iter().take(clients).map(|station| station.name.clone()).collect();
        let (like, others): (Vec<_>, Vec<_>) =
            scenario.flows.drain(..).partition(|flow| names.contains(&flow.station));
        let ways = [("up", scenario::Direction::Up), ("down", scenario::Direction::Down)];
        let own = names.iter().flat_map(|station| ways.map(|way| (station, way)));
        scenario.flows = own
            .map(|(station, (name, direction))| {
                // What the scenario says of such a flow holds, a demand above all.
                let is_like =
                    |flow: &&scenario::Flow| flow.station == *station && flow.direction == direction;
                let pattern = like.iter().find(is_like).cloned();
                scenario::Flow {
                    name: format!("{station} {name}"),
                    group: station.clone(),
                    station: station.clone(),
                    direction,
                    // The session's own packets are all that it sends.
                    traffic: Traffic::Cbr(scenario::Datagrams {
                        rate: BitRate::ZERO,
                        size: ByteCount::new(1000),
                    }),
                    ..pattern.unwrap_or_else(|| scenario::Flow { demand: None, ..any.clone() })
                }
            })
            .chain(others)
            .collect();
        let channel = SharedChannel::alone(seed);
        let plan = Plan { scenario: &scenario, scheme: &scenario.scheme, plugins, seed, channel };
        let mut parts = plan.parts(Box::new(Nobody))?;
        for flow in parts.flows.iter_mut().take(2 * clients) {
            flow.ends = Ends::Carried;
        }
        let simulation = Simulation::new(parts);
        let stations = scenario.stations.iter().map(|station| station.name.clone()).collect();
        Ok(Self { simulation, numbers: vec![[0; 2]; clients], carried: Vec::new(), stations })
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
    pub(super) fn advance(
        &mut self,
        now: Instant,
        arrived: &mut Vec<ParcelId>,
        lost: &mut Vec<(ParcelId, DropReason)>,
    ) {
        self.simulation.advance(now);
        self.simulation.take_carried(&mut self.carried);
        for Carried { tag, lost: reason } in self.carried.drain(..) {
            let id = ParcelId(tag as u32);
            match reason {
                Some(reason) => lost.push((id, reason)),
                None => arrived.push(id),
            }
        }
    }

    /// Takes a packet at the moment to which it was advanced last.
    pub(super) fn offer(&mut self, client: usize, way: Way, id: ParcelId, size: u32) {
        let number = &mut self.numbers[client][usize::from(way == Way::Down)];
        let flow = flow_of(client, way);
        self.simulation.carry(flow, *number, u64::from(id.0), ByteCount::new(u64::from(size)));
        *number += 1;
    }

    /// Runs to the end, closes the books, and says what was measured: of the clients' flows first, by client up and down.
    pub(super) fn finish(mut self) -> Result<Figures, Imbalance> {
        self.simulation.advance(Instant::MAX);
        self.simulation.check_conservation()?;
        self.simulation.note_found();
        self.simulation.end_frames();
        Ok(self.simulation.parts.meters.figures(&self.stations))
    }

    /// Events that were processed.
    pub(super) const fn processed(&self) -> u64 {
        self.simulation.processed()
    }
}
