//! The source of real-time video: a camera's frames, coded at the rate that congestion control leaves for them.

use std::collections::VecDeque;

use airbound_senders::rtp::gcc::LONGEST_QUEUE;
use airbound_traffic::{EncodedFrame, Encoder};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::sender::{RtpSender, Written};

/// The time over which the share of other data than coded video is measured.
const OVERHEAD_WINDOW: Span = Span::from_secs(1);
/// Upper limit on that share: video keeps at least half of the rate (as libwebrtc limits protection).
const MOST_OVERHEAD: f64 = 0.5;

/// Bytes produced for one frame: coded video, and all else.
#[derive(Debug, Clone, Copy)]
struct Spent {
    at: Instant,
    coded: ByteCount,
    other: ByteCount,
}

/// Result of a capture.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Captured {
    /// A coded frame, and the number of its packets.
    Coded(EncodedFrame, u32),
    /// A skipped frame, by its number.
    Skipped(u64),
}

/// The coded video of a source, and its times.
#[derive(Debug)]
pub(crate) struct Video {
    pub(crate) encoder: Encoder,
    /// Largest rate of coded video.
    pub(crate) rate: BitRate,
    /// Expected share of other data than coded video, until it is measured.
    pub(crate) overhead: f64,
    /// Time of the first capture.
    pub(crate) first: Instant,
    pub(crate) interval: Span,
    pub(crate) stop: Instant,
}

/// The source.
#[derive(Debug)]
pub(crate) struct VideoSource {
    video: Video,
    captured: u64,
    spent: VecDeque<Spent>,
}

impl VideoSource {
    /// A source that codes at the rate that the sender has now.
    pub(crate) fn new(video: Video, sender: &RtpSender) -> Self {
        let mut source = Self { video, captured: 0, spent: VecDeque::new() };
        source.set_rate(Instant::ZERO, sender);
        source
    }

    /// The rate of coded video in force.
    pub(crate) const fn coded_rate(&self) -> BitRate {
        self.video.encoder.rate()
    }

    /// The time of the next capture.
    pub(crate) fn next_capture(&self) -> Option<Instant> {
        let at = self.video.first + self.video.interval * self.captured;
        (at < self.video.stop).then_some(at)
    }

    /// Captures the frame that is due, if one is, and passes it to the sender.
    pub(crate) fn capture(&mut self, now: Instant, sender: &mut RtpSender) -> Option<Captured> {
        if self.next_capture().is_none_or(|at| at > now) {
            return None;
        }
        self.captured += 1;
        // As in libwebrtc's sender: frames that could not be sent within two seconds are not coded.
        if sender.pacer().queue_time() > LONGEST_QUEUE || sender.is_behind(now) {
            return Some(Captured::Skipped(self.video.encoder.skip()));
        }
        self.set_rate(now, sender);
        let frame = self.video.encoder.encode(now);
        let written = Written { number: frame.number, size: frame.size, is_key: frame.is_key };
        let (packets, sent) = sender.write(now, written);
        self.spent.push_back(Spent { at: now, coded: frame.size, other: sent - frame.size });
        Some(Captured::Coded(frame, packets))
    }

    /// Counts packets that were sent again.
    pub(crate) fn on_resent(&mut self, bytes: ByteCount) {
        if let Some(last) = self.spent.back_mut() {
            last.other += bytes;
        }
    }

    /// Handles a request for a key frame.
    pub(crate) fn on_key_frame_request(&mut self) {
        self.video.encoder.request_key_frame();
    }

    /// Sets the encoder's rate: the part of the sender's that headers, parity packets and retransmissions leave.
    pub(crate) fn set_rate(&mut self, now: Instant, sender: &RtpSender) {
        while self.spent.front().is_some_and(|spent| now - spent.at > OVERHEAD_WINDOW) {
            self.spent.pop_front();
        }
        let sum = |of: fn(&Spent) -> ByteCount| self.spent.iter().map(of).sum::<ByteCount>().as_u64() as f64;
        let (coded, other) = (sum(|spent| spent.coded), sum(|spent| spent.other));
        let overhead = if coded > 0.0 { other / (coded + other) } else { self.video.overhead };
        let control = sender.control();
        let left = if control.report_interval().is_some() { 1.0 - overhead.min(MOST_OVERHEAD) } else { 1.0 };
        self.video.encoder.set_rate(control.target().mul_f64(left).min(self.video.rate));
    }
}
