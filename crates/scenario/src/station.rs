//! `[[station]]`: the stations of the access point or of a relay.

use airbound_air::absence::Absence;
use airbound_air::power_save::PowerSave;
use airbound_wifi::{Format, Rate, Width};
use serde::Serialize;

use super::absence;
use super::access_point::AccessPoint;
use super::air::Air;
use super::error::ScenarioError;
use super::fits::{self, RateLimits};
use super::key::{Key, key};
use super::path::Preset;
use super::power_save;
use super::section::{FromSection as _, Section};
use super::text;
use airbound_air::propagation::ChannelSpec;

/// One station.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Station {
    /// Its name, unique among the stations.
    pub name: String,
    /// The name of the `[[station]]` entry it comes from; its own if the entry has one member.
    pub group: String,
    /// Its network; `None` if the scenario names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The newest PPDU format that it supports.
    #[serde(serialize_with = "text::standard")]
    pub standard: Format,
    /// The widest channel that it supports.
    pub width: Width,
    /// Number of its spatial streams, at most the access point's.
    pub streams: u8,
    /// A fixed rate in both directions; it overrides the scheme's rate control for this station.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The relay in front of it; `None`: it hears the access point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// When its radio leaves the channel; `None` if it never does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub away: Option<Absence>,
    /// Its power save; `None`: it always listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_save: Option<PowerSave>,
    /// Channel between it and the next node on the path to the access point.
    pub channel: ChannelSpec,
}

pub(super) const KEYS: &[Key] = &[
    key("name", "required", ""),
    key("count", "1; 0–200", "`NAME-1` to `NAME-N`"),
    key("group", "the entry's name", "of all members together"),
    key("network", "all; a `[[network]]` or a member", "where it stands"),
    key("standard", "the air's, or older", "newest PPDU format"),
    key("width", "the air's, or less", "widest channel"),
    key("streams", "the access point's, or less", "spatial streams"),
    key("rate", "none; a PHY rate", "fixed, both directions"),
    key("via", "none; a station or a group", "over which it is reached"),
    key("away", "never; a table", "[leaves the channel](#away)"),
    key("power-save", "never; a table", "[sleeps](#power-save)"),
    key("channel", r#"`{ kind = "ideal" }`; [below](#channel)"#, "link to the access point, or to `via`"),
];

/// Upper limit on stations of a network.
pub(super) const MOST_STATIONS: usize = 200;

/// Reads an entry and makes its members; their relays are set when all are known.
pub(super) fn read(
    section: &Section<'_>,
    top: &Section<'_>,
    air: &Air,
    access_point: &AccessPoint,
    uplink: Preset,
) -> Result<Vec<Station>, ScenarioError> {
    section.allow("a station", &[KEYS])?;
    let name = read_name(section)?;
    let count = section.whole("count", 1, 0..=MOST_STATIONS)?;
    let standard = text::read_standard(section, air.standard)?;
    if standard > air.standard {
        return Err(section.wrong(
            "standard",
            format!(
                "is newer than the access point's; allowed is at most {}",
                text::name_of(text::STANDARDS, &air.standard)
            ),
        ));
    }
    fits::refuse_vht_at_2ghz(section, &top.table("air")?, air.band, standard)?;
    let width = section.quantity("width", "40 MHz")?.unwrap_or(air.width.min(fits::widest(standard)));
    fits::check_width(section, standard, width)?;
    // A station that sends at half the clock and one that does not hear nothing of each other.
    let mixed = (width == Width::Mhz10) != (air.width == Width::Mhz10);
    if width > air.width || mixed {
        return Err(section.wrong("width", format!("is {width}; the channel has {}", air.width)));
    }
    let most = if standard == Format::Legacy { 1 } else { access_point.streams };
    let streams = section.whole("streams", most.min(fits::most_streams(uplink)), 1..=most)?;
    let rate: Option<Rate> = section.quantity("rate", "HT40 MCS12 2SS LGI")?;
    if let Some(rate) = rate {
        let limits = RateLimits { owner: "the station", band: air.band, standard, width, streams };
        let problem = limits.problem_of(rate);
        if let Some(problem) = problem {
            return Err(section.wrong("rate", format!("is {rate}, but {problem}")));
        }
    }
    let channel = ChannelSpec::read(&section.table("channel")?)?;
    let away = absence::read(section)?;
    let power_save = power_save::read(section, air.beacons.is_some())?;
    let group = match section.text("group")? {
        Some(group) => group.to_owned(),
        None => name.clone(),
    };
    let network = section.text("network")?.map(str::to_owned);
    let station = Station {
        name,
        group,
        network,
        standard,
        width,
        streams,
        rate,
        via: None,
        away,
        power_save,
        channel,
    };
    Ok(members(count)
        .map(|suffix| Station { name: format!("{}{suffix}", station.name), ..station.clone() })
        .collect())
}

/// Suffixes of the names of a group's members: none for a group of one.
pub(super) fn members(count: usize) -> impl Iterator<Item = String> {
    (1..=count).map(move |index| if count == 1 { String::new() } else { format!("-{index}") })
}

/// Length limit of a name, in letters.
pub(super) const LONGEST_NAME: usize = 60;

/// Reads `name`: letters, digits, `-` and `_`, so that it is valid in keys and file names.
pub(super) fn read_name(section: &Section<'_>) -> Result<String, ScenarioError> {
    let name = section.required_text("name", "write for example name = \"phone\"")?;
    let valid = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if valid {
        Ok(name.to_owned())
    } else {
        Err(section.wrong(
            "name",
            format!("is \"{}\"; allowed are 1 to 60 letters, digits, - and _", super::node::shortened(name)),
        ))
    }
}
