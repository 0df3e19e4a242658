//! Start: from no knowledge to the target in a few reports, by inverting the model of Sec. 4.
//!
//! Proportional feedback climbs by K N_ε a slot: many seconds to some hundred Mb/s. Lemma 2 gives the inverse relation: with the w_i
//! known from the PHY rates, c = N_i (1 - wᵀx) / x_i. The rates then follow from theorem 1 or from the optimum of problem P.

use super::config::{AllocationConfig, Share};
use super::model::{Downlink, Regulated};
use super::optimum::{Optimum, Utility};

/// Share of the model's rates used until the overhead has been measured: a contended network has more overhead.
const UNMEASURED_SHARE: f64 = 0.5;
/// Lower limit of levels from which the overhead is measured: below it most frames may hold the one packet that any frame has.
const MIN_LEVEL: f64 = 2.5;
/// Upper limit of these levels, short of a full block-ack window: above it the queue may be growing.
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

impl Overhead {
    pub(super) fn assumed(config: &AllocationConfig) -> Self {
        Self { seconds: config.frame_overhead.as_secs_f64(), measured: false }
    }

    /// Measures the overhead from the level of the station at index `place` while the rates of `links` were in force.
    pub(super) fn learn(&mut self, config: &AllocationConfig, links: &[Link], place: usize, level: f64) {
        let limit = (config.target * 1.75).max(MIN_LEVEL).min(MAX_LEVEL.max(config.target));
        let usable = level >= MIN_LEVEL.min(config.target) && level <= limit;
        let (true, Some(downlink)) = (usable, self.downlink(config, links)) else { return };
        let rates: Vec<f64> = links.iter().map(|link| link.rate / config.packet.bits() as f64).collect();
        let (free, own) = (1.0 - downlink.payload_share(&rates), rates.get(place).copied().unwrap_or(0.0));
        if free > 0.0 && own > 0.0 {
            let seconds = level * free / own / links.len() as f64;
            // A hundred times the usual overhead would be a barely usable network.
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

    /// The payload rates in bit/s for which the model predicts the levels demanded by `config`.
    pub(super) fn rates(&self, config: &AllocationConfig, links: &[Link]) -> Option<Vec<f64>> {
        let downlink = self.downlink(config, links)?;
        let packets = match config.share {
            Share::Optimal => Optimum::of(&downlink, config.target, Utility::Proportional)?.rates,
            Share::EqualAirtime => downlink.equal_airtime(config.target, Regulated::Fastest),
            Share::Printed => downlink.equal_airtime(config.target, Regulated::Slowest),
        };
        let share = if self.measured { 1.0 } else { UNMEASURED_SHARE };
        Some(packets.into_iter().map(|rate| share * rate * config.packet.bits() as f64).collect())
    }
}
