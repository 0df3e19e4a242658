//! Rates that a station can receive.

use airbound_wifi::rate::{Format, GuardInterval, Legacy, Rate, Width};
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;

/// Capabilities of a station, as announced in its association.
///
/// The derived set of rates holds every MCS of `format` with 1 to `max_streams` streams at `width` and every narrower
/// width, like the groups filled by `minstrel_ht_update_caps` of the kernel. `rates` replaces that set if it is not
/// empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Capabilities {
    /// PPDU format of data: `"OFDM"`, `"HT"`, `"VHT"` or `"HE"`. Default VHT.
    #[serde(with = "format_name")]
    pub format: Format,
    /// Widest channel. Default 80 MHz.
    pub width: Width,
    /// Maximum number of spatial streams, 1 to 4. Default 2.
    pub max_streams: u8,
    /// Whether HT and VHT may use the guard interval of 400 ns as well. HE uses 800 ns in any case; its longer
    /// intervals have to be listed in `rates`. Default true.
    pub short_guard_interval: bool,
    /// Exactly these rates instead of the derived set. Default empty.
    pub rates: Vec<Rate>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            format: Format::Vht,
            width: Width::Mhz80,
            max_streams: 2,
            short_guard_interval: true,
            rates: Vec::new(),
        }
    }
}

impl Capabilities {
    /// Exactly one rate.
    #[must_use]
    pub fn only(rate: Rate) -> Self {
        Self { rates: vec![rate], ..Self::default() }
    }

    /// Guard intervals of the derived set, longest first.
    const fn guard_intervals(&self) -> &'static [GuardInterval] {
        match self.format {
            Format::Ht | Format::Vht if self.short_guard_interval => {
                &[GuardInterval::Ns800, GuardInterval::Ns400]
            }
            Format::Legacy if matches!(self.width, Width::Mhz10) => &[GuardInterval::Ns1600],
            _ => &[GuardInterval::Ns800],
        }
    }

    /// The set of rates.
    ///
    /// # Errors
    /// `max-streams` is not 1 to 4, or `format` has no channel as wide as `width`.
    pub fn rate_set(&self) -> Result<RateSet, ConfigError> {
        let mut rates = self.rates.clone();
        if rates.is_empty() {
            ConfigError::check(
                (1..=4).contains(&self.max_streams),
                "capabilities.max-streams",
                self.max_streams,
                "1 to 4",
            )?;
            let (widest, allowed) = match self.format {
                Format::Legacy => (Width::Mhz20, "10 MHz and 20 MHz with OFDM"),
                Format::Ht => (Width::Mhz40, "20 MHz and 40 MHz with HT"),
                Format::Vht | Format::He => (Width::Mhz160, "20 MHz to 160 MHz"),
            };
            let narrow = self.width == Width::Mhz10 && self.format != Format::Legacy;
            ConfigError::check(self.width <= widest && !narrow, "capabilities.width", self.width, allowed)?;
            // Legacy OFDM at half the clock is a mode of the whole channel.
            let narrowest = if self.width == Width::Mhz10 { Width::Mhz10 } else { Width::Mhz20 };
            for width in Width::ALL.into_iter().filter(|width| (narrowest..=self.width).contains(width)) {
                for guard_interval in self.guard_intervals() {
                    rates.extend(Rate::all(self.format, width, self.max_streams, *guard_interval));
                }
            }
        }
        rates.sort_by_cached_key(|rate| (rate.bit_rate(), *rate));
        rates.dedup();
        // Every format has an MCS 0 with one stream, so the set is never empty.
        let lowest = rates.first().copied().unwrap_or(Rate::legacy(Legacy::Mbps6));
        Ok(RateSet { rates, lowest })
    }
}

/// Rates by ascending speed; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateSet {
    rates: Vec<Rate>,
    lowest: Rate,
}

impl RateSet {
    /// All rates, the slowest first; rates of equal speed in the order of [`Rate`].
    #[must_use]
    pub fn as_slice(&self) -> &[Rate] {
        &self.rates
    }

    /// The slowest rate.
    #[must_use]
    pub const fn lowest(&self) -> Rate {
        self.lowest
    }

    /// The fastest rate.
    #[must_use]
    pub fn highest(&self) -> Rate {
        self.rates.last().copied().unwrap_or(self.lowest)
    }

    /// Whether the station can receive `rate`.
    #[must_use]
    pub fn contains(&self, rate: Rate) -> bool {
        self.rates.binary_search_by_key(&(rate.bit_rate(), rate), |known| (known.bit_rate(), *known)).is_ok()
    }
}

/// A [`Format`] as text: its name in the standard.
mod format_name {
    use airbound_wifi::rate::Format;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    const ALL: [Format; 4] = [Format::Legacy, Format::Ht, Format::Vht, Format::He];

    pub(super) fn serialize<S: Serializer>(format: &Format, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(format)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Format, D::Error> {
        let text = String::deserialize(deserializer)?;
        ALL.into_iter().find(|format| format.to_string() == text).ok_or_else(|| {
            D::Error::custom(format!(
                "\"{text}\" is not a PPDU format; allowed are \"OFDM\", \"HT\", \"VHT\" and \"HE\""
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(format: Format, width: Width, max_streams: u8, short_guard_interval: bool) -> usize {
        let capabilities =
            Capabilities { format, width, max_streams, short_guard_interval, rates: Vec::new() };
        capabilities.rate_set().expect("valid").as_slice().len()
    }

    #[test]
    fn the_set_holds_every_width_up_to_the_widest() {
        assert_eq!(count(Format::Legacy, Width::Mhz20, 1, false), 8);
        // 8 MCS x 2 streams x 2 widths x 2 guard intervals.
        assert_eq!(count(Format::Ht, Width::Mhz40, 2, true), 64);
        // 10 MCS x 3 widths x 2 guard intervals; the standard excludes MCS 9 at 20 MHz with one stream.
        assert_eq!(count(Format::Vht, Width::Mhz80, 1, true), 58);
        assert_eq!(count(Format::He, Width::Mhz80, 2, false), 72);
    }

    #[test]
    fn speeds_ascend_and_membership_is_exact() {
        let set = Capabilities::default().rate_set().expect("valid");
        assert!(set.as_slice().windows(2).all(|pair| pair[0].bit_rate() <= pair[1].bit_rate()));
        assert_eq!(set.lowest(), Rate::vht(0, 1, Width::Mhz20, GuardInterval::Ns800).expect("exists"));
        assert_eq!(set.highest(), Rate::vht(9, 2, Width::Mhz80, GuardInterval::Ns400).expect("exists"));
        assert!(set.as_slice().iter().all(|rate| set.contains(*rate)));
        assert!(!set.contains(Rate::vht(0, 3, Width::Mhz20, GuardInterval::Ns800).expect("exists")));
    }

    #[test]
    fn impossible_capabilities_are_refused_with_a_sentence() {
        let wide = Capabilities { format: Format::Ht, ..Capabilities::default() };
        let error = wide.rate_set().expect_err("HT has no 80 MHz").to_string();
        assert_eq!(error, "capabilities.width is 80 MHz; allowed is 20 MHz and 40 MHz with HT");
        let many = Capabilities { max_streams: 5, ..Capabilities::default() };
        assert!(many.rate_set().is_err());
    }
}
