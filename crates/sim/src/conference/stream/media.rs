//! Frames over RTP: a rule for the rate, a pacer, and retransmission of what was lost, as in a browser.
//!
//! A frame counts once all of its packets have arrived. Frames do not depend on one another, as the forwarding unit codes each anew: one
//! that is lost for good is missing, and delays no other. Chains of frames and key frames are those of flows of kind `rtc`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use airbound_senders::rtp::gcc::{
    FeedbackCollector, FeedbackConfig, GccConfig, Pacer, PacketSent, Priority, TransportFeedback, Usage,
};
use airbound_senders::rtp::rate::{MediaRate, RateBounds, RateRule};
use airbound_senders::rtp::{HistoryConfig, NackConfig, NackRequester, RetransmissionHistory};
use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};

use super::{Frame, Side};
use crate::endpoint::in_flight::InFlight;
use crate::endpoint::rtp::{Feedback, HEADERS, ORIGINAL_SEQUENCE};

/// Largest part of a frame in a packet: 1200 bytes after IP and UDP, as in libwebrtc, without RTP's own.
const PAYLOAD: u64 = 1170;
/// Time after its first packet at which a frame whose packets are not complete is given up.
const PATIENCE: Span = Span::from_secs(2);

/// A packet of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::conference) struct MediaPacket {
    /// Its transport-wide number.
    number: u64,
    /// Its content.
    part: Part,
    /// Size from the IP header on.
    pub(in crate::conference) size: ByteCount,
    /// When it was sent.
    pub(in crate::conference) sent: Instant,
}

/// A part of a frame, or padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Media { sequence: u64, frame: u64, is_again: bool },
    Padding,
}

/// An answer of the receiver; what it says is kept by its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::conference) struct FeedbackPacket {
    number: u64,
    /// Size from the IP header on.
    pub(in crate::conference) size: ByteCount,
}

/// A frame that has not arrived completely.
#[derive(Debug)]
struct Partial {
    frame: Frame,
    /// Its media packets, by their sequence numbers, that are missing.
    missing: BTreeSet<u64>,
    /// When its first packet arrived.
    since: Option<Instant>,
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
    rate: Box<dyn MediaRate>,
    /// Time of the latest report.
    reported: Option<Instant>,
    pacer: Pacer<(Part, ByteCount)>,
    history: RetransmissionHistory<(Part, ByteCount)>,
    /// The number of the next packet of any kind, of the next packet of media, of the next frame and of the next answer.
    packets: u64,
    sequence: u64,
    written: u64,
    answers: u64,
    /// Reports on arrivals, if the rule uses them.
    collector: Option<FeedbackCollector>,
    nack: NackRequester,
    /// Frames that have not arrived, by number.
    partial: BTreeMap<u64, Partial>,
    arrived: VecDeque<Frame>,
    feedback: InFlight<Feedback>,
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
        let reports = rate.takes_reports().then(|| FeedbackCollector::new(FeedbackConfig::default()));
        Ok(Self {
            pacer: Pacer::new(rate.pacing()).probing_without_media(),
            rule: rule.clone(),
            bounds,
            rate,
            reported: None,
            history: RetransmissionHistory::new(HistoryConfig::default())?,
            packets: 0,
            sequence: 0,
            written: 0,
            answers: 0,
            collector: reports.transpose()?,
            nack: NackRequester::new(NackConfig::default())?,
            partial: BTreeMap::new(),
            arrived: VecDeque::new(),
            feedback: InFlight::default(),
        })
    }

    /// Divides a frame into packets as equal as possible, and passes them to the pacer.
    pub(super) fn write(&mut self, now: Instant, frame: Frame) {
        let packets = frame.bytes.div_ceil(PAYLOAD).max(1);
        let first = self.sequence;
        for index in 0..packets {
            let edge = |index: u64| frame.bytes * index / packets;
            let size = ByteCount::new(edge(index + 1) - edge(index)) + HEADERS;
            let part = Part::Media { sequence: self.sequence, frame: self.written, is_again: false };
            self.sequence += 1;
            self.pacer.enqueue(now, Priority::Video, size, (part, size));
        }
        let missing = (first..self.sequence).collect();
        self.partial.insert(self.written, Partial { frame, missing, since: None });
        self.written += 1;
    }

    pub(super) fn take_arrived(&mut self) -> Option<Frame> {
        self.arrived.pop_front()
    }

    /// The rate of media that fits the rule's after headers.
    pub(super) fn estimate(&self) -> BitRate {
        if !self.rate.takes_reports() {
            return self.rate.target();
        }
        self.rate.target().mul_f64(PAYLOAD as f64 / (PAYLOAD + HEADERS.as_u64()) as f64)
    }

    /// Whether packets are lost or wait.
    pub(super) fn in_trouble(&self, now: Instant) -> bool {
        let recent = self.reported.is_some_and(|at| now - at <= RECENT);
        let path = self.rate.path();
        recent && (path.loss_fraction > LOSSES || path.usage == Usage::Overuse)
    }

    /// Begins the rule anew; reports of what was sent before count no more.
    pub(super) fn begin(&mut self, now: Instant, rate: BitRate) {
        let start = rate.clamp(self.bounds.least, self.bounds.most);
        if let Ok(rate) = self.rule.build(&RateBounds { start, ..self.bounds }) {
            self.rate = rate;
            self.pacer.set_rate(now, self.rate.pacing());
        }
    }

    pub(super) fn unsent(&self) -> ByteCount {
        self.pacer.queue_size()
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<MediaPacket> {
        while let Some(cluster) = self.rate.next_probe(now) {
            self.pacer.start_probe(now, cluster);
        }
        let mut next = self.pacer.poll(now);
        if next.is_none()
            && let Some(wanted) = self.pacer.padding_wanted(now)
        {
            let size = wanted.clamp(HEADERS, ByteCount::new(PAYLOAD) + HEADERS);
            self.pacer.enqueue(now, Priority::Padding, size, (Part::Padding, size));
            next = self.pacer.poll(now);
        }
        let ((part, size), probe) = next?;
        if let Part::Media { sequence, is_again, .. } = part {
            if is_again {
                self.history.on_resent(now, sequence);
            } else {
                self.history.on_sent(now, sequence, (part, size));
            }
        }
        let number = self.packets;
        self.packets += 1;
        self.rate.on_sent(now, PacketSent { sequence: number, size, probe });
        Some(MediaPacket { number, part, size, sent: now })
    }

    pub(super) fn on_packet(&mut self, now: Instant, packet: &MediaPacket) {
        if let Some(collector) = &mut self.collector {
            collector.on_packet(now, packet.number);
        }
        if let Some(round_trip) = self.rate.path().round_trip {
            self.nack.on_round_trip(round_trip);
        }
        let Part::Media { sequence, frame, is_again } = packet.part else { return };
        self.nack.on_packet(now, sequence, is_again);
        if let Some(partial) = self.partial.get_mut(&frame) {
            partial.since.get_or_insert(now);
            partial.missing.remove(&sequence);
            if partial.missing.is_empty()
                && let Some(partial) = self.partial.remove(&frame)
            {
                self.arrived.push_back(partial.frame);
            }
        }
        self.give_up(now, frame);
    }

    /// Forgets frames before `newest` that have been incomplete for too long, or of which nothing has arrived though later ones have.
    fn give_up(&mut self, now: Instant, newest: u64) {
        while let Some(mut oldest) = self.partial.first_entry() {
            if *oldest.key() >= newest || now - *oldest.get_mut().since.get_or_insert(now) < PATIENCE {
                break;
            }
            oldest.remove();
        }
        let needed = self.partial.values().find_map(|partial| partial.missing.first());
        self.nack.forget_before(needed.copied().unwrap_or(self.sequence));
    }

    pub(super) fn poll_feedback(&mut self, now: Instant) -> Option<FeedbackPacket> {
        let missing = self.nack.poll(now);
        let feedback = if missing.is_empty() {
            // Without chains of frames there is nobody to ask for a key frame.
            self.nack.take_key_frame_request();
            Feedback::Report(self.collector.as_mut()?.poll(now)?)
        } else {
            Feedback::Nack(missing)
        };
        let (number, size) = (self.answers, feedback.size());
        self.answers += 1;
        self.feedback.put(number, feedback);
        Some(FeedbackPacket { number, size })
    }

    pub(super) fn on_feedback(&mut self, now: Instant, packet: &FeedbackPacket) {
        match self.feedback.take(packet.number) {
            Some(Feedback::Report(report)) => self.on_report(now, &report),
            Some(Feedback::Nack(sequences)) => self.on_nack(now, &sequences),
            Some(Feedback::KeyFrameRequest) | None => {}
        }
    }

    pub(super) fn on_feedback_lost(&mut self, packet: &FeedbackPacket) {
        self.feedback.take(packet.number);
    }

    fn on_report(&mut self, now: Instant, report: &TransportFeedback) {
        self.reported = Some(now);
        self.rate.on_feedback(now, report);
        if let Some(round_trip) = self.rate.path().round_trip {
            self.history.on_round_trip(round_trip);
        }
        self.pacer.set_rate(now, self.rate.pacing());
    }

    fn on_nack(&mut self, now: Instant, sequences: &[u64]) {
        for sequence in sequences {
            if let Some((Part::Media { sequence, frame, .. }, size)) =
                self.history.request(now, *sequence).copied()
            {
                let size = size + ORIGINAL_SEQUENCE;
                let part = Part::Media { sequence, frame, is_again: true };
                self.pacer.enqueue(now, Priority::Retransmission, size, (part, size));
            }
        }
    }

    pub(super) fn next_deadline(&self, side: Side) -> Option<Instant> {
        let [first, second] = match side {
            Side::Sender => [self.rate.deadline(), self.pacer.next_deadline()],
            Side::Receiver => [
                self.nack.next_deadline(),
                self.collector.as_ref().and_then(FeedbackCollector::next_deadline),
            ],
        };
        [first, second].into_iter().flatten().min()
    }

    pub(super) fn on_deadline(&mut self, now: Instant, side: Side) {
        if side == Side::Sender {
            self.rate.on_deadline(now);
            self.pacer.set_rate(now, self.rate.pacing());
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
        assert!(media.partial.is_empty() && media.packets > 5 * written, "{media:?}");
    }

    #[test]
    fn an_estimate_that_losses_hold_down_begins_anew() {
        let (mut media, ..) = run(20, |number| number > 100 && number % 4 != 0);
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

    #[test]
    fn a_frame_that_is_lost_for_good_is_given_up_and_delays_no_other() {
        let mut media =
            Media::new(&RateRule::default(), BitRate::from_mbps(2), BitRate::from_mbps(10)).expect("valid");
        for frame in 0..3 {
            let now = Instant::ZERO + MILLISECOND * frame;
            media.write(now, Frame { source: frame as usize, created: now, bytes: 100, estimate: 0.0 });
        }
        let packets: Vec<MediaPacket> =
            (0..1000).filter_map(|step| media.poll(Instant::ZERO + MILLISECOND * step)).collect();
        for packet in &packets {
            if !matches!(packet.part, Part::Media { frame: 0, .. }) {
                media.on_packet(packet.sent, packet);
            }
        }
        let arrived: Vec<usize> =
            std::iter::from_fn(|| media.take_arrived()).map(|frame| frame.source).collect();
        assert_eq!(arrived, [1, 2]);
        assert_eq!(media.partial.len(), 1);
        let late = Instant::ZERO + Span::from_secs(4);
        media.write(late, Frame { source: 3, created: late, bytes: 100, estimate: 0.0 });
        while let Some(packet) = media.poll(late) {
            media.on_packet(late, &packet);
        }
        assert_eq!(media.partial.len(), 0, "{media:?}");
        assert!(
            media.poll_feedback(late + PATIENCE).is_none_or(|_| media.nack.poll(late + PATIENCE).is_empty())
        );
    }
}
