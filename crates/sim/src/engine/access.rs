//! Access to the medium: PPDUs are formed, contend, and go on the air.

use airbound_air::channel::{AccessId, TxId};
use airbound_air::exchange::ExchangeTiming;
use airbound_air::propagation::LinkQuality;
use airbound_control::frame::StationId;
use airbound_control::link::{Link, Room};
use airbound_control::rate::LinkStats;
use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;
use airbound_wifi::rate::Rate;

use super::{Event, InHardware, Simulation, link_id};

impl InHardware {
    /// The rate of the next transmission. A device whose tries outlast the chain repeats the last step.
    fn next_rate(&self) -> Rate {
        let chain = self.descriptor.chain;
        let last = chain.steps().last().map_or(chain.first_rate(), |step| step.rate);
        chain.rate_of(self.transmissions).unwrap_or(last)
    }
}

impl Simulation {
    /// The contention function of a category of a node.
    #[inline]
    pub(super) const fn access(&self, node: StationId, category: Category) -> AccessId {
        AccessId { tx: TxId(self.first_tx + node.0), category }
    }

    /// The node of a contention function of this network.
    pub(super) const fn node_of(&self, at: AccessId) -> StationId {
        StationId(at.tx.0 - self.first_tx)
    }

    /// Whether a category of a node contends.
    #[inline]
    pub(super) fn is_ready(&self, node: StationId, category: Category) -> bool {
        self.parts.medium.is_ready(self.access(node, category))
    }

    /// The time at which the next transmission begins if nothing happens before; [`Instant::MAX`] for never.
    pub(super) fn next_access(&self) -> Instant {
        if self.beacon_is_due() {
            self.parts.medium.next_beacon(self.now)
        } else {
            self.parts.medium.next_access(self.now)
        }
    }

    /// The time has come that [`Simulation::next_access`] named.
    pub(super) fn transmit(&mut self) {
        if self.beacon_is_due() {
            self.transmit_beacon();
        } else {
            let mut winners = std::mem::take(&mut self.winners);
            self.parts.medium.contend(self.now, &mut winners);
            self.winners = winners;
            self.prepare_winners();
            self.parts.medium.occupy(self.now);
            self.start_winners();
        }
        self.schedule_end();
    }

    /// The end of what is on the air, where no other network shares the channel.
    pub(super) fn schedule_end(&mut self) {
        if self.alone
            && let Some(end) = self.parts.medium.busy_until(TxId(self.first_tx))
        {
            self.schedule(end, Event::ExchangeEnd);
        }
    }

    /// Whether the next transmission is a beacon, before all data.
    pub(super) fn beacon_is_due(&self) -> bool {
        self.parts.beacons.is_some_and(|beacons| beacons.due)
    }

    /// Makes sure that the winners have something to send; the others withdraw.
    pub(super) fn prepare_winners(&mut self) {
        let mut winners = std::mem::take(&mut self.winners);
        winners.retain(|at| self.prepare(*at));
        self.winners = winners;
    }

    /// Puts the winners on the air.
    pub(super) fn start_winners(&mut self) {
        let mut winners = std::mem::take(&mut self.winners);
        if !winners.is_empty() {
            let collided = self.parts.medium.transmitters() > 1;
            self.parts.meters.on_attempts(self.now, winners.len() as u64, collided);
        }
        for at in winners.drain(..) {
            self.start_exchange(at);
        }
        self.winners = winners;
    }

    /// Makes sure that a winner has a PPDU to send.
    fn prepare(&mut self, at: AccessId) -> bool {
        let (node, category) = (self.node_of(at), at.category);
        if self.parts.nodes[node.index()].hardware[category.index()].is_empty() {
            self.take_in(node);
            self.form(node, category, self.now);
            let since = self.parts.medium.ready_since(at);
            let first = self.parts.nodes[node.index()].hardware[category.index()].front_mut();
            if let (Some(first), Some(since)) = (first, since) {
                // An aggregate formed at access contended before it had a shape.
                first.contending = since;
            }
        }
        if self.parts.nodes[node.index()].hardware[category.index()].is_empty() {
            // What waited was dropped, or may not go now.
            self.parts.medium.withdraw(at);
            self.sleep(node);
            return false;
        }
        true
    }

    /// Asks the link for a PPDU and puts it in the hardware. Returns whether there was one.
    pub(super) fn form(&mut self, node: StationId, category: Category, now: Instant) -> bool {
        let longest = self.parts.medium.longest_ppdu(self.access(node, category));
        self.form_within(node, category, now, longest)
    }

    /// The same with a bound on the PPDU.
    pub(super) fn form_within(
        &mut self,
        node: StationId,
        category: Category,
        now: Instant,
        longest: Span,
    ) -> bool {
        if self.dictates {
            while let Some((link, rate)) = self.parts.links.changed(now) {
                let stats = LinkStats { rate: Some(rate), ..LinkStats::default() };
                self.tell_ends(now, StationId(link.0 + 1), &stats);
            }
        }
        let owner = &mut self.parts.nodes[node.index()];
        let descriptor = owner.link.next(now, Room { category, max_duration: longest }, &mut self.dropped);
        let queue = &mut owner.hardware[category.index()];
        let formed = descriptor.is_some();
        if let Some(descriptor) = descriptor {
            queue.push_back(InHardware {
                descriptor,
                handed: now,
                contending: Instant::MAX,
                started: Instant::MAX,
                transmissions: 0,
                txop: 0,
                airtime: Span::ZERO,
            });
        }
        if formed {
            self.contend(node, category, now);
        }
        self.note_drops(now);
        formed
    }

    /// Puts the first PPDU of a category that won the channel on the air.
    fn start_exchange(&mut self, at: AccessId) {
        let (node, now) = (self.node_of(at), self.now);
        let Some((rate, quality)) = self.next_transmission(node, at.category, now) else { return };
        let parts = &mut self.parts;
        let Some(first) = parts.nodes[node.index()].hardware[at.category.index()].front() else { return };
        let timing = parts.medium.transmit(now, at, (&first.descriptor, rate), quality);
        self.note_start(at, now, &timing, quality);
    }

    /// Rate and link quality of the transmission of the first PPDU of a category that begins at `start`.
    pub(super) fn next_transmission(
        &mut self,
        node: StationId,
        category: Category,
        start: Instant,
    ) -> Option<(Rate, LinkQuality)> {
        let parts = &mut self.parts;
        let first = parts.nodes[node.index()].hardware[category.index()].front()?;
        let (link, _) = parts.tree.link(node, first.descriptor.station);
        Some((first.next_rate(), parts.links.quality(link_id(link), start)))
    }

    /// Notes that the transmission of the first PPDU of a category begins at `start`.
    pub(super) fn note_start(
        &mut self,
        at: AccessId,
        start: Instant,
        timing: &ExchangeTiming,
        quality: LinkQuality,
    ) {
        let node = self.node_of(at);
        self.txops += 1;
        let owner = &mut self.parts.nodes[node.index()];
        let Some(first) = owner.hardware[at.category.index()].front_mut() else { return };
        if first.started == Instant::MAX {
            first.started = start;
            let contending = first.contending;
            for mpdu in &mut first.descriptor.mpdus {
                if mpdu.packet.first_transmission == Instant::MAX {
                    // A packet that arrived while its category contended waited for the channel from its arrival on.
                    mpdu.packet.contending = contending.max(mpdu.packet.enqueued);
                    mpdu.packet.first_transmission = start;
                }
            }
        }
        first.transmissions += 1;
        first.txop = self.txops;
        first.airtime += timing.end - start;
        if let LinkQuality::Snr(snr) = quality {
            let stats = LinkStats { snr: Some(snr), ..Default::default() };
            owner.link.on_link_stats(start, first.descriptor.station, &stats);
        }
    }

    /// The beacon is due; it goes before all data.
    pub(super) fn on_beacon_due(&mut self) {
        if let Some(beacons) = &mut self.parts.beacons {
            beacons.due = true;
            let next = self.now + beacons.interval;
            self.schedule(next, Event::Beacon);
        }
    }

    pub(super) fn transmit_beacon(&mut self) {
        let Some(beacons) = &mut self.parts.beacons else { return };
        beacons.due = false;
        let end = self.now + beacons.duration;
        self.parts.medium.hold(self.now, end);
        self.note_busy(self.now, end);
    }

    /// A burst of interference begins or ends: while it lasts, every transmitter finds the channel busy.
    pub(super) fn on_interference(&mut self) {
        if let Some(until) = self.parts.links.jammed_until(self.now)
            && self.parts.medium.jam(self.now, until)
        {
            self.note_busy(self.now, until);
            self.schedule_end();
        }
        if let Some(next) = self.parts.links.next_jam_change(self.now) {
            self.schedule(next, Event::Interference);
        }
    }

    /// The exchanges on the air end: the channel is free, or the next exchange of a TXOP begins.
    pub(super) fn on_exchange_end(&mut self) {
        let mut is_first = true;
        while let Some(exchange) = self.parts.medium.take_ended(self.now) {
            if std::mem::take(&mut is_first) {
                self.note_busy(exchange.start, self.now);
            }
            self.finish(&exchange);
        }
        self.parts.medium.release(self.now);
        if let Some(until) = self.parts.medium.busy_until(TxId(self.first_tx))
            && !self.parts.medium.is_transmitting()
        {
            // A jam.
            self.note_busy(self.now, until);
        }
        self.schedule_end();
    }
}
