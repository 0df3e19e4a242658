//! The kernel's rate control, as far as the link needs it: which form frames have. Completions tell how fast they were.

use airbound_control::frame::{RateChain, StationId};
use airbound_control::rate::{RateControl, RateReport};
use airbound_units::Instant;
use airbound_wifi::rate::{GuardInterval, Legacy, Rate, Width};

/// The form of frames to each station.
#[derive(Debug, Clone, Default)]
pub(super) struct KernelRates {
    /// Stations whose frames are not aggregated.
    legacy: Vec<bool>,
}

impl KernelRates {
    /// Notes whether frames to a station are aggregated. Returns whether that is news.
    pub(super) fn set_aggregates(&mut self, station: StationId, aggregates: bool) -> bool {
        if station.index() >= self.legacy.len() {
            self.legacy.resize(station.index() + 1, false);
        }
        std::mem::replace(&mut self.legacy[station.index()], !aggregates) == aggregates
    }
}

impl RateControl for KernelRates {
    fn chain(&mut self, _now: Instant, station: StationId, _mpdus: u16) -> RateChain {
        RateChain::single(self.expected_rate(station), 1)
    }

    fn on_report(&mut self, _now: Instant, _station: StationId, _report: &RateReport) {}

    /// A rate of about 25 Mb/s, for which a station is taken before anything is known of it.
    fn expected_rate(&self, station: StationId) -> Rate {
        let ht = Rate::ht(3, Width::Mhz20, GuardInterval::Ns800);
        let is_legacy = self.legacy.get(station.index()).is_some_and(|legacy| *legacy);
        ht.ok().filter(|_| !is_legacy).unwrap_or(Rate::legacy(Legacy::Mbps24))
    }
}
