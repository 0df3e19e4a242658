//! TCP: a connection and the application that writes to it.

use airbound_control::frame::{DropReason, Payload};
use airbound_senders::tcp::{Ack, Backlog};
use airbound_units::{ByteCount, Instant};

use super::{Counts, Endpoint, Outbox, Outgoing, Timer};
use crate::flow::tcp::{Connection, SEGMENT_HEADERS};
use crate::packet::{Kind, Packet};
use airbound_traffic::{Application, Write};

const SENDER: Timer = Timer(0);
const RECEIVER: Timer = Timer(1);
const APPLICATION: Timer = Timer(2);

impl Endpoint for Connection {
    fn begin(&mut self, out: &mut Outbox<'_>) {
        self.await_application(out);
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        if packet.kind == Kind::Acknowledgement {
            self.on_acknowledgement(now, packet, out);
        } else {
            self.on_segment(now, packet, out);
        }
    }

    fn on_lost(&mut self, _now: Instant, packet: &Packet, _reason: DropReason, _counts: &mut Counts<'_>) {
        if packet.kind == Kind::Acknowledgement {
            self.in_flight.take(packet.number);
        }
    }

    fn on_timer(&mut self, now: Instant, timer: Timer, out: &mut Outbox<'_>) {
        if timer == APPLICATION {
            return self.on_application(now, out);
        }
        let pending = &mut self.timers[timer.0 as usize];
        if *pending > now {
            return;
        }
        *pending = Instant::MAX;
        if timer == SENDER {
            if self.sender.next_deadline().is_some_and(|at| at <= now) {
                self.sender.on_deadline(now);
            }
            self.drive(now, out);
        } else {
            if self.receiver.next_deadline().is_some_and(|at| at <= now)
                && let Some(ack) = self.receiver.on_deadline(now)
            {
                self.send_ack(ack, out);
            }
            self.set_timers(out);
        }
    }

    fn end(&self, counts: &mut Counts<'_>) {
        if let Application::Video(video) = &self.application {
            for frame in &video.pending {
                counts.meters().on_frame_unfinished(self.data, frame.frame, frame.created, frame.size);
            }
        }
    }
}

impl Connection {
    fn on_segment(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        let length = packet.size().as_u64().saturating_sub(SEGMENT_HEADERS) as u32;
        // A segment of an earlier connection of the flow came too late.
        let Some(seq) = packet.tag.checked_sub(self.base) else { return };
        let before = self.delivered();
        let ack = self.receiver.on_segment(now, seq, length, packet.sent);
        let after = self.delivered();
        if after > before {
            self.on_progress(now, before, after, out);
        }
        if let Some(ack) = ack {
            self.send_ack(ack, out);
        }
        self.set_timers(out);
    }

    fn on_acknowledgement(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        let Some(ack) = self.in_flight.take(packet.number) else { return };
        self.sender.on_ack(now, &ack);
        if let Some(round_trip) = self.sender.last_rtt() {
            out.meters().on_round_trip(self.data, now, round_trip);
        }
        self.fill_buffer(now);
        self.drive(now, out);
    }

    /// The receiver has more bytes in order.
    fn on_progress(&mut self, now: Instant, before: u64, after: u64, out: &mut Outbox<'_>) {
        out.counts().delivered(self.data, now, ByteCount::new(after - before));
        match &mut self.application {
            Application::Video(video) => {
                for frame in video.completed(after) {
                    let (number, created, size) = (frame.frame, frame.created, frame.size);
                    out.meters().on_frame_delivered(self.data, number, created, size, now);
                }
            }
            Application::Transfers { size, open, .. } => {
                if let Some(transfer) = open.filter(|transfer| transfer.end <= after) {
                    *open = None;
                    // The record lists a transfer as it lists a video frame.
                    let count = transfer.end / size.as_u64().max(1) - 1;
                    out.meters().on_frame_delivered(self.data, count, transfer.began, *size, now);
                    self.await_application(out);
                }
            }
            Application::Bulk { .. } | Application::Paced { .. } => {}
        }
    }

    fn send_ack(&mut self, ack: Ack, out: &mut Outbox<'_>) {
        let number = self.acks;
        self.acks += 1;
        self.in_flight.put(number, ack);
        out.send(Outgoing {
            flow: self.acknowledgements,
            number,
            kind: Kind::Acknowledgement,
            tag: self.base + ack.cumulative,
            size: ByteCount::new(SEGMENT_HEADERS),
        });
    }

    /// Sends all segments that may leave now, and sets the timers.
    fn drive(&mut self, now: Instant, out: &mut Outbox<'_>) {
        while let Some(segment) = self.sender.poll_transmit(now) {
            out.send(Outgoing {
                flow: self.data,
                number: self.segments,
                kind: Kind::Segment,
                tag: self.base + segment.seq,
                size: ByteCount::new(u64::from(segment.len) + SEGMENT_HEADERS),
            });
            self.segments += 1;
        }
        self.set_timers(out);
    }

    fn set_timers(&mut self, out: &mut Outbox<'_>) {
        let deadlines = [(SENDER, self.sender.next_deadline()), (RECEIVER, self.receiver.next_deadline())];
        for (timer, deadline) in deadlines {
            let pending = &mut self.timers[timer.0 as usize];
            if let Some(at) = deadline.filter(|at| *at < *pending) {
                *pending = at;
                out.wake_at(at, timer);
            }
        }
    }

    fn await_application(&self, out: &mut Outbox<'_>) {
        if let Some(at) = self.application.next() {
            out.wake_at(at, APPLICATION);
        }
    }

    fn on_application(&mut self, now: Instant, out: &mut Outbox<'_>) {
        let unsent = self.sender.unsent() + self.unwritten;
        let (write, skipped) = self.application.on_time(now, unsent, self.written);
        if let Some(frame) = skipped {
            out.meters().on_frame_skipped(self.data, frame.frame, frame.created);
        }
        match write {
            Write::Nothing => {}
            Write::Unlimited => {
                self.sender.write(now, Backlog::Unlimited);
                self.drive(now, out);
            }
            Write::Bytes(bytes) | Write::Anew(bytes) => {
                if matches!(write, Write::Anew(_)) {
                    self.renew();
                }
                self.written += bytes.as_u64();
                self.unwritten += bytes;
                out.counts().offered(self.data, now, bytes);
                self.fill_buffer(now);
                self.drive(now, out);
            }
            Write::End => self.sender.end_backlog(),
        }
        self.await_application(out);
    }
}
