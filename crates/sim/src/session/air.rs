//! An access link that is the simulated air of a BSS: the stations of a scenario are the clients.

use airbound_control::frame::DropReason;
use airbound_units::{ByteCount, Instant, Span};

use super::parcel::{ParcelId, Way};
use crate::build::BuildError;
use crate::engine::Imbalance;
use crate::live::{Fate, Live};
use crate::measure::Figures;
use crate::plugins::Plugins;
use crate::scenario::{self, Scenario};

/// The air between an access point and some of the clients.
#[derive(Debug)]
pub(super) struct Air {
    /// Of each client a flow up and one down.
    network: Live<ParcelId>,
    fates: Vec<Fate<ParcelId>>,
    /// Names of the stations, in their order.
    stations: Vec<String>,
}

/// The place of a client's flow among those of outside: up first, then down.
fn flow_of(client: usize, way: Way) -> usize {
    2 * client + usize::from(way == Way::Down)
}

impl Air {
    /// Prepares the network of `scenario`, measured for a duration after a warm-up. Its first stations are the clients,
    /// whose flows are the session's; the other flows are as they are written.
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
                    ..pattern.unwrap_or_else(|| scenario::Flow { demand: None, ..any.clone() })
                }
            })
            .chain(others)
            .collect();
        let stations = scenario.stations.iter().map(|station| station.name.clone()).collect();
        let outside: Vec<&str> =
            scenario.flows.iter().take(2 * clients).map(|flow| flow.name.as_str()).collect();
        let network = Live::new(&scenario, &outside, plugins, seed)?;
        Ok(Self { network, fates: Vec::new(), stations })
    }

    /// The instant to which it was advanced.
    pub(super) const fn now(&self) -> Instant {
        self.network.now()
    }

    /// The instant of the next event.
    pub(super) fn next_event(&self) -> Instant {
        self.network.next_event()
    }

    /// Advances to `now` and lists the packets that arrived, and those that were lost.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        arrived: &mut Vec<ParcelId>,
        lost: &mut Vec<(ParcelId, DropReason)>,
    ) {
        self.network.advance(now);
        self.network.take(&mut self.fates);
        for fate in self.fates.drain(..) {
            match fate.lost {
                Some(reason) => lost.push((fate.content, reason)),
                None => arrived.push(fate.content),
            }
        }
    }

    /// Takes a packet at the moment to which it was advanced last.
    pub(super) fn offer(&mut self, client: usize, way: Way, id: ParcelId, size: u32) {
        self.network.push(flow_of(client, way), id, ByteCount::new(u64::from(size)));
    }

    /// Runs to the end, checks conservation and returns the figures: of the clients' flows first, by client up and down.
    pub(super) fn finish(mut self) -> Result<Figures, Imbalance> {
        self.network.simulation.advance(Instant::MAX);
        self.network.simulation.check_conservation()?;
        self.network.simulation.note_found();
        self.network.simulation.end_frames();
        Ok(self.network.simulation.parts.meters.figures(&self.stations))
    }

    /// Events processed so far.
    pub(super) const fn processed(&self) -> u64 {
        self.network.processed()
    }
}
