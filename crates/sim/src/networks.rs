//! The networks of a scenario: builds their simulations, and numbers what is theirs over the run.

use std::cell::RefCell;

use airbound_record::{Direction, NetworkSummary};

use crate::blueprint::{Blueprint, SharedChannel};
use crate::error::BuildError;
use crate::measure::{Figures, Numbers};
use crate::member::Member;
use crate::network::CollisionDomain;
use crate::plugins::Plugins;
use crate::world::World;
use airbound_random::{Purpose, seed_for};
use airbound_scenario::{self as scenario, Scenario, Scheme};

/// The networks of a run, in the order of the domains.
pub(crate) struct Built {
    pub(crate) world: World,
    /// The names of all flows, acknowledgements included.
    pub(crate) flows: Vec<String>,
}

/// Builds the simulations of all networks of a scenario.
pub(crate) fn build(
    scenario: &Scenario,
    scheme: &Scheme,
    seed: u64,
    plugins: &Plugins,
) -> Result<Built, BuildError> {
    let tables = RefCell::default();
    if scenario.networks.is_empty() {
        let blueprint = Blueprint {
            scenario,
            whole: scenario,
            scheme,
            plugins,
            tables: &tables,
            seed,
            channel: SharedChannel::alone(seed),
        };
        let (domain, parts) = blueprint.domain()?;
        let flows = parts.flows.iter().map(|flow| flow.name.clone()).collect();
        let member = Member {
            name: None,
            channel: 1,
            scheme: scheme.clone(),
            place: 0,
            flows: 0..scenario.flows.len(),
            stations: 0..scenario.stations.len(),
        };
        return Ok(Built { world: World::new(vec![domain.with(parts)], vec![member]), flows });
    }
    let channels = scenario.channels();
    let mut built: Vec<Option<CollisionDomain>> = channels.iter().map(|_| None).collect();
    let mut members: Vec<Vec<Member>> = vec![Vec::new(); channels.len()];
    // As in a single network, the flows of the scenario come first.
    let mut flows: Vec<String> = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
    let (mut first_flow, mut first_station) = (0, 0);
    // The numbers of each network's flows, channel by channel.
    let mut numbers: Vec<Vec<Vec<u32>>> = vec![Vec::new(); channels.len()];
    for (network, index) in scenario.networks.iter().zip(0u64..) {
        let Ok(channel) = channels.binary_search(&network.channel) else { continue };
        let alike = |other: &&scenario::Network| other.channel == network.channel;
        let blueprint = Blueprint {
            scenario: &network.of(scenario),
            whole: scenario,
            scheme: network.scheme.as_ref().unwrap_or(scheme),
            plugins,
            tables: &tables,
            seed: seed_of(seed, index),
            channel: SharedChannel {
                number: network.channel,
                seed: seed_of(seed, first_on(&scenario.networks, network.channel)),
                place: members[channel].len() as u64,
                networks: scenario.networks.iter().filter(alike).count() as u64,
            },
        };
        let (own, stations) = (blueprint.scenario.flows.len(), blueprint.scenario.stations.len());
        let (domain, parts) = blueprint.domain()?;
        members[channel].push(Member {
            name: Some(network.name.clone()),
            channel: network.channel,
            scheme: blueprint.scheme.clone(),
            place: index,
            flows: first_flow..first_flow + own,
            stations: first_station..first_station + stations,
        });
        let others = flows.len()..flows.len() + parts.flows.len() - own;
        let own = first_flow..first_flow + own;
        numbers[channel].push(own.clone().chain(others).map(|number| number as u32).collect());
        flows.extend(parts.flows.iter().skip(own.len()).map(|flow| flow.name.clone()));
        (first_flow, first_station) = (own.end, first_station + stations);
        // The first network of a channel brings it.
        built[channel] = Some(built[channel].take().unwrap_or(domain).with(parts));
    }
    let members = members.into_iter().flatten().collect();
    let members: Vec<Member> = members;
    let mut world = World::new(built.into_iter().flatten().collect(), members.clone());
    for ((network, member), own) in world.networks_mut().zip(members).zip(numbers.into_iter().flatten()) {
        network.parts.meters.rows.numbers = Numbers {
            flows: own.into(),
            all_flows: flows.len() as u64,
            stations: member.stations.start as u16,
            network: [member.place, scenario.networks.len() as u64],
            channel: member.channel,
        };
    }
    Ok(Built { world, flows })
}

/// The seed of a network: the first has that of the run, so that it has the same conditions as alone.
const fn seed_of(seed: u64, network: u64) -> u64 {
    if network == 0 { seed } else { seed_for(seed, Purpose::Network, network) }
}

/// The number of the first network on a channel.
fn first_on(networks: &[scenario::Network], channel: u16) -> u64 {
    networks.iter().position(|network| network.channel == channel).unwrap_or(0) as u64
}

/// The summaries of the networks; none if the scenario names none.
pub(crate) fn summaries(networks: &[(Member, Figures)]) -> Vec<NetworkSummary> {
    let named =
        networks.iter().filter_map(|(member, figures)| Some((member, figures, member.name.as_ref()?)));
    let summary = |(member, figures, name): (&Member, &Figures, &String)| {
        let goodput = |direction| {
            let flows = figures.flows.iter().filter(|flow| flow.direction == direction);
            flows.map(|flow| flow.goodput_mbps).sum()
        };
        let airtime = figures.stations.iter().map(|station| station.airtime_share).sum();
        NetworkSummary {
            name: name.clone(),
            channel: member.channel,
            scheme: member.scheme.to_string(),
            stations: figures.stations.iter().map(|station| station.name.clone()).collect(),
            downlink_mbps: goodput(Direction::Downlink),
            uplink_mbps: goodput(Direction::Uplink),
            airtime_share: airtime,
            air: figures.air,
            jain: figures.jain,
        }
    };
    named.map(summary).collect()
}
