//! Saturated contention in closed form, for the validation of simulators.
//!
//! Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function" (2000), with the retry limit
//! of later work. Every station always has a frame; each attempt collides with the same probability p, independent of
//! its history. After k failures a packet waits on average W_k / 2 - 1/2 slots and then uses the slot of its attempt,
//! so over the life of a packet (a renewal)
//!
//! ```text
//! tau = E[attempts] / E[slots],   E[attempts] = sum p^k,   E[slots] = sum p^k (W_k + 1) / 2
//! p   = 1 - (1 - tau)^(n - 1)
//! ```
//!
//! with k from 0 to the last attempt. The equations have one solution, since the right side of the second decreases with
//! p while the left side increases.

use airbound_units::{BitRate, ByteCount, Span};

use crate::band::Band;
use crate::control_frames::ack;
use crate::edca::EdcaParameters;
use crate::rate::{Legacy, Rate};
use crate::timing::ppdu_duration;

/// Number, contention windows and retry limit of the contending stations.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Contention {
    /// Contending stations, at least 1.
    pub stations: u32,
    /// The contention windows; AIFSN and TXOP limit are ignored.
    pub windows: EdcaParameters,
    /// Attempts after which a packet is dropped, at least 1; `None`: no limit.
    pub max_attempts: Option<u32>,
}

/// The equilibrium of contention.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct OperatingPoint {
    /// The probability that a station sends in a slot (tau).
    pub attempt: f64,
    /// The probability that an attempt collides (p).
    pub collision: f64,
}

impl Contention {
    /// Solves for the operating point, to within 10^-15.
    #[must_use]
    pub fn solve(&self) -> OperatingPoint {
        let others = f64::from(self.stations.max(1) - 1);
        let (mut low, mut high) = (0.0, 1.0 - 1e-9);
        // 60 bisections reach the resolution of `f64`.
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if 1.0 - libm::pow(1.0 - self.attempt_at(middle), others) > middle {
                low = middle;
            } else {
                high = middle;
            }
        }
        let collision = if others == 0.0 { 0.0 } else { low };
        OperatingPoint { attempt: self.attempt_at(collision), collision }
    }

    /// tau as a function of p.
    fn attempt_at(&self, collision: f64) -> f64 {
        let (mut attempts, mut slots, mut reached) = (0.0, 0.0, 1.0);
        let slots_at = |failures: u32| f64::midpoint(f64::from(self.windows.window(failures)) + 1.0, 1.0);
        // From the 16th failure on the window is constant, so the rest is a geometric series.
        const GROWTH_ENDS: u32 = 16;
        let last = self.max_attempts.map_or(u32::MAX, |attempts| attempts.max(1));
        for failures in 0..last.min(GROWTH_ENDS) {
            attempts += reached;
            slots += reached * slots_at(failures);
            reached *= collision;
        }
        if last > GROWTH_ENDS {
            let ends = match self.max_attempts {
                Some(attempts) => 1.0 - libm::pow(collision, f64::from(attempts - GROWTH_ENDS)),
                None => 1.0,
            };
            let rest = reached * ends / (1.0 - collision);
            attempts += rest;
            slots += rest * slots_at(GROWTH_ENDS);
        }
        attempts / slots
    }
}

/// Duration of each event of a slot.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SlotTimes {
    /// No station sends.
    pub idle: Span,
    /// One station sends: frame, SIFS, ACK, DIFS.
    pub success: Span,
    /// Several stations send: the time until backoffs resume.
    pub collision: Span,
}

impl SlotTimes {
    /// Basic access in the 5 GHz band with MPDUs of one size. After a collision the others wait for DIFS, or with `eifs` for
    /// EIFS, since they could not decode the frames.
    #[must_use]
    pub fn basic_access(data: Rate, mpdu: ByteCount, acknowledgement: Legacy, eifs: bool) -> Self {
        let band = Band::Ghz5;
        let frame = ppdu_duration(data, mpdu);
        Self {
            idle: band.slot(),
            success: frame + band.sifs() + ack(acknowledgement, band) + band.difs(),
            collision: frame + if eifs { band.eifs() } else { band.difs() },
        }
    }
}

/// Performance of saturated stations.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Saturation {
    /// tau and p.
    pub point: OperatingPoint,
    /// Payload rate of all stations.
    pub goodput: BitRate,
    /// The share of slots with a transmission.
    pub busy: f64,
    /// The mean length of a slot.
    pub mean_slot: Span,
}

/// The goodput of saturated stations whose frames each carry `payload`.
#[must_use]
pub fn saturation(contention: &Contention, times: &SlotTimes, payload: ByteCount) -> Saturation {
    let point = contention.solve();
    let stations = f64::from(contention.stations.max(1));
    let quiet = libm::pow(1.0 - point.attempt, stations);
    let success = stations * point.attempt * libm::pow(1.0 - point.attempt, stations - 1.0);
    let busy = 1.0 - quiet;
    let mean_slot = quiet * times.idle.as_secs_f64()
        + success * times.success.as_secs_f64()
        + (busy - success) * times.collision.as_secs_f64();
    Saturation {
        point,
        goodput: BitRate::from_bps_f64(success * payload.bits() as f64 / mean_slot),
        busy,
        mean_slot: Span::from_secs_f64(mean_slot),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_station_never_collides() {
        let alone = Contention { stations: 1, windows: EdcaParameters::dcf(), max_attempts: Some(7) };
        let point = alone.solve();
        assert!(point.collision == 0.0 && (point.attempt - 2.0 / 17.0).abs() < 1e-15);
    }

    #[test]
    fn unusual_input_has_a_result() {
        for stations in [0, 1, 2, 1_000_000] {
            for max_attempts in [None, Some(0), Some(1), Some(16), Some(17), Some(u32::MAX)] {
                let point = Contention { stations, windows: EdcaParameters::dcf(), max_attempts }.solve();
                assert!((0.0..=1.0).contains(&point.attempt) && (0.0..=1.0).contains(&point.collision));
            }
        }
    }

    #[test]
    fn a_very_large_limit_equals_no_limit() {
        let solve = |max_attempts| {
            Contention { stations: 10, windows: EdcaParameters::dcf(), max_attempts }.solve().collision
        };
        assert!((solve(None) - solve(Some(500))).abs() < 1e-12);
        assert!(solve(Some(7)) > solve(None));
    }
}
