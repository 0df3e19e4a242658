//! What a transmission brings about when it ends.

use airbound_control::frame::TxReport;
use airbound_control::frame::{DropReason, StationId};
use airbound_control::link::Link;
use airbound_units::{Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;

use super::contention::{edcaf_of, ppdu_of};
use super::{AgreementId, Arrival, Event, InHardware, OnAir, Simulation, link_id};
use crate::endpoint::{AnyEndpoint, Endpoint, Reception};
use crate::measure::ExchangeView;
use airbound_air::exchange::mpdu_ends;

/// An exchange that could not carry more than this is not worth the rest of a TXOP.
const SHORTEST_PPDU: Span = Span::from_micros(100);

impl Simulation {
    /// The channel is free, or the next exchange of a TXOP begins.
    pub(super) fn on_exchange_end(&mut self) {
        let collided = self.has_collided();
        if !self.finish_all() {
            self.leave_air(collided);
        }
    }

    /// Whether what is on the air is a collision.
    pub(super) fn has_collided(&self) -> bool {
        self.on_air.first().is_some_and(OnAir::collided)
    }

    /// All exchanges on the air end. Returns whether a TXOP goes on.
    pub(super) fn finish_all(&mut self) -> bool {
        let mut on_air = std::mem::take(&mut self.on_air);
        if let (Some(first), false) = (on_air.first(), on_air.is_empty()) {
            self.note_busy(first.start, self.now);
        }
        let mut continued = false;
        for one in on_air.drain(..) {
            continued |= self.finish(&one);
        }
        if !continued && self.on_air.is_empty() {
            self.on_air = on_air;
        }
        continued
    }

    /// Nobody transmits any more: the channel is free, unless it is jammed.
    pub(super) fn leave_air(&mut self, collided: bool) {
        if self.jammed_until > self.now {
            self.note_busy(self.now, self.jammed_until);
            self.busy_until(self.jammed_until);
            return;
        }
        let band = self.parts.phy.band();
        let wait = if collided && self.parts.eifs { band.eifs() - band.difs() } else { Span::ZERO };
        self.become_idle(self.now + wait);
    }

    /// One exchange ended. Returns whether the same TXOP goes on.
    fn finish(&mut self, one: &OnAir) -> bool {
        let (node, category) = (one.node, one.category);
        self.take_in(node);
        let airtime = one.timing.end - one.start;
        self.parts.nodes[node.index()].own += airtime;
        let hardware_tries = self.parts.nodes[node.index()].hardware_tries;
        let left = self.parts.nodes[node.index()].link.backlog();
        let queue = &mut self.parts.nodes[node.index()].hardware[category.index()];
        let Some(first) = queue.front() else { return false };
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
        let edcaf = edcaf_of(node, category);
        if success {
            self.edcaf(edcaf).on_success();
        } else {
            self.edcaf(edcaf).on_failure();
            if !is_last {
                return false;
            }
        }
        let Some(done) = self.parts.nodes[node.index()].hardware[category.index()].pop_front() else {
            return false;
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
            self.edcaf(edcaf).on_give_up();
        }
        self.contend(node, category, next_since);
        if success && self.continue_opportunity(one) {
            return true;
        }
        self.edcaf(edcaf).clear_ready();
        self.refill(node, category);
        self.activate(edcaf);
        self.sleep(node);
        false
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
        let reception = self.parts.phy.reception(&one.timing);
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

    /// Sends the next PPDU of the same category without contending, if the TXOP has room for it.
    fn continue_opportunity(&mut self, one: &OnAir) -> bool {
        let (node, category) = (one.node, one.category);
        let start = self.now + self.parts.phy.band().sifs();
        if one.opportunity_end <= start {
            return false;
        }
        let left = one.opportunity_end - start;
        let longest = self.parts.phy.longest_ppdu(left);
        if longest < SHORTEST_PPDU {
            return false;
        }
        let owner = &self.parts.nodes[node.index()];
        if owner.hardware[category.index()].is_empty()
            && (!owner.handover.is_zero() || !self.form_within(node, category, self.now, longest))
        {
            return false;
        }
        // One that was formed before, or a single packet that is too long, waits for the next opportunity.
        if !self.fits(node, category, start, one.opportunity_end) {
            return false;
        }
        let end = self.start_exchange(edcaf_of(node, category) as u32, start, 1, Some(one.opportunity_end));
        self.busy_until(end);
        true
    }

    /// Whether the first descriptor of a category can be sent from `start` to `end`.
    fn fits(&mut self, node: StationId, category: Category, start: Instant, end: Instant) -> bool {
        let parts = &mut self.parts;
        let Some(first) = parts.nodes[node.index()].hardware[category.index()].front() else { return false };
        if first.is_expired(start) {
            return false;
        }
        let (link, _) = parts.tree.link(node, first.descriptor.station);
        let quality = parts.links.quality(link_id(link), start);
        let rate = first
            .descriptor
            .chain
            .rate_of(first.transmissions)
            .unwrap_or(first.descriptor.chain.first_rate());
        parts.phy.timing(start, &ppdu_of(&first.descriptor, rate), quality).end <= end
    }
}
