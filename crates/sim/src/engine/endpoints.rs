//! The way of packets to and from the endpoints of flows, and the wire between access point and server.

use airbound_control::frame::{DropReason, FlowId, Payload};
use airbound_control::link::Link;
use airbound_units::{BitRate, Instant};

use super::{Arrival, Event, Simulation};
use crate::endpoint::{Answer, AnyEndpoint, Counts, Endpoint, Outbox, Outgoing, Timer};
use crate::flow::ACCESS_POINT;
use crate::flow::Direction;
use crate::flow::EndpointId;
use crate::packet::{Header, Packet};

impl Simulation {
    /// A packet left the receiver's reordering buffer at `released`.
    #[inline]
    pub(super) fn deliver(&mut self, arrival: &Arrival, released: Instant) {
        let packet = &arrival.packet;
        let flow = &self.parts.flows[packet.flow.0 as usize];
        let endpoint = flow.endpoint;
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
        let Some(id) = endpoint else { return };
        if goes_on {
            self.schedule(arrived, Event::AtServer(*packet));
        } else {
            self.at_destination(id, packet);
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
        if let Some(id) = self.parts.flows[packet.flow.0 as usize].endpoint {
            self.at_destination(id, &packet);
        }
    }

    /// Hands a packet to the endpoint of its flow.
    fn at_destination(&mut self, id: EndpointId, packet: &Packet) {
        let now = self.now;
        self.call(id, |endpoint, out| endpoint.on_packet(now, packet, out));
    }

    /// Calls an endpoint and carries out its answers, in order.
    pub(super) fn call(&mut self, id: EndpointId, act: impl FnOnce(&mut AnyEndpoint, &mut Outbox<'_>)) {
        let mut answers = std::mem::take(&mut self.answers);
        let parts = &mut self.parts;
        act(&mut parts.endpoints[id.index()], &mut Outbox::new(&mut answers, &mut parts.meters));
        self.carry_out(id, &mut answers);
        self.answers = answers;
    }

    fn carry_out(&mut self, id: EndpointId, answers: &mut Vec<Answer>) {
        for answer in answers.drain(..) {
            match answer {
                Answer::Send(outgoing) => self.send(outgoing),
                Answer::Wake(at, timer) => self.schedule(at, Event::Timer(id, timer)),
                Answer::Rate(flow, rate) => self.set_rate(flow, rate),
                Answer::Admit(at, packet) => {
                    self.admit(self.parts.flows[packet.flow.0 as usize].begins_at(), at, packet);
                }
                Answer::Settle(station) => self.sleep(station),
                Answer::Ask(station, token) => {
                    self.take_in(station);
                    let (now, backlog) = (self.now, self.parts.nodes[station.index()].link.backlog());
                    self.call(id, |endpoint, out| endpoint.on_backlog(now, token, &backlog, out));
                }
            }
        }
    }

    /// Changes the rate of the constant source of a flow.
    fn set_rate(&mut self, flow: FlowId, rate: BitRate) {
        let parts = &mut self.parts;
        let node = parts.flows[flow.0 as usize].begins_at();
        parts.nodes[node.index()].feed.set_rate(flow.0 as usize, self.now, rate, &mut parts.meters);
    }

    /// Lets all endpoints begin. What begins at the same time does so in the order of transports.
    pub(super) fn begin_endpoints(&mut self) {
        let endpoints = &self.parts.endpoints;
        let mut order: Vec<usize> = (0..endpoints.len()).collect();
        order.sort_by_key(|number| endpoints[*number].precedence());
        for number in order {
            self.call(EndpointId::new(number), |endpoint, out| endpoint.begin(out));
        }
    }

    pub(super) fn on_timer(&mut self, id: EndpointId, timer: Timer) {
        let now = self.now;
        self.call(id, |endpoint, out| endpoint.on_timer(now, timer, out));
    }

    /// Sends a packet of a flow from the end where the flow begins.
    pub(crate) fn send(&mut self, outgoing: Outgoing) {
        let Outgoing { flow, number, kind, tag, size } = outgoing;
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
                    Some(at) if !self.is_ready(ACCESS_POINT, category) => {
                        self.wake_at(ACCESS_POINT, at);
                    }
                    Some(_) => {}
                }
            }
            Direction::Up => self.originate(node, packet),
        }
    }

    /// Ends the run: counts the video frames that are still under way.
    pub(crate) fn end_frames(&mut self) {
        let parts = &mut self.parts;
        for endpoint in &parts.endpoints {
            endpoint.end(&mut Counts::new(&mut parts.meters));
        }
        parts.meters.end_frames_of_datagrams();
        parts.meters.end_frames_of_media();
    }

    /// Frees the content of a packet that is gone for good.
    pub(super) fn forget(&mut self, packet: &Packet, reason: DropReason) {
        let parts = &mut self.parts;
        if let Some(id) = parts.flows[packet.flow.0 as usize].endpoint {
            let counts = &mut Counts::new(&mut parts.meters);
            parts.endpoints[id.index()].on_lost(self.now, packet, reason, counts);
        }
    }
}
