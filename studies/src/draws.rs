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

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// The first choice whose weight covers the draw; weights sum up to 100.
    pub(crate) fn weighted(&mut self, choices: &[(&'static str, u32)]) -> &'static str {
        let mut left = self.unit() * 100.0;
        for (choice, weight) in choices {
            left -= f64::from(*weight);
            if left < 0.0 {
                return choice;
            }
        }
        choices.last().map_or("be", |(choice, _)| choice)
    }

    /// Even in the logarithm.
    pub(crate) fn around(&mut self, low: f64, high: f64) -> f64 {
        low * libm::pow(high / low, self.unit())
    }
}
