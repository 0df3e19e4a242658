//! The priority list: prioritised flow queues, and their urgency.

use airbound_units::{Instant, Span};

use super::super::fq_codel::FlowQueue;
use super::config::Choice;
use super::mark::Mark;

/// A flow queue in the priority list. It also keeps its place among the new and old flows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prioritised {
    pub(super) queue: FlowQueue,
    /// The mark of its newest packet; the demand may have changed since the oldest arrived.
    pub(super) mark: Mark,
    /// Packets returned by the hardware that wait below for retransmission.
    pub(super) returned: u32,
    /// Arrival time of the oldest of these, at the latest.
    pub(super) returned_since: Instant,
    /// Arrival time of its oldest packet, in the queue or below.
    pub(super) waiting_since: Instant,
    /// Remaining nanoseconds of its permitted latency.
    slack: i128,
}

impl Prioritised {
    pub(super) const fn new(queue: FlowQueue, mark: Mark) -> Self {
        Self {
            queue,
            mark,
            returned: 0,
            returned_since: Instant::MAX,
            waiting_since: Instant::MAX,
            slack: i128::MAX,
        }
    }

    /// Compares the expected queueing latency, l_e = l_sq + l_hq, with the permitted one. `oldest` is the arrival time of the first
    /// packet in the queue, `below` the drain estimate. Returns false if it has no packets left.
    pub(super) fn judge(&mut self, now: Instant, oldest: Option<Instant>, below: Span) -> bool {
        let returned = (self.returned > 0).then_some(self.returned_since);
        let Some(since) = oldest.into_iter().chain(returned).min() else { return false };
        self.waiting_since = since;
        let expected = now.since(since) + below;
        self.slack = i128::from(self.mark.permitted().as_nanos()) - i128::from(expected.as_nanos());
        true
    }

    /// Whether it was tagged urgent when last judged: its expected latency exceeds the permitted one.
    pub(super) const fn is_urgent(&self) -> bool {
        self.slack < 0
    }

    /// Clears the tag until it is judged again.
    pub(super) const fn untag(&mut self) {
        self.slack = i128::MAX;
    }

    /// Notes that one of its packets was returned by the hardware.
    pub(super) fn on_returned(&mut self, enqueued: Instant) {
        self.returned = self.returned.saturating_add(1);
        self.returned_since = self.returned_since.min(enqueued);
    }

    /// Notes that a returned packet is retransmitted.
    pub(super) const fn on_sent_again(&mut self) {
        self.returned = self.returned.saturating_sub(1);
        if self.returned == 0 {
            self.returned_since = Instant::MAX;
        }
    }

    /// Forgets the returned packets, which were settled in some other way.
    pub(super) const fn forget_returned(&mut self) {
        self.returned = 0;
        self.returned_since = Instant::MAX;
    }

    /// Its rank among urgent queues; the least goes first. `deficit` is that of its station or of the flow, depending on the choice
    /// to be made.
    pub(super) fn rank(&self, choice: Choice, deficit: i64) -> (i128, Instant) {
        let first = match choice {
            Choice::Deficit => -i128::from(deficit),
            Choice::Slack => self.slack,
        };
        (first, self.waiting_since)
    }
}
