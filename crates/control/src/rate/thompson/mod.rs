//! Thompson sampling: the success of each rate is uncertain; each frame uses the rate that is best in one random draw from the
//! posterior.
//!
//! Krotov, Kiryanov and Khorov, "Rate control with spatial reuse for Wi-Fi 6 dense deployments", IEEE Access 8 (2020), use it
//! as a baseline (TS); ns-3 has it as `ThompsonSamplingWifiManager`. For each rate the posterior of its success is a beta
//! distribution with the parameters 1 + acknowledged and 1 + lost MPDUs; both counts decay with time. For each frame a success is
//! drawn for each rate, and the rate with the largest product of drawn success and bit rate is used.
//!
//! ```text
//!  reports ─▶ acknowledged, lost ─▶ decay, e^(-t/memory) ─▶ Beta(1 + acknowledged, 1 + lost) ─▶ draws ─▶ largest throughput
//! ```
//!
//! Choices that the descriptions leave open:
//!
//! - *time of a draw*: once for each descriptor. ns-3 draws for each transmission, which is the same where the hardware makes one try
//!   of a descriptor (preset `direct`). Hardware that retries by itself keeps the rate, and all its failed tries count;
//! - *hardware tries*: as many as fit with their contention in `segment`, at most `max-tries`: Linux's rule for Minstrel, so that the
//!   two differ only in their rates;
//! - *aggregates*: each MPDU of the last try counts by itself; an earlier try, which had no answer, counts as lost for all;
//! - *parameters of the distribution* are real numbers. ns-3 truncates the decayed counts to whole numbers before it draws (with
//!   `whole-counts` as here), so that it forgets a single observation as soon as time passes, and two after 0.7 times the memory;
//! - *collisions* are not distinguished from other losses.

mod beta;

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::rate::Rate;
use serde::{Deserialize, Serialize};

use self::beta::Draws;
use super::effort::Effort;
use super::stations::Stations;
use super::{Capabilities, RateControl, RateReport, RateSet};
use crate::error::ConfigError;
use crate::frame::RateChain;
use crate::frame::StationId;

/// Configuration of [`Thompson`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ThompsonConfig {
    /// Time after which an observation counts 1/e, 1 ms to 1000 s. Default 1 s (ns-3: `Decay` of 1 Hz).
    pub memory: Span,
    /// Upper limit on hardware tries of a frame, 1 to 31. Default 7 (the kernel's for Minstrel-HT).
    pub max_tries: u8,
    /// Upper limit on the airtime of these tries together, 1 us to 1 s. Default 6 ms (the kernel's `segment_size`).
    pub segment: Span,
    /// Whether the decayed counts are truncated to whole numbers before a draw, as in ns-3. Default false.
    pub whole_counts: bool,
}

impl Default for ThompsonConfig {
    fn default() -> Self {
        Self { memory: Span::from_secs(1), max_tries: 7, segment: Span::from_millis(6), whole_counts: false }
    }
}

impl ThompsonConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let memory = Span::from_millis(1)..=Span::from_secs(1000);
        ConfigError::check(memory.contains(&self.memory), "rate.memory", self.memory, "1 ms to 1000 s")?;
        ConfigError::check((1..=31).contains(&self.max_tries), "rate.max-tries", self.max_tries, "1 to 31")?;
        let segment = Span::from_micros(1)..=Span::from_secs(1);
        ConfigError::check(segment.contains(&self.segment), "rate.segment", self.segment, "1 us to 1 s")
    }
}

/// The frame whose tries have to fit in a segment: a full packet with its headers.
const FRAME: ByteCount = ByteCount::new(1538);

/// Statistics of one rate.
#[derive(Debug, Clone, Copy)]
struct Arm {
    rate: Rate,
    tries: u8,
    acknowledged: f64,
    lost: f64,
}

/// State of one station.
#[derive(Debug, Clone)]
struct Station {
    /// By ascending bit rate; at least one.
    arms: Vec<Arm>,
    /// Time up to which the counts are decayed.
    decayed: Instant,
}

impl Station {
    fn new(config: &ThompsonConfig, rates: &RateSet, now: Instant) -> Self {
        let arm = |rate: &Rate| Arm {
            rate: *rate,
            tries: Effort::new(*rate, FRAME).tries_within(config.segment, config.max_tries),
            acknowledged: 0.0,
            lost: 0.0,
        };
        Self { arms: rates.as_slice().iter().map(arm).collect(), decayed: now }
    }

    fn decay(&mut self, now: Instant, memory: Span) {
        let passed = (now - self.decayed).as_secs_f64();
        if passed > 0.0 {
            let factor = libm::exp(-passed / memory.as_secs_f64());
            for arm in &mut self.arms {
                arm.acknowledged *= factor;
                arm.lost *= factor;
            }
            self.decayed = now;
        }
    }

    /// The arm with the largest drawn throughput; the slowest if every draw is zero.
    fn draw(&self, draws: &mut Draws, whole_counts: bool) -> Option<Arm> {
        let counted = |count: f64| if whole_counts { libm::floor(count) } else { count };
        let mut best = (0.0, self.arms.first().copied());
        for arm in &self.arms {
            let success = draws.beta(1.0 + counted(arm.acknowledged), 1.0 + counted(arm.lost));
            let throughput = success * arm.rate.bit_rate().as_bps() as f64;
            if throughput > best.0 {
                best = (throughput, Some(*arm));
            }
        }
        best.1
    }

    fn count(&mut self, rate: Rate, acknowledged: u32, lost: u32) {
        if let Some(arm) = self.arms.iter_mut().find(|arm| arm.rate == rate) {
            arm.acknowledged += f64::from(acknowledged);
            arm.lost += f64::from(lost);
        }
    }

    /// The rate used most recently and most often; on a tie the slowest.
    fn most_used(&self) -> Option<Rate> {
        let mut most = (0.0, self.arms.first().map(|arm| arm.rate));
        for arm in &self.arms {
            let used = arm.acknowledged + arm.lost;
            if used > most.0 {
                most = (used, Some(arm.rate));
            }
        }
        most.1
    }
}

/// Rate control by Thompson sampling. See the [module](self).
#[derive(Debug, Clone)]
pub struct Thompson {
    config: ThompsonConfig,
    /// Rates of stations without reported capabilities.
    rates: RateSet,
    stations: Stations<Station>,
    draws: Draws,
    /// Latest time observed.
    now: Instant,
}

impl Thompson {
    /// Builds the rate control for stations with `capabilities`; `seed` decides the draws.
    ///
    /// # Errors
    /// A value of `config` or of `capabilities` is out of range.
    pub fn new(config: ThompsonConfig, capabilities: &Capabilities, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let rates = capabilities.rate_set()?;
        Ok(Self { config, rates, stations: Stations::default(), draws: Draws::new(seed), now: Instant::ZERO })
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

    /// State of a station, decayed to the present.
    fn station(&mut self, now: Instant, station: StationId) -> Option<(&mut Station, &mut Draws)> {
        self.now = self.now.max(now);
        let (config, rates, now) = (&self.config, &self.rates, self.now);
        let station = self.stations.get_or_insert(station, || Station::new(config, rates, now))?;
        station.decay(now, config.memory);
        Some((station, &mut self.draws))
    }
}

impl RateControl for Thompson {
    fn chain(&mut self, now: Instant, station: StationId, _mpdus: u16) -> RateChain {
        let whole_counts = self.config.whole_counts;
        let drawn = self.station(now, station).and_then(|(station, draws)| station.draw(draws, whole_counts));
        drawn.map_or_else(
            || RateChain::single(self.expected_rate(station), 1),
            |arm| RateChain::single(arm.rate, arm.tries),
        )
    }

    fn on_report(&mut self, now: Instant, station: StationId, report: &RateReport) {
        let Some((station, _)) = self.station(now, station) else { return };
        let mpdus = u32::from(report.mpdus);
        let acknowledged = u32::from(report.acknowledged).min(mpdus);
        let steps = report.used.steps();
        for (index, step) in steps.iter().enumerate() {
            let acknowledged = if index + 1 == steps.len() { acknowledged } else { 0 };
            let sent = mpdus.saturating_mul(u32::from(step.tries));
            station.count(step.rate, acknowledged, sent.saturating_sub(acknowledged));
        }
    }

    fn expected_rate(&self, station: StationId) -> Rate {
        let known = self.stations.get(station).and_then(Station::most_used);
        known.unwrap_or(self.rates.lowest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_counts_forget_a_single_loss_at_once() {
        let config = ThompsonConfig::default();
        let rates = Capabilities::default().rate_set().expect("valid");
        let fresh = Station::new(&config, &rates, Instant::ZERO);
        let mut lossy = fresh.clone();
        lossy.arms.iter_mut().for_each(|arm| arm.lost = 1.0);
        lossy.decay(Instant::ZERO + Span::from_millis(1), config.memory);
        let drawn = |station: &Station, whole_counts| {
            let mut draws = Draws::new(7);
            let mut rate = || station.draw(&mut draws, whole_counts).map(|arm| arm.rate);
            std::array::from_fn::<_, 50, _>(|_| rate())
        };
        assert_eq!(drawn(&lossy, true), drawn(&fresh, true));
        assert_ne!(drawn(&lossy, false), drawn(&fresh, false));
    }
}
