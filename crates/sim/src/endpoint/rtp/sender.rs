//! The sender of real-time video: encoder, forward error correction, pacer, congestion control, retransmissions.

use std::collections::VecDeque;

use airbound_senders::rtp::RetransmissionHistory;
use airbound_senders::rtp::fec::{self, FecEncoder};
use airbound_senders::rtp::gcc::{LONGEST_QUEUE, Pacer, PacketSent, Priority, TransportFeedback};
use airbound_senders::rtp::rate::MediaRate;
use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::frames::MediaPacket;
use super::{Content, HEADERS, ORIGINAL_SEQUENCE};
use airbound_traffic::{EncodedFrame, Encoder};

/// Media packets that parity packets may still cover: two of the longest blocks.
const COVERED: usize = 400;
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

/// The parts of a sender.
pub(crate) struct SenderParts {
    pub(crate) control: Box<dyn MediaRate>,
    pub(crate) encoder: Encoder,
    pub(crate) fec: Option<FecEncoder>,
    pub(crate) history: Option<RetransmissionHistory<(MediaPacket, ByteCount)>>,
    /// Largest rate of coded video.
    pub(crate) rate: BitRate,
    /// Upper limit on coded video in a packet.
    pub(crate) payload: ByteCount,
    /// Expected share of other data than coded video, until it is measured.
    pub(crate) overhead: f64,
    /// Time of the first capture.
    pub(crate) first: Instant,
    pub(crate) interval: Span,
    pub(crate) stop: Instant,
}

/// The sender.
pub(crate) struct RtpSender {
    parts: SenderParts,
    pacer: Pacer<(Content, ByteCount)>,
    captured: u64,
    /// The number of the next media packet, and of the next packet of any kind.
    sequence: u64,
    transport_sequence: u64,
    /// The last media packets, for parity packets that cover them.
    recent: VecDeque<MediaPacket>,
    spent: VecDeque<Spent>,
}

impl RtpSender {
    pub(crate) fn new(parts: SenderParts) -> Self {
        let mut sender = Self {
            pacer: Pacer::new(parts.control.pacing()),
            parts,
            captured: 0,
            sequence: 0,
            transport_sequence: 0,
            recent: VecDeque::new(),
            spent: VecDeque::new(),
        };
        sender.set_rates(Instant::ZERO);
        sender
    }

    /// The rate that congestion control allows for all data.
    pub(crate) fn allowed(&self) -> BitRate {
        self.parts.control.target()
    }

    /// The rate of coded video in force.
    pub(crate) const fn coded_rate(&self) -> BitRate {
        self.parts.encoder.rate()
    }

    /// Returns the size of the pacer's queue.
    pub(crate) fn waiting(&self) -> ByteCount {
        self.pacer.queue_size()
    }

    /// The round trip, if it is measured.
    pub(crate) fn round_trip(&self) -> Option<Span> {
        self.parts.control.path().round_trip
    }

    /// When it has to be called next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let control = self.parts.control.deadline();
        [self.next_capture(), self.pacer.next_deadline(), control].into_iter().flatten().min()
    }

    fn next_capture(&self) -> Option<Instant> {
        let at = self.parts.first + self.parts.interval * self.captured;
        (at < self.parts.stop).then_some(at)
    }

    /// Handles passed time; returns the result of a capture.
    pub(crate) fn on_time(&mut self, now: Instant) -> Option<Captured> {
        if self.parts.control.deadline().is_some_and(|due| due <= now) {
            self.parts.control.on_deadline(now);
            self.set_rates(now);
        }
        if self.next_capture().is_none_or(|at| at > now) {
            return None;
        }
        self.captured += 1;
        // As in libwebrtc's sender: frames that could not be sent within two seconds are not coded.
        if self.pacer.queue_time() > LONGEST_QUEUE {
            return Some(Captured::Skipped(self.parts.encoder.skip()));
        }
        Some(self.code(now))
    }

    /// Codes a frame, splits it into packets as equal as possible, and passes them to the pacer, followed by parity packets.
    fn code(&mut self, now: Instant) -> Captured {
        self.set_rates(now);
        let frame = self.parts.encoder.encode(now);
        let packets = frame.size.as_u64().div_ceil(self.parts.payload.as_u64()).max(1);
        let (first, mut sent) = (self.sequence, ByteCount::ZERO);
        for index in 0..packets {
            let edge = |index: u64| frame.size.as_u64() * index / packets;
            let size = ByteCount::new(edge(index + 1) - edge(index)) + HEADERS;
            let packet = MediaPacket {
                sequence: self.sequence,
                frame: frame.number,
                first,
                of: packets as u32,
                is_key: frame.is_key,
            };
            self.sequence += 1;
            self.recent.push_back(packet);
            self.pacer.enqueue(now, Priority::Video, size, (Content::Media(packet), size));
            sent += size + self.protect(now, &packet, size, index + 1 == packets);
        }
        while self.recent.len() > COVERED.max(packets as usize) {
            self.recent.pop_front();
        }
        self.spent.push_back(Spent { at: now, coded: frame.size, other: sent - frame.size });
        Captured::Coded(frame, packets as u32)
    }

    /// Makes the parity packets that follow a packet. Returns their size.
    fn protect(&mut self, now: Instant, packet: &MediaPacket, size: ByteCount, ends: bool) -> ByteCount {
        let Some(fec) = &mut self.parts.fec else { return ByteCount::ZERO };
        let parities = fec.on_media(fec::MediaPacket { sequence: packet.sequence, size }, ends);
        let base = self.recent.front().map_or(0, |oldest| oldest.sequence);
        let mut bytes = ByteCount::ZERO;
        for parity in parities {
            let recent = |sequence: &u64| self.recent.get(sequence.checked_sub(base)? as usize).copied();
            let covered = parity.covers.iter().filter_map(recent).collect();
            let size = parity.size;
            bytes += size;
            let content = Content::Parity { frame: packet.frame, parity, covered };
            self.pacer.enqueue(now, Priority::Video, size, (content, size));
        }
        bytes
    }

    /// Returns the next packet to send now, with its size from the IP header on. Call until `None`.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<(Content, ByteCount)> {
        self.start_probes(now);
        let mut next = self.pacer.poll(now);
        if next.is_none()
            && let Some(wanted) = self.pacer.padding_wanted(now)
        {
            // No packet is available for a probe.
            let size = wanted.clamp(HEADERS, self.parts.payload + HEADERS);
            self.pacer.enqueue(now, Priority::Padding, size, (Content::Padding, size));
            next = self.pacer.poll(now);
        }
        let ((content, size), probe) = next?;
        match (&content, &mut self.parts.history) {
            (Content::Media(packet), Some(history)) => history.on_sent(now, packet.sequence, (*packet, size)),
            (Content::Retransmission(packet), Some(history)) => history.on_resent(now, packet.sequence),
            _ => {}
        }
        self.parts.control.on_sent(now, PacketSent { sequence: self.transport_sequence, size, probe });
        self.transport_sequence += 1;
        Some((content, size))
    }

    /// Handles a report of the receiver.
    pub(crate) fn on_report(&mut self, now: Instant, report: &TransportFeedback) {
        self.parts.control.on_feedback(now, report);
        if let (Some(round_trip), Some(history)) = (self.round_trip(), &mut self.parts.history) {
            history.on_round_trip(round_trip);
        }
        self.set_rates(now);
    }

    /// Handles a request for missing packets.
    pub(crate) fn on_nack(&mut self, now: Instant, sequences: &[u64]) {
        let Some(history) = &mut self.parts.history else { return };
        for sequence in sequences {
            if let Some((packet, size)) = history.request(now, *sequence).copied() {
                let size = size + ORIGINAL_SEQUENCE;
                let content = Content::Retransmission(packet);
                self.pacer.enqueue(now, Priority::Retransmission, size, (content, size));
                if let Some(last) = self.spent.back_mut() {
                    last.other += size;
                }
            }
        }
    }

    /// Handles a request for a key frame.
    pub(crate) fn on_key_frame_request(&mut self) {
        self.parts.encoder.request_key_frame();
    }

    fn start_probes(&mut self, now: Instant) {
        while let Some(cluster) = self.parts.control.next_probe(now) {
            self.pacer.start_probe(now, cluster);
        }
    }

    /// Sets the rates of pacer and encoder according to congestion control: the encoder gets the part not used by headers, parity
    /// packets and retransmissions.
    fn set_rates(&mut self, now: Instant) {
        self.pacer.set_rate(now, self.parts.control.pacing());
        while self.spent.front().is_some_and(|spent| now - spent.at > OVERHEAD_WINDOW) {
            self.spent.pop_front();
        }
        let sum = |of: fn(&Spent) -> ByteCount| self.spent.iter().map(of).sum::<ByteCount>().as_u64() as f64;
        let (coded, other) = (sum(|spent| spent.coded), sum(|spent| spent.other));
        let overhead = if coded > 0.0 { other / (coded + other) } else { self.parts.overhead };
        let left = if self.parts.control.takes_reports() { 1.0 - overhead.min(MOST_OVERHEAD) } else { 1.0 };
        self.parts.encoder.set_rate(self.allowed().mul_f64(left).min(self.parts.rate));
    }
}
