//! Meters of the channel and the stations.

use airbound_control::frame::StationId;
use airbound_units::Span;
use airbound_wifi::rate::Rate;

/// One station's meter: transmissions over its link towards the access point, both directions.
#[derive(Debug, Clone, Default)]
struct StationMeter {
    airtime: Span,
    /// PPDUs to the station only.
    ppdus: u64,
    mpdus: u64,
    acknowledged: u64,
    /// Sum over MPDUs of the PHY rate, bit/s.
    rate_sum: f64,
    window_airtime: Span,
    window_mpdus: u64,
    window_rate_sum: f64,
}

/// Meter of the channel and the stations over the measured time.
#[derive(Debug, Clone)]
pub(crate) struct AirMeter {
    busy: Span,
    attempts: u64,
    collided: u64,
    stations: Vec<StationMeter>,
}

/// The figures of one station.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StationFigures {
    pub(crate) airtime: Span,
    pub(crate) mean_ampdu: Option<f64>,
    pub(crate) retry_rate: Option<f64>,
    pub(crate) mean_phy_rate_mbps: Option<f64>,
}

impl AirMeter {
    pub(super) fn new(nodes: usize) -> Self {
        Self { busy: Span::ZERO, attempts: 0, collided: 0, stations: vec![StationMeter::default(); nodes] }
    }

    pub(super) fn on_attempts(&mut self, transmitters: u64, collided: bool) {
        self.attempts += transmitters;
        if collided {
            self.collided += transmitters;
        }
    }

    pub(super) fn on_busy(&mut self, span: Span) {
        self.busy += span;
    }

    pub(super) fn on_exchange(
        &mut self,
        link: StationId,
        downwards: bool,
        airtime: Span,
        mpdus: u16,
        acknowledged: u16,
        rate: Rate,
    ) {
        let Some(station) = self.stations.get_mut(link.index()) else { return };
        station.airtime += airtime;
        if downwards {
            station.ppdus += u64::from(mpdus > 0);
            station.mpdus += u64::from(mpdus);
            station.acknowledged += u64::from(acknowledged);
            station.rate_sum += f64::from(mpdus) * rate.bit_rate().as_bps() as f64;
        }
    }

    pub(super) fn on_window(
        &mut self,
        link: StationId,
        downwards: bool,
        airtime: Span,
        mpdus: u16,
        rate: Rate,
    ) {
        let Some(station) = self.stations.get_mut(link.index()) else { return };
        station.window_airtime += airtime;
        if downwards {
            station.window_mpdus += u64::from(mpdus);
            station.window_rate_sum += f64::from(mpdus) * rate.bit_rate().as_bps() as f64;
        }
    }

    /// Mean PHY rate towards a station in Mb/s and its share of the window.
    pub(super) fn window_of(&self, peer: StationId, length: Span) -> (Option<f64>, f64) {
        let Some(station) = self.stations.get(peer.index()) else { return (None, 0.0) };
        let rate =
            (station.window_mpdus > 0).then(|| station.window_rate_sum / station.window_mpdus as f64 / 1e6);
        (rate, station.window_airtime.as_secs_f64() / length.as_secs_f64())
    }

    pub(super) fn end_window(&mut self) {
        for station in &mut self.stations {
            station.window_airtime = Span::ZERO;
            station.window_mpdus = 0;
            station.window_rate_sum = 0.0;
        }
    }

    pub(crate) const fn busy(&self) -> Span {
        self.busy
    }

    /// Number of collided transmissions, and of all.
    pub(crate) const fn attempts(&self) -> (u64, u64) {
        (self.collided, self.attempts)
    }

    pub(crate) fn station(&self, peer: StationId) -> Option<StationFigures> {
        let station = self.stations.get(peer.index())?;
        let share = |sum: f64, of: u64| (of > 0).then(|| sum / of as f64);
        Some(StationFigures {
            airtime: station.airtime,
            mean_ampdu: share(station.mpdus as f64, station.ppdus),
            retry_rate: share(station.mpdus.saturating_sub(station.acknowledged) as f64, station.mpdus),
            mean_phy_rate_mbps: share(station.rate_sum / 1e6, station.mpdus),
        })
    }
}
