//! From cold to the target in a few reports, by inverting the model of Sec. 4.
//!
//! Proportional feedback climbs by K N_ε a slot: many seconds to some hundred Mb/s. Lemma 2 says what a level tells instead: with
//! the w_i known from the PHY rates, c = N_i (1 - wᵀx) / x_i. Then the rates follow from theorem 1 or from the optimum of problem P.

use super::config::{AllocationConfig, Share};
use super::model::{Downlink, Regulated};
use super::optimum::{Optimum, Utility};

/// Until the overhead has been measured, only so much of what the model predicts is tried: a contended network has more of it.
const CAREFUL: f64 = 0.5;
/// Levels below this tell little of the overhead: most frames may hold the single packet that they hold at least.
const TELLING: f64 = 2.5;
/// Nor do levels above this share of a block-ack window, where the queue may be growing.
const STABLE: f64 = 56.0;

/// Overhead T_acc + T_oh of a frame, assumed or measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Overhead {
    seconds: f64,
    measured: bool,
}

/// A station as the model sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// Payload rate in bit/s.
    pub(super) rate: f64,
    /// PHY rate in bit/s, less what retransmissions take.
    pub(super) phy: f64,
}

impl Overhead {
    pub(super) fn assumed(config: &AllocationConfig) -> Self {
        Self { seconds: config.frame_overhead.as_secs_f64(), measured: false }
    }

    /// Learns from the level of the station at `place` while the rates of `links` were in force.
    pub(super) fn learn(&mut self, config: &AllocationConfig, links: &[Link], place: usize, level: f64) {
        let limit = (config.target * 1.75).max(TELLING).min(STABLE.max(config.target));
        let telling = level >= TELLING.min(config.target) && level <= limit;
        let (true, Some(downlink)) = (telling, self.downlink(config, links)) else { return };
        let rates: Vec<f64> = links.iter().map(|link| link.rate / config.packet.bits() as f64).collect();
        let (free, own) = (1.0 - downlink.payload_share(&rates), rates.get(place).copied().unwrap_or(0.0));
        if free > 0.0 && own > 0.0 {
            let seconds = level * free / own / links.len() as f64;
            // A hundred times the usual overhead would be a network that is hardly there.
            let usual = config.frame_overhead.as_secs_f64();
            self.seconds = seconds.clamp(usual / 5.0, usual * 100.0);
            self.measured = true;
        }
    }

    pub(super) const fn is_measured(&self) -> bool {
        self.measured
    }

    fn downlink(&self, config: &AllocationConfig, links: &[Link]) -> Option<Downlink> {
        let airtime = |link: &Link| (config.packet + config.packet_overhead).bits() as f64 / link.phy;
        Downlink::new(self.seconds, links.iter().map(airtime).collect())
    }

    /// The payload rates in bit/s at which the model has the levels where `config` wants them.
    pub(super) fn rates(&self, config: &AllocationConfig, links: &[Link]) -> Option<Vec<f64>> {
        let downlink = self.downlink(config, links)?;
        let packets = match config.share {
            Share::Optimal => Optimum::of(&downlink, config.target, Utility::Proportional)?.rates,
            Share::EqualAirtime => downlink.equal_airtime(config.target, Regulated::Fastest),
            Share::Printed => downlink.equal_airtime(config.target, Regulated::Slowest),
        };
        let careful = if self.measured { 1.0 } else { CAREFUL };
        Some(packets.into_iter().map(|rate| careful * rate * config.packet.bits() as f64).collect())
    }
}
