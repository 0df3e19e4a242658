//! Arrivals of a caller's packets, told at the end of their MPDUs.
//!
//! The outcome of a PPDU is settled when it begins where all transmitters hear each other, and is carried out at the end of the exchange, up to
//! 5.5 ms after the first MPDU. Meters count an MPDU at the end of its own last byte. Whoever takes packets out of the simulation has to get
//! each at that time, and not before: such arrivals are events of their own. Where transmitters do not all hear each other, the end of
//! the exchange shows what has arrived.

use std::collections::VecDeque;

use airbound_air::channel::AccessId;
use airbound_air::exchange::{ExchangeTiming, mpdu_ends};
use airbound_control::frame::{FlowId, Payload as _};
use airbound_units::Instant;

use super::delivery::AgreementId;
use super::{Event, Medium, Network, Shared};
use crate::flow::{ACCESS_POINT, EndpointId};
use crate::measure::Arrival;
use crate::packet::Packet;

/// Packets whose arrivals are scheduled, of the exchange on the air, in order.
#[derive(Debug, Default)]
pub(super) struct Ahead(VecDeque<(FlowId, u64)>);

impl Ahead {
    /// Forgets a packet of an exchange that is carried out. Returns whether its arrival was scheduled.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet) -> bool {
        let place = self.0.iter().position(|known| *known == (packet.flow, packet.number));
        place.and_then(|place| self.0.remove(place)).is_some()
    }
}

impl Network {
    /// Whether an endpoint passes its packets to a caller.
    fn is_callers(&self, id: EndpointId) -> bool {
        let doors = &self.parts.doors;
        doors.gate == Some(id) || (doors.carried == Some(id) && !self.has_session)
    }

    /// Schedules the arrivals of a caller's packets in the PPDU of a category that has just begun.
    pub(super) fn look_ahead(&mut self, shared: &mut Shared, at: AccessId, timing: &ExchangeTiming) {
        let Medium::Channel(channel) = &shared.medium else { return };
        let arrived = channel.received(at);
        let node = self.node_of(at);
        let Some(first) = self.parts.transmitters[node.index()].hardware[at.category.index()].front() else {
            return;
        };
        let descriptor = &first.descriptor;
        let callers = |packet: &Packet| {
            let flow = &self.parts.flows[packet.flow.0 as usize];
            packet.to == flow.ends_at() && flow.endpoint.is_some_and(|id| self.is_callers(id))
        };
        let link = self.parts.tree.link(node, descriptor.station);
        let agreement = AgreementId::of(link, descriptor);
        let in_order = self.parts.transmitters[node.index()].block_ack[at.category.index()];
        let buffer = &self.recipients[agreement.index()].reorder;
        // Others' packets can fill the gap behind which a caller's wait.
        let wait = in_order && buffer.next_release().is_some();
        if first.asks || !(wait || descriptor.mpdus.iter().any(|mpdu| callers(&mpdu.packet))) {
            return;
        }
        let mut buffer = buffer.clone();
        let reception = timing.reception();
        let sizes = descriptor.mpdus.iter().map(|mpdu| mpdu.size);
        let ends = mpdu_ends(sizes, descriptor.aggregated, descriptor.psdu);
        let mut arrivals: Vec<(Instant, Packet)> = Vec::new();
        for (place, (mpdu, end)) in descriptor.mpdus.iter().zip(ends).enumerate() {
            if !arrived.get(place) {
                continue;
            }
            let released = reception.of(end);
            let arrival = Arrival {
                packet: mpdu.packet,
                last_transmission: timing.ppdu_start,
                received: released,
                completed: timing.end,
                tries: 1,
                txop: first.txop,
            };
            let mut release = |arrival: Arrival| arrivals.push((released, arrival.packet));
            if in_order {
                buffer.receive(mpdu.sequence, arrival, released, release);
            } else {
                release(arrival);
            }
        }
        // A wire that takes longer than the rest of the exchange is crossed in time without this. Others' packets share its bottleneck.
        let wire = &self.parts.wire_up;
        let is_short = |(released, packet): &(Instant, Packet)| {
            packet.to == ACCESS_POINT
                && callers(packet)
                && wire.soonest(packet.flow.0 as usize, *released) < timing.end
        };
        let mut wire = arrivals.iter().any(is_short).then(|| wire.clone());
        let mut due: Vec<(Instant, Packet)> = Vec::new();
        for (released, packet) in arrivals {
            let arrival = match &mut wire {
                _ if packet.to != ACCESS_POINT => Some(released),
                Some(wire) => wire.transit(packet.flow.0 as usize, released, packet.size()),
                None => None,
            };
            due.extend(arrival.filter(|_| callers(&packet)).map(|arrival| (arrival, packet)));
        }
        for (arrival, packet) in due {
            self.ahead.0.push_back((packet.flow, packet.number));
            self.schedule(shared, arrival, Event::AtDestination(packet));
        }
    }
}
