//! Text forms of scenario values without one of their own, for reading and printing.

use airbound_air::edca::Countdown;
use airbound_units::{BitRate, Span};
use airbound_wifi::{Band, Category, Format, GuardInterval, Legacy};
use serde::{Serialize, Serializer};

use super::error::ScenarioError;
use super::node::{Node, Value};
use super::section::Section;

pub(super) const CATEGORIES: &[(&str, Category)] =
    &[("bk", Category::Bk), ("be", Category::Be), ("vi", Category::Vi), ("vo", Category::Vo)];

pub(super) const STANDARDS: &[(&str, Format)] =
    &[("legacy", Format::Legacy), ("ht", Format::Ht), ("vht", Format::Vht), ("he", Format::He)];

/// Other names of the standards: the amendment of 802.11, and the generation of the Wi-Fi Alliance.
const STANDARD_ALIASES: &[(&str, Format)] = &[
    ("a", Format::Legacy),
    ("g", Format::Legacy),
    ("n", Format::Ht),
    ("ac", Format::Vht),
    ("ax", Format::He),
    ("wifi4", Format::Ht),
    ("wifi5", Format::Vht),
    ("wifi6", Format::He),
];

/// The standard of another name, in which case, spaces, `-` and a leading 802.11 do not count.
pub(super) fn standard_named(written: &str) -> Option<Format> {
    let letters: String = written.chars().filter(|c| !matches!(c, ' ' | '-')).take(20).collect();
    let word = letters.to_ascii_lowercase();
    let word = word.strip_prefix("802.11").or_else(|| word.strip_prefix("11")).unwrap_or(&word);
    STANDARD_ALIASES.iter().find(|(alias, _)| *alias == word).map(|(_, format)| *format)
}

/// Reads `standard`, by its own word or another name.
pub(super) fn read_standard(section: &Section<'_>, default: Format) -> Result<Format, ScenarioError> {
    if let Some(Node { value: Value::Text(written), .. }) = section.get("standard")
        && let Some(format) = standard_named(written)
    {
        return Ok(format);
    }
    section.choice("standard", default, STANDARDS)
}

pub(super) const BANDS: &[(&str, Band)] =
    &[("2.4 GHz", Band::Ghz2), ("5 GHz", Band::Ghz5), ("5.9 GHz", Band::Ghz59)];

pub(super) const COUNTDOWNS: &[(&str, Countdown)] =
    &[("boundaries", Countdown::Boundaries), ("idle-slots", Countdown::IdleSlots)];

const GUARD_INTERVALS: [GuardInterval; 4] =
    [GuardInterval::Ns400, GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200];

/// The guard interval of this length.
pub(super) fn guard_interval_of(span: Span) -> Option<GuardInterval> {
    GUARD_INTERVALS.into_iter().find(|known| known.span() == span)
}

/// The legacy rate with this bit rate.
pub(super) fn legacy_of(rate: BitRate) -> Option<Legacy> {
    Legacy::ALL.into_iter().find(|known| known.bit_rate() == rate)
}

/// The word of a choice.
pub(super) fn name_of<T: PartialEq>(choices: &[(&'static str, T)], value: &T) -> &'static str {
    choices.iter().find(|(_, choice)| choice == value).map_or("", |(name, _)| name)
}

pub(super) fn standard<S: Serializer>(value: &Format, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name_of(STANDARDS, value))
}

pub(super) fn band<S: Serializer>(value: &Band, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name_of(BANDS, value))
}

pub(super) fn countdown<S: Serializer>(value: &Countdown, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name_of(COUNTDOWNS, value))
}

/// Whether a value is its default, which is not printed.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub(super) fn guard_interval<S: Serializer>(value: &GuardInterval, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{} ns", value.span().as_nanos()))
}

/// The legacy rate, or "standard" where the standard's rule applies.
pub(super) fn control_rate<S: Serializer>(value: &Option<Legacy>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(rate) => serializer.collect_str(&rate.bit_rate()),
        None => serializer.serialize_str("standard"),
    }
}

/// The value, or "never".
pub(super) fn or_never<T: std::fmt::Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_str("never"),
    }
}

/// The value, or "none".
pub(super) fn optional<T: std::fmt::Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_str("none"),
    }
}

/// The value, or `false`.
pub(super) fn or_false<T: std::fmt::Display, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_bool(false),
    }
}

/// The number, or "unlimited".
pub(super) fn or_unlimited<T: Serialize, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(limit) => limit.serialize(serializer),
        None => serializer.serialize_str("unlimited"),
    }
}

/// Writes an optional slot, which defaults to that of the scheme.
pub(super) fn or_scheme<T: Serialize, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(slot) => slot.serialize(serializer),
        None => serializer.serialize_str("scheme"),
    }
}

/// Words of the reader of parameters for whole numbers, and what they mean.
const WHOLE: [(&str, &str); 5] = [
    ("expected u8", "allowed is a whole number from 0 to 255"),
    ("expected u16", "allowed is a whole number from 0 to 65535"),
    ("expected u32", "allowed is a whole number from 0 to 4294967295"),
    ("expected u64", "allowed is a whole number from 0 on"),
    ("expected usize", "allowed is a whole number from 0 on"),
];

/// The error of the reader of parameters, in the words of scenarios.
pub(super) fn of_reader(error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', " ").replace('`', "");
    let message = message.replace("invalid value: integer ", "invalid value ");
    WHOLE.iter().fold(message, |message, (kind, allowed)| message.replace(kind, allowed))
}
