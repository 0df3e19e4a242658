//! Conferences by themselves, each network an access link of its own.

use airbound_random::{Purpose, seed_for};
use airbound_scenario::{Direction, Flow, Scenario};
use airbound_units::{Instant, Span};

use crate::conference::{AccessSpec, AirSpec, Conference, ConferenceOutcome, ConferenceSpec};
use crate::error::BuildError;
use crate::live::Live;
use crate::networks;
use crate::plugins::Plugins;
use crate::world::World;

/// Plays a conference to its end.
///
/// # Errors
/// The parameters of the policy, of the congestion control or of a network are wrong.
pub fn play(spec: ConferenceSpec) -> Result<ConferenceOutcome, BuildError> {
    let mut world = world(spec)?;
    world.advance(Instant::MAX);
    Ok(world.session().map(|session| session.outcome()).unwrap_or_default())
}

/// The world of a conference: its networks, which carry its packets.
fn world(spec: ConferenceSpec) -> Result<World, BuildError> {
    let mut world = World::new(Vec::new(), Vec::new());
    for (link, number) in spec.access.iter().zip(0u64..) {
        if let AccessSpec::Air(air) = link {
            let seed = seed_for(spec.seed, Purpose::Session, (2 << 32) | number);
            world = world.beside(air.world(seed, [spec.warm_up, spec.duration])?);
        }
    }
    let networks = (0..world.members().count()).collect();
    Ok(world.with_session(Conference::new(spec, networks)?))
}

impl AirSpec {
    /// Builds the network, measured for a duration after a warm-up. Its external flows are those of the clients, see `conference::flow_of`.
    ///
    /// # Errors
    /// The scenario lacks a station or a flow, or the parameters of its scheme are wrong.
    pub fn network<C>(
        &self,
        seed: u64,
        plugins: &Plugins,
        measured: [Span; 2],
    ) -> Result<Live<C>, BuildError> {
        let (scenario, outside) = self.carrying(measured)?;
        Live::new(&scenario, &outside, plugins, seed)
    }

    /// The same for the loop of a session.
    fn world(&self, seed: u64, measured: [Span; 2]) -> Result<World, BuildError> {
        let (scenario, outside) = self.carrying(measured)?;
        let mut plugins = Plugins::default();
        outside.into_iter().for_each(|flow| plugins.carry(flow));
        plugins.check_flows(&scenario)?;
        Ok(networks::build(&scenario, &scenario.scheme, seed, &plugins)?.world)
    }

    /// The scenario with two flows for each client, and their names.
    fn carrying(&self, [warm_up, duration]: [Span; 2]) -> Result<(Scenario, Vec<String>), BuildError> {
        let Self { scenario, clients } = self;
        let refused = |reason: String| BuildError::Slot { slot: "session", reason };
        if let Some(client) = clients.iter().find(|client| scenario.station_index(client).is_none()) {
            return Err(refused(format!("the network of the session has no station {client}")));
        }
        let Some(any) = scenario.flows.first() else {
            return Err(refused("the network of the session has no flow".to_owned()));
        };
        let (like, others): (Vec<Flow>, Vec<Flow>) =
            scenario.flows.iter().cloned().partition(|flow| clients.contains(&flow.station));
        let directions = [("up", Direction::Up), ("down", Direction::Down)];
        let own = clients.iter().flat_map(|station| directions.map(|direction| (station, direction)));
        let own: Vec<Flow> = own
            .map(|(station, (name, direction))| {
                let is_like = |flow: &&Flow| flow.station == *station && flow.direction == direction;
                let pattern = like.iter().find(is_like).cloned();
                Flow {
                    name: format!("{station} {name}"),
                    group: station.clone(),
                    station: station.clone(),
                    direction,
                    ..pattern.unwrap_or_else(|| Flow { demand: None, ..any.clone() })
                }
            })
            .collect();
        let outside: Vec<String> = own.iter().map(|flow| flow.name.clone()).collect();
        let flows = own.into_iter().chain(others).collect();
        Ok((Scenario { flows, warm_up, duration, ..Scenario::clone(scenario) }, outside))
    }
}
