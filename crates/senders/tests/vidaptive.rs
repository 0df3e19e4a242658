//! The rule `vidaptive` against the crate that it follows, over the same bottleneck: bitrates over a step and under loss.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the crate counts by the standard library's instants; the first is any, and time advances from it"
)]

use std::collections::VecDeque;
use std::time::{Duration, Instant as Wall};

use airbound_senders::rtp::gcc::{Pacer, PacketResult, PacketSent, Priority, TransportFeedback};
use airbound_senders::rtp::rate::{FramePart, MediaRate, RateBounds, RateRule};
use airbound_units::{BitRate, ByteCount, Instant};
use vidaptive::{
    AckInfo, BacklogFiller, Copa, CopaConfig, EncodedFrame, LostPacket, MediaPacket, TransmitAction,
    Vidaptive, VidaptiveConfig,
};

const FPS: u64 = 60;
const PACKET: u64 = 1200;
const STEP: u64 = 250_000;
const WAY: u64 = 5_000_000;
const LONGEST_QUEUE: u64 = 100_000_000;
const REPORTS: u64 = 2_000_000;

/// A sender of frames; times in ns.
trait Sender {
    /// The rate of coded video, bit/s; `None` while no frame is to be coded.
    fn rate(&mut self, now: u64) -> Option<f64>;
    fn code(&mut self, now: u64, frame: u64, sizes: &[u64]);
    /// The size of the next packet, sent at a time before `end`, which is returned.
    fn send(&mut self, now: u64, end: u64) -> Option<(u64, u64)>;
    /// Arrived and lost packets by number, counted from 0, with their sizes and arrivals.
    fn report(&mut self, now: u64, packets: &[(u64, u64, Option<u64>)]);
}

struct Ours {
    rule: Box<dyn MediaRate>,
    pacer: Pacer<(FramePart, ByteCount)>,
    sequence: u64,
}

fn at(now: u64) -> Instant {
    Instant::from_nanos(now)
}

impl Sender for Ours {
    fn rate(&mut self, now: u64) -> Option<f64> {
        self.rule.on_deadline(at(now));
        let oldest = self.rule.longest_wait().zip(self.pacer.oldest());
        let waits = oldest.is_some_and(|(longest, oldest)| at(now) - oldest > longest);
        (!waits).then(|| self.rule.target().as_bps() as f64)
    }
    fn code(&mut self, now: u64, frame: u64, sizes: &[u64]) {
        for size in sizes {
            let part = FramePart { frame, packets: sizes.len() as u32, coded: at(now) };
            let size = ByteCount::new(*size);
            self.pacer.enqueue(at(now), Priority::Video, size, (part, size));
        }
    }
    fn send(&mut self, now: u64, end: u64) -> Option<(u64, u64)> {
        self.pacer.set_rate(at(now), self.rule.pacing());
        let when =
            self.pacer.next_deadline().filter(|when| *when < at(end) && self.rule.may_send(at(now)))?;
        let when = when.max(at(now));
        let ((part, size), _) = self.pacer.poll(when)?;
        self.rule.on_frame_part(when, part);
        self.rule.on_sent(when, PacketSent { sequence: self.sequence, size, probe: None });
        self.sequence += 1;
        Some((when.as_nanos(), size.as_u64()))
    }
    fn report(&mut self, now: u64, packets: &[(u64, u64, Option<u64>)]) {
        let of = |(sequence, _, arrival): &(u64, u64, Option<u64>)| PacketResult {
            sequence: *sequence,
            arrival: arrival.map(at),
        };
        self.rule.on_feedback(at(now), &TransportFeedback { packets: packets.iter().map(of).collect() });
    }
}

#[derive(Debug)]
struct NoFiller;

impl BacklogFiller for NoFiller {
    fn max_packet_size(&self) -> usize {
        PACKET as usize
    }
    fn next_packet(&mut self, _now: Wall) -> Option<bytes::Bytes> {
        None
    }
    fn on_packet_sent(&mut self, _seq: u64, _len: usize, _now: Wall) {}
}

struct Theirs {
    session: Vidaptive<Copa, NoFiller>,
    zero: Wall,
}

impl Theirs {
    fn at(&self, now: u64) -> Wall {
        self.zero + Duration::from_nanos(now)
    }
}

impl Sender for Theirs {
    fn rate(&mut self, now: u64) -> Option<f64> {
        let now = self.at(now);
        self.session.tick(now);
        let advice = self.session.poll_encoder(now);
        (!advice.pause).then_some(advice.target_bitrate_bps as f64)
    }
    fn code(&mut self, now: u64, frame: u64, sizes: &[u64]) {
        let last = sizes.len() - 1;
        let packet =
            |(place, size): (usize, &u64)| MediaPacket::video(vec![0; *size as usize].into(), place == last);
        let now = self.at(now);
        let target_bitrate = self.session.poll_encoder(now).target_bitrate_bps;
        let packets = sizes.iter().enumerate().map(packet).collect();
        self.session
            .enqueue_packets(EncodedFrame { id: frame, captured_at: now, target_bitrate, packets }, now);
    }
    fn send(&mut self, now: u64, end: u64) -> Option<(u64, u64)> {
        let mut when = now;
        loop {
            match self.session.poll_transmit(self.at(when))? {
                TransmitAction::SendPacket { payload } => return Some((when, payload.len() as u64)),
                TransmitAction::WaitUntil(until) if until < self.at(end) && until > self.at(when) => {
                    when = (until - self.zero).as_nanos() as u64;
                }
                _ => return None,
            }
        }
    }
    fn report(&mut self, now: u64, packets: &[(u64, u64, Option<u64>)]) {
        let now = self.at(now);
        // The crate counts packets from 1.
        for (sequence, size, _) in packets.iter().filter(|packet| packet.2.is_none()) {
            self.session
                .on_network_loss(LostPacket { seq: sequence + 1, len: *size as usize, lost_at: now }, now);
        }
        let arrived = packets.iter().filter(|packet| packet.2.is_some());
        let acks: Vec<AckInfo> = arrived
            .map(|(sequence, size, _)| AckInfo { seq: sequence + 1, len: *size as usize, acked_at: now })
            .collect();
        self.session.on_network_acks(&acks, now);
    }
}

/// The rate of the sender in Mb/s, mean of each second.
fn run(sender: &mut dyn Sender, seconds: u64, mbps: impl Fn(u64) -> f64, loss: f64) -> Vec<f64> {
    let (mut free, mut frame, mut sequence, mut owed) = (0_u64, 0_u64, 0_u64, 0.0);
    let (mut flying, mut reports) = (VecDeque::new(), VecDeque::new());
    let (mut due, mut means) = (REPORTS, vec![0.0; seconds as usize]);
    for now in (0..seconds * 1_000_000_000).step_by(STEP as usize) {
        let second = now / 1_000_000_000;
        let rate = sender.rate(now);
        means[second as usize] += rate.unwrap_or(0.0) / 1e6 * STEP as f64 / 1e9;
        if now >= frame * 1_000_000_000 / FPS {
            let bytes = (rate.unwrap_or(0.0) / 8.0 / FPS as f64) as u64;
            let sizes: Vec<u64> =
                (0..bytes.div_ceil(PACKET)).map(|packet| PACKET.min(bytes - packet * PACKET)).collect();
            if !sizes.is_empty() {
                sender.code(now, frame, &sizes);
            }
            frame += 1;
        }
        while let Some((when, size)) = sender.send(now, now + STEP) {
            owed += loss;
            let begins = free.max(when);
            let is_lost = owed >= 1.0 || begins - when > LONGEST_QUEUE;
            owed -= f64::from(u8::from(owed >= 1.0));
            if !is_lost {
                free = begins + (size as f64 * 8e3 / mbps(second)) as u64;
            }
            flying.push_back((sequence, size, (!is_lost).then_some(free + WAY)));
            sequence += 1;
        }
        if now >= due {
            due = now + REPORTS;
            let newest =
                flying.iter().rposition(|(_, _, arrival)| arrival.is_some_and(|arrival| arrival <= now));
            if let Some(newest) = newest {
                reports.push_back((now + WAY, flying.drain(..=newest).collect::<Vec<_>>()));
            }
        }
        while reports.front().is_some_and(|(when, _)| *when <= now) {
            let (_, packets) = reports.pop_front().expect("there is one");
            sender.report(now, &packets);
        }
    }
    means
}

fn both(seconds: u64, mbps: impl Fn(u64) -> f64 + Copy, loss: f64) -> (Vec<f64>, Vec<f64>) {
    let start = BitRate::from_kbps(15_360);
    let bounds =
        RateBounds { start, least: BitRate::from_kbps(1), most: BitRate::from_mbps(1000), media: start };
    let rule: RateRule = toml::from_str("kind = \"vidaptive\"").expect("valid");
    let rule = rule.build(&bounds).expect("valid");
    let mut ours = Ours { pacer: Pacer::new(rule.pacing()), rule, sequence: 0 };
    let interval = Duration::from_millis(16);
    let config =
        VidaptiveConfig::builder().target_service_time(interval).tau_pause(interval).frame_interval(interval);
    let copa = Copa::new(CopaConfig::default());
    let session = Vidaptive::new(copa, NoFiller, config.build().expect("valid"));
    let mut theirs = Theirs { session, zero: Wall::now() };
    (run(&mut ours, seconds, mbps, loss), run(&mut theirs, seconds, mbps, loss))
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len() as f64
}

fn assert_alike(ours: &[f64], theirs: &[f64], seconds: std::ops::Range<usize>) {
    let ratio = mean(&ours[seconds.clone()]) / mean(&theirs[seconds.clone()]);
    assert!((0.9..=1.1).contains(&ratio), "{seconds:?}: {ratio}\n{ours:.2?}\n{theirs:.2?}");
}

#[test]
fn over_a_step_down_and_up() {
    let (ours, theirs) = both(18, |second| if (6..12).contains(&second) { 10.0 } else { 30.0 }, 0.0);
    for seconds in [2..6, 8..12, 14..18] {
        assert_alike(&ours, &theirs, seconds);
    }
}

#[test]
fn under_loss() {
    let (ours, theirs) = both(10, |_| 30.0, 0.02);
    assert_alike(&ours, &theirs, 3..10);
}
