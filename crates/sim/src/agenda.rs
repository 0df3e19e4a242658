//! Events in order of time; simultaneous events in order of insertion.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airbound_units::Instant;

/// Pending events, each with its time.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    /// Time, insertion number, and index of the event: events may be large, and a heap moves its elements.
    order: BinaryHeap<Reverse<(Instant, u64, u32)>>,
    events: Vec<Option<E>>,
    free: Vec<u32>,
    turn: u64,
}

impl<E> Agenda<E> {
    pub(crate) const fn new() -> Self {
        Self { order: BinaryHeap::new(), events: Vec::new(), free: Vec::new(), turn: 0 }
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

    /// Time of the next event; [`Instant::MAX`] for none.
    pub(crate) fn next(&self) -> Instant {
        self.order.peek().map_or(Instant::MAX, |Reverse((at, _, _))| *at)
    }

    /// Removes and returns the next event.
    pub(crate) fn pop(&mut self) -> Option<(Instant, E)> {
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
        for (time, event) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            agenda.push(at(time), event);
        }
        assert_eq!(agenda.next(), at(3));
        let order: Vec<(Instant, char)> = std::iter::from_fn(|| agenda.pop()).collect();
        assert_eq!(order, [(at(3), 'a'), (at(3), 'b'), (at(5), 'c'), (at(5), 'd')]);
    }
}
