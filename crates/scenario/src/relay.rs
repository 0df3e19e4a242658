//! `[[station]] via`: stations behind other stations.

use super::error::ScenarioError;
use super::node;
use super::section::{Section, nearest};
use super::station::Station;
use super::text;
use airbound_air::propagation::{ChannelSpec, TraceUse};

/// Upper limit on links between a station and the access point.
pub(super) const MOST_HOPS: usize = 8;

/// An entry of the list of stations, and the stations that it made.
pub(super) struct Entry<'a> {
    pub(super) section: Section<'a>,
    pub(super) members: std::ops::Range<usize>,
}

/// Sets the relay of each station, and checks that they form a tree whose links work.
pub(super) fn connect(entries: &[Entry<'_>], stations: &mut [Station]) -> Result<(), ScenarioError> {
    for entry in entries {
        if let Some(wanted) = entry.section.text("via")?
            && !entry.members.is_empty()
        {
            let relays = relays_of(entry, wanted, stations)?;
            for (index, relay) in entry.members.clone().zip(relays) {
                stations[index].via = Some(relay);
            }
        }
    }
    for entry in entries {
        for index in entry.members.clone() {
            check_way(&entry.section, index, stations)?;
            check_link(&entry.section, index, stations)?;
        }
    }
    Ok(())
}

/// The relays of the members: one station for all, or one member each of a group of equal size.
fn relays_of(entry: &Entry<'_>, wanted: &str, stations: &[Station]) -> Result<Vec<String>, ScenarioError> {
    let count = entry.members.len();
    if stations.iter().any(|station| station.name == wanted) {
        return Ok(vec![wanted.to_owned(); count]);
    }
    let group = stations.iter().filter(|station| station.group == wanted);
    let names: Vec<String> = group.map(|station| station.name.clone()).collect();
    if names.len() == count {
        return Ok(names);
    }
    let problem = if names.is_empty() {
        let known = stations.iter().map(|station| station.name.as_str());
        let hint = match nearest(wanted, known.clone()) {
            Some(name) => format!("did you mean {name}?"),
            None => format!("stations are {}", known.take(20).collect::<Vec<_>>().join(", ")),
        };
        format!("is \"{}\", which is not the name of a station; {hint}", node::shortened(wanted))
    } else {
        format!(
            "is \"{wanted}\", a group of {}; allowed is one station, or a group of as many as this entry has, {count}",
            names.len()
        )
    };
    Err(entry.section.wrong("via", problem))
}

/// Checks that each path leads to the access point and is not too long.
fn check_way(section: &Section<'_>, index: usize, stations: &[Station]) -> Result<(), ScenarioError> {
    let mut way = vec![stations[index].name.as_str()];
    let mut here = &stations[index];
    while let Some(relay) = &here.via {
        let round = way.contains(&relay.as_str());
        way.push(relay);
        if round {
            let problem = format!("never leads to the access point: {}", way.join(" via "));
            return Err(section.wrong("via", problem));
        }
        if way.len() > MOST_HOPS {
            let problem = format!(
                "puts {} more than {MOST_HOPS} hops from the access point; allowed are 1 to {MOST_HOPS}",
                way[0]
            );
            return Err(section.wrong("via", problem));
        }
        let Some(next) = stations.iter().find(|station| station.name == *relay) else { break };
        here = next;
    }
    Ok(())
}

/// Checks that a relay supports the formats of the stations behind it, over the air.
fn check_link(section: &Section<'_>, index: usize, stations: &[Station]) -> Result<(), ScenarioError> {
    let station = &stations[index];
    let Some(relay) = stations.iter().find(|other| station.via.as_ref() == Some(&other.name)) else {
        return Ok(());
    };
    let is_pipe =
        |channel: &ChannelSpec| matches!(channel, ChannelSpec::Trace(link) if link.used_as == TraceUse::Pipe);
    if let Some(pipe) = stations.iter().find(|station| is_pipe(&station.channel)) {
        let problem = format!(
            "makes {} a relay, which needs the air; the trace of {} replaces it by a pipe (as = \"pipe\")",
            relay.name, pipe.name
        );
        return Err(section.wrong("via", problem));
    }
    if station.standard > relay.standard {
        let name = |standard| text::name_of(text::STANDARDS, standard);
        let problem = format!(
            "is {}, newer than its relay's; {} supports at most {}",
            name(&station.standard),
            relay.name,
            name(&relay.standard)
        );
        return Err(section.wrong("standard", problem));
    }
    if station.width > relay.width {
        let problem = format!("is {}; its relay {} has {}", station.width, relay.name, relay.width);
        return Err(section.wrong("width", problem));
    }
    if station.streams > relay.streams {
        let problem = format!("is {}; its relay {} has {}", station.streams, relay.name, relay.streams);
        return Err(section.wrong("streams", problem));
    }
    Ok(())
}
