//! `[hearing]`: who hears whom, by names or by places and walls.

use std::collections::BTreeMap;

use airbound_air::channel::TxId;
use airbound_air::hearing::Hearing as Matrix;
use airbound_air::propagation::{Floor, Place, Wall};
use airbound_units::{Dbm, Decibel, Metre};
use serde::Serialize;

use super::error::ScenarioError;
use super::node::{Node, Value, shortened};
use super::section::{Section, nearest};
use super::{Neighbour, Scenario, Station};

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

/// The names of transmitters, in the order of their numbers on the channel.
pub(super) struct Names<'a> {
    /// Name and group of each.
    nodes: Vec<(&'a str, &'a str)>,
    /// Groups without a member.
    empty: &'a [String],
}

impl<'a> Names<'a> {
    pub(super) const fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn of(stations: &'a [Station], neighbours: &'a [Neighbour], empty: &'a [String]) -> Self {
        let stations = stations.iter().map(|station| (station.name.as_str(), station.group.as_str()));
        let neighbours = neighbours.iter().flat_map(|neighbour| {
            std::iter::repeat_n(
                (neighbour.name.as_str(), neighbour.name.as_str()),
                neighbour.transmitters as usize,
            )
        });
        let nodes = std::iter::once((ACCESS_POINT, ACCESS_POINT)).chain(stations).chain(neighbours).collect();
        Self { nodes, empty }
    }

    /// The transmitters with this name, or of the group with this name.
    pub(super) fn numbers(&self, wanted: &str) -> impl Iterator<Item = TxId> + '_ {
        let wanted = wanted.to_owned();
        let nodes = self.nodes.iter().zip(0..);
        nodes
            .filter(move |((name, group), _)| *name == wanted || *group == wanted)
            .map(|(_, number)| TxId(number))
    }

    /// Refuses a name that nothing has.
    pub(super) fn check(&self, section: &Section<'_>, key: &str, name: &str) -> Result<(), ScenarioError> {
        if self.numbers(name).next().is_some() || self.empty.iter().any(|empty| empty == name) {
            return Ok(());
        }
        let known = || self.nodes.iter().flat_map(|(name, group)| [*group, *name]);
        let hint = match nearest(name, known()) {
            Some(name) => format!("did you mean {name}?"),
            None => {
                let mut groups: Vec<&str> = self.nodes.iter().map(|(_, group)| *group).collect();
                groups.dedup();
                groups.truncate(20);
                format!("allowed are {}", groups.join(", "))
            }
        };
        let name = shortened(name);
        Err(ScenarioError::Value {
            place: section.place_of(key),
            key: section.key(&shortened(key)),
            problem: format!("names \"{name}\", which is no station, group or neighbour; {hint}"),
        })
    }
}

const PLACES_KEYS: &[&str] = &["threshold", "size", "exponent", "reference-loss", "walls", "places"];
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
            section.allow("hearing by a matrix", &[&["matrix"]])?;
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

    /// The place of a transmitter: its own, or that of its group.
    fn place_of(&self, (name, group): (&str, &str)) -> Option<Place> {
        self.places.get(name).or_else(|| self.places.get(group)).copied()
    }

    /// The places of all transmitters, by number.
    pub(super) fn of_all<'b>(&'b self, names: &'b Names<'_>) -> impl Iterator<Item = Option<Place>> + 'b {
        names.nodes.iter().map(|node| self.place_of(*node))
    }

    fn check_nodes(&self, section: &Section<'_>, names: &Names<'_>) -> Result<(), ScenarioError> {
        match names.nodes.iter().find(|names| self.place_of(**names).is_none()) {
            None => Ok(()),
            Some((name, _)) => {
                let problem = format!("gives no place to {name}; allowed is a place for each transmitter");
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
    /// The transmitters that each hears, by number: the access point, the stations, the transmitters of neighbours. `None` if all hear each other.
    #[must_use]
    pub fn hearing(&self) -> Option<Matrix> {
        let hearing = self.hearing.as_ref()?;
        let names = Names::of(&self.stations, &self.neighbours, &[]);
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
                for (upper, lower) in self.links() {
                    matrix.set(upper, lower, true);
                    matrix.set(lower, upper, true);
                }
            }
            Hearing::Places(places) => {
                let all: Vec<Option<Place>> = places.of_all(&names).collect();
                for (listener, here) in numbers().zip(&all) {
                    for (sender, there) in numbers().zip(&all) {
                        if let (Some(here), Some(there)) = (here, there) {
                            let signal = self.air.tx_power - places.floor.loss(*there, *here);
                            matrix.set(listener, sender, signal >= places.threshold);
                        }
                    }
                }
            }
        }
        (!matrix.is_complete()).then_some(matrix)
    }

    /// The links between stations and the next nodes on their paths, by number.
    fn links(&self) -> impl Iterator<Item = (TxId, TxId)> + '_ {
        self.stations.iter().zip(1..).map(|(station, number)| {
            let relay = station.via.as_deref().and_then(|relay| self.station_index(relay));
            (TxId(relay.map_or(0, |relay| relay as u16 + 1)), TxId(number))
        })
    }

    /// Refuses a hearing, or frames on the air by themselves, that the rest of the scenario does not go with.
    pub(super) fn check_hearing(&self, top: &Section<'_>) -> Result<(), ScenarioError> {
        let key = match (&self.hearing, &self.radio) {
            (None, None) => return Ok(()),
            (Some(_), _) => "hearing",
            (None, Some(_)) => "radio",
        };
        if !self.networks.is_empty() {
            let problem = "stands beside [[network]]; allowed is a scenario of one network";
            return Err(top.wrong(key, problem));
        }
        if let Some(pipe) = self.stations.iter().find(|_| self.pipe().is_some()) {
            let problem = format!(
                "stands beside a trace in place of the air (as = \"pipe\"; see station {}); allowed are channels with contention",
                pipe.name
            );
            return Err(top.wrong(key, problem));
        }
        if let Some(station) = self.stations.iter().find(|station| station.power_save.is_some()) {
            let problem = format!(
                "stands beside power-save of station {}; allowed are stations that always listen",
                station.name
            );
            return Err(top.wrong(key, problem));
        }
        let Some(matrix) = self.hearing() else { return Ok(()) };
        let deaf = self
            .links()
            .find(|(upper, lower)| !matrix.hears(*upper, *lower) || !matrix.hears(*lower, *upper));
        match deaf.and_then(|(_, lower)| self.stations.get(usize::from(lower.0).saturating_sub(1))) {
            None => Ok(()),
            Some(station) => {
                let upper = station.via.as_deref().unwrap_or(ACCESS_POINT);
                let problem = format!(
                    "puts {} and {upper} where they do not hear each other; allowed are places with a signal above \
                     the threshold at both ends of a link",
                    station.name
                );
                Err(top.table("hearing")?.wrong("places", problem))
            }
        }
    }
}
