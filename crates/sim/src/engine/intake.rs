//! How packets enter the queues of a transmitter, and its hardware.

use std::collections::VecDeque;

use airbound_control::frame::StationId;
use airbound_control::link::Link;
use airbound_units::Instant;
use airbound_wifi::edca::Category;

use super::{Event, Forming, Node, Simulation};
use crate::endpoint::AnyEndpoint;
use crate::flow::feed::Categories;
use crate::packet::Packet;

impl Simulation {
    /// Lets everything in that has arrived at a node by now.
    pub(super) fn take_in(&mut self, node: StationId) {
        loop {
            let queued = self.only_queued(node);
            let parts = &mut self.parts;
            let Node { feed, link, .. } = &mut parts.nodes[node.index()];
            if let Some(queued) = queued
                && let Some(mut arrivals) = feed.arrivals(self.now, queued, &mut parts.meters)
            {
                let last = link.enqueue_all(&mut arrivals, &mut self.dropped);
                if let Some(at) = last
                    && !self.dropped.is_empty()
                {
                    self.note_drops(at);
                    continue;
                }
            }
            // With the next one, if there is one, more happens.
            let Some((at, packet)) = feed.arrive(self.now, &mut parts.meters) else { break };
            if self.parts.flows[packet.flow.0 as usize].is_shaped {
                self.hold_back(at, packet);
            } else {
                self.admit(node, at, packet);
            }
        }
    }

    /// The categories of a node whose packets enter the queue, and nothing else comes of it, if there are any: who contends with what
    /// waits when the channel is won has nothing to do before.
    fn only_queued(&self, node: StationId) -> Option<Categories> {
        let parts = &self.parts;
        let ready = Categories::those(|category| self.is_ready(node, category));
        let owner = &parts.nodes[node.index()];
        (owner.forming == Forming::AtAccess && ready.are_any() && !owner.shapes).then_some(ready)
    }

    /// Gives a packet of a shaped uplink to the shaper of its station.
    fn hold_back(&mut self, at: Instant, packet: Packet) {
        if let Some(id) = self.parts.shaping {
            self.call(id, |endpoint, out| {
                if let AnyEndpoint::Allocation(allocation) = endpoint {
                    allocation.hold_back(at, packet, out);
                }
            });
        }
    }

    /// Puts a packet that a station itself made in its queue.
    pub(super) fn originate(&mut self, node: StationId, packet: Packet) {
        self.take_in(node);
        self.parts.meters.on_sent(&packet);
        self.admit(node, self.now, packet);
    }

    /// Puts a packet that arrived at `at` in the queue, and in the hardware if that has room.
    #[inline]
    pub(super) fn admit(&mut self, node: StationId, at: Instant, packet: Packet) {
        let category = airbound_control::frame::Payload::category(&packet);
        self.parts.nodes[node.index()].link.enqueue(at, packet, &mut self.dropped);
        if !self.dropped.is_empty() {
            self.note_drops(at);
        }
        self.fill(node, category, at);
    }

    /// Fills the hardware of a category, and lets it contend if it has something to send since `at`.
    pub(super) fn fill(&mut self, node: StationId, category: Category, at: Instant) {
        let owner = &self.parts.nodes[node.index()];
        let has_something = match owner.forming {
            Forming::Ahead(depth) => {
                let room = owner.room(category, depth);
                let formed = (0..room).take_while(|_| self.form(node, category, at)).count();
                formed > 0 || !self.parts.nodes[node.index()].hardware[category.index()].is_empty()
            }
            Forming::AtAccess => {
                self.is_ready(node, category)
                    || !owner.hardware[category.index()].is_empty()
                    || owner.link.has_backlog(category)
            }
        };
        if has_something && !self.is_ready(node, category) {
            self.parts.medium.set_ready(at, self.access(node, category));
        }
    }

    /// A place in the hardware is free: fills it now, or when the driver has reacted.
    pub(super) fn refill(&mut self, node: StationId, category: Category) {
        let handover = self.parts.nodes[node.index()].handover;
        if handover.is_zero() {
            self.fill_freed(node, category);
        } else {
            self.parts.nodes[node.index()].handing[category.index()] += 1;
            self.schedule(self.now + handover, Event::HandedOver(node, category));
            self.fill(node, category, self.now);
        }
    }

    /// The driver has been told of the end of a PPDU and puts the next one in its place.
    pub(super) fn on_handed_over(&mut self, node: StationId, category: Category) {
        self.take_in(node);
        let handing = &mut self.parts.nodes[node.index()].handing[category.index()];
        *handing = handing.saturating_sub(1);
        self.fill_freed(node, category);
        self.sleep(node);
    }

    /// Where categories share the places of the hardware, a free one may be taken by any of them; the highest goes first.
    fn fill_freed(&mut self, node: StationId, category: Category) {
        let owner = &self.parts.nodes[node.index()];
        if owner.hardware_total == usize::MAX && !owner.link.limits_all_categories() {
            self.fill(node, category, self.now);
            return;
        }
        // The link may name one category after the other.
        loop {
            let held = |owner: &Node| owner.hardware.iter().map(VecDeque::len).sum::<usize>();
            let before = held(&self.parts.nodes[node.index()]);
            for category in Category::ALL.into_iter().rev() {
                self.fill(node, category, self.now);
            }
            if held(&self.parts.nodes[node.index()]) == before {
                break;
            }
        }
    }

    /// A node with nothing to send in some category is woken when something may arrive for it.
    pub(super) fn sleep(&mut self, node: StationId) {
        self.sleep_after(node, None);
    }

    /// The same for a link that was `asked` just now: a deadline up to then, which it could not use, says nothing new. Those that a
    /// researcher writes may name any time.
    fn sleep_after(&mut self, node: StationId, asked: Option<Instant>) {
        let owner = &self.parts.nodes[node.index()];
        let idle = Category::ALL.into_iter().filter(|category| !self.is_ready(node, *category));
        let arrival = idle.filter_map(|category| owner.feed.next_arrival(category)).min();
        // A link may also want to be asked again, or to be told of the channel, at a time of its own.
        let deadline = owner.link.deadline();
        let deadlines = [deadline.select, deadline.channel_load]
            .into_iter()
            .flatten()
            .filter(|at| asked.is_none_or(|asked| *at > asked));
        let next = arrival.into_iter().chain(deadlines).min();
        self.listen(node);
        if let Some(at) = next {
            self.wake_at(node, at.max(self.now));
        }
    }

    /// Wakes a node at `at` or before.
    pub(super) fn wake_at(&mut self, node: StationId, at: Instant) {
        let wake = &mut self.parts.nodes[node.index()].wake;
        if at < *wake {
            *wake = at;
            self.schedule(at, Event::Wake(node));
        }
    }

    pub(super) fn on_wake(&mut self, node: StationId) {
        if self.parts.nodes[node.index()].wake > self.now {
            // An earlier wake-up has done it already.
            return;
        }
        self.parts.nodes[node.index()].wake = Instant::MAX;
        self.take_in(node);
        self.tell_channel(node);
        for category in Category::ALL {
            self.fill(node, category, self.now);
        }
        self.sleep_after(node, Some(self.now));
    }

    /// Books what the link dropped.
    pub(super) fn note_drops(&mut self, now: Instant) {
        let mut dropped = std::mem::take(&mut self.dropped);
        for lost in dropped.drain(..) {
            self.forget(&lost.packet, lost.reason);
            self.parts.meters.on_dropped(now, &lost.packet, lost.reason);
        }
        self.dropped = dropped;
    }
}
