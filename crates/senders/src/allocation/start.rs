//! Start: from no knowledge to the target in a few reports, by inverting the model of Sec. 4.
//!
//! Proportional feedback climbs by K N_ε a slot: many seconds to some hundred Mb/s. Lemma 2 gives the inverse relation: with the w_i
//! known from the PHY rates, c = N_i (1 - wᵀx) / x_i. The rates then follow from theorem 1 or from the optimum of problem P.

use super::config::{AllocationConfig, LEAST, Share};
use super::model::{Downlink, Regulated};
use super::optimum::{Utility, fill};
use super::stream::Stream;

/// Share of the model's rates used until the overhead has been measured: a contended network has more overhead.
const UNMEASURED_SHARE: f64 = 0.5;
/// Lower limit of levels from which the overhead is measured: below it most frames may hold the one packet that any frame has.
const MIN_LEVEL: f64 = 2.5;
/// Level from which on a queue may stand or grow, short of a full block-ack window.
const MAX_LEVEL: f64 = 56.0;

/// Overhead T_acc + T_oh of a frame, assumed or measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overhead {
    seconds: f64,
    measured: bool,
}

/// A station in the model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// Payload rate in bit/s.
    pub(super) rate: f64,
    /// PHY rate in bit/s, less the share of retransmissions.
    pub(super) phy: f64,
}

impl Link {
    pub(super) const fn of(stream: &Stream, phy: f64) -> Self {
        Self { rate: stream.rate, phy }
    }
}

/// Space of decisions, so that none is allocated for each.
#[derive(Debug, Clone, Default)]
pub(super) struct Space {
    /// Index and PHY rate of each station that takes part.
    pub(super) known: Vec<(usize, f64)>,
    airtimes: Vec<f64>,
    sorted: Vec<f64>,
    /// The planned payload rates in bit/s.
    pub(super) rates: Vec<f64>,
}

impl Space {
    pub(super) fn reserve(&mut self, streams: usize) {
        self.known.reserve(streams);
        for space in [&mut self.airtimes, &mut self.sorted, &mut self.rates] {
            space.reserve(streams);
        }
    }
}

impl Overhead {
    pub(super) fn assumed(config: &AllocationConfig) -> Self {
        Self { seconds: config.frame_overhead.as_secs_f64(), measured: false }
    }

    /// Whether a queue may stand at this level, so that it is that of what arrives, and not of what is sent (regime 1 of Sec. 4.1).
    pub(super) fn is_queued(config: &AllocationConfig, level: f64) -> bool {
        level > (config.target * 1.75).max(MIN_LEVEL).min(MAX_LEVEL.max(config.target))
    }

    /// Whether a level says more than that a frame holds a packet.
    pub(super) fn is_told_by(level: f64, target: f64) -> bool {
        level >= MIN_LEVEL.min(target)
    }

    /// Measures the overhead from the level of the station at index `place` while the rates of `links` were in force, or of a queued
    /// level, while they arrived.
    pub(super) fn learn(
        &mut self,
        config: &AllocationConfig,
        links: impl Iterator<Item = Link>,
        place: usize,
        level: f64,
    ) {
        if !Self::is_told_by(level, config.target) {
            return;
        }
        let (mut count, mut share, mut own) = (0_usize, 0.0, 0.0);
        for link in links {
            let (airtime, rate) = (airtime(config, &link), link.rate / config.packet.bits() as f64);
            if !(airtime.is_finite() && airtime > 0.0) {
                return;
            }
            share += airtime * rate;
            own = if count == place { rate } else { own };
            count += 1;
        }
        let free = 1.0 - share;
        if free > 0.0 && own > 0.0 {
            let seconds = level * free / own / count as f64;
            // A hundred times the usual overhead would be a barely usable network.
            let usual = config.frame_overhead.as_secs_f64();
            self.seconds = seconds.clamp(usual / 5.0, usual * 100.0);
            self.measured = true;
        }
    }

    /// Half of the critical gain, in (bit/s) per packet, of one of `streams` with this rate and level, at a free share of the air. That is
    /// x (1 - wᵀx) / N_ε at the target. Away from it, it is the slope of the chord that ends at the target: by lemma 2 the rate there is
    /// N_ε x / (N (1 - wᵀx) + N_ε wᵀx). The tangent would take all of a rate at twice the target, and double a rate far below it at most.
    ///
    /// Lemma 2 speaks of levels that have settled. A level comes closer to its end by the share that is taken in each round of T = N / x:
    /// its time constant is T / (1 - wᵀx), where 1 - wᵀx is c / T at the target. If two of them, and of the dead time, are longer than an
    /// interval, the gain is as much lower, since a report is the answer to older rates.
    pub(super) fn steady_gain(
        &self,
        config: &AllocationConfig,
        streams: usize,
        rate: f64,
        free: f64,
        level: f64,
    ) -> f64 {
        let levels = level * free + config.target * (1.0 - free);
        let round = levels * config.packet.bits() as f64 / rate.max(LEAST);
        let at_target = streams as f64 * self.seconds / round;
        let answer = round / free.max(at_target) + config.dead_time.as_secs_f64();
        let settled = config.interval.as_secs_f64() / (2.0 * answer);
        rate * free / levels * settled.min(1.0)
    }

    pub(super) const fn is_measured(&self) -> bool {
        self.measured
    }

    /// Writes the payload rates for which the model predicts the levels demanded by `config` to `space.rates`. Returns whether there are
    /// any.
    pub(super) fn plan(
        &self,
        config: &AllocationConfig,
        links: impl Iterator<Item = Link>,
        space: &mut Space,
    ) -> bool {
        space.airtimes.clear();
        space.airtimes.extend(links.map(|link| airtime(config, &link)));
        let valid = space.airtimes.iter().all(|airtime| airtime.is_finite() && *airtime > 0.0);
        if !valid || space.airtimes.is_empty() {
            return false;
        }
        let equal = |regulated| {
            Downlink::new(self.seconds, space.airtimes.clone())
                .map(|downlink| downlink.equal_airtime(config.target, regulated))
        };
        let done = match config.share {
            Share::Optimal => {
                let overhead = space.airtimes.len() as f64 * self.seconds;
                let Space { airtimes, sorted, rates, .. } = &mut *space;
                fill(airtimes, overhead, config.target, Utility::Proportional, sorted, rates).is_some()
            }
            Share::EqualAirtime => equal(Regulated::Fastest).map(|rates| space.rates = rates).is_some(),
            Share::Printed => equal(Regulated::Slowest).map(|rates| space.rates = rates).is_some(),
        };
        let share = if self.measured { 1.0 } else { UNMEASURED_SHARE };
        for rate in &mut space.rates {
            *rate = share * *rate * config.packet.bits() as f64;
        }
        done
    }
}

/// The airtime of a packet in seconds.
fn airtime(config: &AllocationConfig, link: &Link) -> f64 {
    (config.packet + config.packet_overhead).bits() as f64 / link.phy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocation::{AllocationConfig, Downlink};

    const PACKET: f64 = 1470.0 * 8.0;

    /// A rate of one station in bit/s, whose level is `level` by lemma 2, with the share of the air that its payload takes.
    fn rate_of(level: f64, overhead: f64, airtime: f64) -> (f64, f64) {
        let rate = level / (overhead + airtime * level);
        let known =
            Downlink::new(overhead, vec![airtime]).and_then(|air| air.levels(&[rate])).expect("stable");
        assert!((known[0] - level).abs() < 1e-6);
        (rate * PACKET, airtime * rate)
    }

    #[test]
    fn a_step_ends_at_the_target_from_any_level() {
        let config = AllocationConfig::default();
        let overhead = Overhead::assumed(&config);
        for (seconds, airtime) in [(214e-6, 14e-6), (2e-3, 20e-6), (8e-3, 14e-6)] {
            let (target, _) = rate_of(32.0, seconds, airtime);
            for level in [2.5, 8.0, 31.0, 33.0, 48.0, 64.0] {
                let (rate, taken) = rate_of(level, seconds, airtime);
                let gain = overhead.steady_gain(&config, 1, rate, 1.0 - taken, level);
                let next = rate - gain * (level - 32.0);
                assert!((next / target - 1.0).abs() < 1e-6, "from {level}: {next} for {target}");
            }
        }
    }
}
