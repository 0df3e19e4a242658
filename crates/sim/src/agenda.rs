//! Events in order of time; simultaneous events in order of insertion.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use airbound_units::Instant;

/// Pending events, each with its time.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    /// Time, insertion number, and index of the event: events may be large, and a heap moves its elements.
    order: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    events: Vec<Option<E>>,
    free: Vec<u32>,
    /// Events in order of time, with their insertion numbers.
    row: VecDeque<(Instant, u64, E)>,
    turn: u64,
}

impl<E> Agenda<E> {
    pub(crate) const fn new() -> Self {
        Self { order: BinaryHeap::new(), events: Vec::new(), free: Vec::new(), row: VecDeque::new(), turn: 0 }
    }

    /// Schedules an event.
    pub(crate) fn push(&mut self, at: Instant, event: E) {
        self.turn += 1;
        let place = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() as u32 - 1
        });
        self.events[place as usize] = Some(event);
        self.order.push(Reverse((at, self.turn, place)));
    }

    /// [`Agenda::push`] of an event that follows the others of its kind in time, which costs less.
    pub(crate) fn push_in_row(&mut self, at: Instant, event: E) {
        if self.row.back().is_some_and(|(last, _, _)| *last > at) {
            self.push(at, event);
        } else {
            self.turn += 1;
            self.row.push_back((at, self.turn, event));
        }
    }

    /// Time of the next event; [`Instant::MAX`] for none.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        let next = self.order.peek().map_or(Instant::MAX, |Reverse((at, _, _))| *at);
        self.row.front().map_or(next, |(at, _, _)| next.min(*at))
    }

    /// Removes and returns the next event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Instant, E)> {
        if let Some((at, turn, _)) = self.row.front()
            && self.order.peek().is_none_or(|Reverse(other)| (*at, *turn) < (other.0, other.1))
        {
            return self.row.pop_front().map(|(at, _, event)| (at, event));
        }
        let Reverse((at, _, place)) = self.order.pop()?;
        self.free.push(place);
        self.events[place as usize].take().map(|event| (at, event))
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
        for (time, event) in [(5, 'c'), (3, 'a'), (5, 'd')] {
            agenda.push(at(time), event);
        }
        for (time, event) in [(3, 'b'), (5, 'e'), (4, 'x')] {
            agenda.push_in_row(at(time), event);
        }
        assert_eq!(agenda.next(), at(3));
        let order: Vec<(Instant, char)> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(
            order,
            [(3, 'a'), (3, 'b'), (4, 'x'), (5, 'c'), (5, 'd'), (5, 'e')]
                .map(|(time, event)| (at(time), event))
        );
    }
}
