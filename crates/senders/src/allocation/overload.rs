//! Rate limit of a live stream whose queue grows: below what arrives, at once.
//!
//! Feedback lowers a rate by the slope of the level, which is flat where the queue is full: from a rate of twice what the air carries it
//! takes many intervals, in which packets are lost. A start does not look at levels above its model's range at all. What arrives is
//! known in either case, and frames of some packets say that a queue is the cause: on a wire that loses some packets they stay small. These
//! frames may stay below the target, too: a driver bounds their airtime at the lowest rate that it may try.

use super::config::LEAST;

/// Share of what arrives to which a rate is cut, so that the queue drains.
const DRAIN: f64 = 0.75;
/// Least share of the rate that one cut leaves: nothing arrives for a while when a radio is away.
const DEEPEST: f64 = 0.25;
/// Factor by which the limit grows in each interval without overload.
const PROBE: f64 = 1.02;
/// Factor of the rate above which the limit ends.
const ENDS: f64 = 2.0;
/// Share of the sent packets below which so few arrive that a queue grows: slots cut frames.
const GROWS: f64 = 0.9;
/// Share of a slot's packets lost in a queue above which the queue overflows.
const OVERFLOW: f64 = 0.01;
/// Share of packets lost above which it does not matter where: no stream is of use then.
const USELESS: f64 = 0.2;
/// Share of the target from which on frames show a queue.
const QUEUED: f64 = 0.3;
/// Share of the target from which on losses are those of a queue.
const ABOVE: f64 = 1.1;
/// Number of consecutive slots of overload that cut the rate, and so the least distance of two cuts.
const VOTES: u32 = 2;

/// The values of a slot of reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// The mean level relative to the target; `None` without frames.
    pub(super) level: Option<f64>,
    /// Payload that arrived and that was sent, in bit/s.
    pub(super) arrived: f64,
    pub(super) sent: f64,
    /// The share of packets lost in a queue.
    pub(super) loss: f64,
}

impl Slot {
    fn is_overload(&self) -> bool {
        let grows = self.arrived < GROWS * self.sent;
        match self.level {
            // Nothing comes through.
            None => self.arrived <= 0.0 && self.sent > 0.0,
            Some(level) => {
                (grows && (level >= QUEUED || self.loss > USELESS))
                    || (level >= ABOVE && self.loss > OVERFLOW)
            }
        }
    }
}

/// Finds overload, and limits the rate.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Overload {
    votes: u32,
    /// Sum of the payload rates that arrived in the slots of the votes, in bit/s.
    arrived: f64,
    limit: Option<f64>,
}

impl Overload {
    /// The limit in bit/s; `None` if there is none.
    pub(super) const fn limit(&self) -> Option<f64> {
        self.limit
    }

    /// Takes a slot of a stream with this rate in bit/s. Returns whether the limit was lowered.
    pub(super) fn on_slot(&mut self, slot: &Slot, rate: f64) -> bool {
        if !slot.is_overload() {
            *self = Self { limit: self.limit, ..Self::default() };
            return false;
        }
        self.votes += 1;
        self.arrived += slot.arrived;
        if self.votes < VOTES {
            return false;
        }
        let arrived = self.arrived / f64::from(self.votes);
        let limit = (DRAIN * arrived).max(DEEPEST * rate).max(LEAST);
        *self = Self { limit: Some(self.limit.map_or(limit, |before| before.min(limit))), ..Self::default() };
        true
    }

    /// Raises the limit after an interval without overload, and ends it where it is far above this rate in bit/s.
    pub(super) fn probe(&mut self, rate: f64) {
        if self.votes == 0 {
            self.limit = self.limit.map(|limit| limit * PROBE).filter(|limit| *limit <= ENDS * rate);
        }
    }

    /// Scales the limit by the ratio of two PHY rates' shares.
    pub(super) fn scale(&mut self, factor: f64) {
        self.limit = self.limit.map(|limit| (limit * factor).max(LEAST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBPS: f64 = 1e6;

    fn slot(level: f64, arrived: f64, sent: f64, loss: f64) -> Slot {
        Slot { level: Some(level), arrived: arrived * MBPS, sent: sent * MBPS, loss }
    }

    #[test]
    fn a_growing_queue_limits_to_three_quarters_of_what_arrives() {
        let mut overload = Overload::default();
        assert!(!overload.on_slot(&slot(1.5, 50.0, 100.0, 0.0), 100.0 * MBPS));
        assert!(overload.on_slot(&slot(1.5, 60.0, 100.0, 0.0), 100.0 * MBPS));
        let limit = overload.limit().expect("limited");
        assert!((limit - 0.75 * 55.0 * MBPS).abs() < 1.0, "{limit}");
        overload.probe(limit);
        assert!((overload.limit().expect("limited") / limit - PROBE).abs() < 1e-9);
        overload.probe(limit / 2.0);
        assert_eq!(overload.limit(), None);
    }

    #[test]
    fn a_single_slot_small_frames_and_losses_below_the_target_are_none() {
        for calm in [slot(0.2, 82.0, 100.0, 0.18), slot(1.0, 95.0, 100.0, 0.05), slot(2.0, 99.0, 100.0, 0.0)]
        {
            let mut overload = Overload::default();
            assert!((0..10).all(|_| !overload.on_slot(&calm, 100.0 * MBPS)), "{calm:?}");
        }
        let mut overload = Overload::default();
        for _ in 0..5 {
            assert!(!overload.on_slot(&slot(2.0, 50.0, 100.0, 0.5), 100.0 * MBPS));
            assert!(!overload.on_slot(&slot(2.0, 100.0, 100.0, 0.0), 100.0 * MBPS));
        }
    }

    #[test]
    fn losses_that_make_a_stream_useless_are_overload_at_any_level() {
        let mut overload = Overload::default();
        let useless = slot(0.1, 15.0, 100.0, 0.8);
        overload.on_slot(&useless, 100.0 * MBPS);
        assert!(overload.on_slot(&useless, 100.0 * MBPS));
        assert_eq!(overload.limit(), Some(25.0 * MBPS));
    }

    #[test]
    fn a_radio_that_receives_nothing_keeps_a_quarter_at_once() {
        let mut overload = Overload::default();
        let nothing = Slot { level: None, arrived: 0.0, sent: MBPS, loss: 0.0 };
        overload.on_slot(&nothing, 80.0 * MBPS);
        assert!(overload.on_slot(&nothing, 80.0 * MBPS));
        assert_eq!(overload.limit(), Some(20.0 * MBPS));
    }
}
