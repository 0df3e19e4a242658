//! The sending side of an RTP stream: packets of frames, forward error correction, pacer, congestion control, retransmissions.
//!
//! The sender takes frames from outside: coded by an encoder ([`super::source`]), or forwarded by a conference's server.

use std::collections::VecDeque;

use airbound_senders::rtp::RetransmissionHistory;
use airbound_senders::rtp::fec::{self, FecEncoder};
use airbound_senders::rtp::gcc::{Pacer, PacketSent, Priority, TransportFeedback};
use airbound_senders::rtp::rate::{FramePart, MediaRate};
use airbound_units::{BitRate, ByteCount, Instant};

use super::frames::MediaPacket;
use super::{Content, HEADERS, ORIGINAL_SEQUENCE};

/// Media packets that parity packets may still cover: two of the longest blocks.
const COVERED: usize = 400;

/// Frames whose time of coding is kept.
const FRAMES: usize = 256;

/// A frame to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    pub(crate) number: u64,
    pub(crate) size: ByteCount,
    pub(crate) is_key: bool,
}

/// The sending side.
#[derive(Debug)]
pub(crate) struct RtpSender {
    control: Box<dyn MediaRate>,
    pacer: Pacer<(Content, ByteCount)>,
    fec: Option<FecEncoder>,
    history: Option<RetransmissionHistory<(MediaPacket, ByteCount)>>,
    /// Upper limit on a frame's bytes in a packet.
    payload: ByteCount,
    /// The number of the next media packet, and of the next packet of any kind.
    sequence: u64,
    transport_sequence: u64,
    /// The last media packets, for parity packets that cover them.
    recent: VecDeque<MediaPacket>,
    /// The last frames, with the time of their coding.
    coded: VecDeque<(u64, Instant)>,
}

impl RtpSender {
    /// A sender whose packets carry up to `payload` bytes of a frame; it retransmits if it has a history.
    pub(crate) fn new(
        control: Box<dyn MediaRate>,
        fec: Option<FecEncoder>,
        history: Option<RetransmissionHistory<(MediaPacket, ByteCount)>>,
        payload: ByteCount,
    ) -> Self {
        Self {
            pacer: Pacer::new(control.pacing()),
            control,
            fec,
            history,
            payload,
            sequence: 0,
            transport_sequence: 0,
            recent: VecDeque::new(),
            coded: VecDeque::new(),
        }
    }

    /// Probes the path before the first frame, too.
    pub(crate) fn probing_without_media(self) -> Self {
        Self { pacer: self.pacer.probing_without_media(), ..self }
    }

    /// The rule for its rate.
    pub(crate) fn control(&self) -> &dyn MediaRate {
        &*self.control
    }

    /// Begins anew with another rule; reports of what was sent before count no more.
    pub(crate) fn set_control(&mut self, now: Instant, control: Box<dyn MediaRate>) {
        self.control = control;
        self.pacer.set_rate(now, self.control.pacing());
    }

    /// The queue of its pacer.
    pub(crate) const fn pacer(&self) -> &Pacer<(Content, ByteCount)> {
        &self.pacer
    }

    /// When it has to be called next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        // A closed window opens by a report or by the rule's deadline.
        let pacer = self.pacer.next_deadline().filter(|at| self.control.may_send(*at));
        [self.control.deadline(), pacer].into_iter().flatten().min()
    }

    /// Handles passed time; returns whether congestion control had something to do.
    pub(crate) fn on_time(&mut self, now: Instant) -> bool {
        let is_due = self.control.deadline().is_some_and(|due| due <= now);
        if is_due {
            self.control.on_deadline(now);
            self.pacer.set_rate(now, self.control.pacing());
        }
        is_due
    }

    /// Splits a frame into packets as equal as possible, and passes them to the pacer, followed by parity packets. Returns their number, and
    /// the bytes of all packets.
    pub(crate) fn write(&mut self, now: Instant, frame: Written) -> (u32, ByteCount) {
        let packets = frame.size.as_u64().div_ceil(self.payload.as_u64()).max(1);
        let (first, mut sent) = (self.sequence, ByteCount::ZERO);
        let since = self.coded.back().map_or(frame.number, |(before, _)| before + 1);
        self.coded.push_back((frame.number, now));
        if self.coded.len() > FRAMES {
            self.coded.pop_front();
        }
        for index in 0..packets {
            let edge = |index: u64| frame.size.as_u64() * index / packets;
            let size = ByteCount::new(edge(index + 1) - edge(index)) + HEADERS;
            let packet = MediaPacket {
                sequence: self.sequence,
                frame: frame.number,
                since,
                first,
                of: packets as u32,
                is_key: frame.is_key,
            };
            self.sequence += 1;
            self.pacer.enqueue(now, Priority::Video, size, (Content::Media(packet), size));
            sent += size + self.protect(now, &packet, size, index + 1 == packets);
        }
        while self.recent.len() > COVERED.max(packets as usize) {
            self.recent.pop_front();
        }
        (packets as u32, sent)
    }

    /// Makes the parity packets that follow a packet. Returns their size.
    fn protect(&mut self, now: Instant, packet: &MediaPacket, size: ByteCount, ends: bool) -> ByteCount {
        let Some(fec) = &mut self.fec else { return ByteCount::ZERO };
        self.recent.push_back(*packet);
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

    /// Whether a packet waits longer than the rule permits before frames are left out.
    pub(crate) fn is_behind(&self, now: Instant) -> bool {
        let Some((longest, oldest)) = self.control.longest_wait().zip(self.pacer.oldest()) else {
            return false;
        };
        now - oldest > longest
    }

    /// Probes a rate that the path is told to have.
    pub(crate) fn request_probe(&mut self, now: Instant, rate: BitRate) {
        if let Some(probes) = self.control.probes() {
            probes.request_probe(now, rate);
        }
    }

    /// Returns the next packet to send now, with its size from the IP header on. Call until `None`.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<(Content, ByteCount)> {
        while let Some(cluster) = self.control.probes().and_then(|probes| probes.next_probe(now)) {
            self.pacer.start_probe(now, cluster);
        }
        if !self.control.may_send(now) {
            return None;
        }
        let mut next = self.pacer.poll(now);
        if next.is_none()
            && let Some(wanted) = self.pacer.padding_wanted(now)
        {
            // No packet is available for a probe.
            let size = wanted.clamp(HEADERS, self.payload + HEADERS);
            self.pacer.enqueue(now, Priority::Padding, size, (Content::Padding, size));
            next = self.pacer.poll(now);
        }
        let ((content, size), probe) = next?;
        match (&content, &mut self.history) {
            (Content::Media(packet), Some(history)) => history.on_sent(now, packet.sequence, (*packet, size)),
            (Content::Retransmission(packet), Some(history)) => history.on_resent(now, packet.sequence),
            _ => {}
        }
        if let Some(MediaPacket { frame, of, .. }) = content.of_frame() {
            let coded = self.coded.iter().rev().find(|(known, _)| known == frame).map_or(now, |(_, at)| *at);
            self.control.on_frame_part(now, FramePart { frame: *frame, packets: *of, coded });
        }
        self.control.on_sent(now, PacketSent { sequence: self.transport_sequence, size, probe });
        self.transport_sequence += 1;
        Some((content, size))
    }

    /// Handles a report of the receiver.
    pub(crate) fn on_report(&mut self, now: Instant, report: &TransportFeedback) {
        self.control.on_feedback(now, report);
        if let (Some(round_trip), Some(history)) = (self.control.path().round_trip, &mut self.history) {
            history.on_round_trip(round_trip);
        }
        self.pacer.set_rate(now, self.control.pacing());
    }

    /// Handles a request for missing packets. Returns the bytes of those that it sends again.
    pub(crate) fn on_nack(&mut self, now: Instant, sequences: &[u64]) -> ByteCount {
        let mut bytes = ByteCount::ZERO;
        let Some(history) = &mut self.history else { return bytes };
        for sequence in sequences {
            if let Some((packet, size)) = history.request(now, *sequence).copied() {
                let size = size + ORIGINAL_SEQUENCE;
                self.pacer.enqueue(
                    now,
                    Priority::Retransmission,
                    size,
                    (Content::Retransmission(packet), size),
                );
                bytes += size;
            }
        }
        bytes
    }
}
