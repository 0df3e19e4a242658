//! `[[flow]]`: traffic between servers and stations.

use airbound_traffic::FrameLaw;
use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::Category;
use serde::{Serialize, Serializer};

use super::access_point::WireWay;
use super::demand::DemandSchedule;
use super::error::ScenarioError;
use super::key::{Key, key};
use super::node::{Node, Value};
use super::replay::{REPLAY_KEYS, Replayed};
use super::rtc::{RTC_KEYS, RtcStream};
use super::scheme::{Slot, TCP_SENDERS};
use super::section::{Section, nearest};
use super::size_law::{SizeLaw, read_size_law};
use super::station::{Station, members, read_name};
use super::text;

/// One flow between a server behind the wire and a station.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Flow {
    /// Its name, unique among the flows.
    pub name: String,
    /// The name of the `[[flow]]` entry it comes from; its own if the entry makes one flow.
    pub group: String,
    /// The name of its station.
    pub station: String,
    /// Direction of its data.
    pub direction: Direction,
    /// The access category of its packets.
    pub category: Category,
    /// Its start, counted from the beginning of the run (warm-up included).
    pub start: Span,
    /// Its end; `None` lasts to the end of the run.
    #[serde(serialize_with = "or_end")]
    pub stop: Option<Span>,
    /// Whether the scheme is meant to protect it; a report sums up the cost to the others.
    pub protected: bool,
    /// Its latency demand, which a scheme with protected flows tries to meet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demand: Option<DemandSchedule>,
    /// Its own delay, loss and jitter on the wire.
    pub wire: WireWay,
    /// Its traffic.
    #[serde(flatten)]
    pub traffic: Traffic,
}

impl Flow {
    /// Whether it is best effort, has a demand and needs at most `most`, as far as its rate is known.
    #[must_use]
    pub fn is_thin(&self, most: BitRate) -> bool {
        let needs = match &self.traffic {
            Traffic::Cbr(datagrams) | Traffic::Poisson(datagrams) => Some(datagrams.rate),
            Traffic::Vr(stream) => Some(stream.rate),
            Traffic::Rtc(stream) => Some(stream.rate),
            Traffic::Voip => Some(BitRate::ZERO),
            Traffic::Paced(_) | Traffic::Tcp(_) | Traffic::TcpShort(_) | Traffic::Replay(_) => None,
        };
        self.category == Category::Be && self.demand.is_some() && needs.is_some_and(|needs| needs <= most)
    }
}

/// Direction of a flow's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the access point to the station.
    Down,
    /// From the station to the access point.
    Up,
}

/// Traffic of a flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Traffic {
    /// UDP packets at constant intervals.
    Cbr(Datagrams),
    /// UDP packets at exponential intervals.
    Poisson(Datagrams),
    /// UDP packets at equal distances, whose rate the scheme's sender allocates if it can, and is constant otherwise.
    Paced(Datagrams),
    /// G.711 over RTP: 50 packets a second of 160 B and RTP's 12 B.
    Voip,
    /// TCP with an unlimited backlog.
    Tcp(Bulk),
    /// TCP transfers that begin at exponential intervals, each in its own connection.
    TcpShort(ShortTransfers),
    /// A stream of rendered frames, as of a VR server.
    Vr(VrStream),
    /// Real-time video as in WebRTC.
    Rtc(RtcStream),
    /// UDP packets at recorded times.
    Replay(Replayed),
}

impl Traffic {
    /// Returns the options of its TCP connections; `None` if it does not send over TCP.
    #[must_use]
    pub fn tcp(&self) -> Option<&TcpOptions> {
        match self {
            Self::Tcp(bulk) => Some(&bulk.tcp),
            Self::TcpShort(transfers) => Some(&transfers.tcp),
            Self::Vr(stream) if stream.transport == Transport::Tcp => Some(&stream.tcp),
            _ => None,
        }
    }

    /// Whether it adapts to its path: TCP and real-time video.
    #[must_use]
    pub fn has_sender(&self) -> bool {
        self.tcp().is_some() || matches!(self, Self::Rtc(_))
    }

    /// Name of the rule for the rate of a real-time video under a scheme; `None` for other traffic.
    #[must_use]
    pub fn media_sender(&self, scheme: &super::Scheme) -> Option<&'static str> {
        match self {
            Self::Rtc(stream) => Some(stream.sender(scheme).kind()),
            _ => None,
        }
    }
}

/// A stream of UDP packets.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Datagrams {
    /// Mean rate of the UDP payload.
    pub rate: BitRate,
    /// UDP payload of a packet.
    pub size: ByteCount,
}

/// Options of a TCP connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TcpOptions {
    /// Congestion control; `None` uses the scheme's sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Slot>,
    /// Receive window: upper limit on data in flight.
    pub receive_window: ByteCount,
    /// The access category of acknowledgements. Best effort by default, for any category of the data: receivers do not copy the
    /// mark of acknowledged packets (Linux `tcp_reflect_tos`, off).
    pub ack_category: Category,
}

/// A bulk transfer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Bulk {
    /// Highest rate at which the application writes (as `iperf -b`); `None` for no limit.
    #[serde(serialize_with = "text::optional")]
    pub limit: Option<BitRate>,
    /// Options of its TCP connection.
    #[serde(flatten)]
    pub tcp: TcpOptions,
}

/// Short transfers, such as web pages.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ShortTransfers {
    /// Bytes of each transfer.
    pub size: ByteCount,
    /// Mean time from the start of one transfer to that of the next.
    pub interval: Span,
    /// Options of each TCP connection.
    #[serde(flatten)]
    pub tcp: TcpOptions,
}

/// A VR stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct VrStream {
    /// Mean rate of the stream when no frame is skipped.
    pub rate: BitRate,
    /// Frames per second.
    pub fps: f64,
    /// Transport protocol of the frames.
    pub transport: Transport,
    /// Variation of frame sizes around their mean.
    pub size_law: SizeLaw,
    /// Rate at which the server sends a frame to the network.
    pub burst_rate: BitRate,
    /// Whether the server skips frames until the last one has arrived, and not only until it is sent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub await_delivery: bool,
    /// Longest time from rendering to arrival; later frames count as late.
    pub deadline: Span,
    /// Options of its TCP connection, if it has one.
    #[serde(flatten)]
    pub tcp: TcpOptions,
}

impl VrStream {
    /// Its frames.
    #[must_use]
    pub fn frames(&self) -> FrameLaw {
        let sigma = match self.size_law {
            SizeLaw::Constant => 0.0,
            SizeLaw::Lognormal { sigma } => sigma,
        };
        FrameLaw {
            fps: self.fps,
            rate: self.rate,
            sigma,
            burst_rate: self.burst_rate,
            await_delivery: self.await_delivery,
        }
    }
}

/// Transport protocol of the frames of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// One TCP connection.
    Tcp,
    /// UDP without repair of losses.
    Udp,
}

fn or_end<S: Serializer>(value: &Option<Span>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(span) => serializer.collect_str(span),
        None => serializer.serialize_str("end"),
    }
}

/// Upper limit on flows of a scenario.
pub(super) const MOST_FLOWS: usize = 2000;

pub(super) const KEYS: &[Key] = &[
    key("name", "required", ""),
    key("kind", "required; [below](#kinds-of-flow)", "traffic"),
    key("station", "required; a station or a group", "of a group: each member"),
    key("count", "1; 0–2000", "each station's, `NAME-1` to `NAME-N`"),
    key("group", "the entry's name", "of all its flows together"),
    key("direction", "**`down`** `up`", "of the data"),
    key("category", r#"`"be"` (`voip`: `"vo"`); `bk` `be` `vi` `vo`"#, "access category"),
    key("start", r#"`"0 s"`; 0–24 h"#, "from the run's beginning"),
    key("stagger", r#"`"0 s"`; 0–24 h"#, "each further flow's delay"),
    key("stop", r#"`"end"`; after `start`, to 24 h"#, ""),
    key("demand", "none; [below](#demand)", "of its packets' latency"),
    key("protected", "see below", "the scheme should protect it"),
    key("wire", "that of `[wire]`; `delay`, `loss`, `jitter`", "its way over the wire"),
];
pub(super) const DATAGRAM_KEYS: &[Key] = &[
    key("rate", "required (`paced`: 10 Mbit/s); 1 kbit/s–100 Gbit/s", "of the UDP payload"),
    key("size", r#"`"1200 B"` (`paced`: 1470 B); 12–1472 B"#, "of a packet"),
];
pub(super) const TCP_KEYS: &[Key] = &[
    key("congestion", "the scheme's; [TCP senders](#sender-cubic-reno-and-bbr)", "congestion control"),
    key("receive-window", "3 MiB; 4 KiB–1 GB", "most data in flight"),
    key("ack-category", "`bk` **`be`** `vi` `vo`", "of acknowledgements alone"),
];
pub(super) const BULK_KEYS: &[Key] =
    &[key("limit", r#"`"none"`; 1 kbit/s–100 Gbit/s"#, "of the application, as `iperf -b`")
        .labelled("`limit`, of `tcp`")];
pub(super) const SHORT_KEYS: &[Key] = &[
    key("size", r#"`"100 kB"`; 1 B–1 GB"#, "of each transfer").labelled("`size`, of `tcp-short`"),
    key("interval", r#"`"1 s"`; 1 ms–1 h"#, "mean (exponential)").labelled("`interval`, of `tcp-short`"),
];
pub(super) const VR_KEYS: &[Key] = &[
    key("rate", r#"`"45 Mbit/s"`; 1 kbit/s–100 Gbit/s"#, "mean without skipped frames"),
    key("fps", "30; 1–1000", "frames a second"),
    key("transport", "**`tcp`** `udp`", "of the frames"),
    key("size-law", r#"`"constant"`; `"lognormal(S)"`, S 0–2"#, "of frame sizes"),
    key("burst-rate", r#"`"400 Mbit/s"`; 1 kbit/s–100 Gbit/s"#, "within a frame"),
    key("await-delivery", "**`false`** `true` (TCP)", "skips frames until the last has arrived"),
    key("deadline", r#"`"20 ms"`; 1 ms–10 s"#, "later is late"),
];

/// An expanded entry, with the parts that depend on other entries.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) protected: Option<bool>,
    pub(super) flows: Vec<Flow>,
}

/// The queues for the data of flows.
pub(super) struct Deciders<'a> {
    /// The queue of the access point.
    pub(super) down: &'a Slot,
    /// The queue of the stations.
    pub(super) up: &'a Slot,
}

impl Deciders<'_> {
    /// Reads the demand of a flow. It is measured under every queue; a compared scheme may try to keep it.
    fn read_demand(
        &self,
        section: &Section<'_>,
        direction: Direction,
    ) -> Result<Option<DemandSchedule>, ScenarioError> {
        let queue = match direction {
            Direction::Down => self.down,
            Direction::Up => self.up,
        };
        DemandSchedule::read(section, queue.shortest_demand())
    }
}

/// Reads an entry and makes its flows: `count` for each member of its station group.
pub(super) fn read(
    section: &Section<'_>,
    stations: &[Station],
    empty_groups: &[String],
    wire: WireWay,
    deciders: &Deciders<'_>,
) -> Result<Entry, ScenarioError> {
    let kind = section.required_text("kind", &format!("allowed are {}", KINDS.join(", ")))?;
    let own: &[&[Key]] = match kind {
        "cbr" | "poisson" | "paced" => &[KEYS, DATAGRAM_KEYS],
        "voip" => &[KEYS],
        "tcp" => &[KEYS, BULK_KEYS, TCP_KEYS],
        "tcp-short" => &[KEYS, SHORT_KEYS, TCP_KEYS],
        "vr" => &[KEYS, VR_KEYS, TCP_KEYS],
        "rtc" => &[KEYS, RTC_KEYS],
        "replay" => &[KEYS, REPLAY_KEYS],
        other => {
            let allowed = KINDS.join(", ");
            let problem = match nearest(other, KINDS.iter().copied()) {
                Some(near) => format!("is \"{other}\"; did you mean {near}? allowed are {allowed}"),
                None => format!("is \"{}\"; allowed are {allowed}", super::node::shortened(other)),
            };
            return Err(section.wrong("kind", problem));
        }
    };
    section.allow(&format!("a flow of kind {kind}"), own)?;
    let name = read_name(section)?;
    let count = section.whole("count", 1, 0..=MOST_FLOWS)?;
    let ends = read_stations(section, stations, empty_groups)?;
    let longest = Span::from_secs(86_400);
    let start = section.ranged("start", Span::ZERO, Span::ZERO..=longest)?;
    let stagger = section.ranged("stagger", Span::ZERO, Span::ZERO..=longest)?;
    let stop = match section.get("stop") {
        Some(Node { value: Value::Text(word), .. }) if word == "end" => None,
        None => None,
        Some(_) => Some(section.ranged("stop", longest, Span::ZERO..=longest)?),
    };
    if stop.is_some_and(|stop| stop <= start) {
        return Err(section.wrong("stop", "is not after start; a flow must last some time"));
    }
    let total = count * ends.len();
    if total > MOST_FLOWS {
        return Err(
            section.wrong("count", format!("makes {total} flows; a scenario has at most {MOST_FLOWS}"))
        );
    }
    let protected = if section.has("protected") { Some(section.boolean("protected", false)?) } else { None };
    let group = section.text("group")?.unwrap_or(&name).to_owned();
    let direction =
        section.choice("direction", Direction::Down, &[("down", Direction::Down), ("up", Direction::Up)])?;
    let flow = Flow {
        name: name.clone(),
        group,
        station: String::new(),
        direction,
        category: section.choice("category", default_category(kind), text::CATEGORIES)?,
        start,
        stop,
        protected: protected.unwrap_or(false),
        demand: deciders.read_demand(section, direction)?,
        wire: WireWay::read_own(&section.table("wire")?, wire)?,
        traffic: read_traffic(section, kind)?,
    };
    let flows = ends.iter().flat_map(|station| std::iter::repeat_n(station, count)).zip(members(total));
    let flows = flows
        .zip(0u64..)
        .map(|((station, suffix), index)| Flow {
            name: format!("{name}{suffix}"),
            station: station.to_string(),
            start: start + stagger * index,
            ..flow.clone()
        })
        .collect();
    Ok(Entry { name, protected, flows })
}

const KINDS: &[&str] = &["cbr", "poisson", "paced", "voip", "tcp", "tcp-short", "vr", "rtc", "replay"];

/// The voice category for voice, best effort for all else.
fn default_category(kind: &str) -> Category {
    if kind == "voip" { Category::Vo } else { Category::Be }
}

/// The names of the stations meant by `station`: one, or the members of a group.
fn read_stations<'a>(
    section: &Section<'_>,
    stations: &'a [Station],
    empty_groups: &[String],
) -> Result<Vec<&'a str>, ScenarioError> {
    let wanted = section.required_text("station", "write the name of a station or of a group of them")?;
    if let Some(station) = stations.iter().find(|station| station.name == wanted) {
        return Ok(vec![&station.name]);
    }
    let group: Vec<&str> = stations
        .iter()
        .filter(|station| station.group == wanted)
        .map(|station| station.name.as_str())
        .collect();
    if !group.is_empty() || empty_groups.iter().any(|name| name == wanted) {
        return Ok(group);
    }
    if let Some(place) = section.renamed_by("station", wanted) {
        let refers = section.place_of("station");
        let (key, wanted) = (section.key("station"), super::node::shortened(wanted));
        return Err(ScenarioError::Value {
            place,
            key: format!("station.{wanted}.name"),
            problem: format!(
                "takes away the name that {key} ({refers}) refers to; change that with another --set"
            ),
        });
    }
    let known = || stations.iter().flat_map(|station| [station.name.as_str(), station.group.as_str()]);
    let hint = match nearest(wanted, known()) {
        Some(name) => format!("; did you mean {name}?"),
        None if stations.is_empty() => "; there are no stations".to_owned(),
        None => {
            let mut groups: Vec<&str> = stations.iter().map(|station| station.group.as_str()).collect();
            groups.dedup();
            groups.truncate(20);
            format!("; stations are {}", groups.join(", "))
        }
    };
    Err(section.wrong(
        "station",
        format!("is \"{}\", which is not the name of a station{hint}", super::node::shortened(wanted)),
    ))
}

fn read_traffic(section: &Section<'_>, kind: &str) -> Result<Traffic, ScenarioError> {
    Ok(match kind {
        "cbr" => Traffic::Cbr(Datagrams::read(section)?),
        "poisson" => Traffic::Poisson(Datagrams::read(section)?),
        "paced" => Traffic::Paced(Datagrams::read_paced(section)?),
        "tcp" => Traffic::Tcp(Bulk {
            limit: match section.text("limit")? {
                None | Some("none") => None,
                Some(_) => Some(read_rate(section, "limit", BitRate::from_mbps(50))?),
            },
            tcp: TcpOptions::read(section)?,
        }),
        "tcp-short" => Traffic::TcpShort(ShortTransfers {
            size: section.ranged(
                "size",
                ByteCount::new(100_000),
                ByteCount::new(1)..=ByteCount::new(1_000_000_000),
            )?,
            interval: section.ranged(
                "interval",
                Span::from_secs(1),
                Span::from_millis(1)..=Span::from_secs(3600),
            )?,
            tcp: TcpOptions::read(section)?,
        }),
        "vr" => Traffic::Vr(VrStream::read(section)?),
        "rtc" => Traffic::Rtc(RtcStream::read(section)?),
        "replay" => Traffic::Replay(Replayed::read(section)?),
        _ => Traffic::Voip,
    })
}

fn read_rate(section: &Section<'_>, key: &str, default: BitRate) -> Result<BitRate, ScenarioError> {
    section.ranged(key, default, BitRate::from_bps(1_000)..=BitRate::from_mbps(100_000))
}

impl Datagrams {
    fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        if !section.has("rate") {
            return Err(section.missing("rate", "write for example rate = \"10 Mbit/s\""));
        }
        Ok(Self {
            rate: read_rate(section, "rate", BitRate::from_mbps(10))?,
            // 1472 B fill an Ethernet frame; 12 B hold a sequence number and a timestamp.
            size: section.ranged("size", ByteCount::new(1200), ByteCount::new(12)..=ByteCount::new(1472))?,
        })
    }

    /// The rate applies only under schemes whose sender allocates none.
    fn read_paced(section: &Section<'_>) -> Result<Self, ScenarioError> {
        Ok(Self {
            rate: read_rate(section, "rate", BitRate::from_mbps(10))?,
            size: section.ranged("size", ByteCount::new(1470), ByteCount::new(12)..=ByteCount::new(1472))?,
        })
    }
}

impl TcpOptions {
    fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        Ok(Self {
            congestion: Slot::read(section, "congestion", TCP_SENDERS)?,
            // The default upper limit of Linux's tcp_rmem, of which half is announced.
            receive_window: section.ranged(
                "receive-window",
                ByteCount::new(3_145_728),
                ByteCount::new(4_096)..=ByteCount::new(1_000_000_000),
            )?,
            ack_category: section.choice("ack-category", Category::Be, text::CATEGORIES)?,
        })
    }
}

impl VrStream {
    fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        let transport = section.choice(
            "transport",
            Transport::Tcp,
            &[("tcp", Transport::Tcp), ("udp", Transport::Udp)],
        )?;
        let await_delivery = section.boolean("await-delivery", false)?;
        if transport == Transport::Udp && await_delivery {
            return Err(section.wrong("await-delivery", "is true, which needs transport = \"tcp\""));
        }
        Ok(Self {
            rate: read_rate(section, "rate", BitRate::from_mbps(45))?,
            fps: section.number("fps", 30.0, 1.0..=1000.0)?,
            transport,
            size_law: read_size_law(section, SizeLaw::Constant)?,
            burst_rate: read_rate(section, "burst-rate", BitRate::from_mbps(400))?,
            await_delivery,
            deadline: section.ranged(
                "deadline",
                Span::from_millis(20),
                Span::from_millis(1)..=Span::from_secs(10),
            )?,
            tcp: TcpOptions::read(section)?,
        })
    }
}
