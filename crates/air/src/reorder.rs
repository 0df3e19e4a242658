//! The receiver's reordering buffer: later MPDUs wait until the missing one arrives or is given up.

use std::collections::VecDeque;

use airbound_units::{Instant, Span};

/// Time that mac80211 waits for a missing MPDU (`HT_RX_REORDER_BUF_TIMEOUT`, HZ / 10).
pub const RELEASE_TIMEOUT: Span = Span::from_millis(100);

/// Buffer for one transmitter and traffic identifier (802.11-2020, 10.25.6.6).
#[derive(Debug, Clone)]
pub struct Reorder<T> {
    /// The sequence number that is delivered next.
    next: u64,
    /// MPDUs that came early: the place at index i holds sequence number `next + i`, and when it came.
    early: VecDeque<Option<(T, Instant)>>,
    held: usize,
}

impl<T> Default for Reorder<T> {
    fn default() -> Self {
        Self { next: 0, early: VecDeque::new(), held: 0 }
    }
}

impl<T> Reorder<T> {
    /// Takes an MPDU that has nothing to wait for, and before which nothing waits: it goes to its destination as it is. `false` if it is
    /// another, which [`Reorder::receive`] takes.
    #[inline]
    pub fn passes(&mut self, sequence: u64) -> bool {
        let passes = sequence == self.next && self.held == 0;
        if passes {
            self.next += 1;
            if !self.early.is_empty() {
                self.early.pop_front();
            }
        }
        passes
    }

    /// Takes an MPDU that was received at `now`; what can be delivered is passed on in order. Gives the MPDU back if the
    /// window has moved past it, as mac80211 drops what comes after its release.
    pub fn receive(&mut self, sequence: u64, item: T, now: Instant, mut deliver: impl FnMut(T)) -> Option<T> {
        if sequence < self.next {
            return Some(item);
        }
        if self.passes(sequence) {
            deliver(item);
            return None;
        }
        let place = (sequence - self.next) as usize;
        if self.early.len() <= place {
            self.early.resize_with(place + 1, || None);
        }
        if self.early[place].replace((item, now)).is_none() {
            self.held += 1;
        }
        self.release(&mut deliver);
        None
    }

    /// The transmitter gave up everything below `sequence` that did not arrive (block-ack request).
    pub fn move_window(&mut self, sequence: u64, mut deliver: impl FnMut(T)) {
        while self.next < sequence {
            match self.early.pop_front() {
                Some(Some((item, _))) => {
                    self.held -= 1;
                    deliver(item);
                }
                Some(None) => {}
                None => {
                    self.next = sequence;
                    break;
                }
            }
            self.next += 1;
        }
        self.release(&mut deliver);
    }

    /// The time at which the oldest hole is given up.
    #[must_use]
    pub fn next_release(&self) -> Option<Instant> {
        self.early.iter().flatten().next().map(|(_, since)| *since + RELEASE_TIMEOUT)
    }

    /// Gives up the holes in front of MPDUs that have waited too long.
    pub fn expire(&mut self, now: Instant, mut deliver: impl FnMut(T)) {
        while self.next_release().is_some_and(|at| at <= now) {
            let hole = self.early.iter().take_while(|place| place.is_none()).count() as u64;
            self.move_window(self.next + hole, &mut deliver);
        }
    }

    /// Number of MPDUs that wait.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }

    fn release(&mut self, deliver: &mut impl FnMut(T)) {
        while let Some(Some(_)) = self.early.front() {
            if let Some(Some((item, _))) = self.early.pop_front() {
                self.held -= 1;
                self.next += 1;
                deliver(item);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(steps: impl FnOnce(&mut Reorder<u64>, &mut Vec<u64>)) -> Vec<u64> {
        let (mut buffer, mut out) = (Reorder::default(), Vec::new());
        steps(&mut buffer, &mut out);
        out
    }

    #[test]
    fn holds_what_comes_early() {
        let out = run(|buffer, out| {
            buffer.receive(1, 1, Instant::ZERO, |x| out.push(x));
            buffer.receive(3, 3, Instant::ZERO, |x| out.push(x));
            assert!(out.is_empty());
            assert_eq!(buffer.held(), 2);
            buffer.receive(0, 0, Instant::ZERO, |x| out.push(x));
            buffer.receive(2, 2, Instant::ZERO, |x| out.push(x));
            assert_eq!(buffer.held(), 0);
        });
        assert_eq!(out, [0, 1, 2, 3]);
    }

    #[test]
    fn a_hole_that_is_given_up_frees_what_waited() {
        let out = run(|buffer, out| {
            buffer.receive(1, 1, Instant::ZERO, |x| out.push(x));
            buffer.receive(4, 4, Instant::ZERO, |x| out.push(x));
            buffer.move_window(1, |x| out.push(x));
            assert_eq!(*out, [1]);
            assert_eq!(buffer.next_release(), Some(Instant::ZERO + RELEASE_TIMEOUT));
            buffer.expire(Instant::ZERO + RELEASE_TIMEOUT, |x| out.push(x));
        });
        assert_eq!(out, [1, 4]);
    }

    #[test]
    fn a_window_far_ahead_is_no_loop() {
        let out = run(|buffer, out| {
            buffer.move_window(u64::MAX - 5, |x| out.push(x));
            buffer.receive(u64::MAX - 5, 7, Instant::ZERO, |x| out.push(x));
        });
        assert_eq!(out, [7]);
    }
}
