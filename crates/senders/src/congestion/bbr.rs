//! BBR version 1 as in Linux `tcp_bbr.c` (Cardwell et al. 2016; draft-cardwell-iccrg-bbr-congestion-control-00).
//!
//! ```text
//!  Startup ──full pipe──► Drain ──queue gone──► ProbeBw ◄──────┐
//!     └───────────────┬──────────────────────────┘  10 s without│a smaller round trip
//!                     ▼                                          │
//!                 ProbeRtt: 4 segments for 200 ms and a round ───┘
//! ```
//!
//! Not implemented: the long-term bandwidth filter for token-bucket policers.

use airbound_units::{BitRate, Instant, Span};

use super::pacing::burst;
use super::windowed::WindowedMax;
use super::{AckEvent, CongestionControl, MAX_WINDOW, Phase, Window};

/// Gain that doubles the rate each round: 2 / ln 2.
const HIGH_GAIN: f64 = 2885.0 / 1000.0 + 1.0 / 256.0;
const DRAIN_GAIN: f64 = 1000.0 / 2885.0;
/// Window gain of `ProbeBw`, which tolerates delayed and stretched acknowledgements.
const WINDOW_GAIN: f64 = 2.0;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Rounds that the bandwidth filter spans.
const BANDWIDTH_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
const PROBE_RTT_TIME: Span = Span::from_millis(200);
const MIN_WINDOW: u32 = 4;
/// The pipe is full if the bandwidth grows by less than a quarter in three rounds.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Pacing rate relative to the estimate, slightly below it so that no queue builds.
const MARGIN: f64 = 0.99;
/// Each of the two filters of extra acknowledged data spans five rounds.
const EXTRA_ROUNDS: u32 = 5;
const EXTRA_MAX: Span = Span::from_millis(100);
const EXTRA_EPOCH_LIMIT: u64 = 1 << 20;
/// Round trip assumed for the first pacing rate.
const UNKNOWN_RTT: Span = Span::from_millis(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR's model of the path and its state. Bandwidths in bit/s.
#[derive(Debug, Clone)]
pub(crate) struct Bbr {
    mss: u32,
    initial_window: u32,
    random: u64,
    mode: Mode,
    pacing_gain: f64,
    window_gain: f64,
    pacing: u64,
    seen_rtt: bool,
    // Bandwidth, in rounds.
    bandwidth: WindowedMax<u64>,
    rounds: u64,
    round_ends_at: u64,
    round_start: bool,
    full_bandwidth: u64,
    full_rounds: u32,
    full: bool,
    // Round trip.
    min_rtt: Option<Span>,
    min_rtt_at: Instant,
    probe_rtt_ends: Option<Instant>,
    probe_rtt_round: bool,
    // Gain cycle.
    cycle: usize,
    cycle_at: Instant,
    idle_restart: bool,
    // Loss.
    last_phase: Phase,
    conserve: bool,
    saved_window: u32,
    // Aggregation of acknowledgements.
    extra: [u32; 2],
    extra_index: usize,
    extra_rounds: u32,
    epoch_at: Instant,
    epoch_acked: u64,
}

impl Bbr {
    pub(crate) fn new(mss: u32, initial_window: u32, seed: u64) -> Self {
        let mut bbr = Self {
            mss,
            initial_window,
            random: seed,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            pacing: 0,
            seen_rtt: false,
            bandwidth: WindowedMax::new(0, 0),
            rounds: 0,
            round_ends_at: 0,
            round_start: false,
            full_bandwidth: 0,
            full_rounds: 0,
            full: false,
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            probe_rtt_ends: None,
            probe_rtt_round: false,
            cycle: 0,
            cycle_at: Instant::ZERO,
            idle_restart: false,
            last_phase: Phase::Open,
            conserve: false,
            saved_window: 0,
            extra: [0; 2],
            extra_index: 0,
            extra_rounds: 0,
            epoch_at: Instant::ZERO,
            epoch_acked: 0,
        };
        bbr.start_pacing(initial_window, UNKNOWN_RTT);
        bbr
    }

    fn start_pacing(&mut self, window: u32, rtt: Span) {
        let bits = f64::from(window) * f64::from(self.mss) * 8.0;
        self.pacing = (HIGH_GAIN * bits / rtt.as_secs_f64().max(1e-9)) as u64;
    }

    fn max_bandwidth(&self) -> u64 {
        self.bandwidth.get()
    }

    /// Segments that `bandwidth` moves in `time`.
    fn segments_in(&self, bandwidth: u64, time: Span) -> f64 {
        bandwidth as f64 * time.as_secs_f64() / (8.0 * f64::from(self.mss))
    }

    fn burst_segments(&self) -> u32 {
        let mss = u64::from(self.mss);
        u32::try_from(burst(BitRate::from_bps(self.pacing), mss) / mss).unwrap_or(u32::MAX)
    }

    /// The bandwidth-delay product times `gain`, in segments; the initial window before there is a round trip.
    fn bdp(&self, gain: f64) -> u32 {
        match self.min_rtt {
            None => self.initial_window,
            Some(min) => libm::ceil(self.segments_in(self.max_bandwidth(), min) * gain).min(1e7) as u32,
        }
    }

    /// Room for bursts on both hosts and for one delayed acknowledgement (Linux `bbr_quantization_budget`).
    fn with_budget(&self, segments: u32) -> u32 {
        let segments = segments.saturating_add(3 * self.burst_segments());
        let probing = self.mode == Mode::ProbeBw && self.cycle == 0;
        (segments + segments % 2).saturating_add(if probing { 2 } else { 0 })
    }

    fn target(&self, gain: f64) -> u32 {
        self.with_budget(self.bdp(gain))
    }

    /// Segments that will be in flight when the next one is released.
    fn in_flight_at_release(&self, ack: &AckEvent, in_flight: u32) -> u32 {
        let delivered = self.segments_in(self.max_bandwidth(), ack.next_release.since(ack.now));
        let burst = if self.pacing_gain > 1.0 { self.burst_segments() } else { 0 };
        in_flight.saturating_add(burst).saturating_sub(delivered as u32)
    }

    fn update_bandwidth(&mut self, ack: &AckEvent) {
        self.round_start = false;
        if !ack.rate.has_prior {
            return;
        }
        if ack.rate.prior_delivered >= self.round_ends_at {
            self.round_ends_at = ack.total_delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserve = false;
        }
        if ack.rate.delivered == 0 || ack.rate.interval.is_zero() {
            return;
        }
        let bits = u64::from(ack.rate.delivered) * u64::from(self.mss) * 8;
        let sample = (bits as f64 / ack.rate.interval.as_secs_f64()) as u64;
        if !ack.rate.app_limited || sample >= self.max_bandwidth() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, sample);
        }
    }

    /// Estimates the segments acknowledged in bursts beyond what the bandwidth explains: Wi-Fi aggregates (Linux
    /// `bbr_update_ack_aggregation`).
    fn update_aggregation(&mut self, window: &Window, ack: &AckEvent) {
        if ack.delivered == 0 || ack.rate.delivered == 0 {
            return;
        }
        if self.round_start {
            self.extra_rounds = self.extra_rounds.saturating_add(1);
            if self.extra_rounds >= EXTRA_ROUNDS {
                self.extra_rounds = 0;
                self.extra_index ^= 1;
                self.set_extra(0);
            }
        }
        let mut expected = self.segments_in(self.max_bandwidth(), ack.now.since(self.epoch_at)) as u64;
        let delivered = u64::from(ack.delivered);
        if self.epoch_acked <= expected || self.epoch_acked + delivered >= EXTRA_EPOCH_LIMIT {
            self.epoch_acked = 0;
            self.epoch_at = ack.now;
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + delivered).min(EXTRA_EPOCH_LIMIT);
        let extra = self.epoch_acked.saturating_sub(expected).min(u64::from(window.cwnd)) as u32;
        if self.extra.get(self.extra_index).is_none_or(|best| extra > *best) {
            self.set_extra(extra);
        }
    }

    fn set_extra(&mut self, segments: u32) {
        if let Some(best) = self.extra.get_mut(self.extra_index) {
            *best = segments;
        }
    }

    fn aggregation_window(&self) -> u32 {
        if !self.full {
            return 0;
        }
        let limit = self.segments_in(self.max_bandwidth(), EXTRA_MAX) as u32;
        self.extra.into_iter().max().unwrap_or(0).min(limit)
    }

    fn update_cycle(&mut self, ack: &AckEvent) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let lasted = ack.now.since(self.cycle_at) > self.min_rtt.unwrap_or(Span::ZERO);
        let in_flight = self.in_flight_at_release(ack, ack.prior_in_flight);
        let next = if self.pacing_gain > 1.0 {
            lasted && (ack.lost > 0 || in_flight >= self.target(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            lasted || in_flight <= self.target(1.0)
        } else {
            lasted
        };
        if next {
            self.advance_cycle(ack.now);
        }
    }

    fn advance_cycle(&mut self, now: Instant) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = now;
    }

    fn check_full(&mut self, ack: &AckEvent) {
        if self.full || !self.round_start || ack.rate.app_limited {
            return;
        }
        if self.max_bandwidth() as f64 >= self.full_bandwidth as f64 * FULL_GROWTH {
            self.full_bandwidth = self.max_bandwidth();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, window: &mut Window, ack: &AckEvent) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            window.ssthresh = self.target(1.0);
        }
        if self.mode == Mode::Drain && self.in_flight_at_release(ack, ack.in_flight) <= self.target(1.0) {
            self.begin_probe_bw(ack.now);
        }
    }

    fn begin_probe_bw(&mut self, now: Instant) {
        self.mode = Mode::ProbeBw;
        // Any phase except the draining one, so that flows do not probe together. One step of a 64-bit congruential
        // generator (Knuth's MMIX constants) stands for the kernel's random number.
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = usize::try_from((self.random >> 33) % 7).unwrap_or(0);
        self.cycle = CYCLE.len() - 1 - draw;
        self.advance_cycle(now);
    }

    fn update_min_rtt(&mut self, window: &mut Window, ack: &AckEvent) {
        let expired = ack.now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt
            && (expired || self.min_rtt.is_none_or(|min| rtt <= min))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = ack.now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(window);
            self.probe_rtt_ends = None;
        }
        if self.mode == Mode::ProbeRtt {
            match self.probe_rtt_ends {
                None if ack.in_flight <= MIN_WINDOW => {
                    self.probe_rtt_ends = Some(ack.now + PROBE_RTT_TIME);
                    self.probe_rtt_round = false;
                    self.round_ends_at = ack.total_delivered;
                }
                None => {}
                Some(_) => {
                    self.probe_rtt_round |= self.round_start;
                    if self.probe_rtt_round && self.end_probe_rtt(ack.now) {
                        window.cwnd = window.cwnd.max(self.saved_window);
                    }
                }
            }
        }
        if ack.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Leaves `ProbeRtt` at the end of its time.
    fn end_probe_rtt(&mut self, now: Instant) -> bool {
        if self.probe_rtt_ends.is_none_or(|ends| now <= ends) {
            return false;
        }
        self.probe_rtt_ends = None;
        self.min_rtt_at = now;
        if self.full {
            self.begin_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
        true
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw => (CYCLE.get(self.cycle).copied().unwrap_or(1.0), WINDOW_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    fn update_pacing(&mut self, window: &Window, ack: &AckEvent) {
        if let Some(srtt) = ack.smoothed_rtt.filter(|_| !self.seen_rtt) {
            self.seen_rtt = true;
            self.start_pacing(window.cwnd, srtt.max(UNKNOWN_RTT));
        }
        self.set_pacing(self.pacing_gain);
    }

    fn set_pacing(&mut self, gain: f64) {
        let rate = (self.max_bandwidth() as f64 * gain * MARGIN) as u64;
        if self.full || rate > self.pacing {
            self.pacing = rate;
        }
    }

    fn save_window(&mut self, window: &Window) {
        let disturbed = self.last_phase != Phase::Open || self.mode == Mode::ProbeRtt;
        self.saved_window = if disturbed { self.saved_window.max(window.cwnd) } else { window.cwnd };
    }

    fn update_window(&mut self, window: &mut Window, ack: &AckEvent) {
        if ack.delivered > 0 && !self.conserve_in_recovery(window, ack) {
            let target =
                self.with_budget(self.bdp(self.window_gain).saturating_add(self.aggregation_window()));
            let grown = window.cwnd.saturating_add(ack.delivered);
            if self.full {
                window.cwnd = grown.min(target);
            } else if window.cwnd < target || ack.total_delivered < u64::from(self.initial_window) {
                window.cwnd = grown;
            }
            window.cwnd = window.cwnd.clamp(MIN_WINDOW, MAX_WINDOW);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(MIN_WINDOW);
        }
    }

    /// The first round of a recovery sends only what was delivered; its end restores the window. Returns whether that
    /// settles the window.
    fn conserve_in_recovery(&mut self, window: &mut Window, ack: &AckEvent) -> bool {
        window.cwnd = window.cwnd.saturating_sub(ack.lost).max(1);
        let flight = ack.in_flight.saturating_add(ack.delivered);
        let last = std::mem::replace(&mut self.last_phase, ack.phase);
        if ack.phase == Phase::Recovery && last != Phase::Recovery {
            self.conserve = true;
            self.round_ends_at = ack.total_delivered;
            window.cwnd = flight;
        } else if ack.phase == Phase::Open && last != Phase::Open {
            window.cwnd = window.cwnd.max(self.saved_window);
            self.conserve = false;
        }
        if self.conserve {
            window.cwnd = window.cwnd.max(flight);
        }
        self.conserve
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.update_bandwidth(ack);
        self.update_aggregation(window, ack);
        self.update_cycle(ack);
        self.check_full(ack);
        self.check_drain(window, ack);
        self.update_min_rtt(window, ack);
        self.update_gains();
        self.update_pacing(window, ack);
        self.update_window(window, ack);
    }

    fn on_loss(&mut self, _now: Instant, window: &Window) -> u32 {
        self.save_window(window);
        window.ssthresh
    }

    fn on_timeout(&mut self, _window: &Window) {
        self.last_phase = Phase::Loss;
        self.full_bandwidth = 0;
        self.round_start = true;
    }

    fn on_undo(&mut self, _window: &Window) {
        // A spurious loss does not indicate a full pipe.
        self.full_bandwidth = 0;
        self.full_rounds = 0;
    }

    fn on_restart(&mut self, now: Instant, _idle: Span, app_limited: bool) {
        if !app_limited {
            return;
        }
        self.idle_restart = true;
        self.epoch_at = now;
        self.epoch_acked = 0;
        match self.mode {
            Mode::ProbeBw => self.set_pacing(1.0),
            Mode::ProbeRtt => {
                self.end_probe_rtt(now);
            }
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        Some(BitRate::from_bps(self.pacing))
    }

    fn bandwidth(&self) -> Option<BitRate> {
        Some(BitRate::from_bps(self.max_bandwidth())).filter(|rate| !rate.is_zero())
    }
}
