//! The rate control of an episode: the decided rate for each link.

use std::collections::BTreeMap;

use airbound_control::frame::{Attempt, StationId};
use airbound_control::rate::{RateDecider, RateReport};
use airbound_units::Instant;
use airbound_wifi::rate::Rate;

use super::decision::{Settings, station_of};

/// Transmissions before the hardware gives up (dot11ShortRetryLimit, 802.11-2020, C.3).
const TRIES: u8 = 7;

/// The rate control of one transmitter.
#[derive(Debug)]
pub(super) struct Rates {
    settings: Settings,
    own: u32,
    rates: BTreeMap<StationId, Vec<Rate>>,
}

impl Rates {
    pub(super) const fn new(settings: Settings, own: u32) -> Self {
        Self { settings, own, rates: BTreeMap::new() }
    }
}

impl RateDecider for Rates {
    fn add_station(&mut self, station: StationId, rates: &[Rate]) {
        self.rates.insert(station, rates.to_vec());
    }

    fn chain(&mut self, _now: Instant, station: StationId, _mpdus: u16) -> Vec<Attempt> {
        let index = self.settings.get(station_of(self.own, station.0)) as usize;
        let rates = self.rates.get(&station);
        let rate = rates.and_then(|rates| rates.get(index).or_else(|| rates.last()));
        rate.map(|rate| Attempt { rate: *rate, tries: TRIES }).into_iter().collect()
    }

    fn on_report(&mut self, _now: Instant, _station: StationId, _report: &RateReport) {}
}
