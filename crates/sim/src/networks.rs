//! Several networks in a scenario: builds their simulations, and merges their events into those of the run.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use airbound_record::{Direction, FrameRow, HopRow, NetworkSummary, PacketRow, RunInfo, SeriesRow, TxopRow};

use crate::blueprint::{Blueprint, SharedChannel};
use crate::error::BuildError;
use crate::measure::{Event, Events, Figures, Observer};
use crate::network::{Domains, Network};
use crate::plugins::Plugins;
use airbound_random::{Purpose, seed_for};
use airbound_scenario::{self as scenario, Scenario, Scheme};

/// A network as a member of a run.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// Its name; `None` for the only, unnamed network of a scenario.
    pub(crate) name: Option<String>,
    /// The number of its channel.
    pub(crate) channel: u16,
    /// Its scheme.
    pub(crate) scheme: Scheme,
    /// Mapping of its own numbers to those in the tables.
    numbers: Numbers,
    /// Number of its stations.
    stations: usize,
}

/// The networks of a run, in the order of the domains.
pub(crate) struct Built {
    pub(crate) domains: Domains,
    pub(crate) members: Vec<Member>,
    /// The names of all flows, acknowledgements included.
    pub(crate) flows: Vec<String>,
}

/// The observer of all networks.
#[derive(Clone)]
pub(crate) struct Audience(Rc<RefCell<Box<dyn Observer>>>);

impl fmt::Debug for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Audience")
    }
}

impl Audience {
    pub(crate) fn new(observer: Box<dyn Observer>) -> Self {
        Self(Rc::new(RefCell::new(observer)))
    }

    /// The kinds of events that the observer receives.
    pub(crate) fn wants(&self) -> Events {
        self.0.borrow().wants()
    }

    /// Passes an event on.
    pub(crate) fn notify(&self, event: Event<'_>) {
        self.0.borrow_mut().on_event(event);
    }

    /// Returns the observer, if no network holds it any more.
    pub(crate) fn into_observer(self) -> Option<Box<dyn Observer>> {
        Rc::try_unwrap(self.0).ok().map(RefCell::into_inner)
    }
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
        let parts = blueprint.parts()?;
        let flows = parts.flows.iter().map(|flow| flow.name.clone()).collect();
        let member = Member {
            name: None,
            channel: 1,
            scheme: scheme.clone(),
            numbers: Numbers { own: scenario.flows.len() as u32, ..Numbers::default() },
            stations: scenario.stations.len(),
        };
        let domains = Domains::new(vec![vec![Network::new(parts)]]);
        return Ok(Built { domains, members: vec![member], flows });
    }
    let channels = scenario.channels();
    let mut built: Vec<Vec<Network>> = channels.iter().map(|_| Vec::new()).collect();
    let mut members: Vec<Vec<Member>> = vec![Vec::new(); channels.len()];
    // As in a single network, the flows of the scenario come first.
    let mut flows: Vec<String> = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
    let mut numbers = Numbers { networks: scenario.networks.len() as u64, ..Numbers::default() };
    for (network, index) in scenario.networks.iter().zip(0u64..) {
        let Ok(channel) = channels.binary_search(&network.channel) else { continue };
        numbers.network = index;
        numbers.others = flows.len() as u32;
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
        numbers.own = blueprint.scenario.flows.len() as u32;
        let parts = blueprint.parts()?;
        members[channel].push(Member {
            name: Some(network.name.clone()),
            channel: network.channel,
            scheme: blueprint.scheme.clone(),
            numbers,
            stations: blueprint.scenario.stations.len(),
        });
        numbers.flows += numbers.own;
        numbers.stations += blueprint.scenario.stations.len() as u16;
        flows.extend(parts.flows.iter().skip(numbers.own as usize).map(|flow| flow.name.clone()));
        let simulation = match built[channel].last_mut() {
            Some(last) => Network::sharing(parts, last),
            None => Network::new(parts),
        };
        built[channel].push(simulation);
    }
    let members = members.into_iter().flatten().collect();
    Ok(Built { domains: Domains::new(built), members, flows })
}

/// Attaches the observer to the networks of a run. A lone network holds it itself, and `None` is returned; several networks share an
/// audience, with the numbers of the run.
pub(crate) fn observe(
    domains: &mut Domains,
    members: &[Member],
    observer: Box<dyn Observer>,
) -> Option<Audience> {
    let mut networks = domains.networks_mut().zip(members);
    if let [Member { name: None, .. }] = members {
        if let Some((network, _)) = networks.next() {
            network.parts.meters.observe(observer);
        }
        return None;
    }
    let audience = Audience::new(observer);
    for (network, member) in networks {
        network.parts.meters.observe(Box::new(Renumbered::new(audience.clone(), member.numbers)));
    }
    Some(audience)
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
pub(crate) fn summaries(networks: &[(&Member, Figures)]) -> Vec<NetworkSummary> {
    let named =
        networks.iter().filter_map(|(member, figures)| Some((member, figures, member.name.as_ref()?)));
    let summary = |(member, figures, name): (&&Member, &Figures, &String)| {
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

impl Member {
    /// Its index in the order of the scenario.
    pub(crate) const fn place(&self) -> u64 {
        self.numbers.network
    }

    /// The numbers in the run of its flows of the scenario.
    pub(crate) fn flows(&self) -> Range<usize> {
        let first = self.numbers.flows as usize;
        first..first + self.numbers.own as usize
    }

    /// The names of its stations.
    pub(crate) fn stations<'a>(&self, info: &'a RunInfo) -> &'a [String] {
        let first = usize::from(self.numbers.stations);
        info.stations.get(first..first + self.stations).unwrap_or_default()
    }
}

/// Mapping of the numbers of a network to those of the run.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    network: u64,
    networks: u64,
    /// Number of flows of the scenario, and of stations, in the networks before it.
    flows: u32,
    stations: u16,
    /// Number of its own flows of the scenario.
    own: u32,
    /// The number in the run of its first other flow: acknowledgements, feedback.
    others: u32,
}

impl Numbers {
    const fn flow(self, number: u32) -> u32 {
        if number < self.own { self.flows + number } else { self.others + number - self.own }
    }

    const fn packet(self, number: u64) -> u64 {
        number * self.networks + self.network
    }

    /// Number from 1; 0 for none.
    const fn txop(self, number: u64) -> u64 {
        if number == 0 { 0 } else { (number - 1) * self.networks + self.network + 1 }
    }

    /// Each earlier network has an access point besides its stations.
    const fn transmitter(self, number: u16) -> u16 {
        number + self.stations + self.network as u16
    }
}

/// An observer of one network, which passes on events to that of the run.
struct Renumbered {
    audience: Audience,
    numbers: Numbers,
    wants: Events,
}

impl Renumbered {
    fn new(audience: Audience, numbers: Numbers) -> Self {
        let wants = audience.0.borrow().wants();
        Self { audience, numbers, wants }
    }
}

impl Observer for Renumbered {
    fn wants(&self) -> Events {
        self.wants
    }
    fn on_event(&mut self, event: Event<'_>) {
        let n = self.numbers;
        let observer = &mut *self.audience.0.borrow_mut();
        match event {
            Event::Packet(row) => observer.on_event(Event::Packet(&PacketRow {
                packet: n.packet(row.packet),
                flow: n.flow(row.flow),
                station: n.stations + row.station,
                txop: n.txop(row.txop),
                ..*row
            })),
            Event::Hop(row) => observer.on_event(Event::Hop(&HopRow {
                packet: n.packet(row.packet),
                transmitter: n.transmitter(row.transmitter),
                receiver: n.transmitter(row.receiver),
                txop: n.txop(row.txop),
                ..*row
            })),
            Event::Txop(row) => observer.on_event(Event::Txop(&TxopRow {
                txop: n.txop(row.txop),
                transmitter: n.transmitter(row.transmitter),
                receiver: n.transmitter(row.receiver),
                ..*row
            })),
            Event::Frame(row) => {
                observer.on_event(Event::Frame(&FrameRow { flow: n.flow(row.flow), ..*row }));
            }
            Event::Series(row) => {
                observer.on_event(Event::Series(&SeriesRow { flow: n.flow(row.flow), ..*row }));
            }
            Event::Exchange(exchange) => observer.on_event(Event::Exchange(exchange)),
        }
    }
}
