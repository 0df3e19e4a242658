//! The time limit of the hardware on a PSDU: it is given back when its time is over, whatever tries are left.
//!
//! The time counts from when the PSDU is the first of its category, and so contends for the channel: backoff, and waiting for a
//! busy channel, are part of it. What is on the air at the end of its time is finished first.

use airbound_control::frame::StationId;
use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use super::{Event, InHardware, Simulation};

impl InHardware {
    /// Whether its time is over.
    pub(super) fn is_expired(&self, now: Instant) -> bool {
        self.descriptor
            .give_up_after
            .is_some_and(|limit| now >= self.contending && now - self.contending >= limit)
    }
}

impl Simulation {
    /// The first descriptor of a category, if it does not contend yet, contends since `at`.
    pub(super) fn contend(&mut self, node: StationId, category: Category, at: Instant) {
        let first = self.parts.nodes[node.index()].hardware[category.index()].front_mut();
        if let Some(first) = first.filter(|first| first.contending == Instant::MAX) {
            first.contending = at;
            if let Some(limit) = first.descriptor.give_up_after {
                self.schedule(at + limit, Event::TimeLimit(node, category));
            }
        }
    }

    /// The time of a descriptor may be over; the event of one that has left means nothing for its successor, which has one of its own.
    pub(super) fn on_time_limit(&mut self, node: StationId, category: Category) {
        let on_air = self.parts.medium.is_on_air(self.access(node, category));
        let is_over = |simulation: &Self| {
            let first = simulation.parts.nodes[node.index()].hardware[category.index()].front();
            first.is_some_and(|first| first.is_expired(simulation.now))
        };
        if on_air || !is_over(self) {
            return;
        }
        // While it is still the first, so that nothing else becomes the first for what arrives.
        self.take_in(node);
        let Some(done) = self.parts.nodes[node.index()].hardware[category.index()].pop_front() else {
            return;
        };
        // In a collision that outlasted its own frame, it was over before.
        let over = done.contending + done.descriptor.give_up_after.unwrap_or(Span::ZERO);
        let tried = done.transmissions > 0;
        self.report(node, category, done, None);
        self.contend(node, category, over.min(self.now));
        let at = self.access(node, category);
        if tried {
            // The next frame starts with the least window once this backoff is over.
            self.parts.medium.reset_window(at);
        }
        self.refill(node, category);
        if self.parts.nodes[node.index()].hardware[category.index()].is_empty() {
            self.parts.medium.clear_ready(at);
        }
        self.sleep(node);
    }
}
