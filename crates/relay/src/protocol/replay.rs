//! The replay window: which of the last sequence numbers were received.

/// Number of sequence numbers behind the highest that may still arrive.
pub const WINDOW: u64 = 4096;
/// Words of the ring: the window, and the word that is being begun.
const WORDS: u64 = WINDOW / 64 + 1;

/// A window of received sequence numbers.
#[derive(Debug, Clone)]
pub struct ReplayWindow {
    highest: Option<u64>,
    ring: [u64; WORDS as usize],
}

impl Default for ReplayWindow {
    fn default() -> Self {
        Self { highest: None, ring: [0; WORDS as usize] }
    }
}

impl ReplayWindow {
    /// Whether a sequence number is new, and not too old to know.
    #[must_use]
    pub fn is_new(&self, sequence: u64) -> bool {
        match self.highest {
            None => true,
            Some(highest) if sequence > highest => true,
            Some(highest) => highest - sequence < WINDOW && self.ring[place(sequence)] & bit(sequence) == 0,
        }
    }

    /// Notes a received sequence number that [`Self::is_new`]. Returns whether it is the highest.
    pub fn note(&mut self, sequence: u64) -> bool {
        let before = self.highest.map_or(sequence / 64, |highest| highest / 64);
        let word = sequence / 64;
        for begun in 1..=word.saturating_sub(before).min(WORDS) {
            self.ring[((before + begun) % WORDS) as usize] = 0;
        }
        self.ring[place(sequence)] |= bit(sequence);
        let is_highest = self.highest.is_none_or(|highest| sequence > highest);
        if is_highest {
            self.highest = Some(sequence);
        }
        is_highest
    }
}

const fn place(sequence: u64) -> usize {
    (sequence / 64 % WORDS) as usize
}

const fn bit(sequence: u64) -> u64 {
    1 << (sequence % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_number_is_new_once_as_long_as_it_is_within_the_window() {
        bolero::check!().with_type::<Vec<u16>>().with_iterations(500).for_each(|jumps| {
            let mut window = ReplayWindow::default();
            let mut seen = BTreeSet::new();
            let mut at = 10_000_u64;
            for jump in jumps {
                // From far behind the window to far before it.
                let sequence = (at + u64::from(*jump)).saturating_sub(30_000);
                let highest = seen.last().copied();
                let fresh =
                    !seen.contains(&sequence) && highest.is_none_or(|highest| sequence + WINDOW > highest);
                assert_eq!(window.is_new(sequence), fresh, "{sequence} after {highest:?}");
                if fresh {
                    assert_eq!(window.note(sequence), highest.is_none_or(|highest| sequence > highest));
                    seen.insert(sequence);
                }
                at += u64::from(*jump % 100);
            }
        });
    }

    #[test]
    fn the_ends_of_the_number_space_are_numbers_like_others() {
        let mut window = ReplayWindow::default();
        assert!(window.is_new(0) && window.note(0) && !window.is_new(0));
        assert!(window.note(u64::MAX) && !window.is_new(u64::MAX) && !window.is_new(0));
        assert!(window.is_new(u64::MAX - WINDOW + 1) && !window.is_new(u64::MAX - WINDOW));
    }
}
