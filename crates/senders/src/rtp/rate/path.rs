//! A bottleneck for tests of rules: a queue of 100 ms, 5 ms each way, reports as a rule wants them, frames sent in full at its pacing rate.

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::{FramePart, MediaRate, RateBounds};
use crate::rtp::gcc::{FeedbackCollector, FeedbackConfig, Pacer, PacketSent, Priority};

/// Rates of the tests.
pub(super) struct Bounds;

impl Bounds {
    pub(super) const WIDE: RateBounds = RateBounds {
        start: BitRate::from_mbps(20),
        least: BitRate::from_mbps(1),
        most: BitRate::from_mbps(200),
        media: BitRate::from_mbps(200),
    };
}

const FPS: u64 = 60;
const WAY: Span = Span::from_millis(5);
const LONGEST: Span = Span::from_millis(100);
const SIZE: u64 = 1200;

/// Runs the rule over `seconds`; `mbps` and `loss` give the link's rate and its share of lost packets by second. Returns the target in
/// Mb/s at the end of each second.
pub(super) fn run(
    rule: &mut dyn MediaRate,
    seconds: u64,
    mbps: impl Fn(u64) -> f64,
    loss: impl Fn(u64) -> f64,
) -> Vec<f64> {
    let step = Span::from_micros(250);
    let mut pacer: Pacer<(FramePart, ByteCount)> = Pacer::new(rule.pacing());
    let shortest = rule.report_interval().unwrap_or(WAY);
    let mut collector =
        FeedbackCollector::new(FeedbackConfig { shortest, ..FeedbackConfig::default() }).expect("valid");
    collector.set_bandwidth(BitRate::from_mbps(20));
    let (mut arriving, mut reports) = (VecDeque::new(), VecDeque::new());
    let (mut free, mut sequence, mut frame, mut owed) = (Instant::ZERO, 0_u64, 0_u64, 0.0);
    let mut targets = Vec::new();
    for tick in 0..seconds * 4000 {
        let now = Instant::ZERO + step * tick;
        let second = tick / 4000;
        if now >= Instant::ZERO + Span::from_secs(1).mul_f64(frame as f64 / FPS as f64) {
            let bytes = rule.target().as_bps() / 8 / FPS;
            let packets = bytes.div_ceil(SIZE).max(1);
            let behind = rule
                .longest_wait()
                .zip(pacer.oldest())
                .is_some_and(|(longest, oldest)| now - oldest > longest);
            for _ in 0..if behind { 0 } else { packets } {
                let part = FramePart { frame, packets: packets as u32, coded: now };
                let size = ByteCount::new(bytes / packets);
                pacer.enqueue(now, Priority::Video, size, (part, size));
            }
            frame += 1;
        }
        pacer.set_rate(now, rule.pacing());
        while let Some(at) = pacer.next_deadline().filter(|at| *at < now + step && rule.may_send(now)) {
            let at = at.max(now);
            let Some(((part, size), _)) = pacer.poll(at) else { break };
            rule.on_frame_part(at, part);
            rule.on_sent(at, PacketSent { sequence, size, probe: None });
            // Losses evenly spread.
            owed += loss(second);
            let is_lost = owed >= 1.0;
            owed -= f64::from(u8::from(is_lost));
            let begins = free.max(at);
            if !is_lost && begins - at <= LONGEST {
                free = begins + BitRate::from_bps_f64(mbps(second) * 1e6).time_for(size);
                arriving.push_back((free + WAY, sequence));
            }
            sequence += 1;
        }
        while arriving.front().is_some_and(|(at, _)| *at <= now) {
            let Some((at, sequence)) = arriving.pop_front() else { break };
            collector.on_packet(at, sequence);
        }
        if let Some(report) = collector.poll(now) {
            reports.push_back((now + WAY, report));
        }
        while reports.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, report)) = reports.pop_front() else { break };
            rule.on_feedback(now, &report);
        }
        rule.on_deadline(now);
        if tick % 4000 == 3999 {
            targets.push(rule.target().as_mbps_f64());
        }
    }
    targets
}
