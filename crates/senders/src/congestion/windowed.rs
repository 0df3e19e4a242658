//! The largest value of a sliding window, in constant time and space.

/// Keeps the best value of the last `length` ticks, with a second and a third best that are ready to take its place
/// when it ages (Kathleen Nichols' filter, Linux `win_minmax.c`). Exact when values rise, at worst a quarter of the
/// window late when they fall.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowedMax<V> {
    best: [(u64, V); 3],
}

impl<V: Copy + Ord> WindowedMax<V> {
    pub(crate) fn new(at: u64, value: V) -> Self {
        Self { best: [(at, value); 3] }
    }

    pub(crate) fn get(&self) -> V {
        self.best[0].1
    }

    /// Takes a value measured at tick `at` and returns the largest of the last `length` ticks.
    pub(crate) fn update(&mut self, length: u64, at: u64, value: V) -> V {
        let sample = (at, value);
        if value >= self.best[0].1 || at.saturating_sub(self.best[2].0) > length {
            self.best = [sample; 3];
            return value;
        }
        if value >= self.best[1].1 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        let age = at.saturating_sub(self.best[0].0);
        if age > length {
            // The best value is too old: the others move up, twice if the next is too old as well.
            self.best = [self.best[1], self.best[2], sample];
            if at.saturating_sub(self.best[0].0) > length {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && age > length / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].0 == self.best[1].0 && age > length / 2 {
            self.best[2] = sample;
        }
        self.best[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_for_the_window_and_then_forgets() {
        let mut filter = WindowedMax::new(0, 10);
        assert_eq!(filter.update(10, 1, 20), 20);
        for tick in 2..=11 {
            assert_eq!(filter.update(10, tick, 5), 20, "tick {tick}");
        }
        assert_eq!(filter.update(10, 12, 5), 5);
    }

    #[test]
    fn a_gap_longer_than_the_window_starts_over() {
        let mut filter = WindowedMax::new(0, 100);
        assert_eq!(filter.update(10, 50, 1), 1);
    }
}
