//! The window: how much goes down at a time, and to whom.

use std::collections::BTreeMap;

use airbound_control::frame::Mpdu;
use airbound_control::frame::{FlowId, Payload};
use airbound_control::link::AirtimeEstimate;
use airbound_control::queue::{AnyQueue, Queue, Sink, Turn, Turns};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use super::packet::Held;
use super::{Below, Decision, Engine};

/// Permitted latencies are told so often at most, windows so often, and only if they moved by a fifth.
const PERMITTED_TOLD: Span = Span::from_secs(1);
const WINDOW_TOLD: Span = Span::from_secs(10);

/// Packets that are released together.
struct Aggregate {
    now: Instant,
    time_limit: Option<Span>,
    category: Category,
    estimate: AirtimeEstimate,
    /// Most airtime, and most frames.
    longest: Span,
    most: u16,
    used: Span,
    frames: u16,
    packets: Vec<Held>,
    /// Whether the queue counts the airtime below it.
    counts: bool,
}

impl Sink<Held> for Aggregate {
    fn has_room(&mut self, size: impl FnOnce() -> Option<ByteCount>) -> bool {
        if self.frames == 0 {
            return true;
        }
        let is_full = self.frames >= self.most || self.used >= self.longest;
        !is_full
            && size().is_none_or(|size| self.used + self.estimate.of(size, self.category) <= self.longest)
    }

    fn put(&mut self, mut held: Held) -> Result<Option<Span>, Held> {
        if self.time_limit.is_some_and(|limit| self.now.since(held.enqueued()) > limit) {
            return Err(held);
        }
        // A super-packet leaves as several frames.
        let segments = u64::from(held.segments);
        let each = ByteCount::new(held.size.as_u64().div_ceil(segments));
        let estimate = self.estimate.of(each, held.category) * segments;
        held.set_airtime_estimate(estimate);
        self.used += estimate;
        self.frames = self.frames.saturating_add(held.segments);
        self.packets.push(held);
        Ok(self.counts.then_some(estimate))
    }
}

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
            if self.queue.backlog().has(category) {
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
        let mut turns = Turns::among(self.peers.len());
        let is_full = |below: &Below| {
            below.airtime[category.index()] >= gate && below.packets[category.index()] >= least
        };
        while !is_full(&self.below)
            && let Some(turn) = turns.next(|| self.queue.select(self.now, category))
        {
            let before = self.out.verdicts.len();
            self.send_aggregate(&turn);
            let released = self.out.verdicts.len() > before;
            turns.on_turn(released || !self.dropped.is_empty());
            if released {
                self.settle_dropped();
            }
        }
        self.settle_dropped();
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
        let bound = self.queue.demands().map_or(Span::MAX, |demands| demands.tightest(self.now).duration);
        let aggregate = self.config.window.aggregate;
        (aggregate.min(bound), bound < aggregate)
    }

    /// Releases one aggregate to a selected station: at least one packet, if it has any.
    fn send_aggregate(&mut self, turn: &Turn) {
        let Some(estimate) = self.peers.get(turn.station).map(|peer| peer.estimate) else { return };
        let mut aggregate = Aggregate {
            now: self.now,
            time_limit: self.config.time_limit,
            category: turn.category,
            estimate,
            longest: turn.bound.duration.min(self.config.window.aggregate),
            most: turn.bound.mpdus.min(self.config.window.packets).max(1),
            used: Span::ZERO,
            frames: 0,
            packets: std::mem::take(&mut self.gone),
            counts: turn.counts_airtime,
        };
        self.queue.dequeue_into(self.now, turn, &mut aggregate, &mut self.dropped);
        let mut packets = aggregate.packets;
        for held in packets.drain(..) {
            self.hand_down(held);
        }
        self.gone = packets;
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
