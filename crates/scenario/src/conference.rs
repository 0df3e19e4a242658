//! `[session]`: a multi-user video session over a forwarding server.

use airbound_senders::congestion::Congestion;
use airbound_senders::rtp::rate::RateRule;
use airbound_senders::tcp::TcpConfig;
use airbound_units::{BitRate, ByteCount, Span};
use serde::{Serialize, Serializer};

use super::demand::DemandSchedule;
use super::error::ScenarioError;
use super::key::{Key, key};
use super::node::{Value, shortened};
use super::scheme::{SESSION_SENDERS, Scheme, Slot};
use super::section::Section;
use super::station::{Station, members, read_name};
use super::trace_link;
use super::{Datagrams, Direction, Flow, Traffic, WireWay};
use airbound_air::propagation::TraceLink;
use airbound_wifi::Category;

/// Clients around a forwarding server: each sends its video to it, and receives that of all others.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Conference {
    /// Rate of the server's outbound link; `None` for no limit.
    #[serde(serialize_with = "or_ample")]
    pub server: Option<BitRate>,
    /// One-way delay between server and access links.
    pub delay: Span,
    /// Congestion control of all streams, which names their transport. Plum's testbed has TCP with BBR.
    pub congestion: Slot,
    /// Video encoder of all clients.
    pub encoder: Encoder,
    /// The clients; their index is their number.
    #[serde(rename = "client")]
    pub clients: Vec<Client>,
}

/// The transport of a session's streams.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionTransport {
    /// TCP.
    Tcp(Box<TcpConfig>),
    /// RTP with a rule for the rate, as between browsers.
    Rtp(RateRule),
}

impl From<Congestion> for SessionTransport {
    fn from(congestion: Congestion) -> Self {
        Self::Tcp(Box::new(TcpConfig { congestion, ..TcpConfig::default() }))
    }
}

/// A video encoder (Plum's public code: 20 frames a second, 1 to 10 Mb/s).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Encoder {
    /// Frames per second.
    pub fps: f64,
    /// Lowest bitrate.
    #[serde(rename = "min-rate")]
    pub least: BitRate,
    /// Highest bitrate.
    #[serde(rename = "max-rate")]
    pub most: BitRate,
    /// Unsent bytes above which the bitrate is halved.
    pub backlog: ByteCount,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            fps: 20.0,
            least: BitRate::from_mbps(1),
            most: BitRate::from_mbps(10),
            backlog: ByteCount::new(18_000),
        }
    }
}

impl Encoder {
    /// Time between two frames.
    #[must_use]
    pub fn interval(&self) -> Span {
        Span::from_secs_f64(1.0 / self.fps)
    }
}

/// A client of the session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Client {
    /// Its name, unique among the clients.
    pub name: String,
    /// The name of the `[[session.client]]` entry it comes from; its own if the entry makes one client.
    pub group: String,
    /// Weight in the policy's utility, 0.001 to 1000.
    pub weight: f64,
    /// The latency demand on packets from the access point to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demand: Option<DemandSchedule>,
    /// Its access link to the server.
    #[serde(flatten)]
    pub access: Access,
}

/// The access link of a client.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// The air of the scenario, by the name of a station.
    Station(String),
    /// A half-duplex pipe of this rate.
    Rate(BitRate),
    /// A wire of this rate in each direction.
    Wire(BitRate),
    /// A half-duplex pipe whose rate follows a trace.
    Trace(TraceLink),
}

pub(super) const KEYS: &[Key] = &[
    key("server", r#"`"ample"`; 0.1 Mbit/s–100 Gbit/s"#, "most that it sends"),
    key("delay", r#"`"10 ms"`; 0–10 s"#, "one way, to access links"),
    key("congestion", "**`bbr`** `cubic` `reno`, a [rule](#rules-for-the-rate-of-video)", "of all streams"),
    key("encoder", "`{}`", "[of all clients](#sessionencoder)"),
    key("client", "required; 2–64 in all", "[clients](#sessionclient)"),
];
pub(super) const ENCODER_KEYS: &[Key] = &[
    key("fps", "20; 1–240", "frames a second"),
    key("min-rate", r#"`"1 Mbit/s"`; 10 kbit/s–`max-rate`"#, "lowest bitrate"),
    key("max-rate", r#"`"10 Mbit/s"`; 10 kbit/s–1 Gbit/s"#, "highest bitrate"),
    key("backlog", r#"`"18 kB"`; 1.5 kB–10 MB"#, "more unsent halves the bitrate"),
];
pub(super) const CLIENT_KEYS: &[Key] = &[
    key("name", "required", ""),
    key("group", "its name", "of all members together"),
    key("count", "1; 1–64", "not with `station`"),
    key("weight", "1; 0.001–1000", "in Plum's utility"),
    key("demand", "none; [as of a flow](#demand)", "with `station`: packets to it"),
];
pub(super) const ACCESS_KEYS: &[Key] = &[
    key("station", "one of four; a station or a group", "on the air of this scenario"),
    key("rate", "one of four; 0.1 Mbit/s–100 Gbit/s", "half-duplex pipe"),
    key("wire", "one of four; 0.1 Mbit/s–100 Gbit/s", "wire, each direction"),
    key("trace", "one of four; a table", "pipe with the trace's speed"),
];

/// Default session schemes of `compare` over TCP, and over other transports.
const OVER_TCP: &[&str] = &["plain", "last-n", "tack", "plum"];
const OVER_OTHERS: &[&str] = &["plain", "last-n", "plum", "room"];
/// Upper limit on clients of a session.
const MOST_CLIENTS: usize = 64;
/// The longest session: counters by second, client and source are kept in memory.
const LONGEST: Span = Span::from_secs(3600);

impl Conference {
    /// Reads `[session]`, if there is one; `queue` is that of the downlink to the stations.
    pub(super) fn read(
        top: &Section<'_>,
        stations: &[Station],
        queue: &Slot,
    ) -> Result<Option<Self>, ScenarioError> {
        if !top.has("session") {
            return Ok(None);
        }
        let section = top.table("session")?;
        section.allow("a session", &[KEYS])?;
        let server = match section.get("server").map(|node| &node.value) {
            None => None,
            Some(Value::Text(word)) if word == "ample" => None,
            Some(_) => Some(speed(&section, "server").map_err(|error| error.or("\"ample\""))?),
        };
        let mut clients: Vec<Client> = Vec::new();
        for entry in section.tables("client")? {
            for client in read_clients(&entry, stations, queue)? {
                if clients.iter().any(|known| known.name == client.name) {
                    let problem = format!("is \"{}\", which is already taken", client.name);
                    return Err(entry.wrong("name", problem));
                }
                if let Access::Station(name) = &client.access
                    && clients.iter().any(|known| known.access == client.access)
                {
                    return Err(entry.wrong("station", format!("is {name}, which is already a client")));
                }
                clients.push(client);
            }
        }
        if !(2..=MOST_CLIENTS).contains(&clients.len()) {
            let problem = format!("makes {} clients; allowed are 2 to {MOST_CLIENTS}", clients.len());
            return Err(section.wrong("client", problem));
        }
        Ok(Some(Self {
            server,
            delay: section.ranged("delay", Span::from_millis(10), Span::ZERO..=Span::from_secs(10))?,
            congestion: Slot::read(&section, "congestion", SESSION_SENDERS)?
                .unwrap_or_else(|| Slot::plain(Congestion::Bbr.name())),
            encoder: read_encoder(&section.table("encoder")?)?,
            clients,
        }))
    }

    /// Refuses other parts of the scenario that do not fit a session.
    pub(super) fn check(
        &self,
        top: &Section<'_>,
        scheme: &Scheme,
        stations: &[Station],
        end: Span,
    ) -> Result<(), ScenarioError> {
        if let Some(slot) = &scheme.session
            && self.congestion.is_media_rate()
            && slot.name() == "tack"
        {
            let problem = format!(
                "is tack, which spaces TCP's acknowledgements; with congestion = \"{}\" plain, last-n, plum and room are allowed",
                self.congestion.kind()
            );
            return Err(top.table("scheme")?.wrong("session", problem));
        }
        if end > LONGEST {
            return Err(
                top.wrong("duration", format!("and warm-up make {end}; a session lasts {LONGEST} at most"))
            );
        }
        let is_unknown = |name: &String| stations.iter().all(|station| station.name != *name);
        let away = self.clients.iter().find_map(|client| match &client.access {
            Access::Station(name) if is_unknown(name) => Some(name),
            _ => None,
        });
        match away {
            None => Ok(()),
            Some(station) => Err(top.table("session")?.wrong(
                "client",
                format!("{station} is a station of several networks; give its [[station]] one network"),
            )),
        }
    }

    /// The schemes of a comparison that names none.
    #[must_use]
    pub fn usual_schemes(&self) -> &'static [&'static str] {
        if self.congestion.is_media_rate() { OVER_OTHERS } else { OVER_TCP }
    }

    /// The transport of all streams.
    ///
    /// # Errors
    /// A parameter is unknown or of the wrong type.
    pub fn transport(&self) -> Result<SessionTransport, String> {
        Ok(match self.congestion.media_rate()? {
            Some(rule) => SessionTransport::Rtp(rule),
            None => SessionTransport::Tcp(Box::new(self.congestion.tcp_config()?)),
        })
    }

    /// The first client with this name, or of this entry.
    pub(super) fn client(&self, name: &str) -> Option<&Client> {
        self.clients.iter().find(|client| client.name == name || client.group == name)
    }

    /// The names of the entries.
    pub(super) fn groups(&self) -> impl Iterator<Item = &str> {
        self.clients.iter().map(|client| client.group.as_str())
    }
}

impl Client {
    /// Returns the name of its received traffic in results.
    #[must_use]
    pub fn down(&self) -> String {
        format!("{} down", self.name)
    }

    /// Returns the name of its sent traffic in results.
    #[must_use]
    pub fn up(&self) -> String {
        format!("{} up", self.name)
    }

    /// The flows that carry its packets on the air, up and down: they have its demand, and send nothing themselves.
    #[must_use]
    pub fn flows(&self) -> [Flow; 2] {
        let station = match &self.access {
            Access::Station(station) => station.as_str(),
            _ => "",
        };
        [Direction::Up, Direction::Down].map(|direction| {
            let is_down = direction == Direction::Down;
            let demand = self.demand.clone().filter(|_| is_down);
            Flow {
                name: if is_down { self.down() } else { self.up() },
                group: self.group.clone(),
                station: station.to_owned(),
                direction,
                category: Category::Be,
                start: Span::ZERO,
                stop: None,
                protected: demand.is_some(),
                demand,
                // A session has a delay of its own.
                wire: WireWay { delay: Span::ZERO, loss: 0.0, jitter: Span::ZERO },
                traffic: Traffic::Cbr(Datagrams { rate: BitRate::ZERO, size: ByteCount::new(1000) }),
            }
        })
    }

    /// Whether its access link is this station.
    #[must_use]
    pub fn is_on(&self, station: &str) -> bool {
        matches!(&self.access, Access::Station(name) if name == station)
    }
}

fn speed(section: &Section<'_>, key: &str) -> Result<BitRate, ScenarioError> {
    section.ranged(key, BitRate::from_mbps(50), BitRate::from_kbps(100)..=BitRate::from_mbps(100_000))
}

fn read_encoder(section: &Section<'_>) -> Result<Encoder, ScenarioError> {
    section.allow("an encoder", &[ENCODER_KEYS])?;
    let default = Encoder::default();
    let rates = BitRate::from_kbps(10)..=BitRate::from_mbps(1000);
    let encoder = Encoder {
        fps: section.number("fps", default.fps, 1.0..=240.0)?,
        least: section.ranged("min-rate", default.least, rates.clone())?,
        most: section.ranged("max-rate", default.most, rates)?,
        backlog: section.ranged(
            "backlog",
            default.backlog,
            ByteCount::new(1500)..=ByteCount::new(10_000_000),
        )?,
    };
    if encoder.least > encoder.most {
        let problem = format!("is {}, below min-rate, which is {}", encoder.most, encoder.least);
        return Err(section.wrong("max-rate", problem));
    }
    Ok(encoder)
}

fn read_clients(
    section: &Section<'_>,
    stations: &[Station],
    queue: &Slot,
) -> Result<Vec<Client>, ScenarioError> {
    section.allow("a client", &[CLIENT_KEYS, ACCESS_KEYS])?;
    let name = read_name(section)?;
    let given: Vec<&str> = ACCESS_KEYS.iter().map(|key| key.name).filter(|key| section.has(key)).collect();
    let links: Vec<Access> = match given.as_slice() {
        ["station"] => own_stations(section, stations)?,
        ["rate"] => vec![Access::Rate(speed(section, "rate")?)],
        ["wire"] => vec![Access::Wire(speed(section, "wire")?)],
        ["trace"] => vec![Access::Trace(trace_link::read_pipe(&section.table("trace")?)?)],
        [] => return Err(section.missing("station", "a client needs one of station, rate, wire, trace")),
        [.., other] => {
            let problem = format!(
                "is a second access link besides {}; allowed is one of station, rate, wire, trace",
                given[0]
            );
            return Err(section.wrong(other, problem));
        }
    };
    let on_air = given == ["station"];
    if on_air && section.has("count") {
        return Err(section.wrong("count", "is not allowed with station; write it in the [[station]]"));
    }
    let count = section.whole("count", 1, 1..=MOST_CLIENTS)?;
    let demand = DemandSchedule::read(section, queue.shortest_demand())?;
    if demand.is_some() && !on_air {
        return Err(
            section.wrong("demand", "is only allowed for clients on the air, where a queue can meet it")
        );
    }
    let links: Vec<Access> = if on_air { links } else { links.into_iter().cycle().take(count).collect() };
    let total = links.len();
    let client = Client {
        group: section.text("group")?.unwrap_or(&name).to_owned(),
        weight: section.number("weight", 1.0, 0.001..=1000.0)?,
        demand,
        access: Access::Station(String::new()),
        name,
    };
    let named = links.into_iter().zip(members(total));
    Ok(named
        .map(|(access, suffix)| Client { name: format!("{}{suffix}", client.name), access, ..client.clone() })
        .collect())
}

/// The stations named by a client's `station`.
fn own_stations(section: &Section<'_>, stations: &[Station]) -> Result<Vec<Access>, ScenarioError> {
    let wanted = section.text("station")?.unwrap_or_default();
    let own: Vec<&Station> =
        stations.iter().filter(|station| station.name == wanted || station.group == wanted).collect();
    if own.is_empty() {
        return Err(section
            .wrong("station", format!("is \"{}\", which is not the name of a station", shortened(wanted))));
    }
    if let Some(station) = own.iter().find(|station| station.via.is_some()) {
        let problem =
            format!("is {}, which is behind a relay; a client has to hear the access point", station.name);
        return Err(section.wrong("station", problem));
    }
    Ok(own.into_iter().map(|station| Access::Station(station.name.clone())).collect())
}

/// The rate, or "ample".
fn or_ample<S: Serializer>(value: &Option<BitRate>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(rate) => serializer.collect_str(rate),
        None => serializer.serialize_str("ample"),
    }
}
