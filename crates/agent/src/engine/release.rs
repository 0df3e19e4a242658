//! The window: how much goes down at a time, and to whom.

use std::collections::BTreeMap;

use airbound_control::frame::Mpdu;
use airbound_control::frame::{DropReason, Dropped, FlowId, Payload, StationId};
use airbound_control::queue::{AnyQueue, Queue};
use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use super::packet::Held;
use super::{Decision, Engine, outlived};

/// Permitted latencies are told so often at most, windows so often, and only if they moved by a fifth.
const PERMITTED_TOLD: Span = Span::from_secs(1);
const WINDOW_TOLD: Span = Span::from_secs(10);
/// A station that cannot be served: what holds for it holds for all that have no demand.
const NOBODY: StationId = StationId(u16::MAX);

/// What the journal was told, so that it is not told all the time; and a spare list.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    window: [Option<(Instant, Span)>; 4],
    permitted: BTreeMap<FlowId, (Instant, Span)>,
    next_permitted: Instant,
    spare: Vec<Mpdu<Held>>,
}

impl Told {
    pub(super) fn take_spare(&mut self) -> Vec<Mpdu<Held>> {
        std::mem::take(&mut self.spare)
    }

    pub(super) fn give_spare(&mut self, mut list: Vec<Mpdu<Held>>) {
        list.clear();
        self.spare = list;
    }

    pub(super) fn forget_flow(&mut self, flow: FlowId) {
        self.permitted.remove(&flow);
    }
}

/// Whether a value is worth another line.
fn has_news(last: Option<(Instant, Span)>, now: Instant, value: Span, every: Span) -> bool {
    last.is_none_or(|(told, before)| {
        let moved = value.saturating_sub(before) + before.saturating_sub(value);
        now.since(told) >= every && moved > before / 5
    })
}

impl Engine {
    /// Releases what the windows have room for.
    pub(super) fn release(&mut self) {
        for category in Category::ALL.into_iter().rev() {
            if self.queue.has_backlog(category) {
                self.fill(category);
            }
        }
        self.tell_permitted();
        self.tell_buffers();
    }

    /// Fills the window of a category: whole aggregates to one station after the other, while less than one is below.
    fn fill(&mut self, category: Category) {
        let (gate, for_demands) = self.gate(category);
        let least = usize::from(self.config.window.least_packets);
        // Each round releases or drops something, or finds a station that has nothing left; there are only so many.
        let mut fruitless = 0;
        while fruitless <= self.peers.len() {
            let index = category.index();
            if self.below.airtime[index] >= gate && self.below.packets[index] >= least {
                break;
            }
            let Some(station) = self.queue.select(self.now, category) else { break };
            let before = self.out.verdicts.len();
            self.send_aggregate(station, category);
            fruitless += usize::from(self.out.verdicts.len() == before);
        }
        let window = gate * 2;
        if self.below.airtime[category.index()] >= gate
            && has_news(self.told.window[category.index()], self.now, window, WINDOW_TOLD)
        {
            self.told.window[category.index()] = Some((self.now, window));
            self.out.decisions.push(Decision::Window { category, airtime: window, for_demands });
        }
    }

    /// The airtime below at which nothing more goes down, and whether demands keep it short.
    pub(super) fn gate(&self, category: Category) -> (Span, bool) {
        let bound = self.queue.aggregate_bound(self.now, NOBODY, category).duration;
        let aggregate = self.config.window.aggregate;
        (aggregate.min(bound), bound < aggregate)
    }

    /// Releases one aggregate to a selected station: at least one packet, if it has any.
    fn send_aggregate(&mut self, station: StationId, category: Category) {
        let bound = self.queue.aggregate_bound(self.now, station, category);
        let airtime = bound.duration.min(self.config.window.aggregate);
        let packets = bound.mpdus.min(self.config.window.packets).max(1);
        let (mut used, mut frames) = (Span::ZERO, 0);
        while frames < packets {
            let Some(estimate) = self.peers.get(station).map(|peer| peer.estimate) else { break };
            if frames > 0
                && let Some(next) = self.queue.next_size(station, category)
                && used + estimate.of(next, category) > airtime
            {
                break;
            }
            let Some(mut held) = self.take(station, category) else { break };
            // A super-packet leaves as several frames.
            let segments = u64::from(held.segments);
            let each = airbound_units::ByteCount::new(held.size.as_u64().div_ceil(segments));
            let estimate = estimate.of(each, category) * segments;
            held.set_airtime_estimate(estimate);
            used += estimate;
            frames = frames.saturating_add(held.segments);
            self.hand_down(held);
            if used >= airtime {
                break;
            }
        }
        self.settle_dropped();
    }

    /// The next packet of a station that has not waited too long.
    fn take(&mut self, station: StationId, category: Category) -> Option<Held> {
        loop {
            let packet = self.queue.dequeue(self.now, station, category, &mut self.dropped)?;
            if !outlived(self.now, &packet, self.config.time_limit) {
                return Some(packet);
            }
            self.dropped.push(Dropped { packet, reason: DropReason::Expired });
        }
    }

    fn hand_down(&mut self, held: Held) {
        let (station, category, estimate) = (held.station, held.category, held.airtime_estimate());
        self.let_go(&held);
        if self.queue.counts_below() {
            self.queue.on_handed(self.now, station, category, estimate);
        }
        self.below.add(category, estimate);
        let now = self.now;
        match self.peers.get_mut(station) {
            Some(peer) => peer.hand(now, held),
            None => debug_assert!(false, "only known stations are enqueued for"),
        }
    }

    /// Tells the journal the sizes of WQM's buffers, where they changed.
    fn tell_buffers(&mut self) {
        let AnyQueue::Wqm(queue) = &self.queue else { return };
        for category in Category::ALL {
            let packets = queue.buffer_size(category).packets();
            let before = std::mem::replace(&mut self.buffers[category.index()], packets);
            if before != packets && before > 0 {
                let category = Some(category);
                self.out.decisions.push(Decision::Buffer { category, packets, before, rate: None });
            }
        }
    }

    /// Tells the journal how long protected flows may queue, where that has changed much.
    fn tell_permitted(&mut self) {
        if self.now < self.told.next_permitted || self.config.rules.is_empty() {
            return;
        }
        self.told.next_permitted = self.now + PERMITTED_TOLD;
        for (flow, _, rule) in self.flows.protected() {
            let Some(protection) = self.queue.protection(flow) else { continue };
            if has_news(
                self.told.permitted.get(&flow).copied(),
                self.now,
                protection.permitted,
                PERMITTED_TOLD,
            ) {
                self.told.permitted.insert(flow, (self.now, protection.permitted));
                let rule = self.config.rules.get(usize::from(rule)).map(|rule| rule.name.clone());
                self.out.decisions.push(Decision::Permitted {
                    rule: rule.unwrap_or_default(),
                    flow: flow.0,
                    permitted: protection.permitted,
                    latency: protection.latency,
                    demand: protection.demand.latency(),
                });
            }
        }
    }
}
