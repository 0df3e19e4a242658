//! Limit of the rate of a station that gets less than its share.
//!
//! On a bottleneck of its own a station gets what it is sent as soon as that is less than what it got. Where others fill the same queue
//! it does not: losses stay, and take their part of whatever is sent. Transfers upwards of four stations fill the access point's queue
//! with acknowledgements, so that a quarter is lost of 5 Mb/s and 70 % of 130. Whoever cut each time that less arrives would go down to
//! nothing. So a cut is a trial, and one that does not help is given up.

use super::bottleneck::{Bottleneck, VOTES};
use super::config::LEAST;

/// A station is sent so much of what it gets, so that the queue drains,
const DRAIN: f64 = 0.95;
/// and tries that much more in each interval.
const PROBE: f64 = 1.02;
/// A cut has helped if at most so much of the loss is left.
const LEFT: f64 = 0.5;
/// One that is so much larger is another one: the bottleneck has become slower meanwhile.
const ANOTHER: f64 = 1.5;
/// Losses below this are taken to be as large: what a slot cuts off a frame is half of it.
const SMALL: f64 = 0.06;
/// Reports after which a cut that did not help is tried again: others may have gone.
const RETRY: u32 = 20;

/// Result of a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    /// It is not known yet: what waits in the queue still arrives.
    Open,
    /// The station no longer gets less than it is sent.
    Helped,
    /// It was given up.
    InVain,
}

/// A limit of a station's rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    /// In bit/s.
    rate: f64,
    /// Where it gets less.
    by: Bottleneck,
    /// The share that did not arrive of what was sent before.
    loss: f64,
    trial: Trial,
    /// Reports since it was set or given up.
    age: u32,
}

impl Hold {
    /// Holds a station that got `arrived` of `sent`, in bit/s.
    pub(super) fn cut(arrived: f64, sent: f64, by: Bottleneck) -> Self {
        let rate = (DRAIN * arrived).max(LEAST);
        Self { rate, by, loss: 1.0 - arrived / sent, trial: Trial::Open, age: 0 }
    }

    /// The limit in bit/s; `None` while it is given up.
    pub(super) fn limit(&self) -> Option<f64> {
        (self.trial != Trial::InVain).then_some(self.rate)
    }

    pub(super) const fn by(&self) -> Bottleneck {
        self.by
    }

    /// Whether a share of this rate is below the limit, which then is of no use. That a cut was in vain is worth remembering.
    pub(super) fn is_spare(&self, share: f64) -> bool {
        self.limit().is_some_and(|limit| limit > share)
    }

    /// Another slot, in which `arrived` of `sent` came: whether that is less, and where.
    pub(super) fn on_slot(&mut self, less: bool, arrived: f64, sent: f64, by: Bottleneck) {
        self.age = self.age.saturating_add(1);
        self.by = by;
        match self.trial {
            Trial::Open if self.age < VOTES => {}
            Trial::Open if less && self.is_as_before(1.0 - arrived / sent) => {
                (self.trial, self.age) = (Trial::InVain, 0);
            }
            Trial::InVain if self.age < RETRY => {}
            _ if less => *self = Self::cut(arrived, sent, by),
            _ => self.trial = Trial::Helped,
        }
    }

    fn is_as_before(&self, loss: f64) -> bool {
        let before = self.loss.max(SMALL);
        (LEFT * before..ANOTHER * before).contains(&loss)
    }

    /// An interval has passed.
    pub(super) fn probe(&mut self) {
        self.rate *= PROBE;
    }
}
