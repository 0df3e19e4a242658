//! Who transmits next, and when.

use airbound_control::frame::{Payload as _, StationId, TxDescriptor};
use airbound_control::link::{Link, Room};
use airbound_control::rate::LinkStats;
use airbound_units::{Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::rate::Rate;

use super::{Event, InHardware, OnAir, Simulation, link_id};
use airbound_air::edca::Edcaf;
use airbound_air::exchange::{Answer, ExchangeTiming, Ppdu};
use airbound_air::propagation::LinkQuality;

/// The number of a contention function.
pub(super) fn edcaf_of(node: StationId, category: Category) -> usize {
    node.index() * 4 + category.index()
}

/// The node and category of a contention function.
pub(super) fn owner_of(edcaf: u32) -> (StationId, Category) {
    (StationId((edcaf / 4) as u16), Category::ALL[(edcaf % 4) as usize])
}

/// The PPDU of a descriptor at a rate.
pub(super) fn ppdu_of<P>(descriptor: &TxDescriptor<P>, rate: Rate) -> Ppdu {
    Ppdu {
        rate,
        psdu: descriptor.psdu,
        mpdus: descriptor.mpdus.len(),
        answer: if descriptor.aggregated { Answer::BlockAck } else { Answer::Ack },
        protected: false,
    }
}

impl Simulation {
    /// When the next transmission begins if nothing happens before; `None` while the channel is busy or nobody wants it.
    pub(super) fn next_access(&self) -> Option<Instant> {
        let idle_since = self.idle_since?;
        if self.parts.beacons.is_some_and(|beacons| beacons.due) {
            // Beacons wait for PIFS (802.11-2020, 10.3.2.3.4).
            let band = self.parts.phy.band();
            return Some(self.now.max(idle_since + band.sifs() + band.slot()));
        }
        let soonest = self.soonest.get().unwrap_or_else(|| {
            let edcafs = &self.parts.edcafs;
            let soonest =
                self.active.iter().filter_map(|&edcaf| edcafs[edcaf as usize].access(idle_since)).min();
            self.soonest.set(Some(soonest));
            soonest
        });
        // A frame that waited for a window or a limit to open becomes ready at a time that has passed.
        soonest.map(|access| access.max(self.now))
    }

    /// A contention function whose state is about to change, so that another may be the next to transmit.
    pub(super) fn edcaf(&mut self, edcaf: usize) -> &mut Edcaf {
        self.soonest.set(None);
        &mut self.parts.edcafs[edcaf]
    }

    /// Nobody transmits since `since`; an instant to come if all have to wait until then.
    pub(super) fn become_idle(&mut self, since: Instant) {
        self.idle_since = Some(since);
        self.soonest.set(None);
    }

    /// The time has come that [`Simulation::next_access`] named.
    pub(super) fn transmit(&mut self) {
        if self.beacon_is_due() {
            self.transmit_beacon();
            return;
        }
        let Some(idle_since) = self.idle_since else { return };
        self.elect(idle_since);
        if !self.winners.is_empty() {
            self.become_busy(idle_since);
        }
        self.punish_losers();
        if !self.winners.is_empty() {
            let end = self.start_all(self.winners.len() as u16);
            self.busy_until(end);
        }
    }

    /// Whether the next transmission is a beacon, before all data.
    pub(super) fn beacon_is_due(&self) -> bool {
        self.parts.beacons.is_some_and(|beacons| beacons.due)
    }

    /// Finds those who transmit now and have something to send.
    pub(super) fn elect(&mut self, idle_since: Instant) {
        let mut winners = std::mem::take(&mut self.winners);
        winners.clear();
        let edcafs = &self.parts.edcafs;
        let now = self.now;
        winners.extend(
            self.active.iter().copied().filter(|&edcaf| {
                edcafs[edcaf as usize].access(idle_since).is_some_and(|access| access <= now)
            }),
        );
        if winners.len() > 1 {
            // The list of active functions has no order of its own; the result must have one.
            winners.sort_unstable();
            if self.parts.pipe.is_some() {
                // A pipe has no contention: those who want it take turns.
                let turn = self.txops as usize % winners.len();
                winners.swap(0, turn);
                winners.truncate(1);
            } else {
                self.settle_internal_collisions(&mut winners);
            }
        }
        winners.retain(|&edcaf| self.prepare(edcaf));
        self.winners = winners;
    }

    /// What the losers of internal collisions draw, which must not lose the slots that have passed.
    pub(super) fn punish_losers(&mut self) {
        while let Some(loser) = self.losers.pop() {
            self.edcaf(loser as usize).on_failure();
        }
    }

    /// Puts the winners on the air, who are `transmitters` with those of other networks on the channel. Returns until when the
    /// channel is busy with them.
    pub(super) fn start_all(&mut self, transmitters: u16) -> Instant {
        let mut winners = std::mem::take(&mut self.winners);
        let now = self.now;
        let collided = transmitters > 1;
        self.parts.meters.on_attempts(now, winners.len() as u64, collided);
        let mut end = now;
        for edcaf in winners.drain(..) {
            end = end.max(self.start_exchange(edcaf, now, transmitters, None));
        }
        if collided {
            // Each hears nothing of the others: the channel is free when the longest of the first frames has ended.
            end = self.on_air.iter().map(|one| one.start + one.timing.first_frame).max().unwrap_or(now);
        }
        self.winners = winners;
        end
    }

    /// What is on the air now ends at `end`.
    pub(super) fn busy_until(&mut self, end: Instant) {
        if self.alone {
            self.schedule(end, Event::ExchangeEnd);
        } else {
            self.until = Some(end);
        }
    }

    /// Of several categories of one node the highest wins; the others behave as after a collision (802.11-2020,
    /// 10.23.2.4).
    fn settle_internal_collisions(&mut self, winners: &mut Vec<u32>) {
        let mut place = 0;
        while place + 1 < winners.len() {
            if winners[place] / 4 == winners[place + 1] / 4 {
                self.losers.push(winners.remove(place));
            } else {
                place += 1;
            }
        }
    }

    /// Makes sure that a winner has a PPDU to send.
    fn prepare(&mut self, edcaf: u32) -> bool {
        let (node, category) = owner_of(edcaf);
        if self.parts.nodes[node.index()].hardware[category.index()].is_empty() {
            self.take_in(node);
            self.form(node, category, self.now);
            let since = self.parts.edcafs[edcaf as usize].ready_since();
            let first = self.parts.nodes[node.index()].hardware[category.index()].front_mut();
            if let (Some(first), Some(since)) = (first, since) {
                // An aggregate formed at access contended before it had a shape.
                first.contending = since;
            }
        }
        if self.parts.nodes[node.index()].hardware[category.index()].is_empty() {
            // What waited was dropped, or may not go now.
            self.edcaf(edcaf as usize).clear_ready();
            self.sleep(node);
            return false;
        }
        true
    }

    /// Asks the link for a PPDU and puts it in the hardware. Returns whether there was one.
    pub(super) fn form(&mut self, node: StationId, category: Category, now: Instant) -> bool {
        let limit = self.parts.edcafs[edcaf_of(node, category)].txop_limit();
        self.form_within(node, category, now, self.parts.phy.longest_ppdu(limit))
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
                airtime: Span::ZERO,
            });
        }
        if formed {
            self.contend(node, category, now);
        }
        self.note_drops(now);
        formed
    }

    /// Everyone who counts down loses the slots that have passed.
    pub(super) fn become_busy(&mut self, idle_since: Instant) {
        self.idle_since = None;
        let mut place = 0;
        while let Some(&edcaf) = self.active.get(place) {
            let state = &mut self.parts.edcafs[edcaf as usize];
            state.on_busy(idle_since, self.now);
            if state.is_active() {
                place += 1;
            } else {
                self.is_active[edcaf as usize] = false;
                self.active.swap_remove(place);
            }
        }
    }

    /// Notes that the state of a contention function can change.
    pub(super) fn activate(&mut self, edcaf: usize) {
        if !self.is_active[edcaf] {
            self.is_active[edcaf] = true;
            self.active.push(edcaf as u32);
            self.soonest.set(None);
        }
    }

    /// Puts the first PPDU of a category on the air at `now`. Returns when its exchange ends.
    pub(super) fn start_exchange(
        &mut self,
        edcaf: u32,
        now: Instant,
        transmitters: u16,
        opportunity_end: Option<Instant>,
    ) -> Instant {
        let (node, category) = owner_of(edcaf);
        let collided = transmitters > 1;
        let parts = &mut self.parts;
        let owner = &mut parts.nodes[node.index()];
        let Some(first) = owner.hardware[category.index()].front_mut() else { return now };
        // A device whose tries outlast the chain repeats the last step.
        let chain = first.descriptor.chain;
        let last = chain.steps().last().map_or(chain.first_rate(), |step| step.rate);
        let rate = chain.rate_of(first.transmissions).unwrap_or(last);
        if first.started == Instant::MAX {
            first.started = now;
            let contending = first.contending;
            for mpdu in &mut first.descriptor.mpdus {
                if mpdu.packet.first_transmission == Instant::MAX {
                    // A packet that arrived while its category contended waited for the channel from its arrival on.
                    mpdu.packet.contending = contending.max(mpdu.packet.enqueued);
                    mpdu.packet.first_transmission = now;
                }
            }
        }
        first.transmissions += 1;
        let (link, _) = parts.tree.link(node, first.descriptor.station);
        let quality = parts.links.quality(link_id(link), now);
        let ppdu = ppdu_of(&first.descriptor, rate);
        let mut timing = match &mut parts.pipe {
            // The bandwidth of a trace is that of an IP path: it counts packets.
            Some(pipe) => {
                let size = first.descriptor.mpdus.iter().map(|mpdu| mpdu.packet.size()).sum();
                ExchangeTiming::in_one_piece(now, pipe.finish(now, size))
            }
            None => parts.phy.timing(now, &ppdu, quality),
        };
        if collided {
            // What would have followed the first frame never comes.
            timing.end = now + timing.first_frame;
        }
        let acknowledged = if collided {
            AckBitmap::NONE
        } else if parts.pipe.is_some() {
            AckBitmap::first(ppdu.mpdus)
        } else {
            let sizes = first.descriptor.mpdus.iter().map(|mpdu| mpdu.size);
            parts.phy.outcome(&ppdu, sizes, quality, &mut owner.draws)
        };
        if let LinkQuality::Snr(snr) = quality {
            let stats = LinkStats { snr: Some(snr), ..Default::default() };
            owner.link.on_link_stats(now, first.descriptor.station, &stats);
        }
        first.airtime += timing.end - now;
        self.txops += 1;
        let opportunity_end = opportunity_end.unwrap_or(now + parts.edcafs[edcaf as usize].txop_limit());
        self.on_air.push(OnAir {
            node,
            category,
            rate,
            start: now,
            timing,
            acknowledged,
            transmitters,
            txop: self.txops,
            opportunity_end,
        });
        timing.end
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
        let (Some(idle_since), Some(beacons)) = (self.idle_since, &mut self.parts.beacons) else { return };
        beacons.due = false;
        let end = self.now + beacons.duration;
        self.become_busy(idle_since);
        self.note_busy(self.now, end);
        self.busy_until(end);
    }

    /// A burst of interference begins or ends: while it lasts, everyone finds the channel busy.
    pub(super) fn on_interference(&mut self) {
        if let Some(until) = self.parts.links.jammed_until(self.now) {
            self.jammed_until = self.jammed_until.max(until);
            if let Some(idle_since) = self.idle_since {
                self.become_busy(idle_since);
                self.note_busy(self.now, until);
                self.busy_until(until);
            }
        }
        if let Some(next) = self.parts.links.next_jam_change(self.now) {
            self.schedule(next, Event::Interference);
        }
    }
}
