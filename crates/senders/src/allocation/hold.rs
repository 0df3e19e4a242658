//! Rate limit of a station that receives less than its share.
//!
//! On a bottleneck of its own a station receives all packets as soon as it is sent less than it received. Where others fill the same
//! queue it does not: losses persist, and take their share of any rate. Uplink transfers of four stations fill the access point's queue
//! with acknowledgements, so that a quarter is lost of 5 Mb/s and 70 % of 130. A rule that cuts the rate whenever less arrives would
//! reduce it to nothing. Therefore a cut is a trial, and one that does not help is reverted.

use super::bottleneck::{Bottleneck, VOTES};
use super::config::LEAST;

/// Share of the received rate that a station is sent, so that the queue drains,
const DRAIN: f64 = 0.95;
/// and factor by which the rate grows in each interval.
const PROBE: f64 = 1.02;
/// Remaining share of the loss up to which a cut has helped.
const REMAINING: f64 = 0.5;
/// Factor above which a loss counts as a new one: the bottleneck has become slower meanwhile.
const NEW_LOSS: f64 = 1.5;
/// Lower limit of a loss in these comparisons: the cut of a frame by a slot makes half of it.
const MIN_LOSS: f64 = 0.06;
/// Number of reports after which an unsuccessful cut is tried again: others may have left.
const RETRY: u32 = 20;

/// Result of a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    /// Not known yet: queued packets still arrive.
    Open,
    /// The station receives all that it is sent.
    Helped,
    /// The cut was reverted.
    Reverted,
}

/// A limit of a station's rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    /// The limit in bit/s.
    rate: f64,
    /// The bottleneck.
    by: Bottleneck,
    /// Share of the packets lost before the cut.
    loss: f64,
    trial: Trial,
    /// Number of reports since the limit was set or reverted.
    age: u32,
}

impl Hold {
    /// Limits a station that received `arrived` of `sent`, in bit/s.
    pub(super) fn cut(arrived: f64, sent: f64, by: Bottleneck) -> Self {
        let rate = (DRAIN * arrived).max(LEAST);
        Self { rate, by, loss: 1.0 - arrived / sent, trial: Trial::Open, age: 0 }
    }

    /// The limit in bit/s; `None` while it is reverted.
    pub(super) fn limit(&self) -> Option<f64> {
        (self.trial != Trial::Reverted).then_some(self.rate)
    }

    pub(super) const fn by(&self) -> Bottleneck {
        self.by
    }

    /// Whether a share of this rate is below the limit, which then has no effect. A reverted cut is kept as a record.
    pub(super) fn is_spare(&self, share: f64) -> bool {
        self.limit().is_some_and(|limit| limit > share)
    }

    /// Takes a further slot, in which `arrived` of `sent` arrived: whether that is less, and the bottleneck.
    pub(super) fn on_slot(&mut self, less: bool, arrived: f64, sent: f64, by: Bottleneck) {
        self.age = self.age.saturating_add(1);
        self.by = by;
        match self.trial {
            Trial::Open if self.age < VOTES => {}
            Trial::Open if less && self.is_as_before(1.0 - arrived / sent) => {
                (self.trial, self.age) = (Trial::Reverted, 0);
            }
            Trial::Reverted if self.age < RETRY => {}
            _ if less => *self = Self::cut(arrived, sent, by),
            _ => self.trial = Trial::Helped,
        }
    }

    fn is_as_before(&self, loss: f64) -> bool {
        let before = self.loss.max(MIN_LOSS);
        (REMAINING * before..NEW_LOSS * before).contains(&loss)
    }

    /// Raises the limit after an interval.
    pub(super) fn probe(&mut self) {
        self.rate *= PROBE;
    }
}
