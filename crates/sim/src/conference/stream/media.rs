//! Frames over RTP: a rule for the rate, a pacer, and retransmission of what was lost, as in a browser.
//!
//! A frame counts once all of its packets have arrived. Frames do not depend on one another, as the forwarding unit codes each anew: one
//! that is lost for good is missing, and delays no other. Chains of frames and key frames are those of flows of kind `rtc`.

use std::collections::{BTreeMap, VecDeque};

use airbound_senders::rtp::gcc::{FeedbackCollector, FeedbackConfig, GccConfig, Usage};
use airbound_senders::rtp::rate::{MediaRate, RateBounds, RateRule};
use airbound_senders::rtp::{HistoryConfig, NackConfig, NackRequester, RetransmissionHistory};
use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};

use super::{Frame, Side};
use crate::endpoint::rtp::independent::IndependentFrames;
use crate::endpoint::rtp::receiver::RtpReceiver;
use crate::endpoint::rtp::sender::{RtpSender, Written};
use crate::endpoint::rtp::stream::{Numbered, RtpStream};
use crate::endpoint::rtp::{Feedback, HEADERS};
use crate::measure::FrameEvent;

/// Largest part of a frame in a packet: 1200 bytes after IP and UDP, as in libwebrtc, without RTP's own.
const PAYLOAD: ByteCount = ByteCount::new(1170);
/// Time after its first packet at which a frame whose packets are not complete is given up.
const PATIENCE: Span = Span::from_secs(2);

/// A packet of the sender; what it carries is kept by its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::conference) struct MediaPacket {
    number: u64,
    /// Size from the IP header on.
    pub(in crate::conference) size: ByteCount,
    /// When it was sent.
    pub(in crate::conference) sent: Instant,
}

/// An answer of the receiver; what it says is kept by its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::conference) struct FeedbackPacket {
    number: u64,
    /// Size from the IP header on.
    pub(in crate::conference) size: ByteCount,
}

/// Time after a report for which its losses count.
const RECENT: Span = Span::from_secs(1);
/// Part of the packets of a report whose loss says that a path is in trouble.
const LOSSES: f64 = 0.02;

/// Both ends of a stream.
#[derive(Debug)]
pub(super) struct Media {
    rule: RateRule,
    bounds: RateBounds,
    stream: RtpStream,
    /// Time of the latest report.
    reported: Option<Instant>,
    /// Number of frames written.
    written: u64,
    /// Frames that have not arrived, by number.
    open: BTreeMap<u64, Frame>,
    arrived: VecDeque<Frame>,
}

impl Media {
    /// Creates a stream that begins at the rate `start`, and never needs more than `most`.
    pub(super) fn new(rule: &RateRule, start: BitRate, most: BitRate) -> Result<Self, ConfigError> {
        // A rate twice that of all media: an estimate at its upper limit is not the path's.
        let bounds = RateBounds {
            start,
            least: GccConfig::default().min_rate,
            most: (most + most).max(start),
            media: most,
        };
        let rate = rule.build(&bounds)?;
        let reports = rate
            .report_interval()
            .map(|shortest| FeedbackCollector::new(FeedbackConfig { shortest, ..FeedbackConfig::default() }));
        let receiver = RtpReceiver {
            knows_round_trip: true,
            collector: reports.transpose()?,
            nack: Some(NackRequester::new(NackConfig::default())?),
            fec: None,
            frames: Box::new(IndependentFrames::new(PATIENCE)),
            covered: BTreeMap::new(),
        };
        let history = RetransmissionHistory::new(HistoryConfig::default())?;
        let sender = RtpSender::new(rate, None, Some(history), PAYLOAD).probing_without_media();
        Ok(Self {
            rule: rule.clone(),
            bounds,
            stream: RtpStream::new(sender, receiver),
            reported: None,
            written: 0,
            open: BTreeMap::new(),
            arrived: VecDeque::new(),
        })
    }

    fn rate(&self) -> &dyn MediaRate {
        self.stream.sender.control()
    }

    pub(super) fn write(&mut self, now: Instant, frame: Frame) {
        let written = Written { number: self.written, size: ByteCount::new(frame.bytes), is_key: true };
        self.stream.sender.write(now, written);
        self.open.insert(self.written, frame);
        self.written += 1;
    }

    pub(super) fn take_arrived(&mut self) -> Option<Frame> {
        self.arrived.pop_front()
    }

    /// The rate of media that fits the rule's after headers.
    pub(super) fn estimate(&self) -> BitRate {
        let target = self.rate().target();
        if self.rate().report_interval().is_none() {
            return target;
        }
        target.mul_f64(PAYLOAD.as_u64() as f64 / (PAYLOAD + HEADERS).as_u64() as f64)
    }

    /// Whether packets are lost or wait.
    pub(super) fn in_trouble(&self, now: Instant) -> bool {
        let recent = self.reported.is_some_and(|at| now - at <= RECENT);
        let path = self.rate().path();
        recent && (path.loss_fraction > LOSSES || path.usage == Usage::Overuse)
    }

    /// Begins the rule anew; reports of what was sent before count no more.
    pub(super) fn begin(&mut self, now: Instant, rate: BitRate) {
        let start = rate.clamp(self.bounds.least, self.bounds.most);
        if let Ok(rate) = self.rule.build(&RateBounds { start, ..self.bounds }) {
            self.stream.sender.set_control(now, rate);
        }
    }

    pub(super) fn unsent(&self) -> ByteCount {
        self.stream.sender.pacer().queue_size()
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<MediaPacket> {
        let Numbered { number, size, .. } = self.stream.poll(now, |_| ())?;
        Some(MediaPacket { number, size, sent: now })
    }

    pub(super) fn on_packet(&mut self, now: Instant, packet: &MediaPacket) {
        let mut events = Vec::new();
        self.stream.on_packet(now, packet.number, &mut events);
        for event in events {
            match event {
                FrameEvent::Complete { frame, .. } => self.arrived.extend(self.open.remove(&frame)),
                FrameEvent::GivenUp { first, next } => {
                    self.open.retain(|frame, _| !(first..next).contains(frame));
                }
                FrameEvent::Decoded { .. } => {}
            }
        }
    }

    pub(super) fn poll_feedback(&mut self, now: Instant) -> Option<FeedbackPacket> {
        let Numbered { number, size, .. } = self.stream.poll_feedback(now)?;
        Some(FeedbackPacket { number, size })
    }

    pub(super) fn on_feedback(&mut self, now: Instant, packet: &FeedbackPacket) {
        match self.stream.take_feedback(packet.number) {
            Some(Feedback::Report(report)) => {
                self.reported = Some(now);
                self.stream.sender.on_report(now, &report);
            }
            Some(Feedback::Nack(sequences)) => drop(self.stream.sender.on_nack(now, &sequences)),
            Some(Feedback::KeyFrameRequest) | None => {}
        }
    }

    pub(super) fn on_lost(&mut self, packet: &MediaPacket) {
        self.stream.on_lost(packet.number);
    }

    pub(super) fn on_feedback_lost(&mut self, packet: &FeedbackPacket) {
        self.stream.take_feedback(packet.number);
    }

    pub(super) fn next_deadline(&self, side: Side) -> Option<Instant> {
        match side {
            Side::Sender => self.stream.sender.next_deadline(),
            Side::Receiver => self.stream.receiver.next_deadline(),
        }
    }

    pub(super) fn on_deadline(&mut self, now: Instant, side: Side) {
        if side == Side::Sender {
            self.stream.sender.on_time(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Span = Span::from_millis(1);

    /// The next of a path's packets that has arrived.
    fn due<T>(path: &mut VecDeque<(Instant, T)>, now: Instant) -> Option<T> {
        let arrived = path.front().is_some_and(|(at, _)| *at <= now);
        if arrived { path.pop_front().map(|(_, packet)| packet) } else { None }
    }

    /// Runs both ends 10 ms apart for some seconds at 20 frames a second of 5 kB; returns the frames that arrived of those written.
    fn run(seconds: u64, is_lost: impl Fn(u64) -> bool) -> (Media, u64, u64) {
        let mut media =
            Media::new(&RateRule::default(), BitRate::from_mbps(2), BitRate::from_mbps(10)).expect("valid");
        let (mut there, mut back) = (VecDeque::new(), VecDeque::new());
        let (mut sent, mut arrived) = (0, 0);
        for step in 0..seconds * 1000 {
            let now = Instant::ZERO + MILLISECOND * step;
            if step.is_multiple_of(50) && step + 1000 < seconds * 1000 {
                media.write(now, Frame { source: 0, created: now, bytes: 5000, estimate: 0.0 });
            }
            media.on_deadline(now, Side::Sender);
            while let Some(packet) = media.poll(now) {
                if !is_lost(sent) {
                    there.push_back((now + MILLISECOND * 10, packet));
                }
                sent += 1;
            }
            while let Some(packet) = due(&mut there, now) {
                media.on_packet(now, &packet);
                arrived += std::iter::from_fn(|| media.take_arrived()).count() as u64;
            }
            while let Some(feedback) = media.poll_feedback(now) {
                back.push_back((now + MILLISECOND * 10, feedback));
            }
            while let Some(feedback) = due(&mut back, now) {
                media.on_feedback(now, &feedback);
            }
        }
        let written = media.written;
        (media, arrived, written)
    }

    #[test]
    fn all_frames_arrive_and_what_is_lost_is_sent_again() {
        let (media, arrived, written) = run(5, |_| false);
        assert_eq!((arrived, written), (80, 80));
        assert!(media.estimate() > BitRate::from_mbps(2), "probes find more: {}", media.estimate());
        let (media, arrived, written) = run(5, |number| number % 10 == 3);
        assert_eq!((arrived, written), (80, 80));
        assert!(media.open.is_empty(), "{media:?}");
    }

    #[test]
    fn an_estimate_that_losses_hold_down_begins_anew() {
        let (mut media, ..) = run(20, |number| number > 100 && number % 30 != 0);
        let held = media.estimate();
        assert!(held < BitRate::from_kbps(300), "{held}");
        let now = Instant::ZERO + Span::from_secs(20);
        assert!(media.in_trouble(now) && !media.in_trouble(now + RECENT * 2));
        media.begin(now, held);
        assert!(media.estimate() < BitRate::from_kbps(300), "the beginning itself gives nothing");
        media.on_deadline(now, Side::Sender);
        // At this rate alone it were some three.
        let probes = (0..300).filter_map(|step| media.poll(now + MILLISECOND * step)).count();
        assert!(probes >= 8, "{probes} packets");
    }
}
