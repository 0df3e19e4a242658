//! Round trips and the retransmission timeout (RFC 6298 as in Linux `tcp_input.c`).

use std::cmp::Reverse;

use airbound_units::{Instant, Span};

use crate::congestion::windowed::WindowedMax;

/// Timeout before the first sample (RFC 6298 section 2.1).
const INITIAL_RTO: Span = Span::from_secs(1);
/// Linux `TCP_RTO_MAX`.
const MAX_RTO: Span = Span::from_secs(120);
/// Time for which the smallest round trip is remembered (Linux `tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Span = Span::from_secs(300);

/// The smoothed round trip, its variation, and the timeout. Differs from RFC 6298 as Linux does: the floor applies to
/// the variance term, so that the timeout is at least the round trip plus the floor; the variation is lowered once a
/// round trip; and a sudden decrease of the round trip raises it only a little.
#[derive(Debug, Clone)]
pub(super) struct RoundTrip {
    floor: Span,
    srtt: Option<Span>,
    /// Mean deviation.
    mdev: Span,
    /// Largest 4 x mdev of this round trip.
    mdev_max: Span,
    /// The variance term in use.
    variance: Span,
    /// Byte whose acknowledgement ends this round trip.
    round_end: u64,
    min: Option<WindowedMax<Reverse<Span>>>,
    backoff: u32,
}

impl RoundTrip {
    pub(super) fn new(floor: Span) -> Self {
        Self {
            floor,
            srtt: None,
            mdev: Span::ZERO,
            mdev_max: Span::ZERO,
            variance: Span::ZERO,
            round_end: 0,
            min: None,
            backoff: 0,
        }
    }

    pub(super) fn smoothed(&self) -> Option<Span> {
        self.srtt
    }

    pub(super) fn min(&self) -> Option<Span> {
        self.min.map(|filter| filter.get().0)
    }

    /// The timeout with its backoff.
    pub(super) fn timeout(&self) -> Span {
        let base = self.srtt.map_or(INITIAL_RTO, |srtt| srtt + self.variance);
        let factor = 1_u64 << self.backoff.min(20);
        (base.min(MAX_RTO) * factor).min(MAX_RTO)
    }

    /// Doubles the timeout after an expiry (RFC 6298 section 5.5).
    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(20);
    }

    /// Ends the backoff after an acknowledgement of data.
    pub(super) fn recover(&mut self) {
        self.backoff = 0;
    }

    /// Takes the round trip of the newest segment of an acknowledgement for the minimum.
    #[inline]
    pub(super) fn on_min(&mut self, now: Instant, rtt: Span) {
        let (window, at) = (MIN_RTT_WINDOW.as_nanos(), now.as_nanos());
        match &mut self.min {
            Some(filter) => {
                filter.update(window, at, Reverse(rtt));
            }
            None => self.min = Some(WindowedMax::new(at, Reverse(rtt))),
        }
    }

    /// Takes a round trip for the timeout: that of the oldest segment covered by an acknowledgement.
    #[inline]
    pub(super) fn on_sample(&mut self, rtt: Span, first_unacked: u64, next: u64) {
        let Some(srtt) = self.srtt else {
            self.srtt = Some(rtt);
            self.mdev = rtt / 2;
            self.mdev_max = (rtt * 2).max(self.floor);
            self.variance = self.mdev_max;
            self.round_end = next;
            return;
        };
        let (rise, fall) = (rtt - srtt, srtt - rtt);
        self.srtt = Some((srtt + rise / 8) - fall / 8);
        if fall > self.mdev {
            self.mdev += (fall - self.mdev) / 32;
        } else {
            let error = rise.max(fall);
            self.mdev = (self.mdev + (error - self.mdev) / 4) - (self.mdev - error) / 4;
        }
        if self.mdev * 4 > self.mdev_max {
            self.mdev_max = self.mdev * 4;
            self.variance = self.variance.max(self.mdev_max);
        }
        if first_unacked > self.round_end {
            self.variance -= (self.variance - self.mdev_max) / 4;
            self.round_end = next;
            self.mdev_max = self.floor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Span = Span::from_millis(200);

    #[test]
    fn begins_at_one_second_and_doubles_to_two_minutes() {
        let mut rtt = RoundTrip::new(FLOOR);
        for seconds in [1, 2, 4, 8, 16, 32, 64, 120, 120] {
            assert_eq!(rtt.timeout(), Span::from_secs(seconds));
            rtt.back_off();
        }
        rtt.recover();
        assert_eq!(rtt.timeout(), Span::from_secs(1));
    }

    #[test]
    fn a_steady_round_trip_times_out_200_ms_above() {
        let mut rtt = RoundTrip::new(FLOOR);
        rtt.on_sample(Span::from_millis(20), 0, 1);
        assert_eq!(rtt.timeout(), Span::from_millis(220));
        for round in 0..100 {
            rtt.on_sample(Span::from_millis(20), round + 1, round + 2);
        }
        assert_eq!(rtt.timeout(), Span::from_millis(220));
    }

    #[test]
    fn the_first_sample_and_variation_follow_rfc_6298() {
        let mut rtt = RoundTrip::new(Span::from_millis(1));
        rtt.on_sample(Span::from_millis(100), 0, 10);
        // Section 2.2: srtt = R, rttvar = R / 2, RTO = R + 4 rttvar.
        assert_eq!(rtt.timeout(), Span::from_millis(300));
        // Section 2.3: rttvar = 3/4 x 50 + 1/4 x 40 = 47.5; srtt = 105. The term falls only at the round's end.
        rtt.on_sample(Span::from_millis(140), 5, 10);
        assert_eq!(rtt.smoothed(), Some(Span::from_millis(105)));
        assert_eq!(rtt.mdev, Span::from_micros(47_500));
        assert_eq!(rtt.timeout(), Span::from_millis(305));
    }

    #[test]
    fn the_minimum_is_of_the_last_five_minutes() {
        let mut rtt = RoundTrip::new(FLOOR);
        rtt.on_min(Instant::ZERO, Span::from_millis(10));
        rtt.on_min(Instant::ZERO + Span::from_secs(200), Span::from_millis(30));
        assert_eq!(rtt.min(), Some(Span::from_millis(10)));
        rtt.on_min(Instant::ZERO + Span::from_secs(301), Span::from_millis(40));
        assert_eq!(rtt.min(), Some(Span::from_millis(30)));
    }
}
