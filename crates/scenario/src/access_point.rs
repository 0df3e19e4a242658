//! `[access-point]`, `[uplink]` and `[wire]`: the transmitters' paths and the wired network behind the access point.

use airbound_air::absence::Absence;
use airbound_units::{BitRate, Span};
use airbound_wifi::Format;
use serde::Serialize;

use super::absence;
use super::air::Air;
use super::error::ScenarioError;
use super::fits;
use super::key::{Key, key};
use super::node::{Node, Value};
use super::path::{self, Path, Preset};
use super::scheme::{QUEUES, RATES, Slot, check_law};
use super::section::Section;
use super::shaper::Shaper;
use super::text;

/// The access point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AccessPoint {
    /// Source of the default depths of the path.
    pub preset: Preset,
    /// Number of its spatial streams, 1 to 4.
    pub streams: u8,
    /// The layers below its queueing scheme.
    pub path: Path,
    /// The shaper of the traffic from the wire, in front of the queueing scheme; `None` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaper: Option<Shaper>,
    /// When its radio leaves the channel; `None` if it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away: Option<Absence>,
}

pub(super) const KEYS: &[Key] = &[
    key("preset", r#"`"mac80211"`; see below"#, "depths of the path"),
    key("streams", "2 (legacy: 1); 1–4", "spatial streams"),
    key("path", "the preset's; a table", "[single depths](#access-pointpath)"),
    key("away", "never; a table", "[`away`](#away) as of a station"),
    key("shaper", "none; a table", "[token bucket behind the wire](#access-pointshaper)"),
];

impl AccessPoint {
    pub(super) fn read(section: &Section<'_>, air: &Section<'_>, known: &Air) -> Result<Self, ScenarioError> {
        section.allow("[access-point]", &[KEYS])?;
        let preset = path::read_preset(section, Preset::Mac80211)?;
        let standard = known.standard;
        let (default, most) = match standard {
            Format::Legacy => (1, 1),
            _ => (2, 4),
        };
        let streams = section.whole("streams", fits::most_streams(preset).min(default), 1..=most)?;
        fits::check_access_point(section, air, (preset, streams), (standard, known.width))?;
        Ok(Self {
            preset,
            streams,
            path: Path::read(&section.table("path")?, preset, standard)?,
            shaper: section.has("shaper").then(|| Shaper::read(&section.table("shaper")?)).transpose()?,
            away: absence::read(section)?,
        })
    }
}

/// Queue, rate control and path of every station except relays, which use the access point's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Uplink {
    /// The queueing scheme of the stations; `None` uses that of the scheme.
    #[serde(serialize_with = "text::or_scheme")]
    pub queue: Option<Slot>,
    /// The rate control of the stations; `None` uses that of the scheme, or the default if only one of the two is Law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Slot>,
    /// Source of the default depths of the path.
    pub preset: Preset,
    /// The layers below the stations' queueing scheme.
    pub path: Path,
}

pub(super) const UPLINK_KEYS: &[Key] = &[
    key("queue", r#"`"fifo"`; as in `[scheme]`"#, r#"or `"scheme"`"#),
    key("rate", "the scheme's; as in `[scheme]`", "rate control"),
    key("preset", r#"`"direct"`; as in `[access-point]`"#, "depths of the path"),
    key("path", "the preset's; a table", "[single depths](#access-pointpath)"),
];

impl Uplink {
    pub(super) fn read(section: &Section<'_>, standard: Format) -> Result<Self, ScenarioError> {
        section.allow("[uplink]", &[UPLINK_KEYS])?;
        let preset = path::read_preset(section, Preset::Direct)?;
        let queue = match section.get("queue") {
            Some(Node { value: Value::Text(word), .. }) if word == "scheme" => None,
            _ => Some(Slot::read(section, "queue", QUEUES)?.unwrap_or_else(|| Slot::plain("fifo"))),
        };
        let rate = Slot::read(section, "rate", RATES)?;
        if let (Some(queue), Some(rate)) = (&queue, &rate) {
            check_law(queue, rate)
                .map_err(|problem| section.wrong("rate", format!("does not fit: {problem}")))?;
        }
        Ok(Self { queue, rate, preset, path: Path::read(&section.table("path")?, preset, standard)? })
    }
}

/// The wired path between the servers and the access point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Wire {
    /// The bottleneck common to all flows, one for each direction; `None` for no bottleneck.
    #[serde(serialize_with = "text::or_unlimited")]
    pub rate: Option<BitRate>,
    /// Capacity of the bottleneck's drop-tail queue in packets.
    pub queue: u32,
    /// Delay, loss and jitter in each direction.
    #[serde(flatten)]
    pub way: WireWay,
}

/// Delay, loss and jitter of a packet on the wire apart from the common bottleneck; each flow can have its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct WireWay {
    /// One-way delay.
    pub delay: Span,
    /// Probability that a packet is lost, 0 to 1.
    pub loss: f64,
    /// Additional delay of a packet, uniform from zero to this; packets stay in order.
    pub jitter: Span,
}

pub(super) const WAY_KEYS: &[Key] = &[
    key("delay", r#"`"1 ms"`; 0–10 s"#, "one way"),
    key("loss", "0; 0–1", "of a packet"),
    key("jitter", r#"`"0 ms"`; 0–10 s"#, "extra delay, uniform from 0, in order"),
];

impl WireWay {
    /// Reads the keys over `default`.
    pub(super) fn read(section: &Section<'_>, default: Self) -> Result<Self, ScenarioError> {
        let longest = Span::from_secs(10);
        Ok(Self {
            delay: section.ranged("delay", default.delay, Span::ZERO..=longest)?,
            loss: section.number("loss", default.loss, 0.0..=1.0)?,
            jitter: section.ranged("jitter", default.jitter, Span::ZERO..=longest)?,
        })
    }

    /// Reads a flow's own `wire` table.
    pub(super) fn read_own(section: &Section<'_>, default: Self) -> Result<Self, ScenarioError> {
        section.allow("a flow's wire", &[WAY_KEYS])?;
        Self::read(section, default)
    }
}

pub(super) const LINK_KEYS: &[Key] = &[
    key("rate", r#"`"1 Gbit/s"`; 1 kbit/s–1 Tbit/s, `"unlimited"`"#, "each direction's, shared by flows"),
    key("queue", "10000; 1–10^7 packets", "drop-tail, of the bottleneck"),
];

impl Wire {
    pub(super) fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        section.allow("[wire]", &[LINK_KEYS, WAY_KEYS])?;
        let default = WireWay { delay: Span::from_millis(1), loss: 0.0, jitter: Span::ZERO };
        Ok(Self {
            rate: match section.get("rate") {
                Some(Node { value: Value::Text(word), .. }) if word == "unlimited" => None,
                _ => Some(section.ranged(
                    "rate",
                    BitRate::from_mbps(1000),
                    BitRate::from_kbps(1)..=BitRate::from_mbps(1_000_000),
                )?),
            },
            queue: section.whole("queue", 10_000, 1..=10_000_000)?,
            way: WireWay::read(section, default)?,
        })
    }
}
