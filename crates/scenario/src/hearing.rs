//! `[hearing]`: who hears whom, by names or by places and walls.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use airbound_air::channel::TxId;
use airbound_air::hearing::Hearing as Matrix;
use airbound_air::propagation::{Floor, Place, Wall};
use airbound_units::{Dbm, Decibel, Metre};
use serde::Serialize;

use super::error::ScenarioError;
use super::key::{Key, key};
use super::node::{Node, Value, shortened};
use super::section::{Section, nearest};
use super::{Neighbour, Network, Scenario, Station};

/// The name of the access point among those of stations and neighbours.
const ACCESS_POINT: &str = "access-point";

/// The transmitters that each transmitter hears; without it all transmitters of a channel hear each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Hearing {
    /// By names.
    Matrix {
        /// For stations, groups of them and neighbours the ones that they hear; those without an entry hear all. The two ends of a link
        /// always hear each other.
        matrix: BTreeMap<String, Vec<String>>,
    },
    /// By places.
    Places(Places),
}

/// Places of all transmitters.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Places {
    /// Weakest signal that a transmitter hears.
    pub threshold: Dbm,
    /// The floor with its walls.
    #[serde(flatten)]
    pub floor: Floor,
    /// By the names of the access point, of stations or their groups, and of neighbours.
    pub places: BTreeMap<String, Place>,
}

/// Names of a transmitter.
struct Labels<'a> {
    name: Cow<'a, str>,
    group: &'a str,
    network: Option<&'a Network>,
    /// `None` for access points and neighbours.
    station: Option<&'a Station>,
}

impl Labels<'_> {
    /// All its names, those of fewer transmitters first.
    fn all(&self) -> impl Iterator<Item = &str> {
        let network = self.network.map(|network| [network.name.as_str(), network.group.as_str()]);
        let [one, several] = network.map_or([None; 2], |names| names.map(Some));
        [Some(self.name.as_ref()), one, Some(self.group), several].into_iter().flatten()
    }
}

/// The names of transmitters, in the order of their numbers on the channel.
pub(super) struct Names<'a> {
    nodes: Vec<Labels<'a>>,
    /// Groups without a member.
    empty: &'a [String],
}

impl<'a> Names<'a> {
    pub(super) const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Those of all channels.
    pub(super) fn of(
        networks: &'a [Network],
        stations: &'a [Station],
        neighbours: &'a [Neighbour],
        empty: &'a [String],
    ) -> Self {
        let access_point = |network: Option<&'a Network>| Labels {
            name: network.map_or(Cow::Borrowed(ACCESS_POINT), |network| {
                Cow::Owned(format!("{}-{ACCESS_POINT}", network.name))
            }),
            group: ACCESS_POINT,
            network,
            station: None,
        };
        let mut nodes = Vec::new();
        let each = networks.iter().map(Some);
        for network in each.chain(networks.is_empty().then_some(None)) {
            nodes.push(access_point(network));
            let is_here = |station: &&Station| station.network.as_ref() == network.map(|one| &one.name);
            nodes.extend(stations.iter().filter(|one| network.is_none() || is_here(one)).map(|station| {
                let (name, group) = (Cow::Borrowed(station.name.as_str()), station.group.as_str());
                Labels { name, group, network, station: Some(station) }
            }));
        }
        for neighbour in neighbours {
            let name = neighbour.name.as_str();
            nodes.extend((0..neighbour.transmitters).map(|_| Labels {
                name: Cow::Borrowed(name),
                group: name,
                network: None,
                station: None,
            }));
        }
        Self { nodes, empty }
    }

    /// Those of one channel.
    pub(super) fn on(scenario: &'a Scenario, channel: u16) -> Self {
        let mut names = Self::of(&scenario.networks, &scenario.stations, &scenario.neighbours, &[]);
        names.nodes.retain(|node| node.network.is_none_or(|network| network.channel == channel));
        names
    }

    /// The transmitters with this name: one, or those of a group or of a network.
    pub(super) fn numbers(&self, wanted: &str) -> impl Iterator<Item = TxId> + '_ {
        let wanted = wanted.to_owned();
        let nodes = self.nodes.iter().zip(0..);
        nodes
            .filter(move |(labels, _)| labels.all().any(|name| name == wanted))
            .map(|(_, number)| TxId(number))
    }

    /// The links between stations and the next nodes on their paths.
    fn links(&self) -> impl Iterator<Item = (TxId, TxId, &'a Station)> + '_ {
        let stations = self.nodes.iter().zip(0..).filter_map(|(node, number)| Some((node.station?, number)));
        stations.filter_map(|(station, number)| {
            let network = station.network.as_deref();
            let upper = self.nodes.iter().position(|node| match &station.via {
                Some(relay) => node.name == relay.as_str(),
                None => node.group == ACCESS_POINT && node.network.map(|one| one.name.as_str()) == network,
            });
            upper.map(|upper| (TxId(upper as u16), TxId(number), station))
        })
    }

    /// Refuses a name that nothing has.
    pub(super) fn check(&self, section: &Section<'_>, key: &str, name: &str) -> Result<(), ScenarioError> {
        if self.numbers(name).next().is_some() || self.empty.iter().any(|empty| empty == name) {
            return Ok(());
        }
        let known = || self.nodes.iter().flat_map(Labels::all);
        let hint = match nearest(name, known()) {
            Some(name) => format!("did you mean {name}?"),
            None => {
                let mut groups: Vec<&str> = Vec::new();
                for node in &self.nodes {
                    let names = [Some(node.group), node.network.map(|network| network.group.as_str())];
                    groups.extend(names.into_iter().flatten());
                }
                let mut seen = BTreeSet::new();
                groups.retain(|group| seen.insert(*group));
                groups.truncate(20);
                format!("allowed are {}", groups.join(", "))
            }
        };
        let name = shortened(name);
        let last = if self.nodes.iter().any(|node| node.network.is_some()) { "network" } else { "neighbour" };
        Err(ScenarioError::Value {
            place: section.place_of(key),
            key: section.key(&shortened(key)),
            problem: format!("names \"{name}\", which is no station, group or {last}; {hint}"),
        })
    }
}

pub(super) const MATRIX_KEYS: &[Key] =
    &[key("matrix", "one of two; a table of lists of names", "whom each name hears")];
pub(super) const PLACES_KEYS: &[Key] = &[
    key("places", "one of two; a table of pairs of lengths", "of each transmitter"),
    key("size", "required for `places`; to 10 km each", "of the floor"),
    key("walls", "none; at most 1000 tables", "below"),
    key("exponent", "3; 0–10", "path loss exponent"),
    key("reference-loss", r#"`"46.6777 dB"`; 0–150 dB"#, "loss at 1 m"),
    key("threshold", r#"`"-82 dBm"`; -150 to 0 dBm"#, "weakest signal that is heard"),
];
const FARTHEST: Metre = Metre::new(10_000.0);
const MOST_WALLS: usize = 1000;

/// Reads the table, if the scenario has one.
pub(super) fn read(top: &Section<'_>, names: &Names<'_>) -> Result<Option<Hearing>, ScenarioError> {
    if !top.has("hearing") {
        return Ok(None);
    }
    let section = top.table("hearing")?;
    match (section.has("matrix"), section.has("places")) {
        (true, true) => Err(section.wrong("places", "is beside matrix; allowed is one of them")),
        (false, false) => Err(section.missing("matrix", "write matrix = { phone = [\"phone\"] }, or places")),
        (true, false) => {
            section.allow("hearing by a matrix", &[MATRIX_KEYS])?;
            read_matrix(&section.table("matrix")?, names).map(|matrix| Some(Hearing::Matrix { matrix }))
        }
        (false, true) => {
            section.allow("hearing by places", &[PLACES_KEYS])?;
            let places = Places::read(&section, names)?;
            places.check_nodes(&section, names)?;
            Ok(Some(Hearing::Places(places)))
        }
    }
}

fn read_matrix(
    section: &Section<'_>,
    names: &Names<'_>,
) -> Result<BTreeMap<String, Vec<String>>, ScenarioError> {
    let mut matrix = BTreeMap::new();
    for (listener, _) in section.entries() {
        names.check(section, listener, listener)?;
        let heard = section.texts(listener)?.unwrap_or_default();
        for name in &heard {
            names.check(section, listener, name)?;
        }
        // What has no members is left out, so that the printed scenario names what it has.
        let exists = |name: &&str| names.numbers(name).next().is_some();
        if exists(&listener.as_str()) {
            let heard = heard.into_iter().filter(exists).map(str::to_owned).collect();
            matrix.insert(listener.clone(), heard);
        }
    }
    Ok(matrix)
}

impl Places {
    fn read(section: &Section<'_>, names: &Names<'_>) -> Result<Self, ScenarioError> {
        let size = read_place(section, "size", section.get("size"))?.ok_or_else(|| {
            section.missing("size", "write width and depth, for example size = [\"20 m\", \"10 m\"]")
        })?;
        for length in [size.x, size.y] {
            if length <= Metre::new(0.0) || length > FARTHEST {
                return Err(
                    section.wrong("size", format!("has {length}; allowed is above 0 m, to {FARTHEST}"))
                );
            }
        }
        let mut floor = Floor {
            size: size.into(),
            exponent: section.number("exponent", 3.0, 0.0..=10.0)?,
            reference_loss: section.ranged(
                "reference-loss",
                Decibel::new(46.6777),
                Decibel::new(0.0)..=Decibel::new(150.0),
            )?,
            walls: Vec::new(),
        };
        for wall in section.tables("walls")? {
            let wall = read_wall(&wall, &floor)?;
            floor.walls.push(wall);
        }
        if floor.walls.len() > MOST_WALLS {
            let problem = format!("has {} walls; allowed are {MOST_WALLS}", floor.walls.len());
            return Err(section.wrong("walls", problem));
        }
        let table = section.table("places")?;
        let mut places = BTreeMap::new();
        for (name, node) in table.entries() {
            names.check(&table, name, name)?;
            if let Some(place) = read_place(&table, name, Some(node))? {
                on_floor(&table, name, place, &floor)?;
                if names.numbers(name).next().is_some() {
                    places.insert(name.clone(), place);
                }
            }
        }
        let threshold = section.ranged("threshold", Dbm::new(-82.0), Dbm::new(-150.0)..=Dbm::new(0.0))?;
        Ok(Self { threshold, floor, places })
    }

    /// The place of a transmitter: its own, or that of its network, of its group, of its group of networks.
    fn place_of(&self, labels: &Labels<'_>) -> Option<Place> {
        labels.all().find_map(|name| self.places.get(name)).copied()
    }

    /// The places of all transmitters, by number.
    pub(super) fn of_all<'b>(&'b self, names: &'b Names<'_>) -> impl Iterator<Item = Option<Place>> + 'b {
        names.nodes.iter().map(|node| self.place_of(node))
    }

    fn check_nodes(&self, section: &Section<'_>, names: &Names<'_>) -> Result<(), ScenarioError> {
        match names.nodes.iter().find(|node| self.place_of(node).is_none()) {
            None => Ok(()),
            Some(node) => {
                let problem =
                    format!("gives no place to {}; allowed is a place for each transmitter", node.name);
                Err(section.wrong("places", problem))
            }
        }
    }
}

/// Reads a pair of lengths.
fn read_place(section: &Section<'_>, key: &str, node: Option<&Node>) -> Result<Option<Place>, ScenarioError> {
    let Some(node) = node else { return Ok(None) };
    let wrong = |found: String| {
        section.wrong(key, format!("is {found}; allowed is a pair of lengths such as [\"4 m\", \"2.5 m\"]"))
    };
    let Value::List(items) = &node.value else { return Err(wrong(node.value.describe())) };
    let [x, y] = items.as_slice() else { return Err(wrong(format!("a list of {}", items.len()))) };
    let x = section.parse_quantity(key, x, "4 m")?;
    let y = section.parse_quantity(key, y, "2.5 m")?;
    Ok(Some(Place { x, y }))
}

/// Refuses a place outside of the floor.
fn on_floor(section: &Section<'_>, key: &str, place: Place, floor: &Floor) -> Result<(), ScenarioError> {
    if floor.has(place) {
        return Ok(());
    }
    let [width, depth] = floor.size;
    let problem = format!(
        "is ({}, {}), outside of the floor; allowed is 0 m to {width} and 0 m to {depth}",
        place.x, place.y
    );
    Err(section.wrong(key, problem))
}

fn read_wall(section: &Section<'_>, floor: &Floor) -> Result<Wall, ScenarioError> {
    section.allow("a wall", &[&["from", "to", "loss"]])?;
    let end = |key: &str| {
        let place = read_place(section, key, section.get(key))?;
        let place = place.ok_or_else(|| {
            section.missing(key, "a wall has two ends; write for example from = [\"5 m\", \"0 m\"]")
        })?;
        on_floor(section, key, place, floor).map(|()| place)
    };
    let (from, to) = (end("from")?, end("to")?);
    if from == to {
        return Err(
            section.wrong("to", "is the same place as from; allowed is a wall with two different ends")
        );
    }
    if !section.has("loss") {
        return Err(section.missing("loss", "write for example loss = \"10 dB\""));
    }
    let loss = section.ranged("loss", Decibel::new(10.0), Decibel::new(0.0)..=Decibel::new(200.0))?;
    Ok(Wall { from, to, loss })
}

impl Scenario {
    /// The transmitters that each hears on a channel, by number: the access point, its stations, then those of the next network, or the
    /// transmitters of neighbours. `None` if all hear each other.
    #[must_use]
    pub fn hearing(&self, channel: u16) -> Option<Matrix> {
        let hearing = self.hearing.as_ref()?;
        let names = Names::on(self, channel);
        let mut matrix = Matrix::complete(names.nodes.len());
        let numbers = || (0..names.nodes.len() as u16).map(TxId);
        match hearing {
            Hearing::Matrix { matrix: rows } => {
                for (listener, heard) in rows {
                    for listener in names.numbers(listener) {
                        numbers().for_each(|sender| matrix.set(listener, sender, false));
                        let heard = heard.iter().flat_map(|name| names.numbers(name));
                        heard.for_each(|sender| matrix.set(listener, sender, true));
                    }
                }
                for (upper, lower, _) in names.links() {
                    matrix.set(upper, lower, true);
                    matrix.set(lower, upper, true);
                }
            }
            Hearing::Places(places) => {
                // Many stand at one place, as all of a network: the loss is computed once for two places.
                let mut distinct: Vec<Place> = Vec::new();
                let mut number = |place: Place| {
                    let known = distinct.iter().position(|known| *known == place);
                    known.unwrap_or_else(|| {
                        distinct.push(place);
                        distinct.len() - 1
                    })
                };
                let all: Vec<Option<usize>> =
                    places.of_all(&names).map(|place| place.map(&mut number)).collect();
                let hears = |here: &Place, there: &Place| {
                    self.air.tx_power - places.floor.loss(*there, *here) >= places.threshold
                };
                let heard: Vec<Vec<bool>> = distinct
                    .iter()
                    .map(|here| distinct.iter().map(|there| hears(here, there)).collect())
                    .collect();
                for (listener, here) in numbers().zip(&all) {
                    for (sender, there) in numbers().zip(&all) {
                        if let (Some(here), Some(there)) = (here, there) {
                            matrix.set(listener, sender, heard[*here][*there]);
                        }
                    }
                }
            }
        }
        (!matrix.is_complete()).then_some(matrix)
    }

    /// Refuses a hearing, or frames on the air by themselves, that the rest of the scenario does not go with.
    pub(super) fn check_hearing(&self, top: &Section<'_>) -> Result<(), ScenarioError> {
        let key = match (&self.hearing, &self.radio) {
            (None, None) => return Ok(()),
            (Some(_), _) => "hearing",
            (None, Some(_)) => "radio",
        };
        if let Some(pipe) = self.stations.iter().find(|_| self.pipe().is_some()) {
            let problem = format!(
                "stands beside a trace in place of the air (as = \"pipe\"; see station {}); allowed are channels with contention",
                pipe.name
            );
            return Err(top.wrong(key, problem));
        }
        for channel in self.channels() {
            let Some(matrix) = self.hearing(channel) else { continue };
            let names = Names::on(self, channel);
            let deaf = names
                .links()
                .find(|(upper, lower, _)| !matrix.hears(*upper, *lower) || !matrix.hears(*lower, *upper));
            if let Some((_, _, station)) = deaf {
                let upper = station.via.as_deref().unwrap_or(ACCESS_POINT);
                let problem = format!(
                    "puts {} and {upper} where they do not hear each other; allowed are places with a signal above \
                     the threshold at both ends of a link",
                    station.name
                );
                return Err(top.table("hearing")?.wrong("places", problem));
            }
        }
        Ok(())
    }
}
