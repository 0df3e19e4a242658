//! The distribution of video frame sizes.

use airbound_random::Stream;
use airbound_units::ByteCount;

/// Log-normal frame sizes around a mean.
#[derive(Debug, Clone)]
pub struct FrameSizes {
    mean: ByteCount,
    /// Standard deviation of the logarithm; 0 for frames of equal size.
    sigma: f64,
    draws: Stream,
}

impl FrameSizes {
    /// Sizes around `mean`; `sigma` is the standard deviation of the logarithm, 0 for frames of equal size.
    #[must_use]
    pub const fn new(mean: ByteCount, sigma: f64, draws: Stream) -> Self {
        Self { mean, sigma, draws }
    }

    /// Draws the next frame's size; the mean over many frames is the configured one.
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> ByteCount {
        if self.sigma == 0.0 {
            return self.mean;
        }
        ByteCount::new(libm::round(self.mean.as_u64() as f64 * self.factor()).max(1.0) as u64)
    }

    /// Draws the ratio of the next frame's size to the mean.
    pub fn factor(&mut self) -> f64 {
        if self.sigma == 0.0 {
            return 1.0;
        }
        libm::exp(self.sigma * self.draws.normal() - self.sigma * self.sigma / 2.0)
    }
}
