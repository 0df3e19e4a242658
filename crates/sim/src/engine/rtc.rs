//! Sessions of real-time video: what their ends do when packets arrive and when their time comes.

use airbound_control::frame::Payload;
use airbound_units::Instant;

use super::{Event, Simulation};
use crate::flow::rtc::sender::Captured;
use crate::flow::rtc::{Content, Feedback};
use crate::flow::tcp::Side;
use crate::packet::{Kind, Packet};

impl Simulation {
    /// Schedules the first frames.
    pub(super) fn begin_sessions(&mut self) {
        for number in 0..self.parts.sessions.len() {
            self.schedule_session(number);
        }
    }

    /// A packet of media is at the receiver.
    pub(super) fn on_media(&mut self, number: usize, packet: &Packet, now: Instant) {
        let session = &mut self.parts.sessions[number];
        let Some(content) = session.media_in_flight.take(packet.number) else { return };
        let meters = &mut self.parts.meters;
        if let Content::Media(packet) = &content {
            meters.on_media_settled(session.media, packet.frame, false);
        }
        if let Some(round_trip) = session.sender.round_trip() {
            session.receiver.on_round_trip(round_trip);
        }
        let mut events = Vec::new();
        session.receiver.on_packet(now, packet.number, content, &mut events);
        for event in &events {
            meters.on_frame_event(session.media, now, event);
        }
        self.answer(number);
    }

    /// What the receiver sent back is at the sender.
    pub(super) fn on_feedback(&mut self, number: usize, packet: &Packet, now: Instant) {
        let session = &mut self.parts.sessions[number];
        match session.feedback_in_flight.take(packet.number) {
            Some(Feedback::Report(report)) => session.sender.on_report(now, &report),
            Some(Feedback::Nack(sequences)) => session.sender.on_nack(now, &sequences),
            Some(Feedback::KeyFrameRequest) => session.sender.on_key_frame_request(),
            None => return,
        }
        self.drive_session(number);
    }

    /// The receiver sends back what it has to.
    fn answer(&mut self, number: usize) {
        while let Some(feedback) = self.parts.sessions[number].receiver.poll(self.now) {
            let session = &mut self.parts.sessions[number];
            let (flow, count, size) = (session.feedback, session.sent_back, feedback.size());
            self.parts.meters.on_feedback_sent(session.media, self.now, &feedback, size);
            session.sent_back += 1;
            session.feedback_in_flight.put(count, feedback);
            self.send(flow, count, Kind::Feedback, 0, size);
        }
        self.schedule_session(number);
    }

    /// The sender sends what may leave now.
    fn drive_session(&mut self, number: usize) {
        while let Some((content, size)) = self.parts.sessions[number].sender.poll(self.now) {
            let session = &mut self.parts.sessions[number];
            let (flow, count, tag) = (session.media, session.sent, content.frame());
            self.parts.meters.on_media_sent(flow, self.now, &content, size);
            session.sent += 1;
            session.media_in_flight.put(count, content);
            self.send(flow, count, Kind::Media, tag, size);
        }
        self.schedule_session(number);
    }

    /// Sets the timers of a session to what its ends ask for.
    fn schedule_session(&mut self, number: usize) {
        let session = &self.parts.sessions[number];
        let deadlines = [session.sender.next_deadline(), session.receiver.next_deadline()];
        for (side, deadline) in [Side::Sender, Side::Receiver].into_iter().zip(deadlines) {
            let pending = &mut self.parts.sessions[number].timers[side as usize];
            if let Some(at) = deadline.filter(|at| *at < *pending) {
                *pending = at;
                self.schedule(at, Event::SessionTimer(number, side));
            }
        }
    }

    pub(super) fn on_session_timer(&mut self, number: usize, side: Side) {
        let now = self.now;
        let session = &mut self.parts.sessions[number];
        if session.timers[side as usize] > now {
            return;
        }
        session.timers[side as usize] = Instant::MAX;
        match side {
            Side::Sender => {
                if let Some(captured) = session.sender.on_time(now) {
                    let (flow, allowed) = (session.media, session.sender.allowed());
                    match captured {
                        Captured::Coded(frame, packets) => {
                            self.parts.meters.on_frame_coded(flow, now, &frame, packets, allowed);
                        }
                        Captured::Skipped(frame) => self.parts.meters.on_frame_left_out(flow, now, frame),
                    }
                }
                self.drive_session(number);
            }
            Side::Receiver => self.answer(number),
        }
    }

    /// A packet of a session is gone for good.
    pub(super) fn forget_media(&mut self, number: usize, packet: &Packet) {
        let session = &mut self.parts.sessions[number];
        if packet.kind == Kind::Feedback {
            session.feedback_in_flight.take(packet.number);
        } else if let Some(Content::Media(lost)) = session.media_in_flight.take(packet.number) {
            debug_assert_eq!(packet.flow(), session.media);
            self.parts.meters.on_media_settled(session.media, lost.frame, true);
        }
    }
}
