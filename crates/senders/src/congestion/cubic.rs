//! CUBIC (RFC 9438), with HyStart in slow start.

use airbound_units::{Instant, Span};

use super::hystart::{Hystart, HystartKind};
use super::{AckEvent, CongestionControl, MAX_WINDOW, Phase, Window};

/// Multiplicative decrease (RFC 9438 section 4.6).
const BETA: f64 = 0.7;
/// Aggressiveness in segments per second cubed (section 5).
const C: f64 = 0.4;
/// Acknowledged segments for each segment of growth before the first loss, at least: 5 % in a round trip.
const ACKS_BEFORE_LOSS: f64 = 20.0;
/// Reno-friendly increase, 3 (1 - beta) / (1 + beta) (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// CUBIC's state. Windows are in segments.
#[derive(Debug, Clone)]
pub(crate) struct Cubic {
    hystart: Hystart,
    /// W_max: the window before the last reduction, lowered by fast convergence.
    w_max: f64,
    /// cwnd_prior: the window before the last reduction.
    cwnd_prior: f64,
    /// Start of the present congestion avoidance, K, and the window at the curve's inflection.
    epoch: Option<Epoch>,
    /// Growth not yet applied, a fraction of a segment.
    credit: f64,
    /// State before the last reduction, to undo it (section 4.9).
    saved: Option<(f64, f64, Option<Epoch>)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Epoch {
    start: Instant,
    k: f64,
    origin: f64,
    /// W_est: Reno's window.
    w_est: f64,
}

impl Cubic {
    pub(crate) fn new(hystart: HystartKind, paced: bool) -> Self {
        Self {
            hystart: Hystart::new(hystart, paced),
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            credit: 0.0,
            saved: None,
        }
    }

    fn epoch(&mut self, now: Instant, cwnd: f64) -> Epoch {
        if let Some(epoch) = self.epoch {
            return epoch;
        }
        // Section 4.2: K = cbrt((W_max - cwnd_epoch) / C); without an earlier W_max, or above it, the curve starts
        // at its inflection.
        let (k, origin) =
            if cwnd < self.w_max { (libm::cbrt((self.w_max - cwnd) / C), self.w_max) } else { (0.0, cwnd) };
        self.credit = 0.0;
        let epoch = Epoch { start: now, k, origin, w_est: cwnd };
        self.epoch = Some(epoch);
        epoch
    }

    fn avoid(&mut self, window: &mut Window, acked: u32, now: Instant, rtt: Span) {
        let cwnd = f64::from(window.cwnd.max(1));
        let mut epoch = self.epoch(now, cwnd);
        let t = now.since(epoch.start).as_secs_f64();
        let acked = f64::from(acked);

        // Section 4.3, equation 4.
        let alpha = if epoch.w_est >= self.cwnd_prior { 1.0 } else { ALPHA };
        epoch.w_est += alpha * acked / cwnd;
        self.epoch = Some(epoch);

        let target = cubic(t + rtt.as_secs_f64(), &epoch).clamp(cwnd, 1.5 * cwnd);
        let growth = if cubic(t, &epoch) < epoch.w_est {
            // Reno-friendly region.
            (epoch.w_est - cwnd - self.credit).max(0.0)
        } else {
            acked * (target - cwnd) / cwnd
        };
        // Linux (`bictcp_update`): before the first loss the path is unknown, and the curve would be too slow.
        let least = if self.w_max == 0.0 { acked / ACKS_BEFORE_LOSS } else { 0.0 };
        self.credit += growth.max(least);
        if self.credit >= 1.0 {
            let whole = libm::floor(self.credit);
            self.credit -= whole;
            window.cwnd = window.cwnd.saturating_add(whole as u32).min(MAX_WINDOW);
        }
    }
}

/// W_cubic(t), section 4.2 equation 1.
fn cubic(t: f64, epoch: &Epoch) -> f64 {
    let offset = t - epoch.k;
    C * offset * offset * offset + epoch.origin
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if ack.phase == Phase::Recovery || ack.acked == 0 {
            return;
        }
        let mut acked = ack.acked;
        if window.in_slow_start() {
            let growth = self.hystart.on_ack(window, ack);
            if !ack.window_limited {
                return;
            }
            if window.in_slow_start() {
                acked = window.slow_start(growth);
                if window.in_slow_start() {
                    return;
                }
            }
        }
        if ack.window_limited && acked > 0 {
            self.avoid(window, acked, ack.now, ack.smoothed_rtt.unwrap_or(Span::ZERO));
        }
    }

    fn on_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        self.saved = Some((self.w_max, self.cwnd_prior, self.epoch));
        let cwnd = f64::from(window.cwnd);
        self.cwnd_prior = cwnd;
        // Fast convergence, section 4.7: a flow whose window shrank gives up more.
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.epoch = None;
        ((cwnd * BETA) as u32).max(2)
    }

    fn on_timeout(&mut self, _window: &Window) {
        // Section 4.8: slow start again; the curve then starts at its inflection.
        self.hystart.restart();
        self.w_max = 0.0;
        self.epoch = None;
    }

    fn on_undo(&mut self, _window: &Window) {
        if let Some((w_max, cwnd_prior, epoch)) = self.saved.take() {
            self.w_max = w_max;
            self.cwnd_prior = cwnd_prior;
            self.epoch = epoch;
        }
    }

    fn on_restart(&mut self, _now: Instant, idle: Span, _app_limited: bool) {
        // Section 5.8: idle time does not count as growth.
        if let Some(epoch) = &mut self.epoch {
            epoch.start += idle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::UNSET_THRESHOLD;
    use crate::congestion::test_event;

    const RTT: Span = Span::from_millis(100);

    /// Runs `seconds` of congestion avoidance with one acknowledgement per segment.
    fn run(cubic: &mut Cubic, window: &mut Window, from: f64, seconds: f64) {
        let mut now = from;
        while now < from + seconds {
            now += RTT.as_secs_f64() / f64::from(window.cwnd);
            let mut event = test_event(1);
            event.now = Instant::ZERO + Span::from_secs_f64(now);
            event.smoothed_rtt = Some(RTT);
            cubic.on_ack(window, &event);
        }
    }

    #[test]
    fn returns_to_w_max_after_k() {
        let mut cubic = Cubic::new(HystartKind::Off, false);
        let mut window = Window { cwnd: 1000, ssthresh: UNSET_THRESHOLD };
        window.ssthresh = cubic.on_loss(Instant::ZERO, &window);
        assert_eq!(window.ssthresh, 700);
        window.cwnd = 700;
        // K = cbrt(1000 x 0.3 / 0.4) = 9.086 s.
        run(&mut cubic, &mut window, 0.0, 0.001);
        let epoch = cubic.epoch.expect("avoidance began");
        assert!((epoch.k - 9.0856).abs() < 1e-3, "{}", epoch.k);
        // Half way: 1000 - 0.4 x 4.543^3 = 962.5; at K: 1000; 3 s later: 1000 + 0.4 x 27 = 1010.8.
        run(&mut cubic, &mut window, 0.001, 4.542);
        assert!((961..=966).contains(&window.cwnd), "{}", window.cwnd);
        run(&mut cubic, &mut window, 4.543, 4.543);
        assert!((998..=1001).contains(&window.cwnd), "{}", window.cwnd);
        run(&mut cubic, &mut window, 9.086, 3.0);
        assert!((1009..=1013).contains(&window.cwnd), "{}", window.cwnd);
    }

    #[test]
    fn small_windows_follow_reno() {
        // At 10 ms and 10 segments the cubic curve is far below Reno: alpha = 0.529 segments a round trip.
        let mut cubic = Cubic::new(HystartKind::Off, false);
        let mut window = Window { cwnd: 20, ssthresh: UNSET_THRESHOLD };
        window.ssthresh = cubic.on_loss(Instant::ZERO, &window);
        window.cwnd = window.ssthresh;
        assert_eq!(window.cwnd, 14);
        let mut now = Instant::ZERO;
        let mut rounds = 0;
        while window.cwnd < 20 {
            now += Span::from_millis(10);
            rounds += 1;
            for _ in 0..window.cwnd {
                let mut event = test_event(1);
                event.now = now;
                event.smoothed_rtt = Some(Span::from_millis(10));
                cubic.on_ack(&mut window, &event);
            }
        }
        // 6 segments at 0.529 each round.
        assert!((11..=13).contains(&rounds), "{rounds}");
    }

    #[test]
    fn fast_convergence_gives_up_more() {
        let mut cubic = Cubic::new(HystartKind::Off, false);
        cubic.on_loss(Instant::ZERO, &Window { cwnd: 100, ssthresh: 50 });
        assert_eq!(cubic.w_max, 100.0);
        cubic.on_loss(Instant::ZERO, &Window { cwnd: 80, ssthresh: 50 });
        assert_eq!(cubic.w_max, 68.0);
    }

    #[test]
    fn after_a_timeout_the_curve_starts_at_its_inflection() {
        let mut cubic = Cubic::new(HystartKind::Off, false);
        let mut window = Window { cwnd: 1000, ssthresh: UNSET_THRESHOLD };
        window.ssthresh = cubic.on_loss(Instant::ZERO, &window);
        cubic.on_timeout(&window);
        window.cwnd = 700;
        run(&mut cubic, &mut window, 0.0, 0.001);
        let epoch = cubic.epoch.expect("avoidance began");
        assert_eq!((epoch.k, epoch.origin), (0.0, 700.0));
    }

    #[test]
    fn undo_restores_the_curve() {
        let mut cubic = Cubic::new(HystartKind::Off, false);
        let window = Window { cwnd: 100, ssthresh: 100 };
        cubic.on_loss(Instant::ZERO, &window);
        cubic.on_undo(&window);
        assert_eq!((cubic.w_max, cubic.cwnd_prior), (0.0, 0.0));
    }

    #[test]
    fn growth_per_round_trip_is_at_most_half() {
        let mut cubic = Cubic::new(HystartKind::Off, false);
        let mut window = Window { cwnd: 10, ssthresh: 10 };
        run(&mut cubic, &mut window, 0.0, 0.1);
        // After 100 s without a loss the curve is far above.
        let before = window.cwnd;
        let mut event = test_event(before);
        event.now = Instant::ZERO + Span::from_secs(100);
        event.smoothed_rtt = Some(RTT);
        cubic.on_ack(&mut window, &event);
        assert!(window.cwnd <= before + before / 2 + 1, "{before} -> {}", window.cwnd);
    }
}
