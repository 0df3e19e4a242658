//! Meter of a real-time video: fates of its frames, rates by purpose, freezes.

use std::collections::{BTreeMap, VecDeque};

use airbound_record::{FlowLatency, FrameCounts, FrameFate, FrameRow, PacketWay, RtcSummary, SentRates};
use airbound_units::{BitRate, ByteCount, Instant, Span};

/// A frame whose fate, or that of one of its packets, is not yet known.
#[derive(Debug, Clone, Copy)]
struct OpenFrame {
    row: FrameRow,
    measured: bool,
    packets: u32,
    /// Packets whose first transmission arrived or was lost.
    settled: u32,
    lost: u32,
    decided: bool,
}

/// The fate of a frame at its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameEvent {
    /// All its packets arrived.
    Complete { frame: u64, recovered: u32, retransmitted: u32, by: PacketWay },
    /// It was decoded.
    Decoded { frame: u64 },
    /// All undecoded frames from `first` to before `next` are given up.
    GivenUp { first: u64, next: u64 },
}

/// The purpose of a packet of real-time video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Media,
    Fec,
    Retransmission,
    Padding,
    Feedback,
}

/// The meter of one real-time video.
#[derive(Debug, Clone)]
pub(super) struct VideoMeter {
    flow: u32,
    deadline: Span,
    open: BTreeMap<u64, OpenFrame>,
    frames: FrameCounts,
    /// Frames whose packets are all settled; those of them that lost one, and that lost more than a fifth.
    settled: u64,
    lossy: u64,
    very_lossy: u64,
    /// Complete frames, and those completed by a retransmission.
    complete: u64,
    by_retransmission: u64,
    recovered: u64,
    retransmitted: u64,
    key_frame_requests: u64,
    coded: ByteCount,
    sent: [ByteCount; 5],
    /// Sum over frames of the rate allowed by congestion control, Mb/s.
    allowed: f64,
    freezes: Freezes,
}

impl VideoMeter {
    pub(super) fn new(flow: u32, deadline: Span) -> Self {
        Self {
            flow,
            deadline,
            open: BTreeMap::new(),
            frames: FrameCounts::default(),
            settled: 0,
            lossy: 0,
            very_lossy: 0,
            complete: 0,
            by_retransmission: 0,
            recovered: 0,
            retransmitted: 0,
            key_frame_requests: 0,
            coded: ByteCount::ZERO,
            sent: [ByteCount::ZERO; 5],
            allowed: 0.0,
            freezes: Freezes::default(),
        }
    }

    /// Notes a coded frame of `packets` packets, and the rate allowed by congestion control.
    pub(super) fn on_coded(
        &mut self,
        now: Instant,
        (frame, is_key, size): (u64, bool, ByteCount),
        packets: u32,
        allowed: BitRate,
        measured: bool,
    ) {
        let mut row = FrameRow::skipped(self.flow, frame, now);
        (row.size, row.fate) = (size, FrameFate::Unfinished);
        (row.key, row.packets) = (Some(is_key), Some(packets));
        if measured {
            self.frames.created += 1;
            self.coded += size;
            self.allowed += allowed.as_mbps_f64();
            self.freezes.on_created(now);
        }
        self.open.insert(frame, OpenFrame { row, measured, packets, settled: 0, lost: 0, decided: false });
    }

    /// Notes a skipped frame.
    pub(super) fn on_left_out(&mut self, now: Instant, frame: u64, measured: bool) -> FrameRow {
        if measured {
            self.frames.created += 1;
            self.frames.skipped += 1;
            self.freezes.on_created(now);
        }
        FrameRow::skipped(self.flow, frame, now)
    }

    /// Notes a sent packet; `frame` if it is a part of a frame, sent for the first time.
    pub(super) fn on_sent(
        &mut self,
        now: Instant,
        what: Sent,
        size: ByteCount,
        frame: Option<u64>,
        measured: bool,
    ) {
        if measured {
            self.sent[what as usize] += size;
        }
        if let Some(open) = frame.and_then(|frame| self.open.get_mut(&frame)) {
            open.row.first_packet = open.row.first_packet.min(now);
        }
    }

    pub(super) fn on_key_frame_request(&mut self, measured: bool) {
        self.key_frame_requests += u64::from(measured);
    }

    /// Notes the end of a packet's first transmission. Returns the row of its frame if it is now complete.
    pub(super) fn on_settled(&mut self, frame: u64, lost: bool) -> Option<FrameRow> {
        let open = self.open.get_mut(&frame)?;
        open.settled += 1;
        open.lost += u32::from(lost);
        if open.settled == open.packets && open.measured {
            self.settled += 1;
            self.lossy += u64::from(open.lost > 0);
            self.very_lossy += u64::from(open.lost * 5 > open.packets);
        }
        self.close(frame)
    }

    /// Notes that all packets of a frame arrived.
    pub(super) fn on_complete(
        &mut self,
        now: Instant,
        frame: u64,
        (recovered, retransmitted, by): (u32, u32, PacketWay),
        latency: &mut FlowLatency,
    ) {
        let Some(open) = self.open.get_mut(&frame) else { return };
        open.row.complete = now;
        open.row.completed_by = Some(by);
        (open.row.recovered, open.row.retransmitted) = (Some(recovered), Some(retransmitted));
        if open.measured {
            self.complete += 1;
            self.recovered += u64::from(recovered);
            self.retransmitted += u64::from(retransmitted);
            if by == PacketWay::Retransmitted {
                self.by_retransmission += 1;
            } else {
                latency.record_first_time_frame(now - open.row.created);
            }
        }
    }

    /// Notes a decoded frame. Returns its size, and its row if that is now complete.
    pub(super) fn on_decoded(
        &mut self,
        now: Instant,
        frame: u64,
        latency: &mut FlowLatency,
    ) -> (ByteCount, Option<FrameRow>) {
        self.freezes.on_shown(now);
        let Some(open) = self.open.get_mut(&frame) else { return (ByteCount::ZERO, None) };
        let spent = now - open.row.created;
        let late = spent > self.deadline;
        open.row.delivered = now;
        open.row.fate = if late { FrameFate::Late } else { FrameFate::Delivered };
        open.decided = true;
        if open.measured {
            self.frames.delivered += 1;
            self.frames.late += u64::from(late);
            latency.record_frame(spent);
        }
        (open.row.size, self.close(frame))
    }

    /// Notes that the receiver continues without the frames from `first` to before `next`. Returns a row that is now complete; call
    /// until `None`.
    pub(super) fn on_given_up(&mut self, first: u64, next: u64) -> Option<FrameRow> {
        let mut undecided = self.open.range_mut(first..next).filter(|(_, open)| !open.decided);
        while let Some((&frame, open)) = undecided.next() {
            open.decided = true;
            open.row.fate = FrameFate::Lost;
            self.frames.lost += u64::from(open.measured);
            if open.settled == open.packets {
                drop(undecided);
                return self.close(frame);
            }
        }
        None
    }

    /// The row of a frame whose fate is completely known.
    fn close(&mut self, frame: u64) -> Option<FrameRow> {
        let open = self.open.get(&frame)?;
        if !open.decided || open.settled < open.packets {
            return None;
        }
        self.open.remove(&frame).map(|open| FrameRow { lost: Some(open.lost), ..open.row })
    }

    /// The rows of all other frames at the end of the run.
    pub(super) fn remaining(&self) -> impl Iterator<Item = FrameRow> + '_ {
        self.open.values().map(|open| FrameRow { lost: Some(open.lost), ..open.row })
    }

    pub(super) fn delivered(&self) -> u64 {
        self.frames.delivered
    }

    /// Share of the time in which the picture was frozen; `None` if no frame was created.
    pub(super) fn stall_rate(&self) -> Option<f64> {
        self.freezes.share()
    }

    /// Returns the summary of a run that ended at `end`.
    pub(super) fn summary(&self, measured: Span, end: Instant, latency: &FlowLatency) -> RtcSummary {
        let of = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let frames = self.frames;
        let undecided = self.open.values().filter(|open| open.measured && !open.decided);
        let overdue = undecided.filter(|open| open.row.created + self.deadline < end).count() as u64;
        let missed = frames.late + frames.lost + frames.skipped + overdue;
        let mbps = |bytes: ByteCount| bytes.bits() as f64 / measured.as_secs_f64() / 1e6;
        let [media, fec, retransmission, padding, feedback] = self.sent.map(mbps);
        let coded = frames.created - frames.skipped;
        RtcSummary {
            bitrate_mbps: mbps(self.coded),
            allowed_mbps: if coded == 0 { 0.0 } else { self.allowed / coded as f64 },
            deadline_ms: self.deadline.as_millis_f64(),
            deadline_miss_rate: of(missed, frames.delivered + frames.lost + frames.skipped + overdue),
            frames: FrameCounts {
                unfinished: frames.created - frames.delivered - frames.lost - frames.skipped,
                ..frames
            },
            frames_lossy_share: of(self.lossy, self.settled),
            frames_over_20pct_loss_share: of(self.very_lossy, self.settled),
            frames_retransmitted_share: of(self.by_retransmission, self.complete),
            first_time_frame_latency_ms: latency
                .first_time_frames()
                .map(|frames| frames.stats())
                .unwrap_or_default(),
            packets_recovered: self.recovered,
            packets_retransmitted: self.retransmitted,
            key_frame_requests: self.key_frame_requests,
            sent_mbps: SentRates { media, fec, retransmission, padding, feedback },
        }
    }
}

/// Number of intervals whose mean defines a freeze, and that have to exist first (W3C webrtc-stats, `freezeCount`; libwebrtc
/// `video_quality_observer2.cc`).
const INTERVALS: usize = 30;
const FEWEST_INTERVALS: usize = 5;
/// A freeze exceeds the mean interval by at least this, and lasts at least three times as long (same sources).
const FREEZE: Span = Span::from_millis(150);

/// Freezes of the picture. A frame is shown as soon as it can be decoded.
#[derive(Debug, Clone, Default)]
struct Freezes {
    /// The last intervals between frames.
    intervals: VecDeque<Span>,
    /// Start of the measurement: creation of the first measured frame.
    began: Option<Instant>,
    last_created: Instant,
    last_shown: Option<Instant>,
    frozen: Span,
}

impl Freezes {
    fn on_created(&mut self, now: Instant) {
        self.began.get_or_insert(now);
        self.last_created = now;
    }

    fn on_shown(&mut self, now: Instant) {
        if let Some(last) = self.last_shown {
            self.frozen += self.freeze(last, now);
            if self.intervals.len() == INTERVALS {
                self.intervals.pop_front();
            }
            self.intervals.push_back(now - last);
        }
        self.last_shown = Some(now);
    }

    /// The measured part of a freeze, if the interval between two frames is one.
    fn freeze(&self, last: Instant, next: Instant) -> Span {
        let count = self.intervals.len();
        if count < FEWEST_INTERVALS {
            return Span::ZERO;
        }
        let mean = self.intervals.iter().copied().sum::<Span>() / count as u64;
        let Some(began) = self.began.filter(|_| next - last >= (mean * 3).max(mean + FREEZE)) else {
            return Span::ZERO;
        };
        next - last.max(began)
    }

    fn share(&self) -> Option<f64> {
        let began = self.began?;
        let Some(last) = self.last_shown.filter(|last| *last > began) else { return Some(1.0) };
        // The last created frame may still be awaited.
        let end = last.max(self.last_created);
        let frozen = self.frozen + self.freeze(last, end);
        Some(frozen.as_secs_f64() / (end - began).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    /// The share of freezes if frames are created and shown at these times.
    fn share(shown: impl IntoIterator<Item = u64>) -> f64 {
        let mut freezes = Freezes::default();
        freezes.on_created(at(0));
        for millis in shown {
            freezes.on_shown(at(millis));
        }
        freezes.share().unwrap()
    }

    #[test]
    fn a_freeze_is_a_gap_that_is_long_in_itself_and_against_the_others() {
        let even = || (0..10).map(|frame| 33 * frame);
        assert!(share(even()) < 1e-9);
        // 33 + 150 ms is the bound.
        assert!(share(even().chain([297 + 182])) < 1e-9);
        assert!((share(even().chain([297 + 183])) - 183.0 / 480.0).abs() < 1e-9);
        // For slow frames the limit is three intervals.
        let slow = || (0..10).map(|frame| 100 * frame);
        assert!(share(slow().chain([900 + 299])) < 1e-9 && share(slow().chain([900 + 300])) > 0.2);
    }

    #[test]
    fn a_picture_that_never_comes_back_is_frozen_to_the_end() {
        let mut freezes = Freezes::default();
        assert_eq!(freezes.share(), None);
        freezes.on_created(at(0));
        assert_eq!(freezes.share(), Some(1.0));
        for frame in 0..10 {
            freezes.on_created(at(33 * frame));
            freezes.on_shown(at(33 * frame));
        }
        freezes.on_created(at(1297));
        assert!((freezes.share().unwrap() - 1000.0 / 1297.0).abs() < 1e-9);
    }

    fn coded(meter: &mut VideoMeter, frame: u64) {
        let rate = BitRate::from_mbps(10);
        meter.on_coded(at(33 * frame), (frame, false, ByteCount::new(4000)), 4, rate, true);
    }

    #[test]
    fn a_row_waits_for_the_frame_and_for_all_its_packets() {
        let (mut meter, mut latency) = (VideoMeter::new(0, Span::from_millis(100)), FlowLatency::new());
        coded(&mut meter, 0);
        for lost in [false, true, false] {
            assert_eq!(meter.on_settled(0, lost), None);
        }
        meter.on_complete(at(40), 0, (1, 0, PacketWay::Recovered), &mut latency);
        assert_eq!(meter.on_decoded(at(101), 0, &mut latency), (ByteCount::new(4000), None));
        let row = meter.on_settled(0, false).unwrap();
        assert_eq!((row.fate, row.lost, row.recovered), (FrameFate::Late, Some(1), Some(1)));
        assert_eq!((row.complete, row.delivered), (at(40), at(101)));
        assert_eq!(latency.first_time_frames().unwrap().max(), Span::from_millis(40));
        // Lost and settled: a row at once. The last one is incomplete at the end of the run.
        for frame in 1..4 {
            coded(&mut meter, frame);
        }
        for _ in 0..4 {
            assert_eq!(meter.on_settled(2, true), None);
        }
        assert_eq!(meter.on_given_up(1, 3).unwrap().frame, 2);
        assert_eq!(meter.on_given_up(1, 3), None);
        let summary = meter.summary(Span::from_secs(1), at(150), &latency);
        assert_eq!(summary.deadline_miss_rate, Some(1.0));
        let expected = FrameCounts { created: 4, delivered: 1, late: 1, lost: 2, skipped: 0, unfinished: 1 };
        assert_eq!(summary.frames, expected);
        assert_eq!(
            (summary.frames_lossy_share, summary.frames_over_20pct_loss_share),
            (Some(1.0), Some(1.0))
        );
        assert_eq!(meter.remaining().count(), 2);
    }
}
