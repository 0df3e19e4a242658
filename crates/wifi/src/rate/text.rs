//! Rates and widths as text, and in serde as that text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Format, GuardInterval, Legacy, Rate, RateError, Width};

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Legacy => "OFDM",
            Self::Ht => "HT",
            Self::Vht => "VHT",
            Self::He => "HE",
        })
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MHz", self.megahertz())
    }
}

impl FromStr for Width {
    type Err = ParseWidthError;
    fn from_str(text: &str) -> Result<Self, ParseWidthError> {
        let number = text.trim().strip_suffix("MHz").map(str::trim_end);
        Self::ALL
            .into_iter()
            .find(|width| number == Some(width.megahertz().to_string().as_str()))
            .ok_or_else(|| ParseWidthError { text: text.to_owned() })
    }
}

/// The text is not a channel width.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{text}\" is not a channel width; allowed are \"10 MHz\", \"20 MHz\", \"40 MHz\", \"80 MHz\" and \"160 MHz\""
)]
pub struct ParseWidthError {
    text: String,
}

/// HT and VHT intervals are known as long and short, those of HE by their length.
fn guard_name(format: Format, guard_interval: GuardInterval) -> &'static str {
    match (format, guard_interval) {
        (Format::He, GuardInterval::Ns800) => "0.8us",
        (_, GuardInterval::Ns400) => "SGI",
        (_, GuardInterval::Ns800) => "LGI",
        (_, GuardInterval::Ns1600) => "1.6us",
        (_, GuardInterval::Ns3200) => "3.2us",
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.as_legacy().is_some() {
            let clock = if self.width == Width::Mhz10 { "10" } else { "" };
            return write!(f, "OFDM{clock} {} Mbit/s", self.bit_rate().as_mbps_f64());
        }
        write!(
            f,
            "{}{} MCS{} {}SS {}",
            self.format,
            self.width.megahertz(),
            self.mcs(),
            self.streams,
            guard_name(self.format, self.guard_interval)
        )
    }
}

impl FromStr for Rate {
    type Err = RateError;
    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<Self, RateError> {
        let unreadable = || RateError::Text { text: text.to_owned() };
        let words: Vec<&str> = text.split_whitespace().collect();
        let &[head, index, streams, guard] = words.as_slice() else {
            let known =
                Legacy::ALL.into_iter().flat_map(|rate| [Self::legacy(rate), Self::half_clocked(rate)]);
            let text = words.join(" ");
            return known.into_iter().find(|rate| rate.to_string() == text).ok_or_else(unreadable);
        };
        let (format, width) = [Format::Vht, Format::Ht, Format::He]
            .into_iter()
            .find_map(|format| Some((format, head.strip_prefix(format.to_string().as_str())?)))
            .ok_or_else(unreadable)?;
        let width = Width::ALL
            .into_iter()
            .find(|known| known.megahertz().to_string() == width)
            .ok_or_else(unreadable)?;
        let index: u8 = index.strip_prefix("MCS").and_then(|n| n.parse().ok()).ok_or_else(unreadable)?;
        let streams: u8 = streams.strip_suffix("SS").and_then(|n| n.parse().ok()).ok_or_else(unreadable)?;
        let guard_interval =
            [GuardInterval::Ns400, GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200]
                .into_iter()
                .find(|known| guard_name(format, *known) == guard)
                .ok_or_else(unreadable)?;
        let rate = match format {
            Format::Ht => Self::ht(index, width, guard_interval)?,
            Format::He => Self::he(index, streams, width, guard_interval)?,
            _ => Self::vht(index, streams, width, guard_interval)?,
        };
        if rate.streams == streams { Ok(rate) } else { Err(unreadable()) }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Width {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Width {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
