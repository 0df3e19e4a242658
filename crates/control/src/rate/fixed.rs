//! A fixed rate.

use airbound_units::Instant;
use airbound_wifi::rate::Rate;
use serde::{Deserialize, Serialize};

use super::stations::Stations;
use super::{Capabilities, RateControl, RateReport};
use crate::error::ConfigError;
use crate::frame::RateChain;
use crate::frame::StationId;

/// Configuration of [`Fixed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FixedConfig {
    /// The rate of every station not listed in `stations`. Default: the fastest of the station's capabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Transmissions before the hardware gives up, 1 to 255. Default 7, the short retry limit of 802.11
    /// (dot11ShortRetryLimit, 802.11-2020, C.3).
    pub tries: u8,
    /// Rates of individual stations.
    pub stations: Vec<StationRate>,
}

/// The rate of one station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StationRate {
    /// The number of the station, from 0.
    pub station: u16,
    /// Its rate.
    pub rate: Rate,
}

impl Default for FixedConfig {
    fn default() -> Self {
        Self { rate: None, tries: 7, stations: Vec::new() }
    }
}

/// A rate control that never changes the rate.
///
/// A configured rate is used even if the capabilities lack it, since it was requested explicitly.
#[derive(Debug, Clone)]
pub struct Fixed {
    config: FixedConfig,
    fallback: Rate,
    stations: Stations<Rate>,
}

impl Fixed {
    /// Builds the rate control for stations with `capabilities`.
    ///
    /// # Errors
    /// A value of `config` or of `capabilities` is out of range.
    pub fn new(config: FixedConfig, capabilities: &Capabilities) -> Result<Self, ConfigError> {
        ConfigError::check(config.tries > 0, "rate.tries", config.tries, "1 to 255")?;
        let highest = capabilities.rate_set()?.highest();
        let fallback = config.rate.unwrap_or(highest);
        let mut stations = Stations::default();
        for named in &config.stations {
            stations.set(StationId(named.station), named.rate);
        }
        Ok(Self { config, fallback, stations })
    }

    /// Sets the capabilities of `station`; its rate changes only if none is configured.
    ///
    /// # Errors
    /// A value of `capabilities` is out of range.
    pub fn set_capabilities(
        &mut self,
        station: StationId,
        capabilities: &Capabilities,
    ) -> Result<(), ConfigError> {
        let highest = capabilities.rate_set()?.highest();
        let named = self.config.stations.iter().any(|named| named.station == station.0);
        if self.config.rate.is_none() && !named {
            self.stations.set(station, highest);
        }
        Ok(())
    }
}

impl RateControl for Fixed {
    fn chain(&mut self, _now: Instant, station: StationId, _mpdus: u16) -> RateChain {
        RateChain::single(self.expected_rate(station), self.config.tries)
    }

    fn on_report(&mut self, _now: Instant, _station: StationId, _report: &RateReport) {}

    fn expected_rate(&self, station: StationId) -> Rate {
        self.stations.get(station).copied().unwrap_or(self.fallback)
    }
}

#[cfg(test)]
mod tests {
    use airbound_wifi::rate::{GuardInterval, Width};

    use super::*;

    fn vht(mcs: u8) -> Rate {
        Rate::vht(mcs, 1, Width::Mhz80, GuardInterval::Ns400).expect("exists")
    }

    #[test]
    fn a_named_station_has_its_own_rate() {
        let config = FixedConfig {
            rate: Some(vht(7)),
            tries: 4,
            stations: vec![StationRate { station: 2, rate: vht(1) }],
        };
        let mut fixed = Fixed::new(config, &Capabilities::default()).expect("valid");
        assert_eq!(fixed.chain(Instant::ZERO, StationId(0), 1), RateChain::single(vht(7), 4));
        assert_eq!(fixed.chain(Instant::ZERO, StationId(2), 64), RateChain::single(vht(1), 4));
        fixed.set_capabilities(StationId(0), &Capabilities::only(vht(3))).expect("valid");
        assert_eq!(fixed.expected_rate(StationId(0)), vht(7), "the configuration names a rate");
    }

    #[test]
    fn without_a_rate_the_fastest_of_the_station_is_used() {
        let mut fixed = Fixed::new(FixedConfig::default(), &Capabilities::default()).expect("valid");
        fixed.set_capabilities(StationId(1), &Capabilities::only(vht(3))).expect("valid");
        let fastest = Rate::vht(9, 2, Width::Mhz80, GuardInterval::Ns400).expect("exists");
        assert_eq!(fixed.expected_rate(StationId(0)), fastest);
        assert_eq!(fixed.expected_rate(StationId(1)), vht(3));
        assert_eq!(fixed.expected_rate(StationId(u16::MAX)), fastest);
    }

    #[test]
    fn no_tries_at_all_are_refused() {
        let config = FixedConfig { tries: 0, ..FixedConfig::default() };
        let error = Fixed::new(config, &Capabilities::default()).expect_err("zero tries");
        assert_eq!(error.to_string(), "rate.tries is 0; allowed is 1 to 255");
    }
}
