//! The rate controls that a scenario can select.

use airbound_units::{BitRate, Instant};
use airbound_wifi::rate::Rate;
use serde::{Deserialize, Serialize};

use super::custom::CustomRate;
use super::fixed::{Fixed, FixedConfig};
use super::ideal::{Ideal, IdealConfig};
use super::llra::{Llra, LlraConfig};
use super::minstrel_ht::{MinstrelHt, MinstrelHtConfig, RateTables};
use super::thompson::{Thompson, ThompsonConfig};
use super::{Capabilities, LinkStats, RateControl, RateReport};
use crate::error::ConfigError;
use crate::frame::RateChain;
use crate::frame::StationId;

/// Kind and configuration of a rate control; `kind` selects it in a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RateConfig {
    /// A fixed rate.
    Fixed(FixedConfig),
    /// The best rate for the signal-to-noise ratio.
    Ideal(IdealConfig),
    /// Linux's default.
    MinstrelHt(MinstrelHtConfig),
    /// The rate with the shortest tail of the delay.
    Llra(LlraConfig),
    /// The rate with the largest throughput in a random draw from its posterior.
    Thompson(ThompsonConfig),
}

impl Default for RateConfig {
    fn default() -> Self {
        Self::MinstrelHt(MinstrelHtConfig::default())
    }
}

impl RateConfig {
    /// The name in a scenario.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Ideal(_) => "ideal",
            Self::MinstrelHt(_) => "minstrel-ht",
            Self::Llra(_) => "llra",
            Self::Thompson(_) => "thompson",
        }
    }

    /// Builds the rate control for stations with `capabilities`; `seed` determines its random decisions.
    ///
    /// # Errors
    /// A value of the configuration or of `capabilities` is out of range.
    pub fn build(&self, capabilities: &Capabilities, seed: u64) -> Result<AnyRate, ConfigError> {
        self.build_with(capabilities, seed, &mut RateTables::default())
    }

    /// The same, with the tables of rate controls built before.
    ///
    /// # Errors
    /// A value of the configuration or of `capabilities` is out of range.
    pub fn build_with(
        &self,
        capabilities: &Capabilities,
        seed: u64,
        tables: &mut RateTables,
    ) -> Result<AnyRate, ConfigError> {
        Ok(match self {
            Self::Fixed(config) => AnyRate::Fixed(Fixed::new(config.clone(), capabilities)?),
            Self::Ideal(config) => AnyRate::Ideal(Ideal::new(config.clone(), capabilities)?),
            Self::MinstrelHt(config) => {
                AnyRate::MinstrelHt(MinstrelHt::with_tables(config.clone(), capabilities, seed, tables)?)
            }
            Self::Llra(config) => AnyRate::Llra(Llra::new(config.clone(), capabilities)?),
            Self::Thompson(config) => AnyRate::Thompson(Thompson::new(config.clone(), capabilities, seed)?),
        })
    }
}

/// Any of the rate controls.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyRate {
    /// See [`Fixed`].
    Fixed(Fixed),
    /// See [`Ideal`].
    Ideal(Ideal),
    /// See [`MinstrelHt`].
    MinstrelHt(MinstrelHt),
    /// See [`Llra`].
    Llra(Llra),
    /// See [`Thompson`].
    Thompson(Thompson),
    /// See [`CustomRate`].
    Custom(Box<CustomRate>),
}

macro_rules! each {
    ($any:expr, $rate:ident => $call:expr) => {
        match $any {
            AnyRate::Fixed($rate) => $call,
            AnyRate::Ideal($rate) => $call,
            AnyRate::MinstrelHt($rate) => $call,
            AnyRate::Llra($rate) => $call,
            AnyRate::Thompson($rate) => $call,
            AnyRate::Custom($rate) => $call,
        }
    };
}

impl AnyRate {
    /// Sets the capabilities of `station`.
    ///
    /// # Errors
    /// A value of `capabilities` is out of range.
    pub fn set_capabilities(
        &mut self,
        station: StationId,
        capabilities: &Capabilities,
    ) -> Result<(), ConfigError> {
        each!(self, rate => rate.set_capabilities(station, capabilities))
    }
}

impl RateControl for AnyRate {
    fn chain(&mut self, now: Instant, station: StationId, mpdus: u16) -> RateChain {
        each!(self, rate => rate.chain(now, station, mpdus))
    }

    fn on_report(&mut self, now: Instant, station: StationId, report: &RateReport) {
        each!(self, rate => rate.on_report(now, station, report));
    }

    fn on_link_stats(&mut self, now: Instant, station: StationId, stats: &LinkStats) {
        each!(self, rate => rate.on_link_stats(now, station, stats));
    }

    fn expected_rate(&self, station: StationId) -> Rate {
        each!(self, rate => rate.expected_rate(station))
    }

    fn expected_throughput(&self, station: StationId) -> Option<BitRate> {
        each!(self, rate => rate.expected_throughput(station))
    }

    fn next_deadline(&self) -> Option<Instant> {
        each!(self, rate => rate.next_deadline())
    }
}
