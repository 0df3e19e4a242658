//! A rate control controlled by code outside of this crate, which is not trusted.
//!
//! [`CustomRate`] knows the capabilities of each station; a chain with a rate that the station cannot receive is a [`Mistake`], is
//! reported to the decider, and is replaced by the slowest rate.

use std::fmt;

use airbound_units::Instant;
use airbound_wifi::rate::Rate;

use super::stations::Stations;
use super::{Capabilities, LinkStats, RateControl, RateReport, RateSet};
use crate::error::ConfigError;
use crate::frame::StationId;
use crate::frame::{Attempt, RateChain};

/// An invalid rate chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// No step, or more than the hardware accepts.
    #[error("a chain has {steps} steps; allowed are 1 to 4")]
    Steps {
        /// Number of steps.
        steps: usize,
    },
    /// A step without tries.
    #[error("a step of a chain has no tries; allowed are 1 to 255")]
    NoTries,
    /// A rate that the station cannot receive.
    #[error("a chain for station {} has the rate {rate}, which the station cannot receive", station.0)]
    Rate {
        /// The station.
        station: StationId,
        /// The rate.
        rate: Rate,
    },
}

/// Chooses the rates of a [`CustomRate`].
pub trait RateDecider: fmt::Debug + Send {
    /// Adds a station; it can receive `rates`, the slowest first.
    fn add_station(&mut self, station: StationId, rates: &[Rate]);

    /// Returns the chain for the next aggregate to `station`, which is likely to have `mpdus` MPDUs: 1 to 4 steps.
    fn chain(&mut self, now: Instant, station: StationId, mpdus: u16) -> Vec<Attempt>;

    /// See [`RateControl::on_report`].
    fn on_report(&mut self, now: Instant, station: StationId, report: &RateReport);

    /// See [`RateControl::on_link_stats`].
    fn on_link_stats(&mut self, _now: Instant, _station: StationId, _stats: &LinkStats) {}

    /// See [`RateControl::next_deadline`].
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Notes that a chain was invalid.
    fn on_mistake(&mut self, _mistake: Mistake) {}
}

/// State of a station.
#[derive(Debug)]
struct Station {
    rates: RateSet,
    /// Whether the decider was given the station.
    announced: bool,
    /// The first rate of the last chain.
    last: Rate,
}

impl Station {
    const fn new(rates: RateSet) -> Self {
        let last = rates.lowest();
        Self { rates, announced: false, last }
    }

    fn check(&self, station: StationId, steps: &[Attempt]) -> Result<RateChain, Mistake> {
        let (Some(first), 1..=RateChain::MAX_STEPS) = (steps.first(), steps.len()) else {
            return Err(Mistake::Steps { steps: steps.len() });
        };
        for step in steps {
            if step.tries == 0 {
                return Err(Mistake::NoTries);
            }
            if !self.rates.contains(step.rate) {
                return Err(Mistake::Rate { station, rate: step.rate });
            }
        }
        let mut chain = RateChain::single(first.rate, first.tries);
        steps.iter().skip(1).for_each(|step| chain.push(step.rate, step.tries));
        Ok(chain)
    }
}

/// See the [module's](self) description.
#[derive(Debug)]
pub struct CustomRate {
    decider: Box<dyn RateDecider>,
    default: RateSet,
    stations: Stations<Station>,
}

impl CustomRate {
    /// Creates a rate control with decisions of `decider`, for stations with `capabilities`.
    ///
    /// # Errors
    /// A value of `capabilities` is out of range.
    pub fn new(decider: Box<dyn RateDecider>, capabilities: &Capabilities) -> Result<Self, ConfigError> {
        Ok(Self { decider, default: capabilities.rate_set()?, stations: Stations::default() })
    }

    /// Sets the capabilities of `station`.
    ///
    /// # Errors
    /// A value of `capabilities` is out of range.
    pub fn set_capabilities(
        &mut self,
        station: StationId,
        capabilities: &Capabilities,
    ) -> Result<(), ConfigError> {
        self.stations.set(station, Station::new(capabilities.rate_set()?));
        Ok(())
    }
}

impl RateControl for CustomRate {
    fn chain(&mut self, now: Instant, station: StationId, mpdus: u16) -> RateChain {
        let slowest = RateChain::single(self.default.lowest(), 1);
        let default = &self.default;
        let Some(known) = self.stations.get_or_insert(station, || Station::new(default.clone())) else {
            return slowest;
        };
        if !known.announced {
            known.announced = true;
            self.decider.add_station(station, known.rates.as_slice());
        }
        let steps = self.decider.chain(now, station, mpdus);
        let chain = known.check(station, &steps).unwrap_or_else(|mistake| {
            self.decider.on_mistake(mistake);
            RateChain::single(known.rates.lowest(), 1)
        });
        known.last = chain.first_rate();
        chain
    }

    fn on_report(&mut self, now: Instant, station: StationId, report: &RateReport) {
        // Reports of stations unknown to the decider are not passed on.
        if self.stations.get(station).is_some_and(|known| known.announced) {
            self.decider.on_report(now, station, report);
        }
    }

    fn on_link_stats(&mut self, now: Instant, station: StationId, stats: &LinkStats) {
        self.decider.on_link_stats(now, station, stats);
    }

    fn expected_rate(&self, station: StationId) -> Rate {
        self.stations.get(station).map_or(self.default.lowest(), |known| known.last)
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.decider.next_deadline()
    }
}
