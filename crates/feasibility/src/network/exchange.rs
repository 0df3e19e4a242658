//! Access to the channel, exchanges and their outcome.

use airbound_air::channel::{AccessId, Exchange, Settled, TxId};
use airbound_air::exchange::ExchangeTiming;
use airbound_air::propagation::{LinkId, LinkQuality};
use airbound_control::frame::{StationId, TxReport};
use airbound_control::link::Link as _;
use airbound_control::rate::LinkStats;
use airbound_units::{ByteCount, Decibel, Instant};
use airbound_wifi::{AckBitmap, Category};

use super::agenda::Event;
use super::node::InHardware;
use super::packet::{Content, Packet};
use super::{ACCESS_POINT, Network};

/// Headers of a datagram.
const UDP_HEADERS: ByteCount = airbound_traffic::UDP_HEADERS;
/// A signal-to-noise ratio at which no rate has errors.
const FLAWLESS: Decibel = Decibel::new(100.0);

impl Network {
    /// Tells both ends of each link its quality.
    pub(super) fn report_links(&mut self) {
        for number in 0..self.stations as u16 {
            let (snr, rate) = match self.links.quality(Some(LinkId(number)), self.now) {
                LinkQuality::Perfect => (FLAWLESS, None),
                LinkQuality::Snr(snr) => (snr, None),
                LinkQuality::Phy(quality) => (FLAWLESS, Some(quality.rate)),
            };
            self.report_link(StationId(number + 1), &LinkStats { snr: Some(snr), rate });
        }
    }

    fn report_link(&mut self, station: StationId, stats: &LinkStats) {
        self.nodes[ACCESS_POINT.index()].link.on_link_stats(self.now, station, stats);
        self.nodes[station.index()].link.on_link_stats(self.now, ACCESS_POINT, stats);
    }

    /// The time of the next transmission if no event precedes it.
    pub(super) fn next_access(&self) -> Instant {
        if self.beacons.is_some_and(|beacons| beacons.due) {
            self.channel.next_beacon(self.now)
        } else {
            self.channel.next_access(self.now)
        }
    }

    pub(super) fn transmit(&mut self) {
        if let Some(beacons) = self.beacons.as_mut().filter(|beacons| beacons.due) {
            beacons.due = false;
            let end = self.now + beacons.duration;
            self.channel.hold(self.now, end);
        } else {
            let mut winners = std::mem::take(&mut self.winners);
            self.channel.contend(self.now, &mut winners);
            winners.retain(|at| self.prepare(*at));
            self.channel.occupy(self.now);
            for at in winners.drain(..) {
                self.start(at);
            }
            self.winners = winners;
        }
        self.schedule_end();
    }

    fn schedule_end(&mut self) {
        if let Some(end) = self.channel.busy_until(TxId(0)) {
            self.agenda.push(end, Event::ExchangeEnd);
        }
    }

    /// Prepares the PPDU of a winner. Returns whether there is one.
    fn prepare(&mut self, at: AccessId) -> bool {
        let (node, category) = (StationId(at.tx.0), at.category);
        let is_empty = |network: &Self| network.nodes[node.index()].hardware[category.index()].is_empty();
        if is_empty(self) {
            let longest = self.channel.longest_ppdu(at);
            self.form(node, category, longest);
        }
        if is_empty(self) {
            self.channel.withdraw(at);
            return false;
        }
        true
    }

    fn start(&mut self, at: AccessId) {
        let (node, now) = (StationId(at.tx.0), self.now);
        let Some(first) = self.nodes[node.index()].hardware[at.category.index()].front() else { return };
        let quality = self.links.quality(self.quality_of(node, first.descriptor.station), now);
        let sizes = first.descriptor.mpdus.iter().map(|mpdu| mpdu.size);
        let timing = self.channel.transmit(now, at, &first.ppdu(), sizes, quality);
        self.note_start(at, now, &timing, quality);
    }

    /// The link of a node to its peer; `None` for a neighbour, whose receiver is not modelled.
    fn quality_of(&self, node: StationId, peer: StationId) -> Option<LinkId> {
        Self::link(node, peer).filter(|link| usize::from(link.0) < self.stations)
    }

    fn note_start(&mut self, at: AccessId, start: Instant, timing: &ExchangeTiming, quality: LinkQuality) {
        let owner = &mut self.nodes[usize::from(at.tx.0)];
        let Some(first) = owner.hardware[at.category.index()].front_mut() else { return };
        first.started.get_or_insert(start);
        first.transmissions += 1;
        first.airtime += timing.end - start;
        if let LinkQuality::Snr(snr) = quality {
            let stats = LinkStats { snr: Some(snr), ..Default::default() };
            owner.link.on_link_stats(start, first.descriptor.station, &stats);
        }
    }

    pub(super) fn on_exchange_end(&mut self) {
        while let Some(exchange) = self.channel.take_ended(self.now) {
            self.finish(&exchange);
        }
        self.channel.release(self.now);
        self.schedule_end();
    }

    pub(super) fn on_interference(&mut self) {
        if let Some(until) = self.links.jammed_until(self.now)
            && self.channel.jam(self.now, until)
        {
            self.schedule_end();
        }
        if let Some(next) = self.links.next_jam_change(self.now) {
            self.agenda.push(next, Event::Interference);
        }
    }

    fn finish(&mut self, exchange: &Exchange) {
        let at = exchange.at;
        let (node, category) = (StationId(at.tx.0), at.category);
        let airtime = exchange.timing.end - exchange.start;
        let owner = &mut self.nodes[node.index()];
        let tries = owner.tries;
        let Some(first) = owner.hardware[category.index()].front() else { return };
        let receiver = first.descriptor.station;
        let success = exchange.acknowledged.count() > 0;
        let most = first.descriptor.chain.total_tries().min(tries).max(1);
        let expired = first.descriptor.give_up_at.is_some_and(|at| self.now >= at);
        let is_last = first.transmissions >= most || expired;
        if node == ACCESS_POINT && self.now >= self.times.from {
            let time = airtime.as_secs_f64() + self.pauses[category.index()];
            let each = time / first.descriptor.mpdus.len().max(1) as f64;
            let mut last = None;
            for mpdu in &first.descriptor.mpdus {
                let route = self.routes.get(mpdu.packet.flow).filter(|route| route.to == receiver);
                if let Some(place) = route.and_then(|route| route.demand) {
                    let measured = &mut self.measured[place];
                    measured.airtime += each;
                    if last != Some(place) {
                        measured.rates.push(exchange.rate.bit_rate());
                    }
                    last = Some(place);
                }
            }
        }
        self.channel.settle(at, if success { Settled::Success } else { Settled::Retry });
        if !success && !is_last {
            return;
        }
        let Some(done) = self.nodes[node.index()].hardware[category.index()].pop_front() else { return };
        if success {
            self.receive(node, &done, exchange.acknowledged);
            if receiver != node && self.nodes[receiver.index()].charges_received {
                self.nodes[receiver.index()].link.on_received(self.now, node, category, airtime);
            }
        }
        let gave_up = self.report(node, category, done, exchange.acknowledged);
        if !success && (gave_up || tries > 1) {
            self.channel.settle(at, Settled::GaveUp);
        }
        if success && self.continue_txop(exchange) {
            return;
        }
        self.channel.clear_ready(at);
        // Places in the hardware may be common to all categories.
        for category in Category::ALL.into_iter().rev() {
            if category == at.category || self.nodes[node.index()].total != usize::MAX {
                self.fill(node, category);
            }
        }
    }

    /// Hands the received MPDUs on, in order.
    fn receive(&mut self, node: StationId, done: &InHardware, acknowledged: AckBitmap) {
        let receiver = done.descriptor.station;
        if receiver == node {
            return;
        }
        let in_order = self.nodes[node.index()].block_ack[done.descriptor.category.index()];
        let buffer = self.buffer(node, receiver, done.descriptor.category);
        let mut arrivals = Vec::new();
        for (place, mpdu) in done.descriptor.mpdus.iter().enumerate() {
            if !acknowledged.get(place) {
                continue;
            }
            self.measure(&mpdu.packet, receiver);
            if !in_order || self.recipients[buffer].passes(mpdu.sequence) {
                self.deliver(mpdu.packet);
                continue;
            }
            self.recipients[buffer]
                .receive(mpdu.sequence, mpdu.packet, self.now, |packet| arrivals.push(packet));
            for packet in arrivals.drain(..) {
                self.deliver(packet);
            }
        }
    }

    fn measure(&mut self, packet: &Packet, receiver: StationId) {
        if matches!(packet.content, Content::Acknowledgement(_)) {
            return;
        }
        let route = self.routes.get(packet.flow).filter(|route| route.to == receiver);
        let Some(place) = route.and_then(|route| route.demand) else { return };
        let measured = &mut self.measured[place];
        if packet.content == Content::Datagram && self.now >= self.times.from {
            measured.delivered += (packet.size - UDP_HEADERS).as_u64() as f64;
        }
        if packet.sent >= self.times.from {
            measured.latencies.push((self.now - packet.sent).as_secs_f64());
        }
    }

    /// The reordering buffer of a link, direction and category.
    fn buffer(&self, node: StationId, receiver: StationId, category: Category) -> usize {
        let station = usize::from(node.0.max(receiver.0));
        (station * 2 + usize::from(node == ACCESS_POINT)) * 4 + category.index()
    }

    /// Returns a PPDU to its link. Returns whether packets were given up.
    fn report(
        &mut self,
        node: StationId,
        category: Category,
        done: InHardware,
        acknowledged: AckBitmap,
    ) -> bool {
        let buffer = self.buffer(node, done.descriptor.station, category);
        let report = TxReport {
            used: done.descriptor.chain.used(done.transmissions),
            handed: done.handed,
            started: done.started,
            ended: self.now,
            airtime: Some(done.airtime),
            acknowledged,
            boundaries_known: true,
            descriptor: done.descriptor,
        };
        let mut returned = std::mem::take(&mut self.returned);
        let owner = &mut self.nodes[node.index()];
        owner.link.on_report(self.now, report, &mut returned);
        let gave_up = !returned.dropped.is_empty();
        returned.dropped.clear();
        if let Some(descriptor) = returned.retry_now.take() {
            owner.hardware[category.index()].push_front(InHardware::new(descriptor, self.now));
        }
        let mut arrivals = Vec::new();
        if let Some(sequence) = returned.window_start.take()
            && let Some(buffer) = self.recipients.get_mut(buffer)
        {
            buffer.move_window(sequence, |packet| arrivals.push(packet));
        }
        self.returned = returned;
        for packet in arrivals {
            self.deliver(packet);
        }
        gave_up
    }

    /// Sends the next PPDU of the category without contention if it fits in the TXOP. Returns whether it does.
    fn continue_txop(&mut self, ended: &Exchange) -> bool {
        let (node, category) = (StationId(ended.at.tx.0), ended.at.category);
        let Some((start, longest)) = self.channel.txop_room(self.now, ended) else { return false };
        let is_empty = self.nodes[node.index()].hardware[category.index()].is_empty();
        if is_empty && !self.form(node, category, longest) {
            return false;
        }
        let Some(first) = self.nodes[node.index()].hardware[category.index()].front() else { return false };
        let quality = self.links.quality(self.quality_of(node, first.descriptor.station), start);
        let sizes = first.descriptor.mpdus.iter().map(|mpdu| mpdu.size);
        let timing = self.channel.continue_txop(self.now, ended, &first.ppdu(), sizes, quality);
        let Some(timing) = timing else { return false };
        self.note_start(ended.at, start, &timing, quality);
        true
    }
}
