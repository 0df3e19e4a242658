//! Real-time video: its sender and receiver, and what is under way between them.

use airbound_control::frame::{DropReason, Payload};
use airbound_units::Instant;

use super::{Counts, Endpoint, Outbox, Outgoing, Timer};
use crate::flow::rtc::sender::Captured;
use crate::flow::rtc::{Content, Feedback, Session};
use crate::packet::{Kind, Packet};

const SENDER: Timer = Timer(0);
const RECEIVER: Timer = Timer(1);

impl Endpoint for Session {
    fn begin(&mut self, out: &mut Outbox<'_>) {
        self.set_timers(out);
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        if packet.kind == Kind::Feedback {
            self.on_feedback(now, packet, out);
        } else {
            self.on_media(now, packet, out);
        }
    }

    fn on_lost(&mut self, _now: Instant, packet: &Packet, _reason: DropReason, counts: &mut Counts<'_>) {
        if packet.kind == Kind::Feedback {
            self.feedback_in_flight.take(packet.number);
        } else if let Some(Content::Media(lost)) = self.media_in_flight.take(packet.number) {
            debug_assert_eq!(packet.flow(), self.media);
            counts.meters().on_media_settled(self.media, lost.frame, true);
        }
    }

    fn on_timer(&mut self, now: Instant, timer: Timer, out: &mut Outbox<'_>) {
        let pending = &mut self.timers[timer.0 as usize];
        if *pending > now {
            return;
        }
        *pending = Instant::MAX;
        if timer == RECEIVER {
            return self.answer(now, out);
        }
        if let Some(captured) = self.sender.on_time(now) {
            let (flow, allowed) = (self.media, self.sender.allowed());
            match captured {
                Captured::Coded(frame, packets) => {
                    out.meters().on_frame_coded(flow, now, &frame, packets, allowed);
                }
                Captured::Skipped(frame) => out.meters().on_frame_left_out(flow, now, frame),
            }
        }
        self.drive(now, out);
    }
}

impl Session {
    /// A packet of media is at the receiver.
    fn on_media(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        let Some(content) = self.media_in_flight.take(packet.number) else { return };
        if let Content::Media(packet) = &content {
            out.meters().on_media_settled(self.media, packet.frame, false);
        }
        if let Some(round_trip) = self.sender.round_trip() {
            self.receiver.on_round_trip(round_trip);
        }
        let mut events = Vec::new();
        self.receiver.on_packet(now, packet.number, content, &mut events);
        for event in &events {
            out.meters().on_frame_event(self.media, now, event);
        }
        self.answer(now, out);
    }

    /// The receiver's feedback is at the sender.
    fn on_feedback(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        match self.feedback_in_flight.take(packet.number) {
            Some(Feedback::Report(report)) => self.sender.on_report(now, &report),
            Some(Feedback::Nack(sequences)) => self.sender.on_nack(now, &sequences),
            Some(Feedback::KeyFrameRequest) => self.sender.on_key_frame_request(),
            None => return,
        }
        self.drive(now, out);
    }

    /// Sends the receiver's feedback that is due.
    fn answer(&mut self, now: Instant, out: &mut Outbox<'_>) {
        while let Some(feedback) = self.receiver.poll(now) {
            let (number, size) = (self.sent_back, feedback.size());
            out.meters().on_feedback_sent(self.media, now, &feedback, size);
            self.sent_back += 1;
            self.feedback_in_flight.put(number, feedback);
            out.send(Outgoing { flow: self.feedback, number, kind: Kind::Feedback, tag: 0, size });
        }
        self.set_timers(out);
    }

    /// Sends the media that may leave now.
    fn drive(&mut self, now: Instant, out: &mut Outbox<'_>) {
        while let Some((content, size)) = self.sender.poll(now) {
            let (flow, number, tag) = (self.media, self.sent, content.frame());
            out.meters().on_media_sent(flow, now, &content, size);
            self.sent += 1;
            self.media_in_flight.put(number, content);
            out.send(Outgoing { flow, number, kind: Kind::Media, tag, size });
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
}
