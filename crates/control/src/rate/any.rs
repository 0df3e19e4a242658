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

/// Builds a rate control from its configuration, capabilities, seed, and the tables of those built before.
type Build<C, R> = fn(C, &Capabilities, u64, &mut RateTables) -> Result<R, ConfigError>;

/// Makes [`RateConfig`] and [`AnyRate`] from the table of kinds below.
macro_rules! rates {
    (($dollar:tt) $($meaning:literal $name:literal: $kind:ident($config:ty), $build:expr;)*) => {
        /// Kind and configuration of a rate control; `kind` selects it in a scenario.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        #[non_exhaustive]
        pub enum RateConfig {
            $(
                #[doc = concat!("`", $name, "`: ", $meaning, ".")]
                #[serde(rename = $name)]
                $kind($config),
            )*
        }

        impl RateConfig {
            /// All kinds: the name in a scenario, and its meaning in a line.
            pub const KINDS: &[(&str, &str)] = &[$(($name, $meaning)),*];

            /// The name in a scenario.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)*
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
                    $(Self::$kind(config) => {
                        let build: Build<$config, $kind> = $build;
                        AnyRate::$kind(build(config.clone(), capabilities, seed, tables)?)
                    })*
                })
            }
        }

        /// Any of the rate controls.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum AnyRate {
            $(
                #[doc = concat!("`", $name, "`: ", $meaning, ".")]
                $kind($kind),
            )*
            /// See [`CustomRate`].
            Custom(Box<CustomRate>),
        }

        /// Passes a call on to whichever rate control it is.
        macro_rules! each {
            ($dollar any:expr, $dollar rate:ident => $dollar call:expr) => {
                match $dollar any {
                    $(AnyRate::$kind($dollar rate) => $dollar call,)*
                    AnyRate::Custom($dollar rate) => $dollar call,
                }
            };
        }
    };
}

// A new rate control is a line here: its meaning, its name in scenario files, its type with its configuration, and the way from
// configuration, capabilities and seed to the rate control.
rates! { ($)
    "one rate for each station" "fixed": Fixed(FixedConfig), |config, stations, _, _| Fixed::new(config, stations);
    "the rate that the SNR calls for" "ideal": Ideal(IdealConfig), |config, stations, _, _| Ideal::new(config, stations);
    "Linux's default" "minstrel-ht": MinstrelHt(MinstrelHtConfig), MinstrelHt::with_tables;
    "the rate with the shortest tail of the delay"
    "llra": Llra(LlraConfig), |config, stations, _, _| Llra::new(config, stations);
    "Thompson sampling" "thompson": Thompson(ThompsonConfig), |config, stations, seed, _| Thompson::new(config, stations, seed);
}

impl Default for RateConfig {
    fn default() -> Self {
        Self::MinstrelHt(MinstrelHtConfig::default())
    }
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
