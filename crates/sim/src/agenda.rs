//! Events in the order of time, and among equals in the order in which they were put there.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use airbound_units::Instant;

/// What is to happen, and when.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    events: BinaryHeap<Reverse<Scheduled<E>>>,
    turn: u64,
}

/// An event with its time and, among equals, its turn.
#[derive(Debug)]
struct Scheduled<E> {
    at: Instant,
    turn: u64,
    event: E,
}

impl<E> Scheduled<E> {
    const fn key(&self) -> (Instant, u64) {
        (self.at, self.turn)
    }
}

impl<E> PartialEq for Scheduled<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Scheduled<E> {}

impl<E> PartialOrd for Scheduled<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Scheduled<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<E> Agenda<E> {
    pub(crate) const fn new() -> Self {
        Self { events: BinaryHeap::new(), turn: 0 }
    }

    /// Has an event happen at that time.
    pub(crate) fn push(&mut self, at: Instant, event: E) {
        self.turn += 1;
        self.events.push(Reverse(Scheduled { at, turn: self.turn, event }));
    }

    /// When something happens next; [`Instant::MAX`] for never.
    pub(crate) fn next(&self) -> Instant {
        self.events.peek().map_or(Instant::MAX, |Reverse(next)| next.at)
    }

    /// Takes what happens next.
    pub(crate) fn pop(&mut self) -> Option<(Instant, E)> {
        self.events.pop().map(|Reverse(next)| (next.at, next.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_goes_first_and_among_equals_the_first() {
        let at = Instant::from_nanos;
        let mut agenda = Agenda::new();
        assert_eq!((agenda.next(), agenda.pop()), (Instant::MAX, None));
        for (time, event) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            agenda.push(at(time), event);
        }
        assert_eq!(agenda.next(), at(3));
        let order: Vec<(Instant, char)> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order, [(at(3), 'a'), (at(3), 'b'), (at(5), 'c'), (at(5), 'd')]);
    }
}
