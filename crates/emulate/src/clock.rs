//! The clock of an emulation: simulated time beside the machine's.

use airbound_units::{Instant, Span};

/// A run that is further behind puts its clock back instead of catching up.
pub const PATIENCE: Span = Span::from_millis(50);

/// Simulated time that goes on with the machine's.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// The machine's time at `simulated`.
    epoch: Instant,
    simulated: Instant,
    slips: u64,
    slipped: Span,
}

impl Clock {
    /// At the machine's time `now` the simulated time is `simulated`.
    #[must_use]
    pub const fn new(now: Instant, simulated: Instant) -> Self {
        Self { epoch: now, simulated, slips: 0, slipped: Span::ZERO }
    }

    /// The simulated time at the machine's time `now`.
    #[must_use]
    pub fn simulated(&self, now: Instant) -> Instant {
        self.simulated + now.since(self.epoch)
    }

    /// The machine's time at the simulated time `at`.
    #[must_use]
    pub fn machine(&self, at: Instant) -> Instant {
        self.epoch + at.since(self.simulated)
    }

    /// Puts the clock back where a run that is at `reached` is too far behind; to be called before it advances.
    pub fn slip(&mut self, now: Instant, reached: Instant) {
        let behind = self.simulated(now).since(reached);
        if behind > PATIENCE {
            self.epoch += behind;
            self.slips += 1;
            self.slipped += behind;
        }
    }

    /// Number of times that it was put back, and by how much in all.
    #[must_use]
    pub const fn slips(&self) -> (u64, Span) {
        (self.slips, self.slipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_short_delay_is_caught_up_and_a_long_one_is_not() {
        let mut clock = Clock::new(at(1000), at(20));
        assert_eq!(clock.simulated(at(1070)), at(90));
        assert_eq!(clock.machine(at(90)), at(1070));
        clock.slip(at(1070), at(40));
        assert_eq!(clock.slips(), (0, Span::ZERO));
        assert_eq!(clock.simulated(at(1070)), at(90));
        // Stopped for half a minute.
        clock.slip(at(31_071), at(90));
        assert_eq!(clock.slips(), (1, Span::from_millis(30_001)));
        assert_eq!(clock.simulated(at(31_071)), at(90));
        assert_eq!(clock.simulated(at(31_081)), at(100));
        assert_eq!(clock.machine(at(100)), at(31_081));
    }
}
