//! Minstrel-HT, the rate control of Linux's mac80211 (`net/mac80211/rc80211_minstrel_ht.c`, as of Linux 5.13 to 6.x).
//!
//! Every transmitted frame measures the success of its rates; now and then a frame tries another rate. Every 50 ms the share of
//! acknowledged MPDUs of each rate passes a filter, the expected throughput of each rate follows from that share, its airtime
//! and the mean length of aggregates, and the best rates form the chain.
//!
//! ```text
//!  reports ─▶ attempts, successes ─▶ filter ─▶ success ─▶ throughput ─▶ best, second, most reliable ─▶ chain
//!                    ▲                 50 ms                                       │
//!                    └──── samples, 20 ms apart ◀── pools: increment, jump, slow ◀─┘
//! ```
//!
//! All arithmetic is on integers, with the kernel's scales and roundings. Differences from the kernel:
//!
//! - time is counted in nanoseconds and not in jiffies;
//! - the random order of samples follows from a seed;
//! - groups for HE and for 160 MHz, which the kernel leaves to drivers, work like the others; groups have 12 places
//!   instead of 10;
//! - there are no CCK rates. Legacy OFDM is used if the capabilities list it;
//! - the last steps of the chain get as many tries as would fit with RTS and CTS, as in the kernel, but the chain does not
//!   request RTS;
//! - a number of tries never exceeds `max-tries`;
//! - hardware that does not report the length of aggregates, and the bound on A-MSDUs, are left out.

mod estimate;
mod sampling;
mod station;
mod statistics;
mod table;

use std::sync::Arc;

use airbound_units::{BitRate, Instant, Span};
use airbound_wifi::rate::Rate;
use serde::{Deserialize, Serialize};

use self::estimate::Overheads;
use self::sampling::SampleTable;
use self::station::{Shared, Station};
pub use self::statistics::Average;
use self::statistics::SCALE;
pub use self::table::RateTables;
use self::table::{AVERAGE_PACKET, RateTable};
use super::stations::Stations;
use super::{Capabilities, RateControl, RateReport};
use crate::error::ConfigError;
use crate::frame::RateChain;
use crate::frame::StationId;

/// Condition between two samples, besides the sample interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleSpacing {
    /// None: Linux from 5.12 on. A busy station samples up to 60 times a second, each time in a frame of its own.
    #[default]
    Time,
    /// 16 + 2 L frames, L the mean MPDUs of a frame: ns-3 (`MinstrelHtWifiManager`). Linux before 5.12 counted the same number
    /// of packets.
    Frames,
}

/// Configuration of [`MinstrelHt`]. The defaults are the kernel's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MinstrelHtConfig {
    /// Update interval, 1 ms to 10 s. Default 50 ms (`HZ / 20`).
    pub update_interval: Span,
    /// Averaging of the success of a rate over these intervals. Default the low-pass filter.
    pub average: Average,
    /// Whether other rates are sampled. Default true.
    pub sampling: bool,
    /// Least time from one sample to the next, 0 to 10 s. Default 20 ms (`MINSTREL_SAMPLE_INTERVAL`, `HZ / 50`).
    /// The first frame after an update samples in any case.
    pub sample_interval: Span,
    /// Further condition between two samples. Default none, as in the kernel.
    pub sample_spacing: SampleSpacing,
    /// Steps of the chain that the hardware accepts, 1 to 4: 1 is the best rate alone, 2 adds the most reliable one, 3 and 4
    /// add the second best between them. Default 4 (`IEEE80211_TX_MAX_RATES`, ath9k).
    pub chain_steps: u8,
    /// Upper limit on tries of one step, 1 to 31. Default 7 (the kernel's where the driver sets none; ath9k sets 10).
    pub max_tries: u8,
    /// Upper limit on the airtime of the tries of one step, 1 us to 1 s. Default 6 ms (`segment_size`).
    pub segment: Span,
}

impl Default for MinstrelHtConfig {
    fn default() -> Self {
        Self {
            update_interval: Span::from_millis(50),
            average: Average::LowPass,
            sampling: true,
            sample_interval: Span::from_millis(20),
            sample_spacing: SampleSpacing::Time,
            chain_steps: 4,
            max_tries: 7,
            segment: Span::from_millis(6),
        }
    }
}

impl MinstrelHtConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let within = |value: Span, low: Span, high: Span| (low..=high).contains(&value);
        ConfigError::check(
            within(self.update_interval, Span::from_millis(1), Span::from_secs(10)),
            "rate.update-interval",
            self.update_interval,
            "1 ms to 10 s",
        )?;
        ConfigError::check(
            self.sample_interval <= Span::from_secs(10),
            "rate.sample-interval",
            self.sample_interval,
            "0 ms to 10 s",
        )?;
        ConfigError::check(
            (1..=4).contains(&self.chain_steps),
            "rate.chain-steps",
            self.chain_steps,
            "1 to 4",
        )?;
        ConfigError::check((1..=31).contains(&self.max_tries), "rate.max-tries", self.max_tries, "1 to 31")?;
        ConfigError::check(
            within(self.segment, Span::from_micros(1), Span::from_secs(1)),
            "rate.segment",
            self.segment,
            "1 us to 1 s",
        )
    }
}

/// Minstrel-HT's statistics of one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateStatus {
    /// The rate.
    pub rate: Rate,
    /// Average share of acknowledged MPDUs, 0 to 1; that of a faster rate if none was sent.
    pub success: f64,
    /// Expected throughput for packets of 1200 B, aggregation and overhead included.
    pub throughput: BitRate,
    /// MPDUs sent before the present interval, each try counted.
    pub attempts: u64,
    /// MPDUs acknowledged before the present interval.
    pub successes: u64,
}

/// Linux's default rate control. See the [module](self).
///
/// A station is added when its first chain is requested. Its state is updated by the first report after the update interval has
/// passed.
#[derive(Debug, Clone)]
pub struct MinstrelHt {
    config: MinstrelHtConfig,
    overheads: Overheads,
    order: SampleTable,
    /// Rates of stations without reported capabilities.
    table: Arc<RateTable>,
    tables: RateTables,
    stations: Stations<Station>,
    /// Latest time observed.
    now: Instant,
}

impl MinstrelHt {
    /// Builds the rate control for stations with `capabilities`; `seed` decides the order of samples.
    ///
    /// # Errors
    /// A value of `config` or of `capabilities` is out of range.
    pub fn new(
        config: MinstrelHtConfig,
        capabilities: &Capabilities,
        seed: u64,
    ) -> Result<Self, ConfigError> {
        Self::with_tables(config, capabilities, seed, &mut RateTables::default())
    }

    /// The same, with the tables of rate controls built before.
    ///
    /// # Errors
    /// A value of `config` or of `capabilities` is out of range.
    pub fn with_tables(
        config: MinstrelHtConfig,
        capabilities: &Capabilities,
        seed: u64,
        tables: &mut RateTables,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let table = tables.of(capabilities)?;
        Ok(Self {
            config,
            overheads: Overheads::new(),
            order: SampleTable::new(seed),
            tables: tables.clone(),
            table,
            stations: Stations::default(),
            now: Instant::ZERO,
        })
    }

    /// Sets the capabilities of `station`, and resets what was learned about it.
    ///
    /// # Errors
    /// A value of `capabilities` is out of range.
    pub fn set_capabilities(
        &mut self,
        station: StationId,
        capabilities: &Capabilities,
    ) -> Result<(), ConfigError> {
        let table = self.tables.of(capabilities)?;
        let shared = Shared { config: &self.config, overheads: &self.overheads, order: &self.order };
        self.stations.set(station, Station::new(table, self.now, shared));
        Ok(())
    }

    fn with_station<T>(
        &mut self,
        now: Instant,
        station: StationId,
        then: impl FnOnce(&mut Station, Instant, Shared<'_>) -> T,
    ) -> Option<T> {
        self.now = self.now.max(now);
        let shared = Shared { config: &self.config, overheads: &self.overheads, order: &self.order };
        let new = || Station::new(Arc::clone(&self.table), self.now, shared);
        let station = self.stations.get_or_insert(station, new)?;
        Some(then(station, self.now, shared))
    }

    /// Statistics of the rates of `station`, sorted by rate; empty for a station without a chain.
    pub fn status(&self, station: StationId) -> impl Iterator<Item = RateStatus> + '_ {
        self.stations.get(station).into_iter().flat_map(|station| {
            station.known().map(|(id, rate, stats)| {
                let ampdu = station.mean_ampdu();
                let packets = self.overheads.throughput(&station.table, id, stats.probability, ampdu);
                RateStatus {
                    rate,
                    success: f64::from(stats.probability) / f64::from(1u32 << SCALE),
                    throughput: bit_rate(packets),
                    attempts: stats.all_attempts,
                    successes: stats.all_successes,
                }
            })
        })
    }

    /// MPDUs reported for `station`, and how many of them were sent with a chain that began with a sample.
    #[must_use]
    pub fn mpdus(&self, station: StationId) -> (u64, u64) {
        self.stations.get(station).map_or((0, 0), |station| (station.mpdus, station.sampled_mpdus))
    }
}

/// The throughput of `packets` average packets in a tenth of a second.
fn bit_rate(packets: u32) -> BitRate {
    BitRate::from_bps(u64::from(packets) * 10 * 8 * u64::from(AVERAGE_PACKET))
}

impl RateControl for MinstrelHt {
    fn chain(&mut self, now: Instant, station: StationId, _mpdus: u16) -> RateChain {
        self.with_station(now, station, |station, now, shared| station.chain(now, shared.config))
            .unwrap_or_else(|| RateChain::single(self.expected_rate(station), 1))
    }

    fn on_report(&mut self, now: Instant, station: StationId, report: &RateReport) {
        self.with_station(now, station, |station, now, shared| station.on_report(now, report, shared));
    }

    fn expected_rate(&self, station: StationId) -> Rate {
        self.stations
            .get(station)
            .map_or_else(|| self.table.rate(self.table.start), |station| station.best_rate())
    }

    fn expected_throughput(&self, station: StationId) -> Option<BitRate> {
        self.stations.get(station).map(|station| bit_rate(station.expected_throughput()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_runs_backwards_stands_still() {
        let mut minstrel =
            MinstrelHt::new(MinstrelHtConfig::default(), &Capabilities::default(), 1).expect("valid");
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let used = minstrel.chain(at(0), StationId(0), 1);
        minstrel.on_report(at(100), StationId(0), &RateReport { used, mpdus: 1, acknowledged: 1 });
        // The first frame after an update is a sample; it has to be one even if the clock went back.
        assert!(minstrel.chain(at(5), StationId(0), 1).probe);
        assert!(!minstrel.chain(at(119), StationId(0), 1).probe);
        assert!(minstrel.chain(at(120), StationId(0), 1).probe);
    }
}
