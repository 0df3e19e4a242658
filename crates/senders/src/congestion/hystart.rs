//! HyStart: leaves slow start before the queue overflows.
//!
//! `linux` is the hybrid slow start of Linux `tcp_cubic.c` (Ha and Rhee 2011): it ends slow start when a
//! train of closely spaced acknowledgements has lasted half the smallest round trip (a whole one when paced), or when
//! the smallest of the round's first eight round trips exceeds the minimum by an eighth (4 to 16 ms).
//! `rfc9406` is HyStart++: the delay test only, measured against the previous round, and five rounds of
//! slower growth before it believes it.

use airbound_units::{Instant, Span};
use serde::{Deserialize, Serialize};

use super::{AckEvent, Window};

/// Condition on which CUBIC leaves slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HystartKind {
    /// At the first loss.
    Off,
    /// Hybrid slow start as in Linux `tcp_cubic.c`: acknowledgement train and delay.
    #[default]
    Linux,
    /// HyStart++, RFC 9406: delay, then conservative slow start.
    Rfc9406,
}

/// Round-trip samples of a round before the delay test (both variants).
const ROUND_SAMPLES: u32 = 8;
/// Bounds of the delay threshold (both variants).
const MIN_DELAY: Span = Span::from_millis(4);
const MAX_DELAY: Span = Span::from_millis(16);
/// Acknowledgements closer than this form a train (Linux `hystart_ack_delta_us`).
const TRAIN_GAP: Span = Span::from_millis(2);
/// Below this window Linux does not test (`hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// Linux adds the time of four 64 KiB buffers at twice the window per round trip, at most this, for bursts that the
/// sender built (`hystart_ack_delay`).
const MAX_BURST_ALLOWANCE: Span = Span::from_millis(1);
/// Half of those four buffers in segments of 1448 B.
const BURST_SEGMENTS: u64 = 90;
/// Growth divisor and rounds of conservative slow start (RFC 9406 section 4.3).
const CONSERVATIVE_DIVISOR: u32 = 4;
const CONSERVATIVE_ROUNDS: u32 = 5;
/// Largest growth per acknowledgement when not paced (RFC 9406 section 4.3, L).
const UNPACED_LIMIT: u32 = 8;

/// State of the search for the end of slow start.
#[derive(Debug, Clone)]
pub(crate) struct Hystart {
    kind: HystartKind,
    paced: bool,
    round_end: u64,
    round_start: Instant,
    last_ack: Instant,
    samples: u32,
    round_min: Span,
    last_round_min: Span,
    /// Smallest round trip ever (Linux) or of the round that began conservative slow start (RFC 9406).
    baseline: Span,
    found: bool,
    /// Rounds of conservative slow start so far, and growth not yet applied.
    conservative: Option<u32>,
    credit: u32,
}

impl Hystart {
    pub(crate) fn new(kind: HystartKind, paced: bool) -> Self {
        Self {
            kind,
            paced,
            round_end: 0,
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            samples: 0,
            round_min: Span::MAX,
            last_round_min: Span::MAX,
            baseline: Span::MAX,
            found: false,
            conservative: None,
            credit: 0,
        }
    }

    /// Resets the search when slow start begins again after a timeout.
    pub(crate) fn restart(&mut self) {
        *self = Self::new(self.kind, self.paced);
    }

    /// Takes an acknowledgement in slow start; returns the part of `ack.acked` that counts as growth. Sets the
    /// threshold when slow start is over.
    pub(crate) fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) -> u32 {
        match self.kind {
            HystartKind::Off => ack.acked,
            HystartKind::Linux => {
                self.linux(window, ack);
                ack.acked
            }
            HystartKind::Rfc9406 => self.rfc9406(window, ack),
        }
    }

    fn begin_round(&mut self, ack: &AckEvent) {
        self.round_end = ack.next_unsent;
        self.round_start = ack.now;
        self.last_ack = ack.now;
        self.last_round_min = self.round_min;
        self.round_min = Span::MAX;
        self.samples = 0;
    }

    fn linux(&mut self, window: &mut Window, ack: &AckEvent) {
        let Some(rtt) = ack.rtt else { return };
        self.baseline = self.baseline.min(rtt);
        if self.found || window.cwnd < LOW_WINDOW {
            return;
        }
        if ack.first_unacked > self.round_end {
            self.begin_round(ack);
        }
        if ack.now.since(self.last_ack) <= TRAIN_GAP {
            self.last_ack = ack.now;
            let srtt = ack.smoothed_rtt.unwrap_or(self.baseline);
            let burst = srtt * BURST_SEGMENTS / u64::from(window.cwnd.max(1));
            let whole = self.baseline + burst.min(MAX_BURST_ALLOWANCE);
            let threshold = if self.paced { whole } else { whole / 2 };
            self.found |= ack.now.since(self.round_start) > threshold;
        }
        self.round_min = self.round_min.min(rtt);
        if self.samples < ROUND_SAMPLES {
            self.samples += 1;
        } else {
            self.found |= self.round_min > self.baseline + threshold_of(self.baseline);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }

    fn rfc9406(&mut self, window: &mut Window, ack: &AckEvent) -> u32 {
        if ack.first_unacked > self.round_end {
            self.begin_round(ack);
            if let Some(rounds) = &mut self.conservative {
                *rounds += 1;
                if *rounds >= CONSERVATIVE_ROUNDS {
                    window.ssthresh = window.cwnd;
                }
            }
        }
        if let Some(rtt) = ack.rtt {
            self.round_min = self.round_min.min(rtt);
            self.samples = self.samples.saturating_add(1);
        }
        let enough = self.samples >= ROUND_SAMPLES && self.round_min != Span::MAX;
        if self.conservative.is_some() {
            // The rise was jitter: slow start continues.
            if enough && self.round_min < self.baseline {
                self.baseline = Span::MAX;
                self.conservative = None;
            }
        } else if enough
            && self.last_round_min != Span::MAX
            && self.round_min >= self.last_round_min + threshold_of(self.last_round_min)
        {
            self.baseline = self.round_min;
            self.conservative = Some(0);
        }
        let acked = if self.paced { ack.acked } else { ack.acked.min(UNPACED_LIMIT) };
        if self.conservative.is_none() {
            return acked;
        }
        self.credit = self.credit.saturating_add(acked);
        let grown = self.credit / CONSERVATIVE_DIVISOR;
        self.credit %= CONSERVATIVE_DIVISOR;
        grown
    }
}

/// An eighth of the round trip, from 4 to 16 ms.
fn threshold_of(rtt: Span) -> Span {
    (rtt / 8).clamp(MIN_DELAY, MAX_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::UNSET_THRESHOLD;
    use crate::congestion::test_event;

    fn event(now_us: u64, rtt_us: u64, acked_to: u64, next: u64) -> AckEvent {
        AckEvent {
            now: Instant::ZERO + Span::from_micros(now_us),
            rtt: Some(Span::from_micros(rtt_us)),
            first_unacked: acked_to,
            next_unsent: next,
            ..test_event(1)
        }
    }

    #[test]
    fn linux_ends_at_an_ack_train_of_half_the_round_trip() {
        let mut window = Window { cwnd: 100, ssthresh: UNSET_THRESHOLD };
        let mut hystart = Hystart::new(HystartKind::Linux, false);
        // 20 ms round trip plus the 1 ms allowance: the train may last 10.5 ms.
        for step in 0..=10 {
            hystart.on_ack(&mut window, &event(20_000 + step * 1_000, 20_000, step + 1, 10_000));
            assert_eq!(window.ssthresh, UNSET_THRESHOLD, "{step} ms");
        }
        hystart.on_ack(&mut window, &event(31_000, 20_000, 12, 10_000));
        assert_eq!(window.ssthresh, 100);
    }

    #[test]
    fn linux_ends_when_eight_samples_exceed_the_minimum_by_an_eighth() {
        let mut window = Window { cwnd: 100, ssthresh: UNSET_THRESHOLD };
        let mut hystart = Hystart::new(HystartKind::Linux, false);
        hystart.on_ack(&mut window, &event(80_000, 80_000, 1, 1_000));
        // Next round, 3 ms apart so that no train forms; the threshold is 80 + 10 ms.
        for step in 0..8 {
            hystart.on_ack(&mut window, &event(200_000 + step * 3_000, 91_000, 1_001 + step, 9_000));
            assert_eq!(window.ssthresh, UNSET_THRESHOLD);
        }
        hystart.on_ack(&mut window, &event(224_000, 91_000, 1_009, 9_000));
        assert_eq!(window.ssthresh, 100);
    }

    #[test]
    fn rfc9406_slows_down_first_and_gives_up_after_five_rounds() {
        let mut window = Window { cwnd: 100, ssthresh: UNSET_THRESHOLD };
        let mut hystart = Hystart::new(HystartKind::Rfc9406, true);
        let mut round = |hystart: &mut Hystart, number: u64, rtt: u64| {
            (0..12)
                .map(|step| {
                    let base = number * 100 + 1;
                    hystart.on_ack(&mut window, &event(number * 100_000, rtt, base + step, base + 99))
                })
                .sum::<u32>()
        };
        assert_eq!(round(&mut hystart, 1, 40_000), 12);
        // Threshold 40 + 5 ms. Seven at full growth, then five at a quarter.
        assert_eq!(round(&mut hystart, 2, 45_000), 7 + 1);
        for number in 3..7 {
            assert_eq!(round(&mut hystart, number, 46_000), 3, "round {number}");
        }
        round(&mut hystart, 7, 46_000);
        assert_eq!(window.ssthresh, 100);
    }

    #[test]
    fn rfc9406_resumes_when_the_round_trip_falls_again() {
        let mut window = Window { cwnd: 100, ssthresh: UNSET_THRESHOLD };
        let mut hystart = Hystart::new(HystartKind::Rfc9406, true);
        for (number, rtt) in [(1_u64, 40_000), (2, 50_000), (3, 41_000)] {
            for step in 0..10 {
                hystart.on_ack(&mut window, &event(0, rtt, number * 100 + step, number * 100 + 99));
            }
        }
        assert!(hystart.conservative.is_none());
    }
}
