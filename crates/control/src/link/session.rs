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
    /// The rate at which the environment says that data really goes out.
    pub(super) dictated: Option<airbound_units::BitRate>,
    /// What the queue was last told.
    pub(super) readiness: crate::queue::Readiness,
}

impl<P> Default for Session<P> {
    fn default() -> Self {
        Self {
            next_sequence: 0,
            in_hardware: VecDeque::new(),
            retries: VecDeque::new(),
            dictated: None,
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
        (self.window_start() + u64::from(size)).saturating_sub(self.next_sequence)
    }

    /// Whether a new packet lies within a window of `size` that begins at `first`.
    pub(super) fn next_within(&self, first: u64, size: u16) -> bool {
        self.next_sequence < first + u64::from(size)
    }

    /// Numbers a new packet.
    pub(super) fn number(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
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

    /// How many MPDUs wait to be sent again.
    pub(super) fn waiting(&self) -> usize {
        self.retries.len()
    }
}
