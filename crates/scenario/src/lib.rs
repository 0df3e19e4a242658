//! Scenario of a simulation, as a TOML file with units in its values: read strictly, and resolved with all defaults.
//!
//! `docs/reference/scenario-keys.md` is the reference of all keys.

mod absence;
mod access_point;
mod across;
mod air;
mod catalogue;
mod conference;
mod demand;
mod disturbance;
pub mod draft;
mod error;
mod fits;
mod flow;
mod hearing;
mod key;
mod link;
mod mistakes;
mod names;
mod network;
mod node;
mod overrides;
mod path;
mod people;
mod power_save;
mod propagation;
mod radio;
mod reference;
mod relay;
mod replay;
mod rtc;
mod scheme;
mod section;
mod shaper;
mod shipped;
mod size_law;
mod source;
mod station;
mod surroundings;
mod text;
mod trace_link;
mod transmit;

use key::{Key, key, table};
use std::collections::BTreeSet;
use std::path::Path as FilePath;

use airbound_units::Span;
use serde::Serialize;

pub use access_point::{AccessPoint, Uplink, Wire, WireWay};
pub use air::{Air, Edca, ErrorModel};
pub use airbound_air::absence::Absence;
pub use airbound_air::power_save::{PowerSave, Wake};
pub use airbound_air::propagation::{
    Activity, Blockage, ChannelSpec, Coming, Effect, Fading, Floor, Independence, Interference, LogDistance,
    Motion, Place as FloorPlace, Position, Shape, TraceLink, TraceUse, Walk, Wall,
};
pub use airbound_control::link::DriverOrder;
pub use catalogue::{Chapter, catalogue, rate_rules};
pub use conference::{Access, Client, Conference, Encoder, SessionTransport};
pub use demand::DemandSchedule;
pub use disturbance::{Load, Neighbour, Spells};
pub use error::{Place, ScenarioError};
pub use flow::{Bulk, Datagrams, Direction, Flow, ShortTransfers, TcpOptions, Traffic, Transport, VrStream};
pub use hearing::{Hearing, Places};
pub use network::Network;
pub use overrides::Overrides;
pub use path::{Form, Path, Preset};
pub use radio::{Capture, GivenLevels, MissedBlockAck, Radio};
pub use reference::reference_tables;
pub use rtc::{ErrorCorrection, RtcStream};
pub use scheme::{Part, Scheme, Slot, check_law};
pub use shaper::Shaper;
pub use shipped::{Shipped, find as find_shipped, shipped};
pub use size_law::SizeLaw;
pub use station::Station;
pub use trace_link::load_trace;

use hearing::Names;
use section::{Document, FromSection as _, Section, taken};

/// Strict reading of TOML, for other files that refer to scenarios: values with their position, and errors as sentences.
pub mod reading {
    pub use super::node::{Node, Origin, Value, parse_document, shortened, to_toml};
    pub use super::section::{Document, Section, nearest};
    pub use super::source::{LARGEST_FILE, bound, text_of};
}

/// A scenario with every value resolved: groups are expanded, defaults filled in, traces read.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Scenario {
    /// Title of one line.
    pub title: String,
    /// Description of its purpose.
    pub description: String,
    /// Measured time, after the warm-up.
    pub duration: Span,
    /// Simulated time before the measured time.
    pub warm_up: Span,
    /// Length of a window of the time series.
    pub window: Span,
    /// Seed of all randomness.
    pub seed: u64,
    /// The name of the flow, or group of flows, that the headline of results is about.
    pub focus: String,
    /// The names of the default schemes of `compare`.
    pub schemes: Vec<String>,
    /// The channel and the rules for all transmitters.
    pub air: Air,
    /// The access point.
    pub access_point: AccessPoint,
    /// Scheme of the run: queue, rate control, senders, session.
    pub scheme: Scheme,
    /// Queue, rate control and path of the stations.
    pub uplink: Uplink,
    /// The wired path between servers and access point.
    pub wire: Wire,
    /// Several networks, each with its own stations and flows; empty: a single one with all of them.
    #[serde(rename = "network", skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Network>,
    /// The stations; their index is their number.
    #[serde(rename = "station")]
    pub stations: Vec<Station>,
    /// The flows; their index is their number.
    #[serde(rename = "flow")]
    pub flows: Vec<Flow>,
    /// A multi-user video session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Conference>,
    /// Other networks on the channel.
    #[serde(rename = "neighbour")]
    pub neighbours: Vec<Neighbour>,
    /// Bursts of interference.
    #[serde(rename = "interference")]
    pub interferences: Vec<Interference>,
    /// The transmitters that each transmitter hears; `None`: all transmitters hear each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hearing: Option<Hearing>,
    /// The rules of a channel on which each frame is on the air by itself; `None`: a channel of whole exchanges, unless not all hear each
    /// other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radio: Option<Radio>,
}

const KEYS: &[Key] = &[
    key("title", "empty; to 5000 bytes", "one line"),
    key("description", "empty; to 5000 bytes", "text"),
    key("duration", "required; 1 ms–24 h", "measured time"),
    key("warm-up", r#"`"0 ms"`; with `duration` to 24 h"#, "simulated before, not measured"),
    key("window", r#"`"100 ms"`; 1 ms–1 h"#, "window of the time series"),
    key("seed", "1; 0 to 2^63 - 1", "seed of all randomness"),
    key("focus", "see below; flow, client or entry", "subject of the headline"),
    key("surroundings", "none; `calm` `office` `harsh` `hidden` `distant`", "preset of a place"),
    key("schemes", "see below; [names](#names-of-schemes)", "compared by `airbound compare`"),
    table("air"),
    table("access-point"),
    table("scheme"),
    table("uplink"),
    table("wire"),
    table("network"),
    table("station"),
    table("flow"),
    table("session"),
    table("neighbour"),
    table("interference"),
    table("hearing"),
    table("radio"),
];

/// The longest run.
const LONGEST: Span = Span::from_secs(86_400);
/// Default schemes of a comparison.
pub const DEFAULT_SCHEMES: [&str; 4] = ["fifo", "codel", "pie", "linux"];

impl Scenario {
    /// Opens a scenario by name: a file if there is one with this name, otherwise a shipped scenario.
    ///
    /// # Errors
    /// There is neither, or its content or an override is invalid.
    pub fn open(name: &str, overrides: &Overrides) -> Result<Self, ScenarioError> {
        if is_file(name) {
            return Self::load(FilePath::new(name), overrides);
        }
        shipped::find(name)?.load(overrides)
    }

    /// Reads a scenario file.
    ///
    /// # Errors
    /// The file cannot be read, or its content or an override is invalid.
    pub fn load(file: &FilePath, overrides: &Overrides) -> Result<Self, ScenarioError> {
        let name = file.display().to_string();
        let text = source::text_of(file)?;
        let folder = file.parent().unwrap_or(FilePath::new(""));
        Self::read(&text, &name, Some(folder), overrides)
    }

    /// Reads the text of a scenario; `origin` is its name in messages. File names in it are relative to the working
    /// directory.
    ///
    /// # Errors
    /// The text or an override is invalid.
    pub fn parse(text: &str, origin: &str, overrides: &Overrides) -> Result<Self, ScenarioError> {
        Self::read(text, origin, Some(FilePath::new("")), overrides)
    }

    fn read(
        text: &str,
        file: &str,
        folder: Option<&FilePath>,
        overrides: &Overrides,
    ) -> Result<Self, ScenarioError> {
        source::bound(text.len() as u64, file)?;
        Self::read_tree(node::parse_document(text, file)?, file, folder, overrides)
    }

    fn read_tree(
        mut root: node::Node,
        file: &str,
        folder: Option<&FilePath>,
        overrides: &Overrides,
    ) -> Result<Self, ScenarioError> {
        let options = overrides.options();
        let bases = overrides.bases();
        let document = Document { file, folder, options: &options, bases: &bases };
        // Values supplied by surroundings can be overridden like those of the file.
        overrides.choose(&mut root, surroundings::KEY);
        surroundings::fill_in(&mut root, &document)?;
        overrides.apply(&mut root)?;
        Self::from_section(&Section::top(&document, &root))
    }

    fn from_section(top: &Section<'_>) -> Result<Self, ScenarioError> {
        top.allow("a scenario", &[KEYS])?;
        if !top.has("duration") {
            return Err(top.missing("duration", "write for example duration = \"20 s\""));
        }
        let duration = top.ranged("duration", Span::from_secs(20), Span::from_millis(1)..=LONGEST)?;
        let warm_up = top.ranged("warm-up", Span::ZERO, Span::ZERO..=LONGEST)?;
        if duration + warm_up > LONGEST {
            return Err(top.wrong("warm-up", format!("and duration together exceed {LONGEST}")));
        }
        let air_section = top.table("air")?;
        let air = Air::read(&air_section)?;
        let access_point = AccessPoint::read(&top.table("access-point")?, &air_section, &air)?;
        let has_session = top.has("session");
        let scheme = Scheme::read(&top.table("scheme")?, has_session)?;
        let uplink = Uplink::read(&top.table("uplink")?, air.standard)?;
        let wire = Wire::read(&top.table("wire")?)?;
        let networks = network::read_all(top, &scheme)?;
        across::check_channels(top, &air, &networks)?;
        across::check_fixed_rates(top, (&air, &access_point), (&scheme, &uplink), &networks)?;
        let (stations, empty_groups) = read_stations(top, &air, &access_point, &uplink, &networks)?;
        let deciders =
            flow::Deciders { down: &scheme.queue, up: uplink.queue.as_ref().unwrap_or(&scheme.queue) };
        let session = Conference::read(top, &stations, &scheme.queue)?;
        let (flows, focus) = read_flows(top, &stations, &empty_groups, &wire, &deciders, session.as_ref())?;
        refuse_media_rate_for_tcp(top, &scheme, &flows)?;
        let (stations, flows, focus) = network::expand(top, &networks, &stations, flows, focus)?;
        if let Some(session) = &session {
            session.check(top, &scheme, &stations, duration + warm_up)?;
        }
        network::refuse_media_rate_for_tcp(top, &networks, &stations, &flows)?;
        across::refuse_effects_of_pipes(top, &access_point, &stations)?;
        let neighbours = read_all(top, "neighbour", Neighbour::read, |entry| &entry.name)?;
        let transmitters: u32 = neighbours.iter().map(|neighbour| neighbour.transmitters).sum();
        if transmitters > disturbance::MOST_TRANSMITTERS {
            return Err(top.wrong(
                "neighbour",
                format!(
                    "entries have {transmitters} transmitters; allowed are {} in all",
                    disturbance::MOST_TRANSMITTERS
                ),
            ));
        }
        let usual = session.as_ref().map_or(&DEFAULT_SCHEMES[..], Conference::usual_schemes);
        let schemes: Vec<String> = match top.texts("schemes")? {
            Some(names) if names.is_empty() => {
                return Err(top.wrong("schemes", "is empty; name at least one, such as \"linux\""));
            }
            Some(names) => names.into_iter().map(str::to_owned).collect(),
            None => usual.iter().map(|name| (*name).to_owned()).collect(),
        };
        for name in &schemes {
            scheme.named(name, &top.place_of("schemes"))?;
        }
        let names = Names::of(&networks, &stations, &neighbours, &empty_groups);
        let hearing = hearing::read(top, &names)?;
        let radio = radio::read(top, hearing.as_ref(), &names)?;
        let scenario = Self {
            title: read_line(top, "title")?,
            description: read_line(top, "description")?,
            duration,
            warm_up,
            window: top.ranged(
                "window",
                Span::from_millis(100),
                Span::from_millis(1)..=Span::from_secs(3600),
            )?,
            seed: top.whole("seed", 1, 0..=u64::MAX >> 1)?,
            focus,
            schemes,
            air,
            access_point,
            scheme,
            uplink,
            wire,
            networks,
            stations,
            flows,
            session,
            neighbours,
            interferences: read_all(top, "interference", Interference::read, |entry| &entry.name)?,
            hearing,
            radio,
        };
        scenario.check_hearing(top)?;
        Ok(scenario)
    }

    /// The resolved scenario as TOML: reading it again gives the same scenario.
    #[must_use]
    pub fn to_toml(&self) -> String {
        // Serialising plain structs of texts and finite numbers cannot fail.
        toml::to_string(self).unwrap_or_default()
    }

    /// End of the run, counted from its beginning.
    #[must_use]
    pub fn end(&self) -> Span {
        self.warm_up + self.duration
    }

    /// Sentences on what is allowed and hardly meant: flows that start after the end of the run, or stop before it is measured; traces
    /// faster than the radio that they drive; stations out of range.
    pub fn doubts(&self) -> impl Iterator<Item = String> + '_ {
        let end = self.end();
        let traces = self.stations.iter().filter_map(|station| trace_link::doubt(station, &self.air));
        let distances = self.stations.iter().filter_map(|station| link::doubt(station, &self.air));
        let flows = self.flows.iter().filter_map(move |flow| {
            let Flow { name, group, start, stop, .. } = flow;
            let early = stop.filter(|stop| *stop <= self.warm_up.max(*start));
            if *start >= end {
                Some(format!(
                    "flow {name} starts at {start} and the run ends at {end}, so it sends nothing; lower flow.{group}.start, or lengthen duration"
                ))
            } else {
                early.map(|stop| {
                    format!(
                        "flow {name} stops at {stop} and the measured time begins at {}, so nothing of it is measured; raise flow.{group}.stop, or lower warm-up",
                        self.warm_up
                    )
                })
            }
        });
        flows.chain(traces).chain(distances)
    }

    /// The flows that the headline is about.
    pub fn focus_flows(&self) -> impl Iterator<Item = (usize, &Flow)> {
        self.flows.iter().enumerate().filter(|(_, flow)| flow.name == self.focus || flow.group == self.focus)
    }

    /// Returns the name of the headline's subject in results: the first of the flows, or the received traffic of a session's first
    /// client.
    #[must_use]
    pub fn focus_name(&self) -> Option<String> {
        let client = self.session.as_ref().and_then(|session| session.client(&self.focus));
        client.map(Client::down).or_else(|| self.focus_flows().next().map(|(_, flow)| flow.name.clone()))
    }

    /// The clients of its session that are not on the air.
    pub fn clients_elsewhere(&self) -> impl Iterator<Item = &Client> {
        let clients = self.session.iter().flat_map(|session| &session.clients);
        clients.filter(|client| !matches!(client.access, Access::Station(_)))
    }

    /// The traces of its channels and access links.
    pub fn traces(&self) -> impl Iterator<Item = &TraceLink> {
        let stations = self.stations.iter().filter_map(|station| match &station.channel {
            ChannelSpec::Trace(link) => Some(link),
            _ => None,
        });
        let clients = self.session.iter().flat_map(|session| &session.clients);
        stations.chain(clients.filter_map(|client| match &client.access {
            Access::Trace(link) => Some(link),
            _ => None,
        }))
    }

    /// The number of the station with this name.
    #[must_use]
    pub fn station_index(&self, name: &str) -> Option<usize> {
        self.stations.iter().position(|station| station.name == name)
    }

    /// Whether any station is behind a relay.
    #[must_use]
    pub fn has_relays(&self) -> bool {
        self.stations.iter().any(|station| station.via.is_some())
    }

    /// Returns the scenario with another scheme, named as in `--schemes`.
    ///
    /// # Errors
    /// The name is invalid; see [`Scheme::with_name`].
    pub fn with_scheme(&self, name: &str) -> Result<Self, ScenarioError> {
        Ok(Self { scheme: self.scheme.with_name(name)?, ..self.clone() })
    }
}

/// Whether the name of a scenario is that of a file: there is one, or the name looks like it. A folder beside a shipped scenario of the
/// same name does not count.
fn is_file(name: &str) -> bool {
    let file = FilePath::new(name);
    let is_shipped = || shipped().iter().any(|scenario| scenario.name == name);
    name.contains(['/', '\\'])
        || name.ends_with(".toml")
        || file.is_file()
        || (file.exists() && !is_shipped())
}

fn read_line(top: &Section<'_>, key: &str) -> Result<String, ScenarioError> {
    let text = top.text(key)?.unwrap_or_default();
    if text.len() > 5000 {
        return Err(top.wrong(key, format!("has {} bytes; allowed are 5000", text.len())));
    }
    Ok(text.to_owned())
}

fn read_stations(
    top: &Section<'_>,
    air: &Air,
    access_point: &AccessPoint,
    uplink: &Uplink,
    networks: &[Network],
) -> Result<(Vec<Station>, Vec<String>), ScenarioError> {
    let most = station::MOST_STATIONS * networks.len().max(1);
    let mut stations: Vec<Station> = Vec::new();
    let mut entries = Vec::new();
    let mut empty_groups = Vec::new();
    let mut names = BTreeSet::new();
    for section in top.tables("station")? {
        let members = station::read(&section, top, air, access_point, uplink.preset)?;
        if members.is_empty() {
            empty_groups.push(station::read_name(&section)?);
        }
        let first = stations.len();
        for station in members {
            if !names.insert(station.name.clone()) {
                return Err(taken(top, "station", &section, &station.name));
            }
            stations.push(station);
        }
        if stations.len() > most {
            let key = if section.has("count") { "count" } else { "name" };
            return Err(section.wrong(
                key,
                format!(
                    "brings the number of stations to {}; a scenario has at most {}",
                    stations.len(),
                    most
                ),
            ));
        }
        entries.push(relay::Entry { section, members: first..stations.len() });
    }
    relay::connect(&entries, &mut stations)?;
    across::check_uplink(top, uplink.preset, &entries, &stations)?;
    refuse_sleeping_relays(&entries, &stations)?;
    network::check(top, networks, &entries, &stations)?;
    if stations.is_empty() && !top.has("session") {
        return Err(top.missing("station", "write at least one [[station]]"));
    }
    Ok((stations, empty_groups))
}

/// A relay that sleeps would hold its stations' frames, which is not modelled.
fn refuse_sleeping_relays(entries: &[relay::Entry<'_>], stations: &[Station]) -> Result<(), ScenarioError> {
    let is_relay = |name: &str| stations.iter().any(|station| station.via.as_deref() == Some(name));
    for entry in entries {
        let mut members = stations.get(entry.members.clone()).into_iter().flatten();
        if members.any(|station| station.power_save.is_some() && is_relay(&station.name)) {
            let problem = "is not allowed, since others are reached over the station";
            return Err(entry.section.wrong("power-save", problem));
        }
    }
    Ok(())
}

fn read_flows(
    top: &Section<'_>,
    stations: &[Station],
    empty_groups: &[String],
    wire: &Wire,
    deciders: &flow::Deciders<'_>,
    session: Option<&Conference>,
) -> Result<(Vec<Flow>, String), ScenarioError> {
    let mut entries = Vec::new();
    let mut names = BTreeSet::new();
    let mut total = 0;
    for section in top.tables("flow")? {
        let entry = flow::read(&section, stations, empty_groups, wire.way, deciders)?;
        for flow in &entry.flows {
            if !names.insert(flow.name.clone()) {
                return Err(taken(top, "flow", &section, &flow.name));
            }
        }
        total += entry.flows.len();
        if total > flow::MOST_FLOWS {
            return Err(section.wrong(
                "name",
                format!("brings the number of flows to {total}; a scenario has at most {}", flow::MOST_FLOWS),
            ));
        }
        entries.push(entry);
    }
    let all = || entries.iter().flat_map(|entry| &entry.flows);
    let focus = match top.text("focus")? {
        Some(name) => {
            let is_client = session.is_some_and(|session| session.client(name).is_some());
            if !is_client && !all().any(|flow| flow.name == name || flow.group == name) {
                let clients = session.iter().flat_map(|session| session.groups());
                let known: Vec<&str> =
                    clients.chain(entries.iter().map(|entry| entry.name.as_str())).take(20).collect();
                let known = match known.as_slice() {
                    [] => "there is no flow".to_owned(),
                    known => format!("flows are {}", known.join(", ")),
                };
                let name = node::shortened(name);
                let problem = format!("is \"{name}\", which is not the name of a flow; {known}");
                return Err(top.wrong("focus", problem));
            }
            name.to_owned()
        }
        // The focus defaults to the flow with a deadline, or the first.
        None => {
            let vr = all().find(|flow| matches!(flow.traffic, Traffic::Vr(_) | Traffic::Rtc(_)));
            let client = session.and_then(|session| session.groups().next());
            match client.or_else(|| vr.or_else(|| all().next()).map(|flow| flow.group.as_str())) {
                Some(group) => group.to_owned(),
                None => return Err(top.missing("flow", "write at least one [[flow]]")),
            }
        }
    };
    let mut flows = Vec::with_capacity(total);
    for entry in entries {
        for mut flow in entry.flows {
            let focused = flow.name == focus || flow.group == focus;
            flow.protected = entry.protected.unwrap_or(focused || flow.demand.is_some());
            flows.push(flow);
        }
    }
    Ok((flows, focus))
}

/// Refuses combinations that could not be built later.
fn refuse_media_rate_for_tcp(
    top: &Section<'_>,
    scheme: &Scheme,
    flows: &[Flow],
) -> Result<(), ScenarioError> {
    let takes_it = |flow: &&Flow| flow.traffic.tcp().is_some_and(|tcp| tcp.congestion.is_none());
    match flows.iter().find(takes_it).filter(|_| scheme.sender.is_media_rate()) {
        None => Ok(()),
        Some(flow) => Err(top.table("scheme")?.wrong(
            "sender",
            format!(
                "is \"{}\", but flow {} is TCP; give it congestion = {}",
                scheme.sender.kind(),
                flow.name,
                scheme::tcp_senders("\"")
            ),
        )),
    }
}

fn read_all<T>(
    top: &Section<'_>,
    key: &str,
    read: impl Fn(&Section<'_>) -> Result<T, ScenarioError>,
    name: impl Fn(&T) -> &String,
) -> Result<Vec<T>, ScenarioError> {
    let mut all: Vec<T> = Vec::new();
    for section in top.tables(key)? {
        let entry = read(&section)?;
        if all.iter().any(|other| name(other) == name(&entry)) {
            return Err(taken(top, key, &section, name(&entry)));
        }
        if all.len() >= 200 {
            return Err(section.wrong("name", format!("is the 201st {key}; allowed are 200")));
        }
        all.push(entry);
    }
    Ok(all)
}
