//! Draws from a beta distribution.

use crate::rate::splitmix64;

/// A counted stream of random numbers, determined by the seed.
#[derive(Debug, Clone)]
pub(super) struct Draws(u64);

impl Draws {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in (0, 1): never 0, so that its logarithm is finite.
    fn unit(&mut self) -> f64 {
        ((splitmix64(&mut self.0) >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Normal with mean 0 and variance 1 (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Gamma with scale 1 and a `shape` of at least 1 (Marsaglia and Tsang, "A simple method for generating gamma variables",
    /// 2000).
    fn gamma(&mut self, shape: f64) -> f64 {
        let d = shape.max(1.0) - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        loop {
            let normal = self.normal();
            let root = 1.0 + c * normal;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            // At least 95 % are accepted, so the loop ends.
            if libm::log(self.unit()) < 0.5 * normal * normal + d - d * v + d * libm::log(v) {
                return d * v;
            }
        }
    }

    /// Beta with both parameters at least 1: 0 to 1.
    pub(super) fn beta(&mut self, alpha: f64, beta: f64) -> f64 {
        let (x, y) = (self.gamma(alpha), self.gamma(beta));
        // Both are positive and finite: no parameter exceeds the packets of a run.
        x / (x + y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_variance_are_those_of_the_distribution() {
        let mut draws = Draws::new(7);
        for (alpha, beta) in [(1.0, 1.0), (1.0, 4.0), (3.5, 1.0), (30.0, 10.0), (1.0, 900.0)] {
            let count = 40_000;
            let samples: Vec<f64> = (0..count).map(|_| draws.beta(alpha, beta)).collect();
            assert!(samples.iter().all(|sample| (0.0..=1.0).contains(sample)));
            let mean = samples.iter().sum::<f64>() / f64::from(count);
            let variance = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum::<f64>()
                / f64::from(count);
            let sum: f64 = alpha + beta;
            let exact = alpha * beta / (sum * sum * (sum + 1.0));
            assert!(
                (mean - alpha / sum).abs() < 5.0 * (exact / f64::from(count)).sqrt(),
                "{alpha}, {beta}: {mean}"
            );
            assert!((variance / exact - 1.0).abs() < 0.08, "{alpha}, {beta}: {variance} instead of {exact}");
        }
    }

    #[test]
    fn the_seed_decides() {
        let list = |seed| {
            let mut draws = Draws::new(seed);
            (0..10).map(|_| draws.beta(2.0, 3.0).to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(list(1), list(1));
        assert_ne!(list(1), list(2));
    }
}
