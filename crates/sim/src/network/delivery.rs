//! Delivery: block-ack recipients reorder MPDUs, relays forward packets, endpoints handle and answer them.

use airbound_air::exchange::mpdu_ends;
use airbound_air::reorder::Reorder;
use airbound_control::frame::{DropReason, FlowId, Payload, StationId, TxDescriptor};
use airbound_control::link::Link;
use airbound_units::{BitRate, Instant};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;

use super::transmitter::InHardware;
use super::{Event, Medium, Network, Shared};
use crate::endpoint::{Answer, AnyEndpoint, Counts, Endpoint, Outbox, Outgoing, Reception, Timer};
use crate::flow::{ACCESS_POINT, Direction, EndpointId};
use crate::measure::{Arrival, OnAir};
use crate::packet::{Header, Packet};

/// Agreements of a link: two directions, four categories, two traffic identifiers.
const AGREEMENTS_PER_LINK: usize = 2 * 4 * 2;

/// The receiver's side of a block-ack agreement.
#[derive(Debug)]
pub(crate) struct BlockAckRecipient {
    pub(crate) reorder: Reorder<Arrival>,
    /// When the buffer is checked next; `Instant::MAX` for never.
    pub(crate) release: Instant,
}

/// The recipients of `links` links, in the order of [`AgreementId::index`].
pub(super) fn of_links(links: usize) -> Vec<BlockAckRecipient> {
    let none = || BlockAckRecipient { reorder: Reorder::default(), release: Instant::MAX };
    std::iter::repeat_with(none).take(links * AGREEMENTS_PER_LINK).collect()
}

/// A block-ack agreement: one for each link, direction and traffic identifier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AgreementId {
    /// The link, by its lower end.
    link: StationId,
    way: Direction,
    category: Category,
    alternate: bool,
}

impl AgreementId {
    /// The agreement of a descriptor on a link.
    pub(super) const fn of((link, way): (StationId, Direction), descriptor: &TxDescriptor<Packet>) -> Self {
        Self { link, way, category: descriptor.category, alternate: descriptor.alternate }
    }

    /// Its index among all agreements.
    pub(super) const fn index(self) -> usize {
        let Self { link, way, category, alternate } = self;
        link.index() * AGREEMENTS_PER_LINK + (way as usize * 4 + category.index()) * 2 + alternate as usize
    }
}

impl Network {
    /// Passes the MPDUs that `arrived` to the receiver's reordering buffer, and on from there.
    pub(super) fn receive(
        &mut self,
        shared: &mut Shared,
        one: &OnAir,
        done: &InHardware,
        arrived: AckBitmap,
    ) {
        let link = self.parts.tree.link(one.node, done.descriptor.station);
        let agreement = AgreementId::of(link, &done.descriptor);
        let mut arrivals = std::mem::take(&mut self.arrivals);
        let reception = one.timing.reception();
        let all = arrived == AckBitmap::first(done.descriptor.mpdus.len());
        let tries = done.transmissions.min(255) as u8;
        let in_order = self.parts.transmitters[one.node.index()].block_ack[done.descriptor.category.index()];
        if all && in_order && self.receive_plain(one, done, agreement) {
            self.arrivals = arrivals;
            return;
        }
        let sizes = done.descriptor.mpdus.iter().map(|mpdu| mpdu.size);
        for (place, (mpdu, end)) in done
            .descriptor
            .mpdus
            .iter()
            .zip(mpdu_ends(sizes, done.descriptor.aggregated, done.descriptor.psdu))
            .enumerate()
        {
            if !all && !arrived.get(place) {
                continue;
            }
            let received = reception.of(end);
            let arrival = Arrival {
                packet: mpdu.packet,
                // RTS and CTS are part of the transmission.
                last_transmission: one.start,
                received,
                completed: one.timing.end,
                tries: tries.saturating_add(mpdu.transmissions.min(255) as u8),
                txop: one.txop,
            };
            let buffer = &mut self.recipients[agreement.index()].reorder;
            if !in_order || buffer.passes(mpdu.sequence) {
                self.deliver(shared, &arrival, received);
                continue;
            }
            let rejected = buffer.receive(mpdu.sequence, arrival, received, |item| arrivals.push(item));
            if let Some(late) = rejected {
                self.forget(shared, &late.packet, DropReason::Late);
                self.parts.meters.on_dropped(shared.now, &late.packet, DropReason::Late);
            }
            self.deliver_all(shared, &mut arrivals, received);
        }
        self.arrivals = arrivals;
        self.schedule_release(shared, agreement);
    }

    /// Handles the end of an exchange with MPDUs that arrived for the first time: it settles them where transmitters do not all hear each
    /// other, and endpoints sense the whole PPDU.
    pub(super) fn receive_ended(&mut self, shared: &mut Shared, one: &OnAir, arrived: AckBitmap) {
        let place = (one.node.index(), one.category.index());
        let Some(done) = self.parts.transmitters[place.0].hardware[place.1].pop_front() else { return };
        if matches!(shared.medium, Medium::Partial(_)) {
            self.receive(shared, one, &done, arrived);
        }
        self.sense(shared, one, &done, arrived);
        self.parts.transmitters[place.0].hardware[place.1].push_front(done);
    }

    /// Reports the packets of a flow that arrived in a PPDU to an endpoint that senses it.
    fn sense(&mut self, shared: &mut Shared, one: &OnAir, done: &InHardware, arrived: AckBitmap) {
        let mut sensed = std::mem::take(&mut self.sensed);
        let mut companions = 0;
        let mpdus = done.descriptor.mpdus.iter().enumerate();
        for (_, mpdu) in mpdus.filter(|(place, _)| arrived.get(*place)) {
            let flow = &self.parts.flows[mpdu.packet.flow.0 as usize];
            if flow.is_sensed && flow.ends_at() == mpdu.packet.to {
                sensed.push(mpdu.packet);
            } else if mpdu.packet.to == done.descriptor.station {
                companions += 1;
            }
        }
        if let Some(first) = sensed.first()
            && let Some(id) = self.parts.flows[first.flow.0 as usize].endpoint
        {
            let now = shared.now;
            let (station, ppdu_end, rate) = (first.to, one.timing.ppdu_end, one.rate.bit_rate());
            let reception = Reception { station, ppdu_end, rate, packets: &sensed, companions };
            self.call(shared, id, |endpoint, out| endpoint.on_reception(now, &reception, out));
        }
        sensed.clear();
        self.sensed = sensed;
    }

    /// [`Network::receive`] of a whole aggregate of one flow, in order, at its destination, if its packets are only counted. Returns whether
    /// they are.
    fn receive_plain(&mut self, one: &OnAir, done: &InHardware, agreement: AgreementId) -> bool {
        let descriptor = &done.descriptor;
        let [first, .., last] = descriptor.mpdus.as_slice() else { return false };
        let flow = &self.parts.flows[first.packet.flow.0 as usize];
        let to = flow.ends_at();
        let packets = descriptor.mpdus.len() as u64;
        let buffer = &mut self.recipients[agreement.index()].reorder;
        if flow.endpoint.is_some()
            || flow.is_sensed
            || to == ACCESS_POINT
            || to != first.packet.to
            || last.sequence != first.sequence + (packets - 1)
            || !buffer.expects(first.sequence)
        {
            return false;
        }
        let counted = self.parts.meters.on_aggregate(one, descriptor);
        if counted {
            buffer.pass(packets);
        }
        counted
    }

    /// Reports the transmission of packets to the endpoints that sent them here, which send more after the exchange.
    pub(super) fn note_left(&mut self, shared: &mut Shared, one: &OnAir, done: &InHardware) {
        let mut last = None;
        for (place, mpdu) in done.descriptor.mpdus.iter().enumerate() {
            let packet = &mpdu.packet;
            let flow = &self.parts.flows[packet.flow.0 as usize];
            if one.acknowledged.get(place)
                && flow.begins_at() == one.node
                && let Some(id) = flow.endpoint
                && let Some(timer) = self.parts.endpoints[id.index()].on_left(packet)
                && last != Some(id)
            {
                last = Some(id);
                self.schedule(shared, shared.now, Event::Timer(id, timer));
            }
        }
    }

    /// Schedules the end of a receiver's wait for missing MPDUs.
    pub(super) fn schedule_release(&mut self, shared: &mut Shared, id: AgreementId) {
        let agreement = &mut self.recipients[id.index()];
        // An early event schedules the next one.
        if agreement.release == Instant::MAX
            && let Some(at) = agreement.reorder.next_release()
        {
            agreement.release = at;
            self.schedule(shared, at, Event::Release(id));
        }
    }

    /// Handles the end of a receiver's wait for missing MPDUs.
    pub(super) fn on_release(&mut self, shared: &mut Shared, id: AgreementId) {
        let now = shared.now;
        let agreement = &mut self.recipients[id.index()];
        agreement.release = Instant::MAX;
        let mut arrivals = std::mem::take(&mut self.arrivals);
        agreement.reorder.expire(now, |item| arrivals.push(item));
        self.deliver_all(shared, &mut arrivals, now);
        self.arrivals = arrivals;
        // There may be another, younger hole behind this one.
        self.schedule_release(shared, id);
    }

    pub(super) fn deliver_all(
        &mut self,
        shared: &mut Shared,
        arrivals: &mut Vec<Arrival>,
        released: Instant,
    ) {
        for arrival in arrivals.drain(..) {
            self.deliver(shared, &arrival, released.max(arrival.received));
        }
    }

    /// Delivers a packet that left the receiver's reordering buffer at `released`.
    #[inline]
    pub(super) fn deliver(&mut self, shared: &mut Shared, arrival: &Arrival, released: Instant) {
        let packet = &arrival.packet;
        let flow = &self.parts.flows[packet.flow.0 as usize];
        let has_endpoint = flow.endpoint.is_some();
        if packet.to != flow.ends_at() {
            self.relay(shared, arrival, released);
            return;
        }
        let goes_on = packet.to == ACCESS_POINT;
        let arrived = if goes_on {
            let leaves = if self.effects.foretelling { self.leaves(released, packet) } else { released };
            self.parts.wire_up.transit(packet.flow.0 as usize, leaves, packet.size())
        } else {
            Some(released)
        };
        let Some(arrived) = arrived else {
            let reason = DropReason::Wire;
            self.forget(shared, packet, reason);
            self.parts.meters.on_dropped(shared.now, packet, reason);
            return;
        };
        self.parts.meters.on_delivered(arrival, released, arrived);
        match has_endpoint {
            true if goes_on => self.schedule(shared, arrived, Event::Arrived(*packet)),
            true => self.schedule_in_row(shared, arrived, Event::Arrived(*packet)),
            false => {}
        }
    }

    /// Notes a packet that a relay has at `released`.
    fn relay(&mut self, shared: &mut Shared, arrival: &Arrival, released: Instant) {
        let flow = &self.parts.flows[arrival.packet.flow.0 as usize];
        let before = self.parts.tree.previous_hop(arrival.packet.to, flow);
        self.parts.meters.on_relayed(before, arrival, released);
        self.relaying += 1;
        self.schedule_in_row(shared, released, Event::Arrived(arrival.packet));
    }

    /// Passes a packet to the endpoint of its flow; a relay forwards it towards its destination.
    pub(super) fn on_arrival(&mut self, shared: &mut Shared, packet: &Packet) {
        let (now, relay) = (shared.now, packet.to);
        let flow = &self.parts.flows[packet.flow.0 as usize];
        if relay != flow.ends_at() {
            let next = self.parts.tree.next_hop(relay, flow);
            self.relaying -= 1;
            self.take_in(shared, relay);
            self.admit(shared, relay, now, packet.onwards(next, now));
        } else if let Some(id) = flow.endpoint {
            self.call(shared, id, |endpoint, out| endpoint.on_packet(now, packet, out));
        }
    }

    /// Calls an endpoint and executes its answers, in order.
    pub(super) fn call(
        &mut self,
        shared: &mut Shared,
        id: EndpointId,
        act: impl FnOnce(&mut AnyEndpoint, &mut Outbox<'_>),
    ) {
        let mut answers = std::mem::take(&mut self.answers);
        let parts = &mut self.parts;
        act(&mut parts.endpoints[id.index()], &mut Outbox::new(&mut answers, &mut parts.meters));
        self.carry_out(shared, id, &mut answers);
        self.answers = answers;
    }

    fn carry_out(&mut self, shared: &mut Shared, id: EndpointId, answers: &mut Vec<Answer>) {
        for answer in answers.drain(..) {
            match answer {
                Answer::Send(outgoing) => self.send(shared, outgoing),
                Answer::Wake(at, timer) => self.schedule(shared, at, Event::Timer(id, timer)),
                Answer::Rate(flow, rate) => self.set_rate(shared, flow, rate),
                Answer::Admit(at, packet) => {
                    self.admit(shared, self.parts.flows[packet.flow.0 as usize].begins_at(), at, packet);
                }
                Answer::Report(outgoing) => self.send_foretelling(shared, outgoing),
                Answer::Settle(station) => self.sleep(shared, station),
                Answer::Ask(station, token) => {
                    self.take_in(shared, station);
                    let (now, backlog) =
                        (shared.now, self.parts.transmitters[station.index()].link.backlog());
                    self.call(shared, id, |endpoint, out| endpoint.on_backlog(now, token, &backlog, out));
                }
            }
        }
    }

    /// Changes the rate of the constant source of a flow.
    fn set_rate(&mut self, shared: &mut Shared, flow: FlowId, rate: BitRate) {
        let parts = &mut self.parts;
        let node = parts.flows[flow.0 as usize].begins_at();
        parts.transmitters[node.index()].ingress.set_rate(
            flow.0 as usize,
            shared.now,
            rate,
            &mut parts.meters,
        );
    }

    /// Starts all endpoints. Those that begin at the same time start in the order of transports.
    pub(super) fn begin_endpoints(&mut self, shared: &mut Shared) {
        let endpoints = &self.parts.endpoints;
        let mut order: Vec<usize> = (0..endpoints.len()).collect();
        order.sort_by_key(|number| endpoints[*number].precedence());
        for number in order {
            self.call(shared, EndpointId::new(number), |endpoint, out| endpoint.begin(out));
        }
    }

    pub(super) fn on_timer(&mut self, shared: &mut Shared, id: EndpointId, timer: Timer) {
        let now = shared.now;
        self.call(shared, id, |endpoint, out| endpoint.on_timer(now, timer, out));
    }

    /// Sends a packet of a flow from the end where the flow begins.
    pub(crate) fn send(&mut self, shared: &mut Shared, outgoing: Outgoing) {
        let Outgoing { flow, number, kind, tag, size } = outgoing;
        let details = &self.parts.flows[flow.0 as usize];
        let (node, category) = (details.begins_at(), details.category);
        let header = Header { flow, to: self.parts.tree.next_hop(node, details), category };
        let packet = Packet::new(header, number, kind, tag, size, shared.now);
        match details.direction {
            Direction::Down => {
                let ingress = &mut self.parts.transmitters[ACCESS_POINT.index()].ingress;
                let arrival = ingress.push(packet, &mut self.parts.meters);
                match arrival {
                    None => self.forget(shared, &packet, DropReason::Wire),
                    Some(at)
                        if self.effects.foretelling || !self.is_ready(shared, ACCESS_POINT, category) =>
                    {
                        self.wake_at(shared, ACCESS_POINT, at);
                    }
                    Some(_) => {}
                }
            }
            Direction::Up => self.originate(shared, node, packet),
        }
    }

    /// Ends the run: counts the incomplete video frames.
    pub(crate) fn end_frames(&mut self) {
        let parts = &mut self.parts;
        for endpoint in &parts.endpoints {
            endpoint.end(&mut Counts::new(&mut parts.meters));
        }
        parts.meters.end_frames_of_datagrams();
        parts.meters.end_frames_of_media();
    }

    /// Frees the content of a packet that is lost for good.
    pub(super) fn forget(&mut self, shared: &mut Shared, packet: &Packet, reason: DropReason) {
        let parts = &mut self.parts;
        if let Some(id) = parts.flows[packet.flow.0 as usize].endpoint {
            let counts = &mut Counts::new(&mut parts.meters);
            parts.endpoints[id.index()].on_lost(shared.now, packet, reason, counts);
            self.note_gone(shared, id, packet);
        }
    }

    /// Reports to an endpoint that counts what is below that a transmitter has given up a packet of it.
    pub(super) fn note_gone(&mut self, shared: &mut Shared, id: EndpointId, packet: &Packet) {
        if self.counts_below
            && let Some(timer) = self.parts.endpoints[id.index()].on_left(packet)
        {
            self.schedule(shared, shared.now, Event::Timer(id, timer));
        }
    }
}
