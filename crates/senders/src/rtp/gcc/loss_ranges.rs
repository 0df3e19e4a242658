//! The loss-based estimate of the draft: reacts to loss beyond that of an uncongested path.
//!
//! | loss of a report | change | source |
//! |---|---|---|
//! | up to 2 % | 8 % (and 1 kbit/s) above the least estimate of the last second | draft Sec. 6 (1.05 there); libwebrtc `kBweIncreaseInterval` |
//! | up to 10 % | none | draft Sec. 6; libwebrtc |
//! | more, p | times 1 - 0.5 p, once a report, at most every 300 ms + round trip | draft Sec. 6; libwebrtc `kBweDecreaseInterval` |
//!
//! A report is a second of at least 20 packets (libwebrtc `kLossUpdateInterval`, `kLimitNumPackets`). The estimate never exceeds the
//! delay-based one: it grows again to find the rate that the loss permits. libwebrtc's second estimator is [`super::loss_model`].

use std::collections::VecDeque;

use airbound_units::{BitRate, Instant, Span};

use super::{GccConfig, LossResponse};

const LOW: f64 = 0.02;
const HIGH: f64 = 0.1;
const GROWTH: f64 = 1.08;
const GROWTH_BPS: f64 = 1000.0;
const MEMORY: Span = Span::from_secs(1);
const DECREASE_PAUSE: Span = Span::from_millis(300);
const REPORT: Span = Span::from_secs(1);
const REPORT_PACKETS: u64 = 20;
/// Time at the start, without loss, in which the estimate follows the delay-based one at once (libwebrtc `kStartPhase`).
const START: Span = Span::from_secs(2);
/// Time for which a report counts (libwebrtc: 1.2 x the longest RTCP interval).
const STALE: Span = Span::from_secs(6);

#[derive(Debug, Clone)]
pub(super) struct LossRanges {
    on: bool,
    rate: BitRate,
    floor: BitRate,
    /// Estimates of the last second, ascending: the first is the least.
    least: VecDeque<(Instant, BitRate)>,
    packets: u64,
    lost: u64,
    /// Time and loss of the last report.
    report: Option<(Instant, f64)>,
    /// Whether the last report has already caused its decrease.
    answered: bool,
    decreased: Option<Instant>,
    began: Option<Instant>,
}

impl LossRanges {
    pub(super) fn new(config: &GccConfig) -> Self {
        Self {
            on: config.loss_based == LossResponse::Ranges,
            rate: config.start_rate,
            floor: config.min_rate,
            least: VecDeque::new(),
            packets: 0,
            lost: 0,
            report: None,
            answered: true,
            decreased: None,
            began: None,
        }
    }

    pub(super) fn rate(&self) -> BitRate {
        self.rate
    }

    /// The loss of the last report, 0 before.
    pub(super) fn fraction(&self) -> f64 {
        self.report.map_or(0.0, |(_, fraction)| fraction)
    }

    /// Sets the rate measured by a probe.
    pub(super) fn set(&mut self, rate: BitRate) {
        self.rate = rate.max(self.floor);
        self.least.clear();
    }

    /// Lowers the estimate after a long time without reports.
    pub(super) fn back_off(&mut self, factor: f64) {
        self.set(self.rate.mul_f64(factor));
    }

    /// Notes `packets` reported packets, of which `lost` were missing.
    pub(super) fn on_packets(&mut self, now: Instant, packets: u64, lost: u64) {
        self.packets = self.packets.saturating_add(packets);
        self.lost = self.lost.saturating_add(lost);
        let due = self.report.is_none_or(|(last, _)| now - last >= REPORT);
        if due && self.packets >= REPORT_PACKETS {
            self.report = Some((now, self.lost as f64 / self.packets as f64));
            (self.packets, self.lost, self.answered) = (0, 0, false);
        }
    }

    /// Raises or lowers the estimate, up to `limit`, the delay-based estimate.
    pub(super) fn update(&mut self, now: Instant, limit: BitRate, round_trip: Span) {
        let began = *self.began.get_or_insert(now);
        let starting = now - began < START && self.fraction() <= 0.0;
        if !self.on || starting {
            self.rate = limit.max(self.floor);
            self.least.clear();
            return;
        }
        while self.least.front().is_some_and(|(when, _)| now - *when > MEMORY) {
            self.least.pop_front();
        }
        while self.least.back().is_some_and(|(_, rate)| *rate >= self.rate) {
            self.least.pop_back();
        }
        self.least.push_back((now, self.rate));
        if let Some((reported, fraction)) = self.report
            && now - reported < STALE
        {
            if fraction <= LOW {
                let least = self.least.front().map_or(self.rate, |(_, rate)| *rate);
                self.rate = BitRate::from_bps_f64(least.as_bps() as f64 * GROWTH + GROWTH_BPS);
            } else if fraction > HIGH {
                self.decrease(now, fraction, round_trip);
            }
        }
        self.rate = self.rate.min(limit).max(self.floor);
    }

    fn decrease(&mut self, now: Instant, fraction: f64, round_trip: Span) {
        let rested = self.decreased.is_none_or(|last| now - last >= DECREASE_PAUSE + round_trip);
        if rested && !self.answered {
            self.rate = self.rate.mul_f64(1.0 - 0.5 * fraction);
            self.decreased = Some(now);
            self.answered = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds with `lost` of 100 packets lost in each 100 ms; returns the rate at the end. The limit is 2 Mbit/s, the start 1.
    fn after_ten_seconds(lost: u64) -> f64 {
        let loss_based = LossResponse::Ranges;
        let config = GccConfig { start_rate: BitRate::from_mbps(1), loss_based, ..GccConfig::default() };
        let mut part = LossRanges::new(&config);
        let limit = BitRate::from_mbps(2);
        for step in 0..100 {
            let now = Instant::ZERO + Span::from_millis(100 * step);
            part.on_packets(now, 100, lost);
            part.update(now, if step < 20 { BitRate::from_mbps(1) } else { limit }, Span::from_millis(50));
        }
        part.rate().as_mbps_f64()
    }

    #[test]
    fn the_three_ranges_of_loss() {
        // Eight seconds of 8 % each.
        let grown = after_ten_seconds(1);
        assert!((1.7..1.95).contains(&grown), "{grown}");
        assert!((after_ten_seconds(5) - 1.0).abs() < 1e-6);
        // Ten reports of 20 %: 0.9^10, the first of them in the first step.
        let fallen = after_ten_seconds(20);
        assert!((0.33..0.40).contains(&fallen), "{fallen}");
    }
}
