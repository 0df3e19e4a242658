//! `[[network]]`: several complete networks, each with its own access point.

use std::collections::BTreeSet;

use serde::Serialize;

use super::error::ScenarioError;
use super::flow::{self, Flow};
use super::key::{Key, key};
use super::node::{Node, Value, shortened};
use super::scheme::{Scheme, tcp_senders};
use super::section::{Section, nearest};
use super::station::{self, MOST_STATIONS, Station};
use super::{Scenario, relay};
use airbound_air::propagation::{ChannelSpec, TraceUse};

/// A network: an access point with stations, on one of several channels.
///
/// Networks on the same channel hear each other and contend; different channels do not. Each network has its own queues, rate
/// controls, contention functions and random numbers; `[air]`, `[access-point]`, `[uplink]` and `[wire]` apply to each.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Network {
    /// Its name, unique among the networks.
    pub name: String,
    /// The name of the `[[network]]` entry it comes from; its own if the entry has one member.
    pub group: String,
    /// The number of its channel.
    pub channel: u16,
    /// Its own scheme, independent of the run's; `None`: that of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
}

pub(super) const KEYS: &[Key] = &[
    key("name", "required", ""),
    key("count", "1; 1–50", "`NAME-1` to `NAME-N`"),
    key("group", "the entry's name", "of all members together"),
    key("channel", "1; 1–50", "networks on one channel contend"),
    key("channels", "1; 1–50", "taken in turn, from `channel` on"),
    key("scheme", "that of the run; a name, a table", "kept in comparisons"),
];

/// Upper limit on networks of a scenario.
const MOST_NETWORKS: usize = 50;
/// Upper limit on channels.
const MOST_CHANNELS: u16 = 50;
/// Upper limit on stations of all networks together.
const MOST_STATIONS_IN_ALL: usize = 1000;

/// Reads all networks; none if there is a single unnamed one.
pub(super) fn read_all(top: &Section<'_>, scheme: &Scheme) -> Result<Vec<Network>, ScenarioError> {
    let mut networks: Vec<Network> = Vec::new();
    let mut names = BTreeSet::new();
    for section in top.tables("network")? {
        section.allow("a network", &[KEYS])?;
        let name = station::read_name(&section)?;
        let count = section.whole("count", 1, 1..=MOST_NETWORKS)?;
        let channel = section.whole("channel", 1, 1..=MOST_CHANNELS)?;
        let channels = section.whole("channels", 1, 1..=MOST_CHANNELS)?;
        let own = match section.get("scheme") {
            None => None,
            Some(Node { value: Value::Text(named), .. }) => {
                Some(scheme.named(named, &section.place_of("scheme"))?)
            }
            Some(_) => Some(Scheme::read(&section.table("scheme")?, false)?),
        };
        // A session has one policy, that of the run.
        let own = own.map(|own| Scheme { session: None, ..own });
        let group = section.text("group")?.unwrap_or(&name).to_owned();
        for (suffix, number) in station::members(count).zip(0u16..) {
            let name = format!("{name}{suffix}");
            if !names.insert(name.clone()) {
                return Err(section.wrong("name", format!("is \"{name}\", which is already taken")));
            }
            if name.len() > station::LONGEST_NAME {
                let problem = format!("makes {name}, which is longer than {} letters", station::LONGEST_NAME);
                return Err(section.wrong("name", problem));
            }
            if networks.len() == MOST_NETWORKS {
                let problem = format!("makes more than {MOST_NETWORKS} networks, the most of a scenario");
                return Err(section.wrong("name", problem));
            }
            let channel = channel + number % channels;
            networks.push(Network { name, group: group.clone(), channel, scheme: own.clone() });
        }
    }
    Ok(networks)
}

/// Refuses parts that several networks cannot have.
pub(super) fn check(
    top: &Section<'_>,
    networks: &[Network],
    entries: &[relay::Entry<'_>],
    stations: &[Station],
) -> Result<(), ScenarioError> {
    for entry in entries {
        let Some(wanted) = entry.section.text("network")? else { continue };
        if networks.iter().any(|network| network.name == wanted || network.group == wanted) {
            continue;
        }
        let known = || networks.iter().flat_map(|network| [network.name.as_str(), network.group.as_str()]);
        let hint = match nearest(wanted, known()) {
            Some(name) => format!("did you mean {name}?"),
            None if networks.is_empty() => "write a [[network]] of that name".to_owned(),
            None => {
                let mut groups: Vec<&str> = networks.iter().map(|network| network.group.as_str()).collect();
                groups.dedup();
                format!("networks are {}", groups.join(", "))
            }
        };
        let problem = format!("is \"{}\", which is not the name of a network; {hint}", shortened(wanted));
        return Err(entry.section.wrong("network", problem));
    }
    for (entry, index) in
        entries.iter().flat_map(|entry| entry.members.clone().map(move |index| (entry, index)))
    {
        let station = &stations[index];
        let relay = stations.iter().find(|other| station.via.as_ref() == Some(&other.name));
        if let Some(relay) = relay.filter(|relay| relay.network != station.network) {
            let problem =
                format!("is {}, which is not in the same networks; give both the same network", relay.name);
            return Err(entry.section.wrong("via", problem));
        }
    }
    if networks.is_empty() {
        return Ok(());
    }
    let is_pipe = |station: &&Station| matches!(&station.channel, ChannelSpec::Trace(link) if link.used_as == TraceUse::Pipe);
    let problem = if !top.tables("neighbour")?.is_empty() {
        "entries cannot be combined with a [[neighbour]], which is not simulated as a network".to_owned()
    } else if let Some(pipe) = stations.iter().find(is_pipe) {
        format!("entries share the air, which the trace of {} replaces by a pipe (as = \"pipe\")", pipe.name)
    } else {
        return Ok(());
    };
    Err(top.wrong("network", problem))
}

/// Assigns stations and flows to each network, in the order of the networks. A station of several networks, and its flows, get the
/// network's name as a prefix.
pub(super) fn expand(
    top: &Section<'_>,
    networks: &[Network],
    stations: &[Station],
    flows: Vec<Flow>,
    focus: String,
) -> Result<(Vec<Station>, Vec<Flow>, String), ScenarioError> {
    if networks.is_empty() {
        return Ok((stations.to_vec(), flows, focus));
    }
    let wrong = |problem: String| Err(top.wrong("network", problem));
    let is_in = |station: &Station, network: &Network| match &station.network {
        None => true,
        // The name of one network takes precedence over that of a group.
        Some(wanted) if networks.iter().any(|network| network.name == *wanted) => network.name == *wanted,
        Some(wanted) => network.group == *wanted,
    };
    let is_shared = |station: &Station| networks.iter().filter(|network| is_in(station, network)).count() > 1;
    let home = |flow: &Flow| stations.iter().find(|station| station.name == flow.station);
    let mut all_stations = Vec::new();
    let mut all_flows = Vec::new();
    let mut names = (BTreeSet::new(), BTreeSet::new());
    for network in networks {
        let here = |station: &Station, name: &str| {
            if is_shared(station) { format!("{}-{name}", network.name) } else { name.to_owned() }
        };
        let first = all_stations.len();
        for station in stations.iter().filter(|station| is_in(station, network)) {
            let name = here(station, &station.name);
            if !names.0.insert(name.clone()) {
                return wrong(format!("{} has a second station {name}; rename one", network.name));
            }
            let via = station.via.as_ref().map(|via| here(station, via));
            all_stations.push(Station { name, via, network: Some(network.name.clone()), ..station.clone() });
        }
        match all_stations.len() - first {
            0 => return wrong(format!("{} has no station; give it a [[station]]", network.name)),
            count if count > MOST_STATIONS => {
                let problem =
                    format!("{} has {count} stations; a network has at most {MOST_STATIONS}", network.name);
                return wrong(problem);
            }
            _ => {}
        }
        for flow in &flows {
            let Some(station) = home(flow).filter(|station| is_in(station, network)) else { continue };
            let name = here(station, &flow.name);
            if !names.1.insert(name.clone()) {
                return wrong(format!("{} has a second flow {name}; rename one", network.name));
            }
            let station = here(station, &station.name);
            all_flows.push(Flow { name, station, ..flow.clone() });
        }
    }
    let long =
        all_stations.iter().map(|station| &station.name).chain(all_flows.iter().map(|flow| &flow.name));
    if let Some(long) = long.into_iter().find(|name| name.len() > station::LONGEST_NAME) {
        let most = station::LONGEST_NAME;
        return wrong(format!(
            "entries make the name {long}, which is longer than {most} letters; shorten one"
        ));
    }
    if all_stations.len() > MOST_STATIONS_IN_ALL {
        let count = all_stations.len();
        return wrong(format!("entries have {count} stations; allowed are {MOST_STATIONS_IN_ALL} in all"));
    }
    if all_flows.len() > flow::MOST_FLOWS {
        let count = all_flows.len();
        return wrong(format!("entries have {count} flows; allowed are {} in all", flow::MOST_FLOWS));
    }
    // A single flow in several networks counts for the first of them.
    let is_focus = |flow: &Flow| flow.name == focus || flow.group == focus;
    let focus = match flows.iter().find(|flow| flow.name == focus) {
        Some(flow) if !all_flows.iter().any(is_focus) => {
            let first = networks.iter().find(|network| home(flow).is_some_and(|home| is_in(home, network)));
            first.map_or(focus.clone(), |network| format!("{}-{focus}", network.name))
        }
        _ => focus,
    };
    Ok((all_stations, all_flows, focus))
}

/// Refuses TCP flows without a congestion control of their own in a network whose scheme's sender is for real-time video.
pub(super) fn refuse_media_rate_for_tcp(
    top: &Section<'_>,
    networks: &[Network],
    stations: &[Station],
    flows: &[Flow],
) -> Result<(), ScenarioError> {
    for network in networks {
        let Some(rule) =
            network.scheme.as_ref().map(|scheme| &scheme.sender).filter(|slot| slot.is_media_rate())
        else {
            continue;
        };
        let is_here = |flow: &&Flow| {
            let mut homes = stations.iter().filter(|station| station.name == flow.station);
            homes.any(|station| station.network.as_ref() == Some(&network.name))
        };
        let takes_it = |flow: &&Flow| flow.traffic.tcp().is_some_and(|tcp| tcp.congestion.is_none());
        if let Some(flow) = flows.iter().filter(is_here).find(takes_it) {
            return Err(top.wrong(
                "network",
                format!(
                    "{} sends with \"{}\", but flow {} is TCP; give it congestion = {}",
                    network.name,
                    rule.kind(),
                    flow.name,
                    tcp_senders("\"")
                ),
            ));
        }
    }
    Ok(())
}

impl Scenario {
    /// The numbers of its channels, in ascending order; 1 without `[[network]]`.
    #[must_use]
    pub fn channels(&self) -> Vec<u16> {
        let channels: BTreeSet<u16> = self.networks.iter().map(|network| network.channel).collect();
        if channels.is_empty() { vec![1] } else { channels.into_iter().collect() }
    }
}

impl Network {
    /// The scenario of this network alone: `whole` with its stations and flows only.
    #[must_use]
    pub fn of(&self, whole: &Scenario) -> Scenario {
        let is_here = |station: &&Station| station.network.as_ref() == Some(&self.name);
        let stations: Vec<Station> = whole.stations.iter().filter(is_here).cloned().collect();
        let names: BTreeSet<&str> = stations.iter().map(|station| station.name.as_str()).collect();
        let flows = whole.flows.iter().filter(|flow| names.contains(flow.station.as_str()));
        let flows = flows.cloned().collect();
        Scenario {
            flows,
            networks: Vec::new(),
            title: whole.title.clone(),
            description: whole.description.clone(),
            focus: whole.focus.clone(),
            schemes: whole.schemes.clone(),
            air: whole.air.clone(),
            access_point: whole.access_point.clone(),
            scheme: whole.scheme.clone(),
            uplink: whole.uplink.clone(),
            wire: whole.wire.clone(),
            session: None,
            neighbours: Vec::new(),
            interferences: whole.interferences.clone(),
            hearing: None,
            radio: None,
            stations,
            ..*whole
        }
    }
}
