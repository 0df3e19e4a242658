//! LLRA, latency-aware rate adaptation: uses the rate with the shortest tail of delay, not the one with the largest throughput.
//!
//! Li, Peng, Lu, Wang and Chandra, "Latency-aware rate adaptation in 802.11n home networks", INFOCOM 2015. The full text of the paper
//! was not available: the implementation follows its abstract (rate control, frame aggregation scheduling, and software and hardware
//! retransmissions are designed together so that the *tail* of the delay becomes short) and an unfinished student implementation for
//! ns-3 (Kemanth/Implementation-of-Latency-Aware-Rate-Adaptation-for-802.11n-in-NS-3, which is no authority: the α percentile of the
//! number of retransmissions over the last 100 frames; a probe only where that percentile is above zero). All other choices are
//! Airbound's:
//!
//! - *measure of a rate*: the time that all but 1 - α of the frames need, α = 95 %. With a success of p the number of transmissions
//!   is n = ⌈ln(1 - α) / ln(1 - p)⌉, and the time that of n exchanges of a full packet with the mean backoff before each. The rate
//!   with the shortest time is used, on a tie the faster one;
//! - *window*: 100 frames or 100 ms, whichever comes first; it ends early when probes have shown that the next faster rate has the
//!   shorter tail. Counts are halved from one window to the next, and a rate needs three transmissions to be considered;
//! - *probes*: five in a window to the next faster rate, as long as one try of it takes less than the present tail, and five to the
//!   next slower rate, only if n is above one. A probe is one try; the rate in use follows it in the chain;
//! - *hardware retransmissions*: n of them, at least two, as far as they fit in `segment` and `max-tries`: more do not help the
//!   percentile and only block the following frames;
//! - *software retransmissions*: after a descriptor without any acknowledgement the next one uses the next lower rate, and so on
//!   until an MPDU arrives. Hardware that takes a chain has that lower rate as its second step;
//! - *aggregation scheduling* is left out: rate control does not determine the length of an aggregate, and openwifi has none;
//! - the slowest rate is the first.

mod station;

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::rate::Rate;
use serde::{Deserialize, Serialize};

use self::station::Station;
use super::stations::Stations;
use super::{Capabilities, RateControl, RateReport, RateSet};
use crate::error::ConfigError;
use crate::frame::RateChain;
use crate::frame::StationId;

/// Configuration of [`Llra`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LlraConfig {
    /// The percentile α of the delay to be minimised, 1 to 99. Default 95.
    pub percentile: u8,
    /// Descriptors in a window, after which the rate is reconsidered, 1 to 10000. Default 100.
    pub window_frames: u16,
    /// Longest duration of a window, 1 ms to 10 s. Default 100 ms.
    pub window: Span,
    /// Probes of each neighbouring rate in a window, 0 to 100. Default 5.
    pub probes: u8,
    /// Upper limit on hardware tries of one step of the chain, 1 to 31. Default 7 (the kernel's for Minstrel-HT).
    pub max_tries: u8,
    /// Upper limit on the airtime of these tries together, 1 us to 1 s. Default 6 ms (the kernel's `segment_size`).
    pub segment: Span,
    /// Size of the MPDU whose delay is computed, 1 B to 11454 B (802.11-2020, table 9-25). Default 1538 B.
    pub mpdu: ByteCount,
}

impl Default for LlraConfig {
    fn default() -> Self {
        Self {
            percentile: 95,
            window_frames: 100,
            window: Span::from_millis(100),
            probes: 5,
            max_tries: 7,
            segment: Span::from_millis(6),
            mpdu: ByteCount::new(1538),
        }
    }
}

impl LlraConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let Self { percentile, window_frames, window, probes, max_tries, segment, mpdu } = self;
        ConfigError::check((1..=99).contains(percentile), "rate.percentile", percentile, "1 to 99")?;
        ConfigError::check(
            (1..=10_000).contains(window_frames),
            "rate.window-frames",
            window_frames,
            "1 to 10000",
        )?;
        let windows = Span::from_millis(1)..=Span::from_secs(10);
        ConfigError::check(windows.contains(window), "rate.window", window, "1 ms to 10 s")?;
        ConfigError::check(*probes <= 100, "rate.probes", probes, "0 to 100")?;
        ConfigError::check((1..=31).contains(max_tries), "rate.max-tries", max_tries, "1 to 31")?;
        let segments = Span::from_micros(1)..=Span::from_secs(1);
        ConfigError::check(segments.contains(segment), "rate.segment", segment, "1 us to 1 s")?;
        let mpdus = ByteCount::new(1)..=ByteCount::new(11_454);
        ConfigError::check(mpdus.contains(mpdu), "rate.mpdu", mpdu, "1 B to 11454 B")
    }

    /// The share of frames that may take longer.
    fn tail(&self) -> f64 {
        1.0 - f64::from(self.percentile) / 100.0
    }
}

/// Latency-aware rate adaptation. See the [module](self).
#[derive(Debug, Clone)]
pub struct Llra {
    config: LlraConfig,
    /// Rates of stations without reported capabilities.
    rates: RateSet,
    stations: Stations<Station>,
    /// Latest time observed.
    now: Instant,
}

impl Llra {
    /// Builds the rate control for stations with `capabilities`.
    ///
    /// # Errors
    /// A value of `config` or of `capabilities` is out of range.
    pub fn new(config: LlraConfig, capabilities: &Capabilities) -> Result<Self, ConfigError> {
        config.check()?;
        let rates = capabilities.rate_set()?;
        Ok(Self { config, rates, stations: Stations::default(), now: Instant::ZERO })
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
        let rates = capabilities.rate_set()?;
        self.stations.set(station, Station::new(&self.config, &rates, self.now));
        Ok(())
    }

    fn station(&mut self, now: Instant, station: StationId) -> Option<(&mut Station, &LlraConfig)> {
        self.now = self.now.max(now);
        let (config, rates, now) = (&self.config, &self.rates, self.now);
        let station = self.stations.get_or_insert(station, || Station::new(config, rates, now))?;
        Some((station, config))
    }
}

impl RateControl for Llra {
    fn chain(&mut self, now: Instant, station: StationId, _mpdus: u16) -> RateChain {
        let chain = self.station(now, station).and_then(|(station, config)| station.chain(config));
        chain.unwrap_or_else(|| RateChain::single(self.expected_rate(station), 1))
    }

    fn on_report(&mut self, now: Instant, station: StationId, report: &RateReport) {
        let latest = self.now.max(now);
        if let Some((station, config)) = self.station(now, station) {
            station.on_report(latest, report, config);
        }
    }

    fn expected_rate(&self, station: StationId) -> Rate {
        self.stations.get(station).and_then(Station::rate).unwrap_or(self.rates.lowest())
    }
}
