//! `[[neighbour]]` and `[[interference]]`: other users of the channel.

use std::ops::RangeInclusive;

use airbound_air::propagation::{Effect, Interference};
use airbound_units::{BitRate, ByteCount, Decibel, Span};
use airbound_wifi::{Category, Legacy, Rate};
use serde::{Serialize, Serializer};

use super::error::ScenarioError;
use super::key::{Key, key};
use super::node::{Node, Value, shortened};
use super::section::{FromSection, Section};
use super::station::read_name;
use super::text;

/// Another network on the same channel: transmitters that contend by the same rules.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Neighbour {
    /// Its name.
    pub name: String,
    /// Number of transmitters, each with the same load.
    pub transmitters: u32,
    /// Load offered to each transmitter.
    pub load: Load,
    /// The PHY rate of its data.
    pub rate: Rate,
    /// The IP packet in each MPDU.
    pub size: ByteCount,
    /// Upper limit on MPDUs of an aggregate.
    pub ampdu_mpdus: u16,
    /// The access category it contends in.
    pub category: Category,
    /// Active periods, outside of which it has no load; `None`: always.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub spells: Option<Spells>,
}

/// Active periods of a load, separate for each transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Spells {
    /// Mean length of an active period (exponential).
    pub mean_on: Span,
    /// Mean pause between active periods (exponential).
    pub mean_off: Span,
}

/// Load offered to a transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Packets at this mean rate, at exponential intervals.
    Offered(BitRate),
    /// It always has a packet to send.
    Saturated,
}

impl Serialize for Load {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Offered(rate) => serializer.collect_str(rate),
            Self::Saturated => serializer.serialize_str("saturated"),
        }
    }
}

/// Upper limit on contending transmitters of all neighbours together.
pub(super) const MOST_TRANSMITTERS: u32 = 200;

pub(super) const NEIGHBOUR_KEYS: &[Key] = &[
    key("name", "required", ""),
    key("transmitters", "1; 1–200, in all", "of the same load"),
    key("load", r#"`"saturated"`; 1 kbit/s–100 Gbit/s"#, "of each, exponential intervals"),
    key("rate", r#"`"OFDM 24 Mbit/s"`; a PHY rate"#, "of its data"),
    key("size", r#"`"1500 B"`; 20–2304 B"#, "IP packet"),
    key("ampdu-mpdus", "1; 1–256 (legacy 1)", "of an aggregate, in any category"),
    key("category", "`bk` **`be`** `vi` `vo`", "access category"),
    key("mean-on", "none; 10 us–1 h", "mean of spells with load"),
    key("mean-off", "none; 10 us–1 h", "mean of the pauses"),
];

impl Neighbour {
    pub(super) fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        section.allow("a neighbour", &[NEIGHBOUR_KEYS])?;
        let share = |text: &str| text.trim_end().ends_with('%');
        if let Some(Node { value: Value::Integer(_) | Value::Float(_), .. }) = section.get("load") {
            let problem = "is a number; allowed is \"saturated\" or a rate such as \"5 Mbit/s\"";
            return Err(section.wrong("load", problem));
        }
        let load = match section.text("load")? {
            None | Some("saturated") => Load::Saturated,
            Some(text) if share(text) => {
                return Err(section.wrong(
                    "load",
                    format!(
                        "is \"{}\", a share; allowed is \"saturated\" or a rate such as \"5 Mbit/s\"; for a load during a share of \
                         the time add mean-on and mean-off, such as \"30 ms\" and \"70 ms\"",
                        shortened(text)
                    ),
                ));
            }
            Some(_) => Load::Offered(section.ranged(
                "load",
                BitRate::from_mbps(1),
                BitRate::from_bps(1000)..=BitRate::from_mbps(100_000),
            )?),
        };
        let rate = section.quantity("rate", "OFDM 24 Mbit/s")?.unwrap_or(Rate::legacy(Legacy::Mbps24));
        let most = if rate.as_legacy().is_some() { 1 } else { 256 };
        Ok(Self {
            name: read_name(section)?,
            transmitters: section.whole("transmitters", 1, 1..=MOST_TRANSMITTERS)?,
            load,
            rate,
            size: section.ranged("size", ByteCount::new(1500), ByteCount::new(20)..=ByteCount::new(2304))?,
            ampdu_mpdus: section.whole("ampdu-mpdus", 1, 1..=most)?,
            category: section.choice("category", Category::Be, text::CATEGORIES)?,
            spells: Spells::read(section)?,
        })
    }
}

/// Range of mean lengths of active periods, of bursts, and of their pauses.
const LENGTHS: RangeInclusive<Span> = Span::from_micros(10)..=Span::from_secs(3600);

impl Spells {
    fn read(section: &Section<'_>) -> Result<Option<Self>, ScenarioError> {
        match (section.has("mean-on"), section.has("mean-off")) {
            (false, false) => return Ok(None),
            (true, false) => {
                return Err(
                    section.missing("mean-off", "mean-on, the mean active period, needs the mean pause")
                );
            }
            (false, true) => {
                return Err(
                    section.missing("mean-on", "mean-off, the mean pause, needs the mean active period")
                );
            }
            (true, true) => {}
        }
        let of = |key| section.ranged(key, Span::from_secs(1), LENGTHS);
        Ok(Some(Self { mean_on: of("mean-on")?, mean_off: of("mean-off")? }))
    }
}

pub(super) const INTERFERENCE_KEYS: &[Key] = &[
    key("name", "required", ""),
    key("mean-on", r#"`"10 ms"`; 10 us–1 h"#, "mean of a burst"),
    key("mean-off", r#"`"100 ms"`; 10 us–1 h"#, "mean of a pause"),
    key("effect", "**`busy`** `noise`", "busy channel, or unnoticed noise"),
    key("start", r#"`"0 s"`; 0–24 h"#, ""),
    key("stop", r#"`"never"`; after `start`, to 24 h"#, ""),
];
/// Keys of interference that is noise.
pub(super) const NOISE_KEYS: &[Key] = &[key("level", "required for `noise`; 0–100 dB", "of the noise")];

impl FromSection for Interference {
    fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        let noise = section.choice("effect", false, &[("busy", false), ("noise", true)])?;
        let effect = if noise {
            section.allow("interference with the effect noise", &[INTERFERENCE_KEYS, NOISE_KEYS])?;
            if !section.has("level") {
                return Err(section.missing("level", "write for example level = \"10 dB\""));
            }
            let range = Decibel::new(0.0)..=Decibel::new(100.0);
            Effect::Noise { level: section.ranged("level", Decibel::new(10.0), range)? }
        } else {
            section.allow("interference with the effect busy", &[INTERFERENCE_KEYS])?;
            Effect::Busy
        };
        let longest = Span::from_secs(86_400);
        let start = section.ranged("start", Span::ZERO, Span::ZERO..=longest)?;
        let stop = match section.text("stop")? {
            None | Some("never") => None,
            Some(_) => Some(section.ranged("stop", longest, Span::ZERO..=longest)?),
        };
        if stop.is_some_and(|stop| stop <= start) {
            return Err(section.wrong("stop", "is not after start"));
        }
        Ok(Self {
            name: read_name(section)?,
            mean_on: section.ranged("mean-on", Span::from_millis(10), LENGTHS)?,
            mean_off: section.ranged("mean-off", Span::from_millis(100), LENGTHS)?,
            effect,
            start,
            stop,
        })
    }
}
