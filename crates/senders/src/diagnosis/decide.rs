//! The cause: the first of the rules that holds, from what is known best to what is inferred.

use super::figures::{FADED, Figures, HALF, SICK, WEAK};
use super::series::share;
use super::words::words;
use super::{Cause, Diagnosis, FEWEST, Observations, Side};

/// Times as many of the sparse probes as of the dense ones are delayed by sleep; of the far ones as of the near ones by a wire.
const MORE_OFTEN: f64 = 3.0;
/// Concentration of arrivals on the beacons: that of arrivals spread over a third of the interval between them.
const ON_BEACONS: f64 = 0.8;
/// Share of the time that a machine may stall.
const STALLED: f64 = 0.01;

/// Finds the cause of what a user sees. Takes any observations; those that are empty or missing lead to [`Cause::Healthy`] or to less
/// certain answers, and [`Diagnosis::missing`] says so.
#[must_use]
pub fn diagnose(seen: &Observations) -> Diagnosis {
    let figures = Figures::of(seen);
    let cause = figures.cause(seen);
    words(cause, &figures, seen)
}

impl Figures {
    fn cause(&self, seen: &Observations) -> Cause {
        let near = self.near.late();
        // A scan is short and rare, and known as such.
        if near >= FEWEST && self.in_scans >= HALF || self.is_scanned() {
            return Cause::Scan;
        }
        if self.sleeps(seen) {
            return Cause::Sleep;
        }
        let late = self.near.late_share();
        // Shares of the time in which a frame comes late: the largest is felt.
        if self.stalled >= STALLED.max(late).max(self.beyond) {
            return Cause::Program;
        }
        let is_busy =
            self.own.is_some_and(|own| own >= HALF) || self.others.is_some_and(|others| others >= HALF);
        let is_beyond = self.beyond_count >= FEWEST && self.beyond >= SICK;
        let is_first = is_beyond && !is_busy && self.beyond >= MORE_OFTEN * late;
        let is_near = self.is_late() && !is_first;
        if is_near {
            // Without a radio the near way is a wire, too.
            if seen.side == Side::Wired {
                return Cause::Wire;
            }
            match self.of_the_air() {
                // Nothing is to be mended in these, as long as nobody minds.
                Cause::Healthy if seen.stutters => return Cause::Retries,
                Cause::Healthy => {}
                cause => return cause,
            }
        }
        if is_beyond && !is_near {
            return Cause::Wire;
        }
        if self.stalled >= STALLED || seen.unread > 0 || seen.stutters {
            return Cause::Program;
        }
        Cause::Healthy
    }

    /// Whether scans delay, beside no more than the usual fades, which may be late more often in all: a radio on another channel answers none
    /// of what is sent meanwhile, but in the last frame's time, and one that scans its own channel all of it.
    fn is_scanned(&self) -> bool {
        let (inside, outside) = self.scanned;
        inside >= HALF && outside < FADED
    }

    /// Whether a radio sleeps. Dense probes keep one awake that they come from, and one that stays awake for a while after a frame.
    fn sleeps(&self, seen: &Observations) -> bool {
        if seen.side != Side::AccessPoint && seen.power_save == Some(false) {
            return false;
        }
        let is_rested = |(dense, sparse): (f64, f64)| sparse >= HALF && sparse >= MORE_OFTEN * dense;
        let is_near = is_rested(self.asleep) || self.asleep.1 >= HALF && self.on_beacons >= ON_BEACONS;
        // A station's request wakes its radio (U-APSD) for as long as the near answer takes, not the far one. Beyond the gateway others wait
        // after a pause, too, but not for the beacons.
        let is_far = seen.side == Side::Station && is_rested(self.far_asleep);
        is_near || is_far && self.far_on_beacons >= ON_BEACONS
    }

    /// The cause of late probes on the Wi-Fi link that neither scan nor sleep explains; `Healthy` for the usual fading.
    fn of_the_air(&self) -> Cause {
        let closed = self.held >= HALF;
        if self.period.is_some() {
            return Cause::Away;
        }
        let (others, own) = (self.others.unwrap_or(0.0), self.own.unwrap_or(0.0));
        let retries = self.retries.unwrap_or(0.0);
        let is_weak = self.signal.is_some_and(|signal| signal <= WEAK);
        let is_contended = others >= HALF && others > own;
        let is_retried = retries >= self.most_retries();
        if is_weak && (is_retried || !is_contended) {
            return Cause::WeakSignal;
        }
        let waits = self.standing >= HALF || self.backlog.is_some_and(|share| share >= HALF);
        if own > others && own >= HALF {
            return Cause::Queue;
        }
        if is_contended {
            return Cause::Contention;
        }
        if self.fades() {
            return Cause::Healthy;
        }
        if own > others && waits && !is_retried {
            return Cause::Queue;
        }
        let is_closed = closed && self.episodes.iter().filter(|episode| episode.is_held).count() >= FEWEST;
        if is_closed && !is_retried {
            return Cause::Away;
        }
        // What is lost on the air without a queue was given up after many tries, here or at the other end, which this one does not count.
        if is_retried || share(self.near.lost(), self.near.delays.len()) >= SICK && !waits {
            return Cause::Retries;
        }
        if is_closed {
            return Cause::Away;
        }
        if waits { Cause::Queue } else { Cause::Unknown }
    }
}
