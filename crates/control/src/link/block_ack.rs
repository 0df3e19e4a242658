//! The transmitter's side of a block-ack agreement: sequence numbers, the window, MPDUs to be retransmitted.

use std::collections::VecDeque;

use crate::frame::Mpdu;

/// State for one station and category (802.11-2020, 10.25.6).
#[derive(Debug, Clone)]
pub(super) struct BlockAckOriginator<P> {
    next_sequence: u64,
    /// Lowest sequence number of each descriptor in the hardware, oldest first.
    in_hardware: VecDeque<u64>,
    /// MPDUs to be retransmitted, and a packet that did not fit in the last aggregate; by ascending sequence number.
    retries: VecDeque<Mpdu<P>>,
    /// The highest sequence number that was given up while the receiver still waits for it.
    hole: Option<u64>,
    /// Whether the station's packets are held, since it does not listen.
    pub(super) held: bool,
    /// Eligibility last reported to the queue.
    pub(super) eligibility: crate::queue::Eligibility,
}

impl<P> Default for BlockAckOriginator<P> {
    fn default() -> Self {
        Self {
            next_sequence: 0,
            in_hardware: VecDeque::new(),
            retries: VecDeque::new(),
            hole: None,
            held: false,
            eligibility: crate::queue::Eligibility::Fresh,
        }
    }
}

impl<P> BlockAckOriginator<P> {
    /// The lowest unsettled sequence number.
    pub(super) fn window_start(&self) -> u64 {
        let waiting = self.retries.front().map(|mpdu| mpdu.sequence);
        let flying = self.in_hardware.iter().min().copied();
        waiting.into_iter().chain(flying).min().unwrap_or(self.next_sequence)
    }

    /// Number of packets without a sequence number that the window of `size` still admits.
    pub(super) fn fresh_room(&self, size: u16) -> u64 {
        self.window_start().saturating_add(u64::from(size)).saturating_sub(self.next_sequence)
    }

    /// The first sequence number beyond a window of `size`. The window starts at the oldest unsettled MPDU: one to be retransmitted, one
    /// in the hardware, or `first` of the aggregate being formed. It does not move while fresh packets are added.
    pub(super) fn window_end(&self, first: Option<u64>, size: u16) -> u64 {
        let start = self.window_start().min(first.unwrap_or(u64::MAX));
        start.saturating_add(u64::from(size))
    }

    /// The sequence number of the next new packet.
    pub(super) const fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Assigns the next sequence number.
    pub(super) fn number(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// Marks all numbers below `next` as assigned.
    pub(super) const fn numbered_to(&mut self, next: u64) {
        self.next_sequence = next;
    }

    /// The first MPDU to be retransmitted.
    pub(super) fn first_retry(&self) -> Option<&Mpdu<P>> {
        self.retries.front()
    }

    /// Removes and returns the first MPDU to be retransmitted.
    pub(super) fn take_retry(&mut self) -> Option<Mpdu<P>> {
        self.retries.pop_front()
    }

    /// Keeps an MPDU until the next descriptor, in the order of sequence numbers.
    pub(super) fn keep(&mut self, mpdu: Mpdu<P>) {
        let mut at = self.retries.len();
        while at > 0 && self.retries.get(at - 1).is_some_and(|other| other.sequence > mpdu.sequence) {
            at -= 1;
        }
        self.retries.insert(at, mpdu);
    }

    /// Notes that a descriptor whose lowest sequence number is `lowest` is handed to the hardware.
    pub(super) fn handed(&mut self, lowest: u64) {
        self.in_hardware.push_back(lowest);
    }

    /// Notes that a descriptor whose lowest sequence number is `lowest` was returned; an unknown one changes nothing.
    pub(super) fn returned(&mut self, lowest: u64) {
        if let Some(at) = self.in_hardware.iter().position(|&first| first == lowest) {
            self.in_hardware.remove(at);
        }
    }

    /// Notes that the MPDU with this sequence number will not be retransmitted.
    pub(super) fn give_up(&mut self, sequence: u64) {
        self.hole = self.hole.max(Some(sequence));
    }

    /// The window start, if the window has passed a given-up MPDU and the receiver has not been told.
    pub(super) fn passed_hole(&mut self) -> Option<u64> {
        let hole = self.hole?;
        let start = self.window_start();
        (start > hole).then(|| {
            self.hole = None;
            start
        })
    }

    /// Number of MPDUs to be retransmitted.
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

    /// Assigns sequence numbers while the window admits packets, and hands these down as one descriptor.
    fn send(originator: &mut BlockAckOriginator<()>, most: usize, window: u16) -> Vec<u64> {
        let mut sent = Vec::new();
        while sent.len() < most
            && let Some(retry) = originator.take_retry()
        {
            sent.push(retry.sequence);
        }
        let end = originator.window_end(sent.first().copied(), window);
        while sent.len() < most && originator.next_sequence() < end {
            sent.push(originator.number());
        }
        if let Some(&lowest) = sent.first() {
            originator.handed(lowest);
        }
        sent
    }

    #[test]
    fn the_window_begins_at_the_oldest_that_is_not_settled() {
        let mut originator = BlockAckOriginator::default();
        assert_eq!(originator.fresh_room(64), 64);
        assert_eq!(send(&mut originator, 40, 64), (0..40).collect::<Vec<_>>());
        assert_eq!(originator.fresh_room(64), 24);
        // A second aggregate while the first is in the hardware.
        assert_eq!(send(&mut originator, 40, 64), (40..64).collect::<Vec<_>>());
        assert_eq!((originator.fresh_room(64), send(&mut originator, 1, 64)), (0, vec![]));
        // The second is returned first: the window does not move.
        originator.returned(40);
        assert_eq!((originator.window_start(), originator.fresh_room(64)), (0, 0));
        // Of the first, 7 is missing.
        originator.returned(0);
        originator.keep(mpdu(7));
        assert_eq!((originator.window_start(), originator.fresh_room(64)), (7, 7));
        assert_eq!(send(&mut originator, 64, 64), [7, 64, 65, 66, 67, 68, 69, 70]);
        originator.returned(7);
        assert_eq!((originator.window_start(), originator.fresh_room(64)), (71, 64));
    }

    #[test]
    fn retries_go_in_order() {
        let mut originator = BlockAckOriginator::default();
        for sequence in [5, 3, 9, 4, 0] {
            originator.keep(mpdu(sequence));
        }
        assert_eq!((originator.waiting(), originator.window_start()), (5, 0));
        let order: Vec<_> =
            std::iter::from_fn(|| originator.take_retry()).map(|mpdu| mpdu.sequence).collect();
        assert_eq!(order, [0, 3, 4, 5, 9]);
    }

    #[test]
    fn a_hole_is_told_when_the_window_has_passed_it() {
        let mut originator = BlockAckOriginator::default();
        send(&mut originator, 8, 64);
        originator.returned(0);
        originator.keep(mpdu(2));
        originator.give_up(5);
        assert_eq!(originator.passed_hole(), None, "2 may still arrive");
        assert_eq!(send(&mut originator, 1, 64), [2]);
        originator.returned(2);
        assert_eq!(originator.passed_hole(), Some(8));
        assert_eq!(originator.passed_hole(), None);
    }

    #[test]
    fn an_unknown_descriptor_changes_nothing() {
        let mut originator = BlockAckOriginator::<()>::default();
        originator.returned(3);
        send(&mut originator, 4, 64);
        originator.returned(1);
        assert_eq!(originator.window_start(), 0);
    }
}
