//! Access to the medium and exchanges: PPDUs contend and are transmitted, and their MPDUs arrive, are retried or are given up.

use airbound_air::channel::{AccessId, Exchange, Settled, TxId};
use airbound_air::exchange::ExchangeTiming;
use airbound_air::propagation::LinkQuality;
use airbound_control::frame::{StationId, TxReport};
use airbound_control::link::Link;
use airbound_control::rate::LinkStats;
use airbound_units::Instant;
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::rate::Rate;

use super::delivery::AgreementId;
use super::transmitter::InHardware;
use super::{Event, Medium, Network, Shared, link_id};
use crate::endpoint::Endpoint as _;
use crate::flow::ACCESS_POINT;
use crate::measure::{Exchanged, OnAir};

/// BlockAckReqs without an answer after which a descriptor is returned: dot11ShortRetryLimit.
const REQUEST_LIMIT: u32 = 7;

impl Network {
    /// The number of a node on the medium.
    #[inline]
    pub(super) const fn tx(&self, node: StationId) -> TxId {
        TxId(self.first_tx + node.0)
    }

    /// Changes AIFSN and the smallest window of a category of a node.
    pub(crate) fn set_access(
        &self,
        shared: &mut Shared,
        node: StationId,
        category: Category,
        access: (u8, u16),
    ) {
        shared.medium.set_access(self.access(node, category), access.0, access.1);
    }

    /// The contention function of a category of a node.
    #[inline]
    pub(super) const fn access(&self, node: StationId, category: Category) -> AccessId {
        AccessId { tx: self.tx(node), category }
    }

    /// The node of a contention function of this network.
    pub(super) const fn node_of(&self, at: AccessId) -> StationId {
        StationId(at.tx.0 - self.first_tx)
    }

    /// Whether a category of a node contends.
    #[inline]
    pub(super) fn is_ready(&self, shared: &Shared, node: StationId, category: Category) -> bool {
        shared.medium.is_ready(self.access(node, category))
    }

    /// The time of a step at which a due beacon or null frame can be sent.
    pub(super) fn next_uncontended(&self, shared: &Shared) -> Instant {
        match &shared.medium {
            Medium::Partial(channel) => self.next_call(shared, channel).min(channel.next_step(shared.now)),
            medium => medium.next_beacon(shared.now, self.tx(ACCESS_POINT)),
        }
    }

    /// Whether the next transmission is a beacon, or a null frame after one, which precede all data.
    pub(super) fn beacon_is_due(&self) -> bool {
        self.parts.beacons.is_some_and(|beacons| beacons.due)
            || (self.effects.dozing && self.parts.dozers.has_null())
    }

    /// Prepares PPDUs of those of the channel's winners that are its own; those without one withdraw.
    pub(super) fn prepare_winners(&mut self, shared: &mut Shared, winners: &[AccessId]) {
        for at in winners {
            if self.has(*at) && self.prepare(shared, *at) {
                self.winners.push(*at);
            }
        }
    }

    /// Starts the transmissions of the winners.
    pub(super) fn start_winners(&mut self, shared: &mut Shared) {
        if !self.winners.is_empty() {
            let collided = shared.medium.transmitters() > 1;
            self.parts.meters.on_attempts(shared.now, self.winners.len() as u64, collided);
        }
        self.start_exchanges(shared);
    }

    /// The same, without counting attempts.
    pub(super) fn start_exchanges(&mut self, shared: &mut Shared) {
        let mut winners = std::mem::take(&mut self.winners);
        for at in winners.drain(..) {
            self.start_exchange(shared, at);
        }
        self.winners = winners;
    }

    /// Starts the exchange of the first PPDU of a category that won the channel.
    pub(super) fn start_exchange(&mut self, shared: &mut Shared, at: AccessId) {
        let (node, now) = (self.node_of(at), shared.now);
        let Some((rate, quality)) = self.next_transmission(node, at.category, now) else { return };
        let heard = if self.effects.absence { self.heard(node, at.category, quality) } else { quality };
        let parts = &mut self.parts;
        let Some(first) = parts.transmitters[node.index()].hardware[at.category.index()].front() else {
            return;
        };
        let to = TxId(self.first_tx + first.descriptor.station.0);
        let timing = if first.asks {
            shared.medium.request(now, (at, to), rate, heard)
        } else {
            shared.medium.transmit(now, (at, to), (&first.descriptor, rate), heard)
        };
        self.note_start(at, now, &timing, quality);
        self.settle_reception(shared, at, (now, rate, timing), (heard, quality));
    }

    /// Rate and link quality of the transmission, at `start`, of a category's first PPDU.
    pub(super) fn next_transmission(
        &mut self,
        node: StationId,
        category: Category,
        start: Instant,
    ) -> Option<(Rate, LinkQuality)> {
        let parts = &mut self.parts;
        let first = parts.transmitters[node.index()].hardware[category.index()].front()?;
        let (link, _) = parts.tree.link(node, first.descriptor.station);
        Some((first.next_rate(), parts.links.quality(link_id(link), start)))
    }

    /// Notes that the transmission of a category's first PPDU begins at `start`.
    pub(super) fn note_start(
        &mut self,
        at: AccessId,
        start: Instant,
        timing: &ExchangeTiming,
        quality: LinkQuality,
    ) {
        let node = self.node_of(at);
        self.txops += 1;
        let owner = &mut self.parts.transmitters[node.index()];
        let Some(first) = owner.hardware[at.category.index()].front_mut() else { return };
        if first.started == Instant::MAX {
            first.started = start;
            let contending = first.contending;
            for mpdu in &mut first.descriptor.mpdus {
                if mpdu.packet.first_transmission == Instant::MAX {
                    // A packet that arrived while its category contended has waited for the channel since its arrival.
                    mpdu.packet.contending = contending.max(mpdu.packet.enqueued);
                    mpdu.packet.first_transmission = start;
                }
            }
        }
        if first.asks {
            first.requests += 1;
        } else {
            first.transmissions += 1;
        }
        first.txop = self.txops;
        first.airtime += timing.end - start;
        if let LinkQuality::Snr(snr) = quality {
            first.snr = Some(snr);
            let stats = LinkStats { snr: Some(snr), ..Default::default() };
            owner.link.on_link_stats(start, first.descriptor.station, &stats);
        }
    }

    /// Settles, as far as it is possible now, which MPDUs of a PPDU that begins are received. Where all transmitters hear each other all
    /// are settled, and passed on as their subframes end. An exchange that the end of the run cuts has received nothing.
    fn settle_reception(
        &mut self,
        shared: &mut Shared,
        at: AccessId,
        (start, rate, timing): (Instant, Rate, ExchangeTiming),
        (heard, quality): (LinkQuality, LinkQuality),
    ) {
        if timing.end > shared.end {
            return;
        }
        if matches!(shared.medium, Medium::Partial(_)) {
            self.draw_losses(shared, at, heard, heard != quality);
            return;
        }
        let (node, category) = (self.node_of(at), at.category);
        let received = shared.medium.received(at);
        let queue = &mut self.parts.transmitters[node.index()].hardware[category.index()];
        if received.count() == 0 || queue.front().is_none_or(|first| first.asks) {
            return;
        }
        let Some(first) = queue.pop_front() else { return };
        self.settled = received.count().into();
        let one = OnAir {
            node,
            category,
            rate,
            start,
            timing,
            acknowledged: received,
            is_request: false,
            transmitters: 1,
            txop: first.txop,
        };
        self.receive(shared, &one, &first, received);
        self.parts.transmitters[node.index()].hardware[category.index()].push_front(first);
    }

    /// Schedules a due beacon, which precedes all data; there is none while the access point's radio is away.
    pub(super) fn on_beacon_due(&mut self, shared: &mut Shared) {
        let is_away = self.parts.transmitters.first().is_some_and(|node| node.is_away);
        if let Some(beacons) = &mut self.parts.beacons {
            beacons.due |= !is_away;
            let next = shared.now + beacons.interval;
            self.schedule(shared, next, Event::Beacon);
        }
    }

    pub(super) fn transmit_beacon(&mut self, shared: &mut Shared) {
        let Some(beacons) = self.parts.beacons.as_mut().filter(|beacons| beacons.due) else {
            self.transmit_null(shared, 0);
            return;
        };
        beacons.due = false;
        let end = shared.now + beacons.duration;
        shared.medium.hold(shared.now, end, TxId(self.first_tx));
        if !matches!(shared.medium, Medium::Partial(_)) {
            self.note_busy(shared.now, end);
        }
        self.announce(shared);
    }

    /// Handles the start or the end of a burst of interference: meanwhile every transmitter finds the channel busy.
    pub(super) fn on_interference(&mut self, shared: &mut Shared) {
        if let Some(until) = self.parts.links.jammed_until(shared.now)
            && shared.medium.jam(shared.now, until)
        {
            self.note_busy(shared.now, until);
            shared.schedule_end();
        }
        if let Some(next) = self.parts.links.next_jam_change(shared.now) {
            self.schedule(shared, next, Event::Interference);
        }
    }

    /// Finishes one exchange.
    pub(super) fn finish(&mut self, shared: &mut Shared, exchange: &Exchange) {
        let at = exchange.at;
        let (node, category) = (self.node_of(at), at.category);
        self.take_in(shared, node);
        self.settled = 0;
        let airtime = exchange.timing.end - exchange.start;
        self.parts.transmitters[node.index()].own += airtime;
        let hardware_tries = self.parts.transmitters[node.index()].hardware_tries;
        let owner = &self.parts.transmitters[node.index()];
        let Some(first) = owner.hardware[category.index()].front() else { return };
        // A BlockAckReq carries no data; its answer says what arrived before.
        let is_request = first.asks;
        let success = exchange.acknowledged.count() > 0;
        let acknowledged = match (is_request, success) {
            (true, true) => self.unacknowledged.of(&first.descriptor),
            _ => exchange.acknowledged,
        };
        let arrived = if is_request { acknowledged } else { exchange.received };
        let one = &OnAir {
            node,
            category,
            rate: exchange.rate,
            start: exchange.start,
            timing: exchange.timing,
            acknowledged,
            is_request,
            transmitters: exchange.transmitters,
            txop: first.txop,
        };
        let receiver = first.descriptor.station;
        let (link, way) = self.parts.tree.link(node, receiver);
        self.parts.meters.on_exchange(&Exchanged {
            on_air: one,
            descriptor: &first.descriptor,
            contending: first.contending,
            snr: first.snr,
            link,
            way,
            flows: &self.parts.flows,
        });
        if let Some(id) = self.parts.shaping {
            let endpoint = &mut self.parts.endpoints[id.index()];
            endpoint.on_transmitted(node, &first.descriptor.mpdus, &owner.link.backlog());
        }
        let tries = first.descriptor.chain.total_tries().min(hardware_tries).max(1);
        let expired =
            first.is_expired(shared.now) || first.descriptor.give_up_at.is_some_and(|at| shared.now >= at);
        let is_sent = exchange.timing.end > exchange.timing.ppdu_start;
        let asks = self.parts.requests
            && !success
            && first.descriptor.aggregated
            && (is_request || is_sent)
            && first.requests < REQUEST_LIMIT;
        let is_last = (!asks && (is_request || first.transmissions >= tries)) || expired;
        let fresh = if success && self.unacknowledged.0.is_empty() {
            arrived
        } else {
            self.unacknowledged.note(&first.descriptor, arrived, success)
        };
        let queue = &mut self.parts.transmitters[node.index()].hardware[category.index()];
        if let Some(first) = queue.front_mut() {
            first.asks = asks;
        }
        shared.medium.settle(at, if success { Settled::Success } else { Settled::Retry });
        if fresh.count() > 0 && (self.effects.sensing || matches!(shared.medium, Medium::Partial(_))) {
            self.receive_ended(shared, one, fresh);
        }
        if !success && !is_last {
            return;
        }
        let Some(done) = self.parts.transmitters[node.index()].hardware[category.index()].pop_front() else {
            return;
        };
        if success {
            if self.counts_below {
                self.note_left(shared, one, &done);
            }
            // The receivers of neighbours are not modelled.
            if receiver != node && self.parts.transmitters[receiver.index()].charges_received {
                let link = &mut self.parts.transmitters[receiver.index()].link;
                link.on_received(shared.now, node, category, airtime);
            }
        }
        // In a collision the channel may be busy for longer than this frame was on the air; the time of the next one starts already.
        let next_since =
            if done.descriptor.give_up_after.is_some() { one.timing.end.min(shared.now) } else { shared.now };
        let gave_up = self.report(shared, node, category, done, Some(one.acknowledged));
        if self.effects.dozing {
            self.on_exchanged(shared, node, receiver, success);
        }
        if !success && (gave_up || hardware_tries > 1) {
            // The hardware has finished the frame; the next one starts with the least window.
            shared.medium.settle(at, Settled::GaveUp);
        }
        self.contend(shared, node, category, next_since);
        if success && self.continue_txop(shared, exchange) {
            return;
        }
        shared.medium.clear_ready(at);
        self.refill(shared, node, category);
        self.sleep(shared, node);
    }

    /// Returns a descriptor to the link, with the MPDUs acknowledged in its last transmission. Returns whether the link gave packets
    /// up.
    pub(super) fn report(
        &mut self,
        shared: &mut Shared,
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
            ended: shared.now,
            airtime: Some(done.airtime),
            acknowledged: acknowledged.unwrap_or_default(),
            boundaries_known: true,
            descriptor: done.descriptor,
        };
        if self.effects.dozing && node == ACCESS_POINT {
            self.parts.dozers.note_gone(report.descriptor.station, usize::from(report.acknowledged.count()));
        }
        let mut returned = std::mem::take(&mut self.returned);
        self.parts.transmitters[node.index()].link.on_report(shared.now, report, &mut returned);
        let gave_up = !returned.dropped.is_empty();
        for (mpdu, reason) in returned.dropped.drain(..) {
            if self.effects.dozing {
                self.parts.dozers.note_gone(mpdu.packet.to, 1);
            }
            self.lose(shared, shared.now, &mpdu.packet, reason);
        }
        if let Some(descriptor) = returned.retry_now.take() {
            let again = InHardware::new(descriptor, shared.now);
            self.parts.transmitters[node.index()].hardware[category.index()].push_front(again);
        }
        if let Some(sequence) = returned.window_start.take() {
            // A block-ack request ends the receiver's wait; its airtime is not modelled.
            let now = shared.now;
            let mut arrivals = std::mem::take(&mut self.arrivals);
            self.recipients[agreement.index()].reorder.move_window(sequence, |item| arrivals.push(item));
            self.deliver_all(shared, &mut arrivals, now);
            self.arrivals = arrivals;
            self.schedule_release(shared, agreement);
        }
        self.returned = returned;
        gave_up
    }

    /// Sends the next PPDU of the same category without contention, if it fits in the TXOP. Returns whether it does.
    fn continue_txop(&mut self, shared: &mut Shared, ended: &Exchange) -> bool {
        let (node, category) = (self.node_of(ended.at), ended.at.category);
        if self.parts.transmitters[node.index()].is_away {
            return false;
        }
        let Some((start, longest)) = shared.medium.txop_room(shared.now, ended) else { return false };
        let owner = &self.parts.transmitters[node.index()];
        if owner.hardware[category.index()].is_empty()
            && (!owner.handover.is_zero() || !self.form_within(shared, node, category, shared.now, longest))
        {
            return false;
        }
        let Some((rate, quality)) = self.next_transmission(node, category, start) else { return false };
        let heard = if self.effects.absence { self.heard(node, category, quality) } else { quality };
        let parts = &mut self.parts;
        let Some(first) = parts.transmitters[node.index()].hardware[category.index()].front() else {
            return false;
        };
        // A PPDU formed before, or a single packet that is too long, waits for the next opportunity.
        if first.is_expired(start) {
            return false;
        }
        let ppdu = (&first.descriptor, rate);
        let to = TxId(self.first_tx + first.descriptor.station.0);
        let Some(timing) = shared.medium.continue_txop(shared.now, (ended, to), ppdu, heard) else {
            return false;
        };
        self.note_start(ended.at, start, &timing, quality);
        self.settle_reception(shared, ended.at, (start, rate, timing), (heard, quality));
        true
    }
}
