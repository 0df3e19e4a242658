//! The events of the model in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airbound_units::Instant;

use super::packet::Packet;

/// An event of the model.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// The next datagram of a source leaves.
    Depart(usize),
    /// A packet arrives at the access point.
    AtAccessPoint(Packet),
    /// A packet arrives at its server.
    AtServer(Packet),
    /// A connection of a flow has a deadline.
    Deadline(usize),
    /// The exchange on the air ends.
    ExchangeEnd,
    /// A beacon is due.
    Beacon,
    /// Interference begins or ends.
    Interference,
    /// The measurement begins.
    Measure,
}

#[derive(Debug)]
struct Entry {
    at: Instant,
    /// Events of one time happen in the order of their scheduling.
    number: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Events to come.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<Entry>>,
    count: u64,
}

impl Agenda {
    pub(crate) fn push(&mut self, at: Instant, event: Event) {
        self.count += 1;
        self.heap.push(Reverse(Entry { at, number: self.count, event }));
    }

    /// The time of the next event; `Instant::MAX` without one.
    pub(crate) fn next(&self) -> Instant {
        self.heap.peek().map_or(Instant::MAX, |Reverse(entry)| entry.at)
    }

    pub(crate) fn pop(&mut self) -> Option<(Instant, Event)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}
