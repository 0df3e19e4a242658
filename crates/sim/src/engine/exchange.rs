//! The end of an exchange: its MPDUs arrive, are retried or are given up.

use airbound_control::frame::TxReport;
use airbound_control::frame::{DropReason, StationId};
use airbound_control::link::Link;
use airbound_units::{Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;

use super::{AgreementId, Arrival, Event, InHardware, OnAir, Simulation};
use crate::endpoint::{AnyEndpoint, Endpoint, Reception};
use crate::measure::ExchangeView;
use airbound_air::channel::{Exchange, Settled};
use airbound_air::exchange::mpdu_ends;

impl Simulation {
    /// One exchange ended.
    pub(super) fn finish(&mut self, exchange: &Exchange) {
        let at = exchange.at;
        let (node, category) = (self.node_of(at), at.category);
        self.take_in(node);
        let airtime = exchange.timing.end - exchange.start;
        self.parts.nodes[node.index()].own += airtime;
        let hardware_tries = self.parts.nodes[node.index()].hardware_tries;
        let left = self.parts.nodes[node.index()].link.backlog();
        let queue = &mut self.parts.nodes[node.index()].hardware[category.index()];
        let Some(first) = queue.front() else { return };
        let one = &OnAir {
            node,
            category,
            rate: exchange.rate,
            start: exchange.start,
            timing: exchange.timing,
            acknowledged: exchange.acknowledged,
            transmitters: exchange.transmitters,
            txop: first.txop,
        };
        let receiver = first.descriptor.station;
        let (link, way) = self.parts.tree.link(node, receiver);
        self.parts.meters.on_exchange(&ExchangeView {
            on_air: one,
            descriptor: &first.descriptor,
            contending: first.contending,
            link,
            way,
            flows: &self.parts.flows,
        });
        if let Some(id) = self.parts.shaping
            && let AnyEndpoint::Allocation(allocation) = &mut self.parts.endpoints[id.index()]
        {
            let packets = first.descriptor.mpdus.iter().map(|mpdu| &mpdu.packet);
            allocation.on_transmitted(node, packets, &left);
        }
        let success = one.acknowledged.count() > 0;
        let tries = first.descriptor.chain.total_tries().min(hardware_tries).max(1);
        let expired =
            first.is_expired(self.now) || first.descriptor.give_up_at.is_some_and(|at| self.now >= at);
        let is_last = first.transmissions >= tries || expired;
        if success {
            self.parts.medium.settle(at, Settled::Success);
        } else {
            self.parts.medium.settle(at, Settled::Retry);
            if !is_last {
                return;
            }
        }
        let Some(done) = self.parts.nodes[node.index()].hardware[category.index()].pop_front() else {
            return;
        };
        if success {
            self.receive(one, &done);
            // The receivers of neighbours are not modelled.
            if receiver != node && self.parts.nodes[receiver.index()].charges_received {
                let link = &mut self.parts.nodes[receiver.index()].link;
                link.on_received(self.now, node, category, airtime);
            }
        }
        // In a collision the channel may be busy for longer than its own frame was on the air; the time of the next counts already.
        let next_since =
            if done.descriptor.give_up_after.is_some() { one.timing.end.min(self.now) } else { self.now };
        let gave_up = self.report(node, category, done, Some(one.acknowledged));
        if !success && (gave_up || hardware_tries > 1) {
            // The hardware is done with the frame; the next one starts with the least window.
            self.parts.medium.settle(at, Settled::GaveUp);
        }
        self.contend(node, category, next_since);
        if success && self.continue_txop(exchange) {
            return;
        }
        self.parts.medium.clear_ready(at);
        self.refill(node, category);
        self.sleep(node);
    }

    /// Hands a descriptor back to the link, with what of its last transmission was acknowledged. Returns whether the link gave packets
    /// up.
    pub(super) fn report(
        &mut self,
        node: StationId,
        category: Category,
        done: InHardware,
        acknowledged: Option<AckBitmap>,
    ) -> bool {
        let agreement =
            AgreementId::of(self.parts.tree.link(node, done.descriptor.station), &done.descriptor);
        let report = TxReport {
            used: done.descriptor.chain.used(done.transmissions),
            handed: done.handed,
            started: (done.started != Instant::MAX).then_some(done.started),
            ended: self.now,
            airtime: Some(done.airtime),
            acknowledged: acknowledged.unwrap_or_default(),
            boundaries_known: true,
            descriptor: done.descriptor,
        };
        let mut returned = std::mem::take(&mut self.returned);
        self.parts.nodes[node.index()].link.on_report(self.now, report, &mut returned);
        let gave_up = !returned.dropped.is_empty();
        for (mpdu, reason) in returned.dropped.drain(..) {
            self.forget(&mpdu.packet, reason);
            self.parts.meters.on_dropped(self.now, &mpdu.packet, reason);
        }
        if let Some(descriptor) = returned.retry_now.take() {
            let again = InHardware {
                descriptor,
                handed: self.now,
                contending: Instant::MAX,
                started: Instant::MAX,
                transmissions: 0,
                txop: 0,
                airtime: Span::ZERO,
            };
            self.parts.nodes[node.index()].hardware[category.index()].push_front(again);
        }
        if let Some(sequence) = returned.window_start.take() {
            // A block-ack request tells the receiver not to wait; its airtime is not modelled.
            let now = self.now;
            let mut arrivals = std::mem::take(&mut self.arrivals);
            self.agreements[agreement.index()].reorder.move_window(sequence, |item| arrivals.push(item));
            self.deliver_all(&mut arrivals, now);
            self.arrivals = arrivals;
            self.schedule_release(agreement);
        }
        self.returned = returned;
        gave_up
    }

    /// Passes the MPDUs that got through to the receiver's reordering buffer, and on from there.
    fn receive(&mut self, one: &OnAir, done: &InHardware) {
        let link = self.parts.tree.link(one.node, done.descriptor.station);
        let agreement = AgreementId::of(link, &done.descriptor);
        let mut arrivals = std::mem::take(&mut self.arrivals);
        let reception = one.timing.reception();
        let all = one.acknowledged == AckBitmap::first(done.descriptor.mpdus.len());
        let tries = done.transmissions.min(255) as u8;
        let in_order = self.parts.nodes[one.node.index()].block_ack;
        let mut sensed = std::mem::take(&mut self.sensed);
        let mut companions = 0;
        let sizes = done.descriptor.mpdus.iter().map(|mpdu| mpdu.size);
        for (place, (mpdu, end)) in done
            .descriptor
            .mpdus
            .iter()
            .zip(mpdu_ends(sizes, done.descriptor.aggregated, done.descriptor.psdu))
            .enumerate()
        {
            if !all && !one.acknowledged.get(place) {
                continue;
            }
            let received = reception.of(end);
            let arrival = Arrival {
                packet: mpdu.packet,
                // RTS and CTS are part of the transmission that they announce.
                last_transmission: one.start,
                received,
                completed: one.timing.end,
                tries: tries.saturating_add(mpdu.transmissions.min(255) as u8),
                txop: one.txop,
            };
            let flow = &self.parts.flows[mpdu.packet.flow.0 as usize];
            if flow.is_sensed && flow.ends_at() == mpdu.packet.to {
                sensed.push(mpdu.packet);
            } else if mpdu.packet.to == done.descriptor.station {
                companions += 1;
            }
            let buffer = &mut self.agreements[agreement.index()].reorder;
            if !in_order || buffer.passes(mpdu.sequence) {
                self.deliver(&arrival, received);
                continue;
            }
            let rejected = buffer.receive(mpdu.sequence, arrival, received, |item| arrivals.push(item));
            if let Some(late) = rejected {
                self.forget(&late.packet, DropReason::Late);
                self.parts.meters.on_dropped(self.now, &late.packet, DropReason::Late);
            }
            self.deliver_all(&mut arrivals, received);
        }
        self.arrivals = arrivals;
        self.schedule_release(agreement);
        if let Some(first) = sensed.first()
            && let Some(id) = self.parts.flows[first.flow.0 as usize].endpoint
        {
            let now = self.now;
            let (station, ppdu_end, rate) = (first.to, one.timing.ppdu_end, one.rate.bit_rate());
            let reception = Reception { station, ppdu_end, rate, packets: &sensed, companions };
            self.call(id, |endpoint, out| endpoint.on_reception(now, &reception, out));
        }
        sensed.clear();
        self.sensed = sensed;
    }

    /// Sees to it that a receiver does not wait for what is missing for ever.
    fn schedule_release(&mut self, id: AgreementId) {
        let agreement = &mut self.agreements[id.index()];
        // An event that comes too soon sets the next one.
        if agreement.release == Instant::MAX
            && let Some(at) = agreement.reorder.next_release()
        {
            agreement.release = at;
            self.schedule(at, Event::Release(id));
        }
    }

    /// A receiver has waited long enough for what is missing.
    pub(super) fn on_release(&mut self, id: AgreementId) {
        let now = self.now;
        let agreement = &mut self.agreements[id.index()];
        agreement.release = Instant::MAX;
        let mut arrivals = std::mem::take(&mut self.arrivals);
        agreement.reorder.expire(now, |item| arrivals.push(item));
        self.deliver_all(&mut arrivals, now);
        self.arrivals = arrivals;
        // Behind this hole there may be another, younger one.
        self.schedule_release(id);
    }

    fn deliver_all(&mut self, arrivals: &mut Vec<Arrival>, released: Instant) {
        for arrival in arrivals.drain(..) {
            self.deliver(&arrival, released.max(arrival.received));
        }
    }

    /// Sends the next PPDU of the same category without contending, if the TXOP has room for it. Returns whether it does.
    fn continue_txop(&mut self, ended: &Exchange) -> bool {
        let (node, category) = (self.node_of(ended.at), ended.at.category);
        let Some((start, longest)) = self.parts.medium.txop_room(self.now, ended) else { return false };
        let owner = &self.parts.nodes[node.index()];
        if owner.hardware[category.index()].is_empty()
            && (!owner.handover.is_zero() || !self.form_within(node, category, self.now, longest))
        {
            return false;
        }
        let Some((rate, quality)) = self.next_transmission(node, category, start) else { return false };
        let parts = &mut self.parts;
        let Some(first) = parts.nodes[node.index()].hardware[category.index()].front() else { return false };
        // One that was formed before, or a single packet that is too long, waits for the next opportunity.
        if first.is_expired(start) {
            return false;
        }
        let ppdu = (&first.descriptor, rate);
        let Some(timing) = parts.medium.continue_txop(self.now, ended, ppdu, quality) else { return false };
        self.note_start(ended.at, start, &timing, quality);
        true
    }
}
