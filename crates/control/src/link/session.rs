//! The transmitter's side of a block-ack agreement: sequence numbers, the window, MPDUs that wait to be sent again.

use std::collections::VecDeque;

use super::Mpdu;

/// State for one station and category (802.11-2020, 10.25.6).
#[derive(Debug, Clone)]
pub(super) struct Session<P> {
    next_sequence: u64,
    /// Lowest sequence number of each grant that is in the hardware, oldest first.
    in_hardware: VecDeque<u64>,
    /// MPDUs to be sent again, and a packet that did not fit in the last aggregate; by ascending sequence number.
    retries: VecDeque<Mpdu<P>>,
    /// The highest sequence number that was given up and that the receiver still waits for.
    hole: Option<u64>,
    /// What the queue was last told.
    pub(super) readiness: crate::queue::Readiness,
}

impl<P> Default for Session<P> {
    fn default() -> Self {
        Self {
            next_sequence: 0,
            in_hardware: VecDeque::new(),
            retries: VecDeque::new(),
            hole: None,
            readiness: crate::queue::Readiness::Fresh,
        }
    }
}

impl<P> Session<P> {
    /// The lowest sequence number that is not settled.
    pub(super) fn window_start(&self) -> u64 {
        let waiting = self.retries.front().map(|mpdu| mpdu.sequence);
        let flying = self.in_hardware.iter().min().copied();
        waiting.into_iter().chain(flying).min().unwrap_or(self.next_sequence)
    }

    /// How many packets without a sequence number the window of `size` still admits.
    pub(super) fn fresh_room(&self, size: u16) -> u64 {
        self.window_start().saturating_add(u64::from(size)).saturating_sub(self.next_sequence)
    }

    /// The sequence number from which on the window of `size` admits nothing. It begins at the oldest MPDU that is not settled: one that
    /// waits, one in the hardware, or `first` of the aggregate that is being formed; it stands while fresh packets are added.
    pub(super) fn window_end(&self, first: Option<u64>, size: u16) -> u64 {
        let start = self.window_start().min(first.unwrap_or(u64::MAX));
        start.saturating_add(u64::from(size))
    }

    /// The sequence number of the next new packet.
    pub(super) const fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Numbers a new packet.
    pub(super) fn number(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// New packets have been given the numbers up to `next`, which is the next one's.
    pub(super) const fn numbered_to(&mut self, next: u64) {
        self.next_sequence = next;
    }

    /// The MPDU to be sent again first.
    pub(super) fn first_retry(&self) -> Option<&Mpdu<P>> {
        self.retries.front()
    }

    /// Takes it.
    pub(super) fn take_retry(&mut self) -> Option<Mpdu<P>> {
        self.retries.pop_front()
    }

    /// Keeps an MPDU until the next grant, in the order of sequence numbers.
    pub(super) fn keep(&mut self, mpdu: Mpdu<P>) {
        let mut at = self.retries.len();
        while at > 0 && self.retries.get(at - 1).is_some_and(|other| other.sequence > mpdu.sequence) {
            at -= 1;
        }
        self.retries.insert(at, mpdu);
    }

    /// A grant whose lowest sequence number is `lowest` goes to the hardware.
    pub(super) fn handed(&mut self, lowest: u64) {
        self.in_hardware.push_back(lowest);
    }

    /// A grant whose lowest sequence number is `lowest` came back; one that was never handed changes nothing.
    pub(super) fn returned(&mut self, lowest: u64) {
        if let Some(at) = self.in_hardware.iter().position(|&first| first == lowest) {
            self.in_hardware.remove(at);
        }
    }

    /// The MPDU with this sequence number will not be sent again.
    pub(super) fn give_up(&mut self, sequence: u64) {
        self.hole = self.hole.max(Some(sequence));
    }

    /// Where the window begins, if it has left behind something that was given up and that the receiver was not told of.
    pub(super) fn passed_hole(&mut self) -> Option<u64> {
        let hole = self.hole?;
        let start = self.window_start();
        (start > hole).then(|| {
            self.hole = None;
            start
        })
    }

    /// How many MPDUs wait to be sent again.
    pub(super) fn waiting(&self) -> usize {
        self.retries.len()
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::{ByteCount, Instant};

    use super::*;

    fn mpdu(sequence: u64) -> Mpdu<()> {
        Mpdu::new((), ByteCount::new(100), sequence, Instant::ZERO)
    }

    /// Numbers packets while the window admits them and hands them down as one grant.
    fn send(session: &mut Session<()>, most: usize, window: u16) -> Vec<u64> {
        let mut sent = Vec::new();
        while sent.len() < most
            && let Some(retry) = session.take_retry()
        {
            sent.push(retry.sequence);
        }
        let end = session.window_end(sent.first().copied(), window);
        while sent.len() < most && session.next_sequence() < end {
            sent.push(session.number());
        }
        if let Some(&lowest) = sent.first() {
            session.handed(lowest);
        }
        sent
    }

    #[test]
    fn the_window_begins_at_the_oldest_that_is_not_settled() {
        let mut session = Session::default();
        assert_eq!(session.fresh_room(64), 64);
        assert_eq!(send(&mut session, 40, 64), (0..40).collect::<Vec<_>>());
        assert_eq!(session.fresh_room(64), 24);
        // A second aggregate while the first is in the hardware.
        assert_eq!(send(&mut session, 40, 64), (40..64).collect::<Vec<_>>());
        assert_eq!((session.fresh_room(64), send(&mut session, 1, 64)), (0, vec![]));
        // The second comes back first: nothing moves.
        session.returned(40);
        assert_eq!((session.window_start(), session.fresh_room(64)), (0, 0));
        // Of the first, 7 is missing.
        session.returned(0);
        session.keep(mpdu(7));
        assert_eq!((session.window_start(), session.fresh_room(64)), (7, 7));
        assert_eq!(send(&mut session, 64, 64), [7, 64, 65, 66, 67, 68, 69, 70]);
        session.returned(7);
        assert_eq!((session.window_start(), session.fresh_room(64)), (71, 64));
    }

    #[test]
    fn retries_go_in_order() {
        let mut session = Session::default();
        for sequence in [5, 3, 9, 4, 0] {
            session.keep(mpdu(sequence));
        }
        assert_eq!((session.waiting(), session.window_start()), (5, 0));
        let order: Vec<_> = std::iter::from_fn(|| session.take_retry()).map(|mpdu| mpdu.sequence).collect();
        assert_eq!(order, [0, 3, 4, 5, 9]);
    }

    #[test]
    fn a_hole_is_told_when_the_window_has_passed_it() {
        let mut session = Session::default();
        send(&mut session, 8, 64);
        session.returned(0);
        session.keep(mpdu(2));
        session.give_up(5);
        assert_eq!(session.passed_hole(), None, "2 may still arrive");
        assert_eq!(send(&mut session, 1, 64), [2]);
        session.returned(2);
        assert_eq!(session.passed_hole(), Some(8));
        assert_eq!(session.passed_hole(), None);
    }

    #[test]
    fn what_was_never_handed_changes_nothing() {
        let mut session = Session::<()>::default();
        session.returned(3);
        send(&mut session, 4, 64);
        session.returned(1);
        assert_eq!(session.window_start(), 0);
    }
}
