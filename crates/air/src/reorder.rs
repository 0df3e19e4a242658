//! The receiver's reordering buffer: MPDUs wait until a missing earlier one is received or given up.

use std::collections::VecDeque;

use airbound_units::{Instant, Span};

/// mac80211's timeout for a missing MPDU (`HT_RX_REORDER_BUF_TIMEOUT`, HZ / 10).
pub const RELEASE_TIMEOUT: Span = Span::from_millis(100);

/// Buffer for one transmitter and traffic identifier (802.11-2020, 10.25.6.6).
#[derive(Debug, Clone)]
pub struct Reorder<T> {
    /// The sequence number to be delivered next.
    next: u64,
    /// MPDUs received early: index i has sequence number `next + i`, with the reception time.
    early: VecDeque<Option<(T, Instant)>>,
    held: usize,
}

impl<T> Default for Reorder<T> {
    fn default() -> Self {
        Self { next: 0, early: VecDeque::new(), held: 0 }
    }
}

impl<T> Reorder<T> {
    /// Accepts an MPDU that is in order while none waits, and which the caller delivers. Returns `false` for other MPDUs, which are to be
    /// passed to [`Reorder::receive`].
    #[inline]
    pub fn passes(&mut self, sequence: u64) -> bool {
        let passes = self.expects(sequence);
        if passes {
            self.pass(1);
        }
        passes
    }

    /// Whether an MPDU is in order while none waits.
    #[inline]
    #[must_use]
    pub fn expects(&self, sequence: u64) -> bool {
        sequence == self.next && self.held == 0
    }

    /// Accepts the next `count` MPDUs while none waits; the caller delivers them.
    #[inline]
    pub fn pass(&mut self, count: u64) {
        self.next += count;
        // Only places of missing MPDUs are left.
        self.early.clear();
    }

    /// Takes an MPDU received at `now`, and delivers MPDUs in order. Returns the MPDU if the window has moved past it; mac80211 drops such
    /// MPDUs.
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

    /// Moves the window to `sequence`, after a BlockAckReq: missing MPDUs below it have been given up.
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

    /// The time at which the oldest missing MPDU is given up.
    #[must_use]
    pub fn next_release(&self) -> Option<Instant> {
        self.early.iter().flatten().next().map(|(_, since)| *since + RELEASE_TIMEOUT)
    }

    /// Gives up missing MPDUs before those that have waited for the timeout.
    pub fn expire(&mut self, now: Instant, mut deliver: impl FnMut(T)) {
        while self.next_release().is_some_and(|at| at <= now) {
            let hole = self.early.iter().take_while(|place| place.is_none()).count() as u64;
            self.move_window(self.next + hole, &mut deliver);
        }
    }

    /// Number of waiting MPDUs.
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
    fn early_mpdus_are_held() {
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
    fn giving_up_a_missing_mpdu_releases_the_held_ones() {
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
    fn a_window_far_ahead_ends() {
        let out = run(|buffer, out| {
            buffer.move_window(u64::MAX - 5, |x| out.push(x));
            buffer.receive(u64::MAX - 5, 7, Instant::ZERO, |x| out.push(x));
        });
        assert_eq!(out, [7]);
    }
}
