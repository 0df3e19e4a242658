//! The ends of flows: TCP connections, the applications that write to them, and the wire between access point and server.

use airbound_control::frame::{DropReason, FlowId, Payload};
use airbound_senders::tcp::{Ack, Backlog};
use airbound_units::{ByteCount, Instant};

use super::carrier::Carried;
use super::contention::edcaf_of;
use super::{ACCESS_POINT, Arrival, Event, Simulation};
use crate::flow::tcp::{SEGMENT_HEADERS, Side};
use crate::flow::{Direction, Ends};
use crate::packet::{Header, Kind, Packet};
use airbound_traffic::{Application, Write};

impl Simulation {
    /// A packet left the receiver's reordering buffer at `released`.
    #[inline]
    pub(super) fn deliver(&mut self, arrival: &Arrival, released: Instant) {
        let packet = &arrival.packet;
        let flow = &self.parts.flows[packet.flow.0 as usize];
        let (ends, reacts) = (flow.ends, flow.ends != Ends::Datagrams);
        if packet.to != flow.ends_at() {
            self.relay(arrival, released);
            return;
        }
        let goes_on = packet.to == ACCESS_POINT;
        let arrived = if goes_on {
            self.parts.wire_up.transit(packet.flow.0 as usize, released, packet.size())
        } else {
            Some(released)
        };
        let Some(arrived) = arrived else {
            let reason = DropReason::Wire;
            self.forget(packet, reason);
            self.parts.meters.on_dropped(self.now, packet, reason);
            return;
        };
        self.parts.meters.on_delivered(arrival, released, arrived);
        if reacts && goes_on {
            self.schedule(arrived, Event::AtServer(*packet));
        } else if reacts {
            self.at_destination(ends, packet, self.now);
        }
    }

    /// Passes a packet on towards its destination. The relay has it when the exchange that brought it has ended.
    fn relay(&mut self, arrival: &Arrival, released: Instant) {
        let relay = arrival.packet.to;
        let flow = &self.parts.flows[arrival.packet.flow.0 as usize];
        let before = self.parts.tree.previous_hop(relay, flow);
        let next = self.parts.tree.next_hop(relay, flow);
        self.parts.meters.on_relayed(before, arrival, released);
        self.take_in(relay);
        self.admit(relay, self.now, arrival.packet.onwards(next, self.now));
    }

    pub(super) fn on_packet_at_server(&mut self, packet: Packet) {
        let ends = self.parts.flows[packet.flow.0 as usize].ends;
        self.at_destination(ends, &packet, self.now);
    }

    /// What a packet does where it arrives.
    fn at_destination(&mut self, ends: Ends, packet: &Packet, now: Instant) {
        match ends {
            Ends::Datagrams | Ends::Allocated(_) | Ends::Shaped(_) => {}
            Ends::Grants(number) => self.on_grant(number, packet),
            Ends::Carried => self.carried.push(Carried { tag: packet.tag, lost: None }),
            Ends::Reports(number) => self.on_report_packet(number, packet),
            Ends::Media(number) => self.on_media(number, packet, now),
            Ends::Feedback(number) => self.on_feedback(number, packet, now),
            Ends::Data(number) => {
                let length = packet.size().as_u64().saturating_sub(SEGMENT_HEADERS) as u32;
                let connection = &mut self.parts.connections[number];
                // What belongs to an earlier connection of the flow came too late.
                let Some(seq) = packet.tag.checked_sub(connection.base) else { return };
                let before = connection.delivered();
                let ack = connection.receiver.on_segment(now, seq, length, packet.sent);
                let after = connection.delivered();
                if after > before {
                    self.on_stream_progress(number, before, after, now);
                }
                if let Some(ack) = ack {
                    self.send_ack(number, ack);
                }
                self.schedule_tcp(number);
            }
            Ends::Acknowledgements(number) => {
                let connection = &mut self.parts.connections[number];
                if let Some(ack) = connection.in_flight.take(packet.number) {
                    connection.sender.on_ack(now, &ack);
                    if let Some(round_trip) = connection.sender.last_rtt() {
                        self.parts.meters.on_round_trip(connection.data, now, round_trip);
                    }
                    connection.fill_buffer(now);
                    self.drive(number);
                }
            }
        }
    }

    /// The receiver of a connection has more bytes in order.
    fn on_stream_progress(&mut self, number: usize, before: u64, after: u64, now: Instant) {
        let connection = &mut self.parts.connections[number];
        let meters = &mut self.parts.meters;
        meters.on_stream_bytes(connection.data, now, ByteCount::new(after - before));
        match &mut connection.application {
            Application::Video(video) => {
                for frame in video.completed(after) {
                    meters.on_frame_delivered(connection.data, frame.frame, frame.created, frame.size, now);
                }
            }
            Application::Transfers { size, open, .. } => {
                if let Some(transfer) = open.filter(|transfer| transfer.end <= after) {
                    *open = None;
                    // The record lists a transfer as it lists a video frame.
                    let count = transfer.end / size.as_u64().max(1) - 1;
                    meters.on_frame_delivered(connection.data, count, transfer.began, *size, now);
                    self.schedule_application(number);
                }
            }
            Application::Bulk { .. } | Application::Paced { .. } => {}
        }
    }

    fn send_ack(&mut self, number: usize, ack: Ack) {
        let connection = &mut self.parts.connections[number];
        let count = connection.acks;
        connection.acks += 1;
        connection.in_flight.put(count, ack);
        let tag = connection.base + ack.cumulative;
        let flow = connection.acknowledgements;
        self.send(flow, count, Kind::Acknowledgement, tag, ByteCount::new(SEGMENT_HEADERS));
    }

    /// Sends what the sender of a connection wants to send, and sets its timers.
    pub(super) fn drive(&mut self, number: usize) {
        let now = self.now;
        while let Some(segment) = self.parts.connections[number].sender.poll_transmit(now) {
            let connection = &mut self.parts.connections[number];
            let count = connection.segments;
            connection.segments += 1;
            let (flow, tag) = (connection.data, connection.base + segment.seq);
            let size = ByteCount::new(u64::from(segment.len) + SEGMENT_HEADERS);
            self.send(flow, count, Kind::Segment, tag, size);
        }
        self.schedule_tcp(number);
    }

    /// Sends a packet of a flow from the end where the flow begins.
    pub(super) fn send(&mut self, flow: FlowId, number: u64, kind: Kind, tag: u64, size: ByteCount) {
        let details = &self.parts.flows[flow.0 as usize];
        let (node, category) = (details.begins_at(), details.category);
        let header = Header { flow, to: self.parts.tree.next_hop(node, details), category };
        let packet = Packet::new(header, number, kind, tag, size, self.now);
        match details.direction {
            Direction::Down => {
                let feed = &mut self.parts.nodes[ACCESS_POINT.index()].feed;
                let arrival = feed.push(packet, &mut self.parts.meters);
                match arrival {
                    None => self.forget(&packet, DropReason::Wire),
                    Some(at) if !self.parts.edcafs[edcaf_of(ACCESS_POINT, category)].is_ready() => {
                        self.wake_at(ACCESS_POINT, at);
                    }
                    Some(_) => {}
                }
            }
            Direction::Up => self.originate(node, packet),
        }
    }

    /// Sets the timers of a connection to what its ends ask for.
    fn schedule_tcp(&mut self, number: usize) {
        let connection = &mut self.parts.connections[number];
        let deadlines = [connection.sender.next_deadline(), connection.receiver.next_deadline()];
        for (side, deadline) in [Side::Sender, Side::Receiver].into_iter().zip(deadlines) {
            let pending = &mut self.parts.connections[number].timers[side as usize];
            if let Some(at) = deadline.filter(|at| *at < *pending) {
                *pending = at;
                self.schedule(at, Event::TcpTimer(number, side));
            }
        }
    }

    pub(super) fn on_tcp_timer(&mut self, number: usize, side: Side) {
        let now = self.now;
        let connection = &mut self.parts.connections[number];
        if connection.timers[side as usize] > now {
            return;
        }
        connection.timers[side as usize] = Instant::MAX;
        match side {
            Side::Sender => {
                if connection.sender.next_deadline().is_some_and(|at| at <= now) {
                    connection.sender.on_deadline(now);
                }
                self.drive(number);
            }
            Side::Receiver => {
                if connection.receiver.next_deadline().is_some_and(|at| at <= now)
                    && let Some(ack) = connection.receiver.on_deadline(now)
                {
                    self.send_ack(number, ack);
                }
                self.schedule_tcp(number);
            }
        }
    }

    pub(super) fn schedule_application(&mut self, number: usize) {
        if let Some(at) = self.parts.connections[number].application.next() {
            self.schedule(at, Event::Application(number));
        }
    }

    pub(super) fn on_application(&mut self, number: usize) {
        let now = self.now;
        let connection = &mut self.parts.connections[number];
        let unsent = connection.sender.unsent() + connection.unwritten;
        let (write, skipped) = connection.application.on_time(now, unsent, connection.written);
        if let Some(frame) = skipped {
            self.parts.meters.on_frame_skipped(connection.data, frame.frame, frame.created);
        }
        match write {
            Write::Nothing => {}
            Write::Unlimited => {
                connection.sender.write(now, Backlog::Unlimited);
                self.drive(number);
            }
            Write::Bytes(bytes) | Write::Anew(bytes) => {
                if matches!(write, Write::Anew(_)) {
                    connection.renew();
                }
                connection.written += bytes.as_u64();
                connection.unwritten += bytes;
                self.parts.meters.on_offered(connection.data, now, bytes);
                connection.fill_buffer(now);
                self.drive(number);
            }
            Write::End => connection.sender.end_backlog(),
        }
        self.schedule_application(number);
    }

    /// The run ends: says which video frames are still under way.
    pub(crate) fn end_frames(&mut self) {
        let meters = &mut self.parts.meters;
        for connection in &self.parts.connections {
            if let Application::Video(video) = &connection.application {
                for frame in &video.pending {
                    meters.on_frame_unfinished(connection.data, frame.frame, frame.created, frame.size);
                }
            }
        }
        meters.end_frames_of_datagrams();
        meters.end_frames_of_media();
    }

    /// A packet is gone for good: what it refers to is freed.
    pub(super) fn forget(&mut self, packet: &Packet, reason: DropReason) {
        match self.parts.flows[packet.flow.0 as usize].ends {
            Ends::Acknowledgements(number) => {
                self.parts.connections[number].in_flight.take(packet.number);
            }
            Ends::Reports(number) => {
                self.parts.allocated[number].take(packet.number);
            }
            Ends::Media(number) | Ends::Feedback(number) => self.forget_media(number, packet),
            Ends::Carried => self.carried.push(Carried { tag: packet.tag, lost: Some(reason) }),
            Ends::Datagrams | Ends::Data(_) | Ends::Allocated(_) | Ends::Shaped(_) | Ends::Grants(_) => {}
        }
    }
}
