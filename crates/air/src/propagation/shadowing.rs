//! Shadowing: slow variation of the mean power.

use airbound_random::Key;
use airbound_units::{Decibel, Instant, Span};

/// A stationary Gaussian process in dB.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shadowing {
    key: Key,
    /// Standard deviation in dB.
    sigma: f64,
    coherence: u64,
}

impl Shadowing {
    pub(super) fn new(sigma: Decibel, coherence: Span, key: Key) -> Self {
        Self { key, sigma: sigma.value(), coherence: coherence.as_nanos().max(1) }
    }

    /// Whether there is no shadowing.
    pub(super) fn is_none(&self) -> bool {
        self.sigma == 0.0
    }

    /// The gain at a time.
    ///
    /// Interpolates independent normal values on a grid of the coherence time with weights whose squares sum to one: the variance is
    /// constant, and values two grid steps apart are independent.
    pub(super) fn gain(&self, now: Instant) -> Decibel {
        if self.is_none() {
            return Decibel::new(0.0);
        }
        let cell = now.as_nanos() / self.coherence;
        let share = (now.as_nanos() % self.coherence) as f64 / self.coherence as f64;
        let quarter_turn = share * std::f64::consts::FRAC_PI_2;
        let (before, after) = (self.key.with(cell).normal(), self.key.with(cell + 1).normal());
        Decibel::new(self.sigma * (before * libm::cos(quarter_turn) + after * libm::sin(quarter_turn)))
    }
}
