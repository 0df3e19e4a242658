//! Stands for the kernel's rate control in the link: gives the PPDU format of each station. Rates follow from completions.

use airbound_control::frame::{RateChain, StationId};
use airbound_control::rate::{RateControl, RateReport};
use airbound_units::Instant;
use airbound_wifi::rate::{GuardInterval, Legacy, Rate, Width};

/// The PPDU format of each station.
#[derive(Debug, Clone, Default)]
pub(super) struct KernelRates {
    /// Whether frames to a station are not aggregated, by station.
    legacy: Vec<bool>,
}

impl KernelRates {
    /// Sets whether frames to a station are aggregated. Returns whether that changed.
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

    /// A rate of about 25 Mb/s, assumed until a rate is known.
    fn expected_rate(&self, station: StationId) -> Rate {
        let ht = Rate::ht(3, Width::Mhz20, GuardInterval::Ns800);
        let is_legacy = self.legacy.get(station.index()).is_some_and(|legacy| *legacy);
        ht.ok().filter(|_| !is_legacy).unwrap_or(Rate::legacy(Legacy::Mbps24))
    }
}
