//! An access point that predicts the delay of real-time packets, and passes it on with the feedback ([`Zhuge`]).
//!
//! Reports that it makes itself do not use the air, and so are not among the packets that are counted there.

use airbound_control::frame::DropReason;
use airbound_control::queue::Zhuge;
use airbound_units::{Instant, Span};

use super::{Event, Network, Shared};
use crate::endpoint::{AnyEndpoint, Endpoint as _, Outgoing};
use crate::flow::{ACCESS_POINT, Direction, Flow};
use crate::packet::{Header, Kind, Packet};

impl Network {
    /// The access point's queue, if it predicts delays.
    fn foreteller(&mut self) -> Option<&mut Zhuge<Packet>> {
        self.parts.transmitters.first_mut()?.link.queue_mut().zhuge_mut()
    }

    /// Names the real-time flows that go down to the access point's queue, if it predicts delays.
    pub(super) fn begin_foretelling(&mut self) {
        let Some(config) = self.foreteller().map(|queue| queue.config().clone()) else { return };
        for number in 0..self.parts.flows.len() {
            let Flow { id, direction: Direction::Down, endpoint: Some(endpoint), category, .. } =
                self.parts.flows[number]
            else {
                continue;
            };
            let acknowledged = match &mut self.parts.endpoints[endpoint.index()] {
                AnyEndpoint::Rtp(session) if session.media == id && session.is_reported => {
                    session.foretell(config.report_after);
                    false
                }
                AnyEndpoint::Tcp(connection)
                    if connection.data == id && config.acknowledgements.contains(&category) =>
                {
                    true
                }
                _ => continue,
            };
            if let Some(queue) = self.foreteller() {
                queue.watch(id, acknowledged);
            }
            self.effects.foretelling = true;
        }
    }

    /// The delay of a packet that the access point enqueues next, if it reports on it.
    pub(super) fn foretell(&mut self, at: Instant, packet: &Packet) -> Option<Span> {
        let endpoint = self.parts.flows[packet.flow.0 as usize].endpoint?;
        if packet.kind != Kind::Media || !self.parts.endpoints[endpoint.index()].is_foretold() {
            return None;
        }
        Some(self.foreteller()?.foretell(at, packet.flow))
    }

    /// Reports a packet with its delay, if the queue has taken it.
    pub(super) fn tell(&mut self, shared: &mut Shared, at: Instant, packet: &Packet, delay: Span) {
        let is_this = |lost: &Packet| (lost.flow, lost.number) == (packet.flow, packet.number);
        if self.dropped.iter().any(|lost| is_this(&lost.packet)) {
            return;
        }
        if let Some(id) = self.parts.flows[packet.flow.0 as usize].endpoint {
            self.call(shared, id, |endpoint, out| endpoint.on_foretold(at, packet, delay, out));
        }
    }

    /// When a packet that came from the air at `now` leaves for the wire: acknowledgements may wait.
    pub(super) fn leaves(&mut self, now: Instant, packet: &Packet) -> Instant {
        if packet.kind != Kind::Acknowledgement {
            return now;
        }
        let endpoint = self.parts.flows[packet.flow.0 as usize].endpoint;
        let data = match endpoint.map(|id| &self.parts.endpoints[id.index()]) {
            Some(AnyEndpoint::Tcp(connection)) => connection.data,
            _ => return now,
        };
        self.foreteller().map_or(now, |queue| queue.leaves(now, data))
    }

    /// Sends a report of the access point's own to the server.
    pub(super) fn send_foretelling(&mut self, shared: &mut Shared, outgoing: Outgoing) {
        let Outgoing { flow, number, kind, tag, size } = outgoing;
        let category = self.parts.flows[flow.0 as usize].category;
        let header = Header { flow, to: ACCESS_POINT, category };
        let packet = Packet::new(header, number, kind, tag, size, shared.now);
        match self.parts.wire_up.transit(flow.0 as usize, shared.now, size) {
            Some(arrived) => self.schedule(shared, arrived, Event::Arrived(packet)),
            None => self.forget(shared, &packet, DropReason::Wire),
        }
    }
}
