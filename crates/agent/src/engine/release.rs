//! The release window: how much is released at a time, and to which stations.

use std::collections::BTreeMap;

use airbound_control::frame::{FlowId, Payload, TxDescriptor};
use airbound_control::link::{Link, Room};
use airbound_control::queue::{AnyQueue, Queue};
use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use super::packet::Held;
use super::{Below, Decision, Engine};

/// Shortest interval between reports of a permitted latency; a report needs a change by a fifth.
const PERMITTED_REPORTS: Span = Span::from_secs(1);
/// Shortest interval between reports of a window; a report needs a change by a fifth.
const WINDOW_REPORTS: Span = Span::from_secs(10);

/// Values last reported to the journal, with their times.
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

/// Whether a value has to be reported again.
fn is_report_due(last: Option<(Instant, Span)>, now: Instant, value: Span, every: Span) -> bool {
    last.is_none_or(|(reported, before)| {
        let moved = value.saturating_sub(before) + before.saturating_sub(value);
        now.since(reported) >= every && moved > before / 5
    })
}

impl Engine {
    /// Fills the windows of all categories, the highest first.
    pub(super) fn release(&mut self) {
        let backlog = *self.link.queue().backlog();
        for category in Category::ALL.into_iter().rev() {
            if backlog.has(category) {
                self.fill(category);
            }
        }
        self.report_permitted();
        self.report_buffers();
        self.judge_bypass();
    }

    /// Fills the window of a category: releases whole aggregates, one station after the other, while less than one is below.
    fn fill(&mut self, category: Category) {
        let (gate, for_demands) = self.gate();
        let least = usize::from(self.config.window.least_packets);
        let (airtime, packets) = self.bypass.below();
        let is_full = |below: &Below| {
            below.airtime[category.index()] + airtime >= gate
                && below.packets[category.index()] + packets >= least
        };
        while !is_full(&self.below) && self.release_aggregate(category) {}
        let window = gate * 2;
        if self.below.airtime[category.index()] >= gate
            && is_report_due(self.last_reported.window[category.index()], self.now, window, WINDOW_REPORTS)
        {
            self.last_reported.window[category.index()] = Some((self.now, window));
            self.out.decisions.push(Decision::Window { category, airtime: window, for_demands });
        }
    }

    /// The airtime below at which releases stop, and whether demands shorten it.
    pub(super) fn gate(&self) -> (Span, bool) {
        let bound =
            self.link.queue().demands().map_or(Span::MAX, |demands| demands.tightest(self.now).duration);
        let aggregate = self.config.window.aggregate;
        (aggregate.min(bound) + self.lateness, bound < aggregate)
    }

    /// Releases the next aggregate of a category, at least one packet if any is eligible. Returns whether another may follow.
    fn release_aggregate(&mut self, category: Category) -> bool {
        let room = Room { category, max_duration: self.config.window.aggregate };
        let descriptor = self.link.next(self.now, room, &mut self.dropped);
        let more = descriptor.is_some() && self.link.has_backlog(category);
        if let Some(TxDescriptor { mut mpdus, .. }) = descriptor {
            for mpdu in mpdus.drain(..) {
                self.release_packet(mpdu.packet);
            }
            self.link.give_spare(mpdus);
        }
        self.settle_dropped();
        more
    }

    fn release_packet(&mut self, held: Held) {
        let (station, category, estimate) = (held.station, held.category, held.airtime_estimate());
        self.issue_release(&held);
        self.below.add(category, estimate);
        let now = self.now;
        match self.peers.get_mut(station) {
            Some(peer) => peer.on_release(now, held),
            None => debug_assert!(false, "only known stations are enqueued for"),
        }
    }

    /// Reports changed sizes of WQM's buffers.
    fn report_buffers(&mut self) {
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

    /// Reports the permitted latencies of protected flows that changed.
    fn report_permitted(&mut self) {
        if self.now < self.last_reported.next_permitted || self.config.rules.is_empty() {
            return;
        }
        self.last_reported.next_permitted = self.now + PERMITTED_REPORTS;
        for (flow, _, rule) in self.flows.protected() {
            let Some(protection) = self.link.queue().protection(flow) else { continue };
            if is_report_due(
                self.last_reported.permitted.get(&flow).copied(),
                self.now,
                protection.permitted,
                PERMITTED_REPORTS,
            ) {
                self.last_reported.permitted.insert(flow, (self.now, protection.permitted));
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
