//! Packets below the agent, released and not completed: their airtime, stalled stations, and completions that never come.

use airbound_control::frame::{Mpdu, Payload, RateChain, StationId, TxDescriptor, TxReport};
use airbound_control::link::Link;
use airbound_control::queue::{Direction, Eligibility, Fact, Queue};
use airbound_control::rate::{LinkStats, RateControl};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;

use super::packet::{Carried, Completion, Held, StationFacts};
use super::unseen::Ledger;
use super::{Decision, Engine};

/// Assumed size of a frame of unknown size: a packet of a bulk transfer.
const FULL_PACKET: ByteCount = ByteCount::new(1500);
/// Interval at which all stations are checked for overdue completions.
const CHECK: Span = Span::from_millis(10);
/// The delay of a check while no packet is held.
const PATIENCE: Span = Span::from_millis(40);
/// Shortest interval between reports of a station's lost completions.
const LOSS_REPORTS: Span = Span::from_secs(1);

/// The airtime and packets below, by category, of stations that are not stalled.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Below {
    pub(super) airtime: [Span; 4],
    pub(super) packets: [usize; 4],
    /// Packets below of all stations, stalled ones included.
    all: usize,
    next_check: Instant,
    next_losses: Instant,
}

impl Below {
    pub(super) fn add(&mut self, category: Category, airtime: Span) {
        self.airtime[category.index()] += airtime;
        self.packets[category.index()] += 1;
        self.all += 1;
    }

    fn remove(&mut self, category: Category, airtime: Span, counted: bool) {
        self.all = self.all.saturating_sub(1);
        if counted {
            self.airtime[category.index()] -= airtime;
            let packets = &mut self.packets[category.index()];
            *packets = packets.saturating_sub(1);
        }
    }

    /// Packets of all stations.
    pub(super) const fn all(&self) -> usize {
        self.all
    }

    /// The time of the next check, which may be late while no packet waits for one below.
    pub(super) fn next_deadline(&self, any_held: bool) -> Option<Instant> {
        let late = if any_held { Span::ZERO } else { PATIENCE };
        (self.all > 0).then(|| self.next_check + late)
    }
}

impl Engine {
    /// Processes the completion of a frame to a known station.
    pub(super) fn complete(&mut self, id: StationId, completion: &Completion) {
        let now = self.now;
        if self.peers.get(id).is_some_and(|peer| peer.stalled) {
            self.resume(id);
        }
        let Some(peer) = self.peers.get_mut(id) else { return };
        let (done, rate) = peer.on_completion(now, completion);
        let tries = u64::from(completion.tries.max(1));
        let size = completion.size.or_else(|| {
            let held = &done.as_ref()?.held;
            Some(ByteCount::new(held.size.as_u64() / u64::from(held.segments)))
        });
        let category = completion.category.or_else(|| done.as_ref().map(|done| done.held.category));
        let category = category.unwrap_or_default();
        let estimated = || self.link.estimate(id).of(size.unwrap_or(FULL_PACKET), category) * tries;
        let airtime = completion.airtime.unwrap_or_else(estimated);
        peer.counts.airtime_us += airtime.as_micros();
        let direction = Direction::Sent;
        self.link.queue_mut().on(now, Fact::Airtime { station: id, category, airtime, direction });
        self.report_rate(id, rate);
        if done.is_none() {
            self.on_without_verdict();
        }
        if let Carried::Bypassed { rule, took } = completion.carried {
            return self.on_bypass(rule, took, completion);
        }
        let Some(done) = done else {
            self.counts.foreign += u64::from(completion.carried == Carried::Other);
            return;
        };
        let took = completion.at.min(now).since(done.held.arrived);
        if let Some(rule) = self.measures.of(done.held.rule) {
            rule.on_done(done.acknowledged, done.held.size, took);
        }
        self.settle(&done.held);
        self.report(done.held, done.acknowledged, completion);
    }

    /// Gives a packet up whose completion did not arrive.
    fn give_up(&mut self, held: &Held) {
        self.settle(held);
        self.link.queue_mut().on(self.now, Fact::Dropped(held));
    }

    /// Removes a packet from the accounts of what is below.
    fn settle(&mut self, held: &Held) {
        let counted = self.peers.get(held.station).is_none_or(|peer| !peer.stalled);
        self.below.remove(held.category, held.airtime_estimate(), counted);
        self.flows.on_gone(held.flow);
    }

    /// Reports a completed packet to the link. The boundaries of aggregates are unknown.
    fn report(&mut self, held: Held, acknowledged: bool, completion: &Completion) {
        let Held { station, category, size, .. } = held;
        let chain = RateChain::single(self.link.rate_control().expected_rate(station), completion.tries);
        let mut mpdus = self.link.take_spare();
        let handed = held.enqueued();
        mpdus.push(Mpdu::new(held, size, 0, self.now));
        let report = TxReport {
            handed,
            started: None,
            ended: completion.at.min(self.now),
            used: chain,
            airtime: None,
            acknowledged: AckBitmap::first(usize::from(acknowledged)),
            boundaries_known: false,
            descriptor: TxDescriptor {
                station,
                category,
                alternate: false,
                psdu: size,
                mpdus,
                aggregated: false,
                chain,
                give_up_after: None,
                give_up_at: None,
            },
        };
        self.link.on_report(self.now, report, &mut self.returned);
        self.returned.dropped.clear();
    }

    /// Updates a station from nl80211's record, and adds it if it is not present.
    pub(super) fn on_facts(&mut self, facts: &StationFacts) {
        if facts.station.is_group() {
            return;
        }
        let known = self.peers.find(facts.station);
        if known.is_none_or(|id| self.peers.get(id).is_some_and(|peer| !peer.present)) {
            let Some((id, _)) = self.peers.find_or_add(facts.station) else { return };
            let Some(peer) = self.peers.get_mut(id) else { return };
            peer.present = true;
            // The kernel's counter of a new association begins at zero.
            peer.ledger = Ledger::default();
            let joined = Decision::StationJoined { station: facts.station, id: id.0, rate: facts.rate };
            self.out.decisions.push(joined);
        }
        let Some(id) = self.peers.find(facts.station) else { return };
        let changed = self.link.rate_control_mut().set_aggregates(id, facts.aggregates);
        let rate = self.peers.get_mut(id).and_then(|peer| peer.on_facts(facts.rate, changed));
        self.report_rate(id, rate);
        self.read_sent(id, facts.sent);
    }

    /// Reports the PHY rate of a station to the link, if it changed.
    fn report_rate(&mut self, id: StationId, rate: Option<BitRate>) {
        if rate.is_some() {
            self.link.on_link_stats(self.now, id, &LinkStats { snr: None, rate });
        }
    }

    /// Forgets the packets below of a station. Returns their count.
    pub(super) fn forget_below(&mut self, id: StationId) -> usize {
        self.resume(id);
        let mut gone = std::mem::take(&mut self.gone);
        if let Some(peer) = self.peers.get_mut(id) {
            peer.forget(&mut gone);
        }
        let count = gone.len();
        self.counts.lost += count as u64;
        for held in gone.drain(..) {
            self.give_up(&held);
        }
        self.gone = gone;
        count
    }

    /// Gives up packets whose completions are overdue, and marks stations as stalled.
    pub(super) fn expire_overdue(&mut self) {
        let now = self.now;
        if self.below.all == 0 || now < self.below.next_check {
            return;
        }
        self.below.next_check = now + CHECK;
        let report_losses = now >= self.below.next_losses;
        if report_losses {
            self.below.next_losses = now + LOSS_REPORTS;
        }
        let mut gone = std::mem::take(&mut self.gone);
        for number in 0..self.peers.len() {
            let id = StationId(u16::try_from(number).unwrap_or(u16::MAX));
            let Some(peer) = self.peers.get_mut(id) else { continue };
            let before = gone.len();
            peer.expire(now, &self.config.window, &mut gone);
            let expired = gone.len() > before;
            if report_losses && peer.lost > 0 {
                let packets = std::mem::take(&mut peer.lost);
                let station = peer.mac;
                self.out.decisions.push(Decision::CompletionsLost { station, packets });
            }
            let (station, outstanding, silent) = (peer.mac, peer.all_below(), peer.silent(now));
            let stalls = !peer.stalled && peer.stalls_at(&self.config.window).is_some_and(|at| at <= now);
            for held in gone.drain(before..) {
                self.counts.lost += 1;
                self.give_up(&held);
                if let Some(rule) = self.measures.of(held.rule) {
                    rule.unknown += 1;
                }
            }
            if stalls {
                self.stall(id);
                self.out.decisions.push(Decision::Stalled { station, outstanding, silent });
            } else if expired && self.peers.get(id).is_some_and(|peer| peer.all_below().is_zero()) {
                // The next packets show whether the station can be reached again.
                self.resume(id);
            }
        }
        self.gone = gone;
    }

    /// Marks a station as stalled: it no longer fills the window, and nothing is released to it.
    fn stall(&mut self, id: StationId) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        peer.stalled = true;
        for category in Category::ALL {
            let (airtime, packets) = (peer.below[category.index()], peer.packets_below(category));
            self.below.airtime[category.index()] -= airtime;
            let counted = &mut self.below.packets[category.index()];
            *counted = counted.saturating_sub(packets);
            self.link.queue_mut().on(self.now, eligibility(id, category, Eligibility::Blocked));
        }
    }

    /// Ends the stall of a station.
    fn resume(&mut self, id: StationId) {
        let Some(peer) = self.peers.get_mut(id).filter(|peer| peer.stalled) else { return };
        peer.stalled = false;
        let station = peer.mac;
        for category in Category::ALL {
            self.below.airtime[category.index()] += peer.below[category.index()];
            self.below.packets[category.index()] += peer.packets_below(category);
            self.link.queue_mut().on(self.now, eligibility(id, category, Eligibility::Fresh));
        }
        self.out.decisions.push(Decision::Resumed { station });
    }
}

const fn eligibility(
    station: StationId,
    category: Category,
    eligibility: Eligibility,
) -> Fact<'static, Held> {
    Fact::Eligibility { station, category, eligibility }
}
