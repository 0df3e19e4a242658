//! `SCReAM` v2 without ECN: a window that reacts to queueing delay as to marks, and to loss.
//!
//! `EricssonResearch/scream` c8f84c3d (31 July 2026), `code/ScreamV2Tx.cpp` as of d1422304 (2 July 2026), which limits the back-off while the target is
//! below what arrives, counts losses by a rate of 1 %, and updates the point of inflexion once a rise; defaults of `code/ScreamTx.h`. One
//! stream; left out: marks, clock drift, shared bottlenecks, policers, the correction by the pacer's delay. A frame is not coded while
//! a packet waits for longer than 100 ms in the pacer, where the original clears its queue.

use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};
use serde::{Deserialize, Serialize};

use super::ledger::Ledger;
use super::{FramePart, Key, MediaRate, Pacing, PathState, RateBounds};
use crate::rtp::gcc::{PacketSent, TransportFeedback};

/// Between reports (half of `rtcpFbInterval_ntp`, since the original's receiver also reports at a frame's end).
const REPORTS: Span = Span::from_millis(10);
/// Factor after loss (`kLossBeta`), share of lost packets below which loss alone is none (`kLossRateThreshold`).
const LOSS_BETA: f64 = 0.7;
const LOSS_RATE: f64 = 0.01;
/// Least time between back-offs (`kMinCongestionBackOffInterval_ntp`), and round trip of full increase (`kSrttVirtual`): s.
const BACK_OFF: f64 = 0.030;
const FULL_INCREASE: f64 = 0.025;
/// Round trips until growth is as fast as before congestion (`kPostCongestionDelayRtts`).
const RECOVERY: f64 = 200.0;
/// Growth by 5 % of the window in a round trip (`kMultiplicativeIncreaseScalefactor`).
const GROWTH: f64 = 0.05;
/// Window over bytes in flight (`kBytesInFlightHeadRoom`), bytes in flight over window (`maxWindowHeadroom`, `kMinWindowHeadroom`).
const IN_FLIGHT: f64 = 2.0;
const HEADROOM: (f64, f64) = (1.5, 3.0);
/// Pacing rate over target (`kPacketPacingHeadRoom`), and its largest factor for large frames (`kMaxAdaptivePacingRateScale`).
const PACING: f64 = 1.5;
const LARGE_FRAMES: f64 = 1.5;
/// Window of the largest flight: 20 slots of 50 ms (`kMaxBytesInFlightHistSize`, `kSlowUpdateInterval_ntp`).
const SLOTS: usize = 20;
const SLOT: f64 = 0.050;
/// Variation of the delay that stops growth (`kLatencyDiffThreshold`).
const VARIATION: f64 = 0.010;
/// Silence after which nothing counts as in flight.
const SILENCE: Span = Span::from_millis(500);
/// RTP and UDP (`kPacketOverhead`).
const OVERHEAD: f64 = 20.0;
/// The first round trip.
const FIRST_RTT: f64 = 0.05;

/// The configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Config {
    /// Target of the queueing delay: 100 ms (`kQueueDelayTargetMin`; libwebrtc's port has 60 ms). 1 ms to 300 ms.
    pub delay_target: Span,
}

impl Default for Config {
    fn default() -> Self {
        Self { delay_target: Span::from_millis(100) }
    }
}

pub(super) const KEYS: &[Key] =
    &[("delay-target", "`\"100 ms\"`; 1 ms–300 ms", "of queueing; from half of it on the window falls")];

/// Estimates of the queueing delay, in s.
#[derive(Debug, Clone)]
struct Delays {
    /// Shortest way, ns by two clocks.
    base: Option<i128>,
    last: f64,
    average: f64,
    /// Least in 100 round trips, and its slow average.
    least: f64,
    slow_least: f64,
    slow_at: Instant,
    /// Envelope, and the average of its width.
    envelope: (f64, f64),
    width: f64,
    at: Instant,
}

impl Delays {
    /// Takes an arrival's way.
    fn on_way(&mut self, way: i128, target: f64) {
        let base = self.base.map_or(way, |base| base.min(way));
        self.base = Some(base);
        self.last = (way - base) as f64 / 1e9;
        self.envelope = (self.envelope.0.min(self.last), target.min(self.envelope.1.max(self.last)));
        self.least = self.least.min(self.last);
    }

    /// Renews the averages, at most every 30 ms or round trip.
    fn renew(&mut self, now: Instant, rtt: f64) {
        if (now - self.at).as_secs_f64() <= BACK_OFF.min(rtt) {
            return;
        }
        self.at = now;
        if (now - self.slow_at).as_secs_f64() > 100.0 * rtt {
            let fall = self.least < self.slow_least;
            self.slow_least =
                if fall { self.least } else { self.slow_least + (self.least - self.slow_least) / 8.0 };
            (self.least, self.slow_at) = (f64::MAX, now);
        }
        let above = self.last - self.slow_least;
        self.average = if above < self.average { above } else { self.average + (above - self.average) / 4.0 };
        let width = (self.envelope.1 - self.envelope.0).clamp(0.0, 2.0 * VARIATION);
        self.width += (width - self.width) / 32.0;
        self.envelope.1 *= 1.0 - 1.0 / 16.0;
        self.envelope.0 += (self.envelope.1 - self.envelope.0) / 16.0;
    }

    /// Falls from 1 to 0 as the delay varies.
    fn calm(&self) -> f64 {
        (1.0 - self.width / VARIATION).clamp(0.0, 1.0)
    }
}

/// The rule.
#[derive(Debug, Clone)]
pub(super) struct Scream2 {
    bounds: RateBounds,
    delay_target: f64,
    ledger: Ledger,
    delays: Delays,
    window: f64,
    /// The window at the last congestion (`cwndI`), and whether it was set since the last rise.
    inflexion: f64,
    is_set: bool,
    mss: f64,
    rtt: f64,
    short_rtt: f64,
    rtt_at: Instant,
    is_limited: bool,
    loss_rate: f64,
    /// Of loss or virtual marks; of the last answer to them.
    congested: Option<Instant>,
    answered: Option<Instant>,
    updated: Instant,
    acked: f64,
    /// Bytes acknowledged, and its rate, over 100 ms.
    acked_since: (Instant, f64),
    acked_rate: f64,
    flight: (f64, f64),
    flights: [f64; SLOTS],
    slot: (usize, Instant),
    frame: Option<(u64, Instant)>,
    large: f64,
    rate: BitRate,
}

/// Builds it within the rates of a flow or a session.
pub(super) fn build(config: &Config, bounds: &RateBounds) -> Result<Scream2, ConfigError> {
    let range = Span::from_millis(1)..=Span::from_millis(300);
    let target = config.delay_target;
    ConfigError::check(range.contains(&target), "delay-target", target, "1 ms to 300 ms")?;
    let zero = Instant::ZERO;
    Ok(Scream2 {
        bounds: *bounds,
        delay_target: target.as_secs_f64(),
        ledger: Ledger::default(),
        delays: Delays {
            base: None,
            last: 0.0,
            average: 0.0,
            least: f64::MAX,
            slow_least: 0.0,
            slow_at: zero,
            envelope: (1000.0, 0.0),
            width: 0.0,
            at: zero,
        },
        window: bounds.start.as_bps() as f64 / 8.0 * FIRST_RTT,
        inflexion: 1.0,
        is_set: false,
        mss: 100.0,
        rtt: FIRST_RTT,
        short_rtt: FIRST_RTT,
        rtt_at: zero,
        is_limited: false,
        loss_rate: 0.0,
        congested: None,
        answered: None,
        updated: zero,
        acked: 0.0,
        acked_since: (zero, 0.0),
        acked_rate: 0.0,
        flight: (0.0, 0.0),
        flights: [0.0; SLOTS],
        slot: (0, zero),
        frame: None,
        large: 1.0,
        rate: bounds.start,
    })
}

impl Scream2 {
    fn since(now: Instant, then: Option<Instant>) -> f64 {
        then.map_or(f64::MAX, |then| (now - then).as_secs_f64())
    }

    fn least_window(&self) -> f64 {
        2.0 * self.mss
    }

    fn on_round_trip(&mut self, now: Instant, rtt: f64) {
        self.short_rtt += (rtt - self.short_rtt) / 8.0;
        if (now - self.rtt_at).as_secs_f64() > self.short_rtt {
            // Of a source that does not fill its window the round trip falls slowly, or the target would rise by it.
            let slow = self.is_limited && self.rtt > self.short_rtt;
            self.rtt += (self.short_rtt - self.rtt) / if slow { 1024.0 } else { 8.0 };
            self.rtt_at = now;
        }
    }

    /// A slot of the largest flight ends.
    fn end_slot(&mut self, now: Instant) {
        let largest = self.bounds.most.as_bps() as f64;
        self.flights[self.slot.0] = self.flight.0;
        self.slot = ((self.slot.0 + 1) % SLOTS, now);
        if self.rate.as_bps() as f64 > 0.95 * largest {
            let flights = self.flights.iter().copied().fold(self.flight.0, f64::max);
            self.window = self.window.min(flights.max(PACING * largest / 8.0 * (self.rtt + 0.001)));
        }
        self.flight = (0.0, self.flight.0);
    }

    /// Nearness of the window to that of the last congestion: 0.1 to 1.
    fn distance(&self) -> f64 {
        let relative = 8.0 * (self.window - self.inflexion) / self.inflexion;
        (relative * relative).clamp(0.1, 1.0)
    }

    /// Answers congestion.
    fn back_off(&mut self, now: Instant, factor: f64) {
        if !self.is_set {
            (self.inflexion, self.is_set) = (self.window, true);
        }
        self.window = (self.window * factor).max(self.least_window());
        self.answered = Some(now);
    }

    fn grow(&mut self, now: Instant) {
        let distance = self.distance();
        let recovered = (Self::since(now, self.answered) / (RECOVERY * self.rtt)).clamp(0.0, 1.0);
        let relative = self.mss / self.window;
        let mut step = self.acked * relative * distance.max(0.25);
        step *= (self.rtt / FULL_INCREASE).min(1.0) * self.delays.calm().max(0.1);
        step *= 1.0 + GROWTH / relative * recovered * distance;
        let allowed = self.mss + IN_FLIGHT * self.flight.0.max(self.flight.1);
        self.is_limited = allowed < self.window;
        if self.window + step <= allowed && self.rate < self.bounds.most {
            self.is_set &= step <= 0.0;
            self.window += step;
        }
        self.window = self.window.max(self.least_window());
        self.acked = 0.0;
    }

    fn set_rate(&mut self) {
        let relative = self.mss / self.window;
        let mut bps = 8.0 * self.window / (self.rtt + 0.001).min(0.2);
        bps *= 1.0 - (relative - 0.1).clamp(0.0, 0.2);
        bps *= self.mss / (self.mss + OVERHEAD) / 1.1;
        self.rate = BitRate::from_bps_f64(bps).clamp(self.bounds.least, self.bounds.most);
    }
}

impl MediaRate for Scream2 {
    fn on_sent(&mut self, now: Instant, packet: PacketSent) {
        self.ledger.on_sent(now, packet);
        self.mss = self.mss.max(packet.size.as_u64() as f64);
        self.window = self.window.max(self.least_window());
    }
    fn on_frame_part(&mut self, now: Instant, part: FramePart) {
        self.ledger.on_frame_part(part);
        if self.frame.is_none_or(|(frame, _)| part.frame > frame) {
            if let Some((_, last)) = self.frame {
                let usual = self.rate.as_bps() as f64 / 8.0 * (now - last).as_secs_f64();
                let size = f64::from(part.packets) * self.mss;
                self.large = if usual > 500.0 { (size / usual).clamp(1.0, LARGE_FRAMES) } else { 1.0 };
            }
            self.frame = Some((part.frame, now));
        }
    }
    fn on_feedback(&mut self, now: Instant, feedback: &TransportFeedback) {
        self.flight.0 = self.flight.0.max(self.ledger.in_flight().as_u64() as f64);
        let news = self.ledger.on_feedback(now, feedback);
        let weight = (LOSS_RATE / 4.0).min(self.mss / self.window / 2.0);
        for arrived in &news.arrived {
            self.delays.on_way(arrived.way, self.delay_target);
            self.loss_rate -= weight * self.loss_rate;
        }
        for _ in 0..news.lost.1 {
            self.loss_rate += weight * (1.0 - self.loss_rate);
        }
        let acked = news.arrived.iter().map(|arrived| arrived.size).sum::<ByteCount>() + news.lost.0;
        self.acked += acked.as_u64() as f64;
        self.acked_since.1 += acked.as_u64() as f64;
        let elapsed = (now - self.acked_since.0).as_secs_f64();
        if elapsed > 0.1 {
            self.acked_rate = self.acked_since.1 * 8.0 / elapsed;
            self.acked_since = (now, 0.0);
        }
        if let Some(last) = news.arrived.last() {
            self.on_round_trip(now, (now - last.sent).as_secs_f64());
        }
        self.delays.renew(now, self.rtt);
        let quiet = Self::since(now, self.congested);
        let is_lost = news.lost.1 > 0
            && quiet > self.rtt
            && (self.loss_rate > LOSS_RATE || self.delays.average > self.delay_target / 4.0);
        let half = self.delay_target / 2.0;
        let is_marked = !is_lost && self.delays.average > half && quiet > BACK_OFF.min(self.rtt);
        let often = (self.rtt / BACK_OFF).max(1.0);
        if is_lost {
            self.back_off(now, LOSS_BETA);
        } else if is_marked {
            // As for the alpha of DCTCP, which several back-offs in a round trip share twice.
            let alpha = ((self.delays.average - half) / half).clamp(0.0, 1.0) / often;
            let below = (self.rate.as_bps() as f64) < 0.8 * self.acked_rate;
            self.back_off(now, 1.0 - alpha / 2.0 / often * if below { 0.25 } else { 1.0 });
        }
        if is_lost || is_marked {
            self.congested = Some(now);
        }
        if (now - self.slot.1).as_secs_f64() > SLOT {
            self.end_slot(now);
        }
        if is_lost || is_marked || (now - self.updated).as_secs_f64() > REPORTS.as_secs_f64() {
            self.updated = now;
            self.grow(now);
            self.set_rate();
        }
    }
    fn target(&self) -> BitRate {
        self.rate
    }
    fn pacing(&self) -> Pacing {
        self.rate.mul_f64(PACING * self.large).max(BitRate::from_kbps(50)).max(self.rate).into()
    }
    fn may_send(&self, now: Instant) -> bool {
        let headroom = HEADROOM.0 + (HEADROOM.1 - HEADROOM.0) * self.delays.calm();
        (self.ledger.in_flight().as_u64() as f64) <= self.window * headroom
            || self.ledger.last_sent().is_none_or(|at| now - at >= SILENCE)
    }
    fn longest_wait(&self) -> Option<Span> {
        // kMaxRtpQueueDelay.
        Some(Span::from_millis(100))
    }
    fn deadline(&self) -> Option<Instant> {
        let silent = self.ledger.last_sent().filter(|_| self.ledger.in_flight() > ByteCount::ZERO);
        silent.map(|at| at + SILENCE)
    }
    fn on_deadline(&mut self, now: Instant) {
        if self.ledger.last_sent().is_some_and(|at| now - at >= SILENCE) {
            self.ledger.forget_flight();
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

    fn rates(seconds: u64, mbps: impl Fn(u64) -> f64, loss: impl Fn(u64) -> f64) -> Vec<f64> {
        run(&mut build(&Config::default(), &Bounds::WIDE).expect("valid"), seconds, mbps, loss)
    }

    #[test]
    fn the_rate_falls_to_a_narrower_link_and_grows_again() {
        let rates = rates(30, |second| if (10..20).contains(&second) { 10.0 } else { 40.0 }, |_| 0.0);
        assert!((20.0..=44.0).contains(&rates[9]), "{rates:?}");
        assert!((5.0..=11.0).contains(&rates[19]), "{rates:?}");
        assert!(rates[29] > 1.5 * rates[19], "{rates:?}");
    }

    #[test]
    fn half_a_percent_of_loss_is_none_and_five_are_congestion() {
        let run = |loss: f64| rates(12, |_| 60.0, |_| loss)[11];
        let (clean, few, many) = (run(0.0), run(0.005), run(0.05));
        assert!(few > 0.8 * clean, "{clean} {few}");
        assert!(many < 0.5 * clean, "{clean} {many}");
    }
}
