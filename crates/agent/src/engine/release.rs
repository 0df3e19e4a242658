//! The window: how much goes down at a time, and to whom.

use std::collections::BTreeMap;

use airbound_control::frame::{FlowId, Payload, TxDescriptor};
use airbound_control::link::{Link, Room};
use airbound_control::queue::{AnyQueue, Queue};
use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use super::packet::Held;
use super::{Below, Decision, Engine};

/// Permitted latencies are told so often at most, windows so often, and only if they moved by a fifth.
const PERMITTED_TOLD: Span = Span::from_secs(1);
const WINDOW_TOLD: Span = Span::from_secs(10);

/// Values last told to the journal, and when, so that it is not told all the time.
#[derive(Debug, Clone, Default)]
pub(super) struct LastReported {
    window: [Option<(Instant, Span)>; 4],
    permitted: BTreeMap<FlowId, (Instant, Span)>,
    next_permitted: Instant,
}

impl LastReported {
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
        let backlog = *self.link.queue().backlog();
        for category in Category::ALL.into_iter().rev() {
            if backlog.has(category) {
                self.fill(category);
            }
        }
        self.tell_permitted();
        self.tell_buffers();
    }

    /// Fills the window of a category: whole aggregates to one station after the other, while less than one is below.
    fn fill(&mut self, category: Category) {
        let (gate, for_demands) = self.gate();
        let least = usize::from(self.config.window.least_packets);
        let is_full = |below: &Below| {
            below.airtime[category.index()] >= gate && below.packets[category.index()] >= least
        };
        while !is_full(&self.below) && self.release_aggregate(category) {}
        let window = gate * 2;
        if self.below.airtime[category.index()] >= gate
            && has_news(self.told.window[category.index()], self.now, window, WINDOW_TOLD)
        {
            self.told.window[category.index()] = Some((self.now, window));
            self.out.decisions.push(Decision::Window { category, airtime: window, for_demands });
        }
    }

    /// The airtime below at which nothing more goes down, and whether demands keep it short.
    pub(super) fn gate(&self) -> (Span, bool) {
        let bound =
            self.link.queue().demands().map_or(Span::MAX, |demands| demands.tightest(self.now).duration);
        let aggregate = self.config.window.aggregate;
        (aggregate.min(bound), bound < aggregate)
    }

    /// Releases the next aggregate of a category: at least one packet, if any may go. Returns whether there may be another.
    fn release_aggregate(&mut self, category: Category) -> bool {
        let room = Room { category, max_duration: self.config.window.aggregate };
        let descriptor = self.link.next(self.now, room, &mut self.dropped);
        let more = descriptor.is_some() && self.link.has_backlog(category);
        if let Some(TxDescriptor { mut mpdus, .. }) = descriptor {
            for mpdu in mpdus.drain(..) {
                self.hand_down(mpdu.packet);
            }
            self.link.give_spare(mpdus);
        }
        self.settle_dropped();
        more
    }

    fn hand_down(&mut self, held: Held) {
        let (station, category, estimate) = (held.station, held.category, held.airtime_estimate());
        self.let_go(&held);
        self.below.add(category, estimate);
        let now = self.now;
        match self.peers.get_mut(station) {
            Some(peer) => peer.hand(now, held),
            None => debug_assert!(false, "only known stations are enqueued for"),
        }
    }

    /// Tells the journal the sizes of WQM's buffers, where they changed.
    fn tell_buffers(&mut self) {
        let AnyQueue::Wqm(queue) = self.link.queue() else { return };
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
            let Some(protection) = self.link.queue().protection(flow) else { continue };
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
