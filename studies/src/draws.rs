//! Random draws, keyed by the seed of a set and the number of its member.

use airbound_random::Key;

/// Draws that follow one another.
pub(crate) struct Draws {
    key: Key,
    count: u64,
}

impl Draws {
    /// Those of one member of a set.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        Self { key: Key::of_seed(seed).with(number), count: 0 }
    }

    pub(crate) fn unit(&mut self) -> f64 {
        self.count += 1;
        self.key.with(self.count).uniform()
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    pub(crate) fn below(&mut self, count: usize) -> usize {
        // Below `count`, since the unit is below 1.
        (self.unit() * count as f64) as usize
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Even in the logarithm.
    pub(crate) fn around(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.unit())
    }
}
