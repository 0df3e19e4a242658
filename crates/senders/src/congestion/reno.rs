//! Reno: additive increase, halving (RFC 5681 section 3.1, RFC 6582; Linux `tcp_cong.c`).

use airbound_units::Instant;

use super::{AckEvent, CongestionControl, MAX_WINDOW, Phase, Window};

/// Reno's state: acknowledged segments not yet turned into growth.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reno {
    credit: u32,
}

impl Reno {
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if ack.phase == Phase::Recovery || !ack.window_limited || ack.acked == 0 {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
        }
        // RFC 5681 equation 3, counted in segments: one more for each window acknowledged.
        self.credit = self.credit.saturating_add(acked);
        let grown = self.credit / window.cwnd.max(1);
        if grown > 0 {
            self.credit -= grown * window.cwnd.max(1);
            window.cwnd = window.cwnd.saturating_add(grown).min(MAX_WINDOW);
        }
    }

    fn on_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        self.credit = 0;
        (window.cwnd / 2).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::UNSET_THRESHOLD;
    use crate::congestion::test_event;

    #[test]
    fn slow_start_grows_by_what_was_acknowledged_and_stops_at_the_threshold() {
        let mut window = Window { cwnd: 10, ssthresh: 14 };
        let mut reno = Reno::new();
        reno.on_ack(&mut window, &test_event(3));
        assert_eq!(window.cwnd, 13);
        // One of these reaches the threshold, the other four count towards the next 14.
        reno.on_ack(&mut window, &test_event(5));
        assert_eq!(window.cwnd, 14);
        reno.on_ack(&mut window, &test_event(9));
        assert_eq!(window.cwnd, 14);
        reno.on_ack(&mut window, &test_event(1));
        assert_eq!(window.cwnd, 15);
    }

    #[test]
    fn avoidance_adds_one_segment_per_window() {
        let mut window = Window { cwnd: 20, ssthresh: 20 };
        let mut reno = Reno::new();
        for _ in 0..20 + 21 + 22 {
            reno.on_ack(&mut window, &test_event(1));
        }
        assert_eq!(window.cwnd, 23);
    }

    #[test]
    fn loss_halves_and_keeps_two() {
        let mut reno = Reno::new();
        assert_eq!(reno.on_loss(Instant::ZERO, &Window { cwnd: 101, ssthresh: UNSET_THRESHOLD }), 50);
        assert_eq!(reno.on_loss(Instant::ZERO, &Window { cwnd: 3, ssthresh: 2 }), 2);
    }

    #[test]
    fn an_application_limited_window_does_not_grow() {
        let mut window = Window { cwnd: 10, ssthresh: UNSET_THRESHOLD };
        let mut event = test_event(10);
        event.window_limited = false;
        Reno::new().on_ack(&mut window, &event);
        assert_eq!(window.cwnd, 10);
    }
}
