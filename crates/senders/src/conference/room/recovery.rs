//! When the estimate of a downlink is begun anew after a fault of its link.
//!
//! A congestion control that limits itself by losses holds its estimate down for a time that doubles with each loss, up to a minute (loss-based
//! control of libwebrtc and str0m), and sends no probe meanwhile. After a fault of some seconds the link is free for long, and the estimate
//! stays. It is begun anew once nothing contradicts that the link is free, at the estimate itself: the probes of a beginning find the rest.

use airbound_units::{BitRate, Instant, Span};

/// Part of what a link carried below which its estimate shows a fault.
const FAULT: f64 = 0.5;
/// Part of it from which the fault is over.
const OVER: f64 = 0.9;
/// Time without any trouble before an estimate is begun anew.
const QUIET: Span = Span::from_secs(1);
/// First interval from one beginning to the next; it doubles.
const FIRST: Span = Span::from_secs(2);
/// Longest interval: half of the time in which a link that is free again shall be filled.
const LONGEST: Span = Span::from_secs(4);
/// Time after a fault in which estimates are begun anew.
const PATIENCE: Span = Span::from_secs(60);
/// Least rate from which an estimate is begun anew: from nothing no probe would start.
const LEAST: BitRate = BitRate::from_kbps(100);
/// Multiple of its first rate up to which a congestion control probes when it begins (`second_exponential_probe_scale` of libwebrtc and str0m).
const PROBED: f64 = 6.0;
/// Part of the way that the carried rate goes down to a smaller one in one decision.
const FORGET: f64 = 0.02;

/// A fault of one downlink.
#[derive(Debug, Clone, Copy)]
struct Fault {
    began: Instant,
    due: Instant,
    interval: Span,
}

/// Carried rates of the two directions of a link, and its fault.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recovery {
    /// The rates that the downlink and the uplink carried without a fault, bit/s.
    carried: [f64; 2],
    fault: Option<Fault>,
    /// When packets last were lost or waited; none while nobody tells.
    trouble: Option<Instant>,
}

/// Outcome of a look at a downlink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing to do.
    Nothing,
    /// The estimate has to begin anew.
    Begin,
    /// The fault is over: what failed in it says nothing of the link as it is now.
    Over,
}

impl Recovery {
    /// Takes whether packets of the link are lost or wait now.
    pub(super) fn on_path(&mut self, now: Instant, trouble: bool) {
        let latest = self.trouble.get_or_insert(now);
        if trouble {
            *latest = now;
            if let Some(fault) = &mut self.fault {
                fault.began = now;
            }
        }
    }

    /// The rate from which an estimate is begun anew: its own, or as much that the first probes reach what the link carried before the fault.
    pub(super) fn first_rate(&self, estimated: BitRate) -> BitRate {
        estimated.max(BitRate::from_bps_f64(self.carried[0] / PROBED)).max(LEAST)
    }

    /// Takes the estimates and the carried rates of downlink and uplink at a decision, bit/s. The directions of a Wi-Fi link share the air: where
    /// one only yields to the other their sum stays, and there is no fault. Nothing is begun anew while one is made to give way.
    pub(super) fn look(
        &mut self,
        now: Instant,
        estimated: [f64; 2],
        carried: [f64; 2],
        gives_way: bool,
    ) -> Found {
        let Some(trouble) = self.trouble else { return Found::Nothing };
        let quiet = !gives_way && now.since(trouble) >= QUIET;
        let Some(fault) = &mut self.fault else {
            if estimated.iter().sum::<f64>() < self.carried.iter().sum::<f64>() * FAULT {
                self.fault = Some(Fault { began: now, due: now, interval: FIRST });
                return Found::Nothing;
            }
            for (known, latest) in self.carried.iter_mut().zip(carried) {
                *known = if latest > *known { latest } else { *known + FORGET * (latest - *known) };
            }
            return Found::Nothing;
        };
        if estimated[0] >= self.carried[0] * OVER {
            self.fault = None;
            return Found::Over;
        }
        if now.since(fault.began) > PATIENCE {
            (self.carried, self.fault) = (carried, None);
            return Found::Nothing;
        }
        if !quiet || now < fault.due {
            return Found::Nothing;
        }
        fault.due = now + fault.interval;
        fault.interval = (fault.interval * 2).min(LONGEST);
        Found::Begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks each 200 ms for some seconds at a link that carried 2 Mb/s down and 1 Mb/s up; returns the milliseconds at which the estimate of its
    /// downlink begins anew.
    fn begins(
        gives_way: bool,
        trouble: impl Fn(u64) -> bool,
        estimated: impl Fn(u64) -> [f64; 2],
    ) -> Vec<u64> {
        let mut recovery = Recovery::default();
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        recovery.on_path(at(0), false);
        assert_eq!(recovery.look(at(0), [2.2e6, 1.2e6], [2e6, 1e6], false), Found::Nothing);
        let steps = (1..=300).map(|step| step * 200);
        steps
            .filter(|ms| {
                recovery.on_path(at(*ms), trouble(*ms));
                let estimated = estimated(*ms);
                recovery.look(at(*ms), estimated, estimated.map(|rate| rate / 2.0), gives_way) == Found::Begin
            })
            .collect()
    }

    #[test]
    fn an_estimate_begins_anew_once_nothing_is_lost_and_nothing_waits() {
        let low = begins(false, |ms| ms <= 10_000, |_| [2e5, 2e5]);
        assert_eq!(low[..5], [11_000, 13_000, 17_000, 21_000, 25_000]);
        let recovers = |ms| if ms > 11_000 { [1.9e6, 2e5] } else { [2e5, 2e5] };
        assert_eq!(begins(false, |ms| ms <= 10_000, recovers), [11_000]);
        assert!(begins(false, |ms| ms % 800 == 0, |_| [2e5, 2e5]).is_empty());
    }

    #[test]
    fn the_first_probes_reach_what_the_link_carried() {
        let mut recovery = Recovery::default();
        recovery.on_path(Instant::ZERO, false);
        recovery.look(Instant::ZERO, [2.2e6, 1.2e6], [1.8e6, 1e6], false);
        let first = |kbps| recovery.first_rate(BitRate::from_kbps(kbps));
        assert_eq!([first(150), first(400)], [300, 400].map(BitRate::from_kbps));
        assert_eq!(Recovery::default().first_rate(BitRate::ZERO), LEAST);
    }

    #[test]
    fn a_direction_that_yields_to_the_other_is_no_fault() {
        assert!(begins(false, |_| false, |_| [3e5, 1.3e6]).is_empty());
        assert!(begins(true, |_| false, |_| [2e5, 2e5]).is_empty());
    }

    #[test]
    fn without_word_of_the_path_nothing_begins() {
        let (mut recovery, now) = (Recovery::default(), Instant::ZERO + Span::from_secs(9));
        recovery.look(now, [2.2e6, 1.2e6], [2e6, 1e6], false);
        for second in 10..40 {
            let now = Instant::ZERO + Span::from_secs(second);
            assert_eq!(recovery.look(now, [2e5, 2e5], [1e5, 1e5], false), Found::Nothing);
        }
    }
}
