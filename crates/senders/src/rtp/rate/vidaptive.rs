//! Vidaptive: a delay-based window (Copa), and an encoder that takes the share of its rate that frames can leave in time.
//!
//! Crate `vidaptive` 0.2.0 (`ShaJaPas/vidaptive` 9a970c75, 22 July 2026): `src/cc/copa.rs`, `src/encoder_ctrl/alpha.rs`, `src/config.rs`;
//! arXiv 2309.16869. Left out: packets of padding, which it sends below 12 Mb/s of video. A frame is not coded while the pacer holds a
//! packet for longer than `pause`, as there.

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, News};
use super::{FramePart, Key, MediaRate, Pacing, PathState, RateBounds};
use crate::rtp::gcc::{PacketSent, TransportFeedback};

/// Reports as often as the wire format resolves usefully; the crate is fed each acknowledgement.
const REPORTS: Span = Span::from_millis(2);
/// The reference packet (`DEFAULT_PACKET_SIZE`), least and first window.
const PACKET: f64 = 1200.0;
const LEAST_WINDOW: f64 = 4.0 * PACKET;
const FIRST_WINDOW: f64 = 80.0 * PACKET;
/// delta (`DEFAULT_DELTA`), and that of a round with a tenth of losses (`min(2 delta, 0.5)`, `LOSS_RATE_THRESHOLD`).
const DELTA: f64 = 0.9;
const LOSSY_DELTA: f64 = 0.5;
const LOSSY: f64 = 0.1;
/// Rounds in one direction before the velocity doubles (`SPEED_UP_THRESHOLD`).
const STEADY: u32 = 3;
/// Window of the least round trip (`MIN_RTT_WINDOW`), and the round trip before the first.
const LEAST_RTT_WINDOW: Span = Span::from_secs(10);
const FIRST_RTT: Span = Span::from_millis(50);
/// Window and period of the encoder's share, its smoothing, and the percentile of service times (`VidaptiveConfigBuilder`).
const PERIOD: Span = Span::from_secs(1);
const SMOOTHING: f64 = 0.25;
const PERCENTILE: f64 = 0.9;
/// Silence after which nothing counts as in flight.
const SILENCE: Span = Span::from_millis(500);

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Time P in which nine of ten frames leave: 16 ms, an interval at 60 a second; the crate's 33 ms are one at 30. 1 ms to 1 s.
    pub service_time: Span,
    /// Wait in the pacer above which no frame is coded, tau: the same. 1 ms to 2 s.
    pub pause: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self { service_time: Span::from_millis(16), pause: Span::from_millis(16) }
    }
}

pub(super) const KEYS: &[Key] = &[
    ("service-time", "`\"16 ms\"`; 1 ms–1 s", "in which nine of ten frames leave"),
    ("pause", "`\"16 ms\"`; 1 ms–2 s", "wait in the pacer above which no frame is coded"),
];

/// A minimum over a window.
#[derive(Debug, Clone, Default)]
struct Least(VecDeque<(Instant, Span)>);

impl Least {
    fn add(&mut self, now: Instant, sample: Span, window: Span) -> Span {
        while self.0.back().is_some_and(|(_, larger)| *larger >= sample) {
            self.0.pop_back();
        }
        self.0.push_back((now, sample));
        while self.0.len() > 1 && self.0.front().is_some_and(|(at, _)| now - *at > window) {
            self.0.pop_front();
        }
        self.0.front().map_or(sample, |(_, least)| *least)
    }
}

/// Copa's window.
#[derive(Debug, Clone)]
struct Copa {
    window: f64,
    slow_start: bool,
    velocity: f64,
    rises: bool,
    same: u32,
    last_window: Option<f64>,
    smoothed: Span,
    standing: Span,
    standings: Least,
    least: Least,
    round_end: u64,
    /// Bytes acknowledged and lost in the round.
    round: (f64, f64),
    delta: f64,
}

impl Copa {
    /// Takes a report; a round trip counts until it came, since it opens the window.
    fn on_news(&mut self, now: Instant, news: &News, last_sent: u64) {
        self.round.1 += news.lost.0.as_u64() as f64;
        let Some(newest) = news.arrived.iter().map(|arrived| arrived.sequence).max() else { return };
        let acked = news.arrived.iter().map(|arrived| arrived.size).sum::<ByteCount>().as_u64() as f64;
        for arrived in &news.arrived {
            self.smoothed = self.smoothed.mul_f64(0.875) + (now - arrived.sent).mul_f64(0.125);
        }
        let sample = news.arrived.iter().map(|arrived| now - arrived.sent).min().unwrap_or(self.smoothed);
        self.round.0 += acked;
        let is_round = newest >= self.round_end;
        if is_round {
            let (acked, lost) = self.round;
            self.delta = if lost >= LOSSY * (acked + lost) { LOSSY_DELTA } else { DELTA };
            self.round = (0.0, 0.0);
            self.round_end = last_sent;
        }
        self.standing = self.standings.add(now, sample, self.smoothed).max(Span::from_micros(1));
        let queueing = self.standing - self.least.add(now, sample, LEAST_RTT_WINDOW);
        let rate = self.window / self.standing.as_secs_f64();
        let rises = queueing.is_zero() || PACKET / self.delta / queueing.as_secs_f64() >= rate;
        self.update_velocity(rises, is_round);
        self.slow_start &= rises;
        if self.slow_start {
            self.window += acked;
        } else {
            let step = self.velocity * acked * PACKET / (self.delta * self.window);
            self.window = if rises { self.window + step } else { (self.window - step).max(0.0) };
            if self.window < 1.0 {
                (self.window, self.velocity) = (LEAST_WINDOW, 1.0);
            }
        }
        // Nothing bounds the window of a sender that does not fill it; this keeps it a number.
        self.window = self.window.min(1e9);
    }

    fn update_velocity(&mut self, rises: bool, is_round: bool) {
        if self.slow_start && rises {
            return;
        }
        let Some(last) = self.last_window else {
            (self.last_window, self.velocity, self.same) = (Some(self.window.max(LEAST_WINDOW)), 1.0, 0);
            return;
        };
        if !is_round {
            return;
        }
        let rose = self.window > last;
        if rose == self.rises {
            self.same += 1;
            if self.same >= STEADY {
                self.velocity = (self.velocity * 2.0).min(1e6);
            }
        } else {
            (self.velocity, self.same) = (1.0, 0);
        }
        if rises != self.rises {
            self.velocity = 1.0;
        }
        (self.rises, self.last_window) = (rose, Some(self.window));
    }
}

/// A frame on its way out of the pacer.
#[derive(Debug, Clone, Copy)]
struct Leaving {
    frame: u64,
    first: Instant,
    left: u32,
    /// Rate of the window over the target rate when it was coded.
    ratio: f64,
}

/// The rule.
#[derive(Debug, Clone)]
pub(super) struct Vidaptive {
    config: Config,
    bounds: RateBounds,
    ledger: Ledger,
    copa: Copa,
    last_sent: u64,
    leaving: Option<Leaving>,
    /// Service times, times the ratio, with their end.
    services: VecDeque<(Instant, f64)>,
    alpha: f64,
    rate: BitRate,
    tick: Option<Instant>,
}

/// Builds it within the rates of a flow or a session.
pub(super) fn build(config: &Config, bounds: &RateBounds) -> Result<Vidaptive, ConfigError> {
    let Config { service_time, pause } = *config;
    let least = Span::from_millis(1);
    let allowed = (least..=PERIOD).contains(&service_time);
    ConfigError::check(allowed, "service-time", service_time, "1 ms to 1 s")?;
    ConfigError::check((least..=PERIOD * 2).contains(&pause), "pause", pause, "1 ms to 2 s")?;
    let copa = Copa {
        window: FIRST_WINDOW,
        slow_start: true,
        velocity: 1.0,
        rises: true,
        same: 0,
        last_window: None,
        smoothed: FIRST_RTT,
        standing: FIRST_RTT,
        standings: Least::default(),
        least: Least::default(),
        round_end: 0,
        round: (0.0, 0.0),
        delta: DELTA,
    };
    Ok(Vidaptive {
        config: *config,
        bounds: *bounds,
        ledger: Ledger::default(),
        copa,
        last_sent: 0,
        leaving: None,
        services: VecDeque::new(),
        alpha: 1.0,
        rate: bounds.start,
        tick: None,
    })
}

impl Vidaptive {
    fn window(&self) -> f64 {
        self.copa.window.max(LEAST_WINDOW)
    }

    /// The window's rate, bit/s.
    fn window_rate(&self) -> f64 {
        self.window() * 8.0 / self.copa.smoothed.max(Span::from_micros(1)).as_secs_f64()
    }

    fn decide(&mut self, now: Instant) {
        while self.services.front().is_some_and(|(at, _)| now - *at > PERIOD) {
            self.services.pop_front();
        }
        let mut times: Vec<f64> = self.services.iter().map(|(_, time)| *time).collect();
        times.sort_by(f64::total_cmp);
        let place = PERCENTILE * times.len().saturating_sub(1) as f64;
        let at = |index: usize| times.get(index).copied();
        let share = at(place as usize).map_or(1.0, |below| {
            let above = at(place as usize + 1).unwrap_or(below);
            let time = below + (above - below) * (place - (place as usize) as f64);
            (self.config.service_time.as_secs_f64() / time.max(1e-9)).clamp(0.05, 1.0)
        });
        self.alpha += SMOOTHING * (share - self.alpha);
        let rate = BitRate::from_bps_f64(self.alpha * self.window_rate());
        self.rate = rate.clamp(self.bounds.least, self.bounds.most);
    }
}

impl MediaRate for Vidaptive {
    fn on_sent(&mut self, now: Instant, packet: PacketSent) {
        self.ledger.on_sent(now, packet);
        self.last_sent = packet.sequence;
        self.tick.get_or_insert(now + PERIOD);
    }
    fn on_frame_part(&mut self, now: Instant, part: FramePart) {
        self.ledger.on_frame_part(part);
        let ratio = self.window_rate() / self.rate.as_bps().max(1) as f64;
        // At the head of the pacer's queue since it was coded, or since the frame before it left.
        let first = part.coded.max(self.ledger.last_sent().unwrap_or(part.coded)).min(now);
        let begun = Leaving { frame: part.frame, first, left: part.packets, ratio };
        let mut leaving = self.leaving.filter(|leaving| leaving.frame == part.frame).unwrap_or(begun);
        leaving.left = leaving.left.saturating_sub(1);
        if leaving.left == 0 {
            self.services.push_back((now, (now - leaving.first).as_secs_f64() * leaving.ratio));
        }
        // Parity of a frame whose media left does not count again.
        self.leaving =
            Some(Leaving { left: if leaving.left == 0 { u32::MAX } else { leaving.left }, ..leaving });
    }
    fn on_feedback(&mut self, now: Instant, feedback: &TransportFeedback) {
        let news = self.ledger.on_feedback(now, feedback);
        self.copa.on_news(now, &news, self.last_sent);
    }
    fn target(&self) -> BitRate {
        self.rate
    }
    fn pacing(&self) -> Pacing {
        // PACING_GAIN.
        BitRate::from_bps_f64(2.0 * self.window() * 8.0 / self.copa.standing.as_secs_f64())
            .max(self.rate)
            .into()
    }
    fn may_send(&self, now: Instant) -> bool {
        (self.ledger.in_flight().as_u64() as f64) < self.window()
            || self.ledger.last_sent().is_none_or(|at| now - at >= SILENCE)
    }
    fn longest_wait(&self) -> Option<Span> {
        Some(self.config.pause)
    }
    fn deadline(&self) -> Option<Instant> {
        let silent = self.ledger.last_sent().filter(|_| self.ledger.in_flight() > ByteCount::ZERO);
        [self.tick, silent.map(|at| at + SILENCE)].into_iter().flatten().min()
    }
    fn on_deadline(&mut self, now: Instant) {
        if self.ledger.last_sent().is_some_and(|at| now - at >= SILENCE) {
            self.ledger.forget_flight();
        }
        if self.tick.is_some_and(|tick| tick <= now) {
            self.tick = Some(now + PERIOD);
            self.decide(now);
        }
    }
    fn path(&self) -> PathState {
        self.ledger.path()
    }
    fn report_interval(&self) -> Option<Span> {
        Some(REPORTS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::path::{Bounds, run};
    use super::*;

    #[test]
    fn the_rate_falls_below_a_narrower_link_and_returns() {
        let mut rule = build(&Config::default(), &Bounds::WIDE).expect("valid");
        let rates = run(&mut rule, 24, |second| if (8..16).contains(&second) { 10.0 } else { 40.0 }, |_| 0.0);
        assert!(rates[6] > 15.0, "{rates:?}");
        assert!(rates[15] < 12.0, "{rates:?}");
        assert!(rates[23] > 1.5 * rates[15], "{rates:?}");
    }

    #[test]
    fn losses_alone_do_not_lower_it() {
        let run = |loss: f64| {
            let mut rule = build(&Config::default(), &Bounds::WIDE).expect("valid");
            run(&mut rule, 12, |_| 40.0, |_| loss)[6..].iter().sum::<f64>()
        };
        let (clean, lossy) = (run(0.0), run(0.02));
        assert!(lossy > 0.7 * clean, "{clean} {lossy}");
    }
}
