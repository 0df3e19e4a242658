//! The sender's state of one receiver.

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::absence::Absence;
use super::config::{FORGET, StreamConfig, is_frame_interval};
use super::demand::Demand;
use super::error::Refusal;
use super::feedback::Feedback;
use super::pacer::Pacer;
use super::reason::{Decision, Reason};
use crate::allocation::{Allocation, Bottleneck, ReceiverId, moved};

/// Number of intervals without feedback after which a receiver is silent: two lost messages in a row are usual.
const SILENT_INTERVALS: u64 = 3;
/// Silence after which the rate is the lowest: before the allocator forgets the receiver, and so within a second.
const LOWEST_AFTER: Span = Span::from_millis(900);
/// Factor of a rate at each feedback after a silence.
const RECOVERY: f64 = 2.0;
/// Weight of a new distance of two frames in their interval.
const WEIGHT: f64 = 0.125;
/// Relative distance from the target that counts as at the target.
const NEAR: f64 = 0.1;
/// Factor of a target that a demand on latency has lowered so far that it, and nothing else, limits the rate.
const LOWERED: f64 = 0.5;
/// Share of the rate to which the allocator lets rates grow that counts as that rate: what is lost by rounding.
const APPLICATION: f64 = 1.45 / 1.5;
/// Level below which frames hold single packets,
const SINGLE: f64 = 1.5;
/// and share of the time that these frames take on the air from which on the air is full.
const FULL: f64 = 0.5;
/// Upper limit on packets of a frame (HE-MU with extended block acknowledgement).
const LARGEST_FRAME: u32 = 1024;
/// Channel access and overhead of a frame in s (Sec. 4.1, footnote 6).
const FRAME_OVERHEAD: f64 = 214e-6;
/// Longest PPDU in s (IEEE 802.11-2020 table 9-34), and the share of it that frames at the target take at most: a frame that is as long as
/// it can be says nothing about the queue behind it.
const LONGEST_PPDU: f64 = 5.484e-3;
const HALF: f64 = 0.5;
/// Upper limit on the ratio of a level to a lowered target: that of the longest frame (64 packets) to the usual target.
const MOST_LEVEL: f64 = 2.0;
/// Bytes of a packet on the air beyond its payload.
const HEADERS: ByteCount = ByteCount::new(74);
/// Packets over which PHY rates are averaged: a block-ack window. A few retries at a low rate say nothing about the rates to come.
const MEAN_PACKETS: f64 = 64.0;
/// Lowest target: below it frames without a queue are at the target, too.
const LEAST_TARGET: f64 = 2.0;

/// The state of one receiver.
#[derive(Debug, Clone)]
pub(super) struct ReceiverState {
    pub(super) id: ReceiverId,
    pub(super) key: [u8; 16],
    pub(super) pacer: Pacer,
    pub(super) frame_interval: Span,
    last_frame: Option<Instant>,
    /// Packets that were sent and that no feedback has told of.
    unreported: u64,
    /// Payload sent since the last feedback.
    sent_bytes: u64,
    /// Rate sent between the last two messages, in bit/s.
    sent_rate: Option<f64>,
    number: Option<u32>,
    heard: Option<Instant>,
    /// First packet sent since the last feedback.
    waiting: Option<Instant>,
    /// Limit after a silence, in bit/s.
    cap: Option<f64>,
    /// Allocated rate before the last silence, in bit/s.
    pub(super) before: f64,
    pub(super) level: Option<f64>,
    pub(super) loss: Option<f64>,
    pub(super) absence: Option<Absence>,
    /// Harmonic mean of the PHY rates of the last packets; `None` before the first.
    phy: Option<BitRate>,
    /// The target at that PHY rate and under the demand, in packets.
    pub(super) target: f64,
    pub(super) demand: Option<Demand>,
    /// Whether the level of the last message was left out.
    left_out: bool,
    /// Whether single packets filled the air.
    singles: bool,
    pub(super) reports: u32,
    pub(super) refused: u32,
    /// The last decision, and the number of changes before it.
    pub(super) decided: Option<(u64, Decision)>,
}

impl ReceiverState {
    pub(super) fn new(id: ReceiverId, key: [u8; 16], demand: Option<Demand>, config: &StreamConfig) -> Self {
        Self {
            id,
            key,
            // More at once than the target would be a frame above it.
            pacer: Pacer::new(config.target as u32),
            frame_interval: config.frame_interval,
            last_frame: None,
            unreported: 0,
            sent_bytes: 0,
            sent_rate: None,
            number: None,
            heard: None,
            waiting: None,
            cap: None,
            before: config.start.as_bps() as f64,
            level: None,
            loss: None,
            absence: None,
            phy: None,
            target: config.target,
            demand,
            left_out: false,
            singles: false,
            reports: 0,
            refused: 0,
            decided: None,
        }
    }

    /// Learns the interval of frames.
    pub(super) fn on_frame(&mut self, now: Instant) {
        if let Some(last) = self.last_frame.replace(now)
            && is_frame_interval(now.since(last))
        {
            let kept = self.frame_interval.mul_f64(1.0 - WEIGHT);
            self.frame_interval = kept + now.since(last).mul_f64(WEIGHT);
        }
    }

    pub(super) fn on_sent(&mut self, now: Instant, packets: u32, payload: ByteCount) {
        self.pacer.sent(packets, payload);
        self.unreported = self.unreported.saturating_add(u64::from(packets));
        self.sent_bytes = self.sent_bytes.saturating_add(payload.as_u64());
        self.waiting = self.waiting.or(Some(now));
        if let Some(demand) = &mut self.demand {
            demand.on_sent(now, packets, self.last_frame.unwrap_or(now), self.pacer.ends());
        }
    }

    /// Whether feedback may be believed.
    pub(super) fn check(&self, feedback: &Feedback) -> Result<(), Refusal> {
        let report = &feedback.report;
        // Serial numbers (RFC 1982): the newer number is less than half of the number space ahead.
        let newer = |last: u32| report.number != last && report.number.wrapping_sub(last) < 1 << 31;
        if !self.number.is_none_or(newer) {
            return Err(Refusal::Old);
        }
        // A frame counts where it ends, its packets where they arrive: the first of a slot may have begun before it.
        let most = u64::from(report.packets) + u64::from(report.retransmitted) + u64::from(LARGEST_FRAME);
        if u64::from(report.transmissions) > most {
            return Err(Refusal::Impossible);
        }
        if u64::from(report.packets) > self.unreported {
            return Err(Refusal::Unsent);
        }
        Ok(())
    }

    /// Takes feedback that passed [`Self::check`]. Returns what the allocator is told: without frames if they hold what an absence held
    /// back; at most every second message is left out, so that a rate follows the air whatever the radio does. Where the target is lower
    /// than the configured one, levels are raised by the ratio of both, so that the allocator holds the lower one.
    pub(super) fn on_feedback(
        &mut self,
        now: Instant,
        mut feedback: Feedback,
        allocated: f64,
        config: &StreamConfig,
    ) -> Feedback {
        let (least, interval) = (config.least.as_bps() as f64, config.interval);
        let report = &mut feedback.report;
        if self.silence(now) > Self::silent_after(interval) {
            self.cap = Some(self.limited(now, allocated, least, interval).min(self.before));
        } else {
            self.cap = self.cap.map(|cap| cap * RECOVERY).filter(|cap| *cap < allocated);
            self.before = allocated;
        }
        let elapsed = self.heard.map(|heard| now.since(heard)).filter(|elapsed| !elapsed.is_zero());
        if let Some(elapsed) = elapsed {
            self.sent_rate = Some(self.sent_bytes as f64 * 8.0 / elapsed.as_secs_f64());
        }
        self.sent_bytes = 0;
        self.unreported -= u64::from(report.packets).min(self.unreported);
        (self.number, self.heard, self.waiting) = (Some(report.number), Some(now), None);
        self.reports = self.reports.saturating_add(1);
        self.absence = feedback.absence;
        self.loss = Some(report.queue_loss());
        let on_air = report.phy_rate.filter(|rate| !rate.is_zero()).map(|rate| {
            let slot = report.slot.as_secs_f64();
            (f64::from(report.frames) * FRAME_OVERHEAD + rate.time_for(report.payload).as_secs_f64()) / slot
        });
        self.left_out = feedback.disturbed && !self.left_out;
        if self.left_out {
            (report.frames, report.transmissions) = (0, 0);
        } else {
            self.level = report.level().or(self.level);
            self.singles = report.level().is_some_and(|level| level < SINGLE)
                && on_air.is_some_and(|share| share >= FULL);
        }
        if let Some(told) = report.phy_rate.filter(|rate| !rate.is_zero()) {
            self.phy = Some(self.phy.map_or(told, |before| mean_rate(before, told, report.packets)));
            report.phy_rate = self.phy;
        }
        self.target = target_at(config, report.phy_rate);
        if let Some(demand) = &mut self.demand {
            if !feedback.disturbed {
                demand.on_sample(now, feedback.sample);
            }
            self.target = (self.target * demand.factor()).max(LEAST_TARGET.min(config.target));
        }
        if self.target < config.target {
            let raised = f64::from(report.transmissions) * config.target / self.target;
            let most = MOST_LEVEL * config.target * f64::from(report.frames);
            report.transmissions = libm::round(raised.min(most)) as u32;
        }
        feedback
    }

    /// Time since the first packet that no feedback has answered.
    fn silence(&self, now: Instant) -> Span {
        self.waiting.map_or(Span::ZERO, |since| now.since(since))
    }

    fn silent_after(interval: Span) -> Span {
        Span::from_nanos(interval.as_nanos() * SILENT_INTERVALS)
    }

    /// The allocated rate less what silence and the recovery from it take, in bit/s.
    pub(super) fn limited(&self, now: Instant, allocated: f64, least: f64, interval: Span) -> f64 {
        let rate = self.cap.map_or(allocated, |cap| allocated.min(cap)).max(least);
        let begin = Self::silent_after(interval);
        let silence = self.silence(now);
        if silence <= begin {
            return rate;
        }
        let share = (silence - begin).as_secs_f64() / (LOWEST_AFTER.saturating_sub(begin)).as_secs_f64();
        least * libm::pow(rate / least, 1.0 - share.min(1.0))
    }

    /// Whether the allocator has forgotten the receiver or will do so.
    pub(super) fn is_lost(&self, now: Instant) -> bool {
        self.silence(now) >= FORGET
    }

    /// When silence begins to take rate, or takes more: a tenth of the fall.
    pub(super) fn next_deadline(&self, now: Instant, interval: Span) -> Option<Instant> {
        let begins = self.waiting? + Self::silent_after(interval);
        let lowest = self.waiting? + LOWEST_AFTER;
        if now < begins { Some(begins) } else { Some(now + interval).filter(|_| now < lowest) }
    }

    /// Reason of the rate in force.
    pub(super) fn reason(
        &self,
        now: Instant,
        allocation: Option<&Allocation>,
        config: &StreamConfig,
    ) -> Reason {
        let silent = self.silence(now) > Self::silent_after(config.interval);
        let (Some(allocation), false, Some(_)) = (allocation, silent, self.heard) else {
            return Reason::NoFeedback;
        };
        let rate = allocation.rate.as_bps() as f64;
        let level = self.level.unwrap_or(0.0);
        if self.absence.is_some() {
            Reason::RadioAway
        } else if allocation.bottleneck == Bottleneck::Wire {
            if self.singles { Reason::NotAggregating } else { Reason::Wire }
        } else if level > self.target * (1.0 + NEAR) {
            Reason::LevelAboveTarget
        } else if allocation.rate >= config.most {
            Reason::Most
        } else if self.sent_rate.is_some_and(|sent| rate >= APPLICATION * config.headroom * sent) {
            Reason::Application
        } else if self.demand.as_ref().is_some_and(|demand| demand.factor() <= LOWERED) {
            // Single packets below a low target are no room: a higher rate would bring late ones.
            Reason::Latency
        } else if level < self.target * (1.0 - NEAR) {
            Reason::Rising
        } else if self.demand.as_ref().is_some_and(|demand| demand.factor() < 1.0) {
            Reason::Latency
        } else {
            Reason::AirFull
        }
    }

    /// Moves all times when the caller's clock was set from `from` back to `to`.
    pub(super) fn set_back(&mut self, from: Instant, to: Instant) {
        for time in [&mut self.last_frame, &mut self.heard, &mut self.waiting] {
            *time = time.map(|time| moved(time, from, to));
        }
        if let Some(demand) = &mut self.demand {
            demand.set_back(to);
        }
        self.pacer.set_back(|time| moved(time, from, to));
    }
}

/// The harmonic mean of PHY rates over the last packets, after `packets` at the rate `told`.
fn mean_rate(before: BitRate, told: BitRate, packets: u32) -> BitRate {
    let weight = f64::from(packets) / (f64::from(packets) + MEAN_PACKETS);
    let seconds_a_bit = (1.0 - weight) / before.as_bps() as f64 + weight / told.as_bps() as f64;
    BitRate::from_bps_f64(1.0 / seconds_a_bit)
}

/// The level to hold at a PHY rate: half of the packets that the longest PPDU holds, where those are fewer than configured.
fn target_at(config: &StreamConfig, phy: Option<BitRate>) -> f64 {
    let Some(rate) = phy.filter(|rate| !rate.is_zero()) else { return config.target };
    let longest = LONGEST_PPDU * rate.as_bps() as f64 / (config.packet + HEADERS).bits() as f64;
    config.target.min((HALF * longest).max(LEAST_TARGET))
}

#[cfg(test)]
mod tests {
    use super::super::demand::Sample;
    use super::*;
    use crate::allocation::Direction;

    #[test]
    fn a_target_that_latency_has_lowered_is_the_reason() {
        let config = StreamConfig::default();
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let allocation = Allocation {
            receiver: ReceiverId(0),
            direction: Direction::Down,
            rate: BitRate::from_mbps(5),
            level: Some(1.0),
            target: 32.0,
            phy_rate: None,
            bottleneck: Bottleneck::None,
        };
        let reason = |late: u64| {
            let demand = Demand::new(Span::from_millis(20));
            let mut receiver = ReceiverState::new(ReceiverId(0), [0; 16], Some(demand), &config);
            receiver.heard = Some(at(0));
            let demand = receiver.demand.as_mut().expect("a demand");
            for number in 0..late {
                demand.on_sent(at(100 * number), 1, at(100 * number), at(100 * number + 40));
                demand.on_sample(at(100 * number + 60), Sample { sequence: number as u32, stamp: 0 });
            }
            receiver.target = config.target * demand.factor();
            receiver.level = Some(0.5 * receiver.target);
            receiver.reason(at(0), Some(&allocation), &config)
        };
        assert_eq!((reason(0), reason(3)), (Reason::Rising, Reason::Rising));
        // 0.8^4 is 0.41.
        assert_eq!(reason(4), Reason::Latency);
    }

    #[test]
    fn frames_at_the_target_take_at_most_half_of_the_longest_ppdu() {
        let config = StreamConfig::default();
        let target = |mbps| target_at(&config, Some(BitRate::from_mbps(mbps)));
        // 5.484 ms x 65 Mbit/s = 356,460 bits: 34.97 packets of 1274 B.
        assert!((target(65) - 17.49).abs() < 0.01, "{}", target(65));
        assert!((target(130) - 32.0).abs() < 0.01, "{}", target(130));
        assert!((target(6) - 2.0).abs() < 0.01, "{}", target(6));
        assert!((target_at(&config, None) - 32.0).abs() < f64::EPSILON);
        let low = StreamConfig { target: 1.0, ..config };
        assert!((target_at(&low, Some(BitRate::from_mbps(6))) - 1.0).abs() < f64::EPSILON);
    }
}
