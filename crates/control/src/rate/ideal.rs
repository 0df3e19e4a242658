//! The best rate for the signal-to-noise ratio.

use airbound_units::{ByteCount, Decibel, Instant};
use airbound_wifi::error::mpdu_success;
use airbound_wifi::rate::{Rate, Width};
use serde::{Deserialize, Serialize};

use super::stations::Stations;
use super::{Capabilities, LinkStats, RateControl, RateReport, RateSet};
use crate::error::ConfigError;
use crate::frame::RateChain;
use crate::frame::StationId;

/// Configuration of [`Ideal`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct IdealConfig {
    /// Transmissions before the hardware gives up, 1 to 255. Default 7, the short retry limit of 802.11
    /// (dot11ShortRetryLimit, 802.11-2020, C.3).
    pub tries: u8,
    /// Size of the MPDU whose success is compared, 1 B to 11454 B (the longest of 802.11-2020, table 9-25). Default
    /// 1500 B.
    pub mpdu: ByteCount,
}

impl Default for IdealConfig {
    fn default() -> Self {
        Self { tries: 7, mpdu: ByteCount::new(1_500) }
    }
}

/// Picks the rate with the highest expected goodput, bit rate times success of an MPDU, at the SNR reported by the
/// environment ([`LinkStats::snr`]).
///
/// The success is that of [`airbound_wifi::error`]. The SNR is taken as that over the widest channel of the station's
/// capabilities; the same power on half the width raises it by 3 dB. On a tie the slower rate is used. Without an SNR,
/// or where every rate fails, the slowest rate is used. (ns-3's `IdealWifiManager` differs: it takes the fastest rate
/// whose bit error rate stays below a bound, 10^-5 by default.)
///
/// Decisions are made once for the lower end of each quarter of a decibel, and cached.
#[derive(Debug, Clone)]
pub struct Ideal {
    config: IdealConfig,
    /// The first entry is for stations without reported capabilities.
    choices: Vec<Choices>,
    stations: Stations<Station>,
}

#[derive(Debug, Clone, Copy)]
struct Station {
    /// Index in `choices`.
    choices: usize,
    snr: Option<Decibel>,
    rate: Rate,
}

impl Ideal {
    /// Builds the rate control for stations with `capabilities`.
    ///
    /// # Errors
    /// A value of `config` or of `capabilities` is out of range.
    pub fn new(config: IdealConfig, capabilities: &Capabilities) -> Result<Self, ConfigError> {
        ConfigError::check(config.tries > 0, "rate.tries", config.tries, "1 to 255")?;
        let longest = ByteCount::new(11_454);
        ConfigError::check(
            config.mpdu > ByteCount::ZERO && config.mpdu <= longest,
            "rate.mpdu",
            config.mpdu,
            "1 B to 11454 B",
        )?;
        let choices = vec![Choices::new(capabilities.rate_set()?)];
        Ok(Self { config, choices, stations: Stations::default() })
    }

    /// Sets the capabilities of `station`; its last SNR is kept.
    ///
    /// # Errors
    /// A value of `capabilities` is out of range.
    pub fn set_capabilities(
        &mut self,
        station: StationId,
        capabilities: &Capabilities,
    ) -> Result<(), ConfigError> {
        let rates = capabilities.rate_set()?;
        let choices = match self.choices.iter().position(|known| known.rates == rates) {
            Some(index) => index,
            None => {
                self.choices.push(Choices::new(rates));
                self.choices.len() - 1
            }
        };
        let snr = self.stations.get(station).and_then(|known| known.snr);
        let rate = self.choose(choices, snr);
        self.stations.set(station, Station { choices, snr, rate });
        Ok(())
    }

    fn choose(&mut self, choices: usize, snr: Option<Decibel>) -> Rate {
        let mpdu = self.config.mpdu;
        match (self.choices.get_mut(choices), snr) {
            (Some(choices), Some(snr)) => choices.at(snr, mpdu),
            (Some(choices), None) => choices.rates.lowest(),
            (None, _) => self.lowest(),
        }
    }

    fn lowest(&self) -> Rate {
        let legacy = Rate::legacy(airbound_wifi::rate::Legacy::Mbps6);
        self.choices.first().map_or(legacy, |choices| choices.rates.lowest())
    }
}

impl RateControl for Ideal {
    fn chain(&mut self, _now: Instant, station: StationId, _mpdus: u16) -> RateChain {
        RateChain::single(self.expected_rate(station), self.config.tries)
    }

    fn on_report(&mut self, _now: Instant, _station: StationId, _report: &RateReport) {}

    fn on_link_stats(&mut self, _now: Instant, station: StationId, stats: &LinkStats) {
        let known = self.stations.get(station);
        if stats.snr.is_none() || known.is_some_and(|known| known.snr == stats.snr) {
            return;
        }
        let choices = known.map_or(0, |known| known.choices);
        let rate = self.choose(choices, stats.snr);
        let fresh = Station { choices, snr: stats.snr, rate };
        if let Some(station) = self.stations.get_or_insert(station, || fresh) {
            *station = fresh;
        }
    }

    fn expected_rate(&self, station: StationId) -> Rate {
        self.stations.get(station).map_or_else(|| self.lowest(), |station| station.rate)
    }
}

/// Lowest SNR of the table, and the number of steps of a quarter of a decibel above it: -20 dB to 60 dB.
const LOWEST_DB: f64 = -20.0;
const STEPS_PER_DB: f64 = 4.0;
const STEPS: usize = 320;

/// The best rate of a set at each SNR, computed on first use.
#[derive(Debug, Clone)]
struct Choices {
    rates: RateSet,
    widest: Width,
    best: Vec<Option<Rate>>,
}

impl Choices {
    fn new(rates: RateSet) -> Self {
        let widest = rates.as_slice().iter().map(|rate| rate.width()).max().unwrap_or(Width::Mhz20);
        Self { rates, widest, best: vec![None; STEPS + 1] }
    }

    fn at(&mut self, snr: Decibel, mpdu: ByteCount) -> Rate {
        // The cast saturates.
        let step = (((snr.value() - LOWEST_DB) * STEPS_PER_DB) as usize).min(STEPS);
        if let Some(known) = self.best.get(step).copied().flatten() {
            return known;
        }
        let edge = Decibel::new(LOWEST_DB + step as f64 / STEPS_PER_DB);
        let best = best_rate(&self.rates, self.widest, edge, mpdu);
        if let Some(slot) = self.best.get_mut(step) {
            *slot = Some(best);
        }
        best
    }
}

/// The rate with the highest bit rate times success.
fn best_rate(rates: &RateSet, widest: Width, snr: Decibel, mpdu: ByteCount) -> Rate {
    let mut best = (0.0, rates.lowest());
    for &rate in rates.as_slice() {
        let gain = f64::from(widest.megahertz()) / f64::from(rate.width().megahertz());
        let own_snr = Decibel::new(snr.value() + 10.0 * libm::log10(gain));
        let goodput = rate.bit_rate().as_bps() as f64 * mpdu_success(rate, own_snr, mpdu);
        if goodput > best.0 {
            best = (goodput, rate);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use airbound_wifi::rate::{Format, GuardInterval};

    use super::*;

    const STATION: StationId = StationId(0);

    fn ideal(capabilities: &Capabilities) -> Ideal {
        Ideal::new(IdealConfig::default(), capabilities).expect("valid")
    }

    fn tell(ideal: &mut Ideal, snr: f64) -> Rate {
        let stats = LinkStats { snr: Some(Decibel::new(snr)), ..LinkStats::default() };
        ideal.on_link_stats(Instant::ZERO, STATION, &stats);
        ideal.expected_rate(STATION)
    }

    #[test]
    fn without_an_snr_the_slowest_rate_is_used() {
        let ideal = ideal(&Capabilities::default());
        let lowest = Rate::vht(0, 1, Width::Mhz20, GuardInterval::Ns800).expect("exists");
        assert_eq!(ideal.expected_rate(STATION), lowest);
    }

    #[test]
    fn extremes_give_the_slowest_and_the_fastest_rate() {
        let capabilities = Capabilities::default();
        let set = capabilities.rate_set().expect("valid");
        let mut ideal = ideal(&capabilities);
        assert_eq!(tell(&mut ideal, -300.0), set.lowest());
        assert_eq!(tell(&mut ideal, 300.0), set.highest());
    }

    #[test]
    fn no_rate_of_the_set_promises_more() {
        let capabilities =
            Capabilities { format: Format::Ht, width: Width::Mhz20, ..Capabilities::default() };
        let set = capabilities.rate_set().expect("valid");
        let mut ideal = ideal(&capabilities);
        let mpdu = ByteCount::new(1_500);
        for quarter in 0..160 {
            let snr = Decibel::new(f64::from(quarter) / 4.0);
            let chosen = tell(&mut ideal, snr.value());
            let goodput = |rate: Rate| rate.bit_rate().as_bps() as f64 * mpdu_success(rate, snr, mpdu);
            assert!(set.as_slice().iter().all(|rate| goodput(*rate) <= goodput(chosen)), "{snr}");
        }
    }

    #[test]
    fn more_signal_never_means_a_slower_rate() {
        let mut ideal = ideal(&Capabilities::default());
        let mut last = 0;
        for tenth in -100..500 {
            let speed = tell(&mut ideal, f64::from(tenth) / 10.0).bit_rate().as_bps();
            assert!(speed >= last, "{tenth}");
            last = speed;
        }
    }

    #[test]
    fn new_capabilities_keep_the_snr() {
        let mut ideal = ideal(&Capabilities::default());
        tell(&mut ideal, 60.0);
        let slow = Capabilities { format: Format::Legacy, width: Width::Mhz20, ..Capabilities::default() };
        ideal.set_capabilities(STATION, &slow).expect("valid");
        let fastest = slow.rate_set().expect("valid").highest();
        assert_eq!(ideal.expected_rate(STATION), fastest);
    }
}
