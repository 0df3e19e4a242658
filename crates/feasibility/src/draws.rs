//! The plan's random numbers, from fixed seeds.

use airbound_random::Key;

/// The seed of all draws and channels.
pub(crate) const OWN_SEED: u64 = 0x706c_616e;

/// A sequence of draws.
#[derive(Debug, Clone)]
pub(crate) struct Draws {
    key: Key,
    count: u64,
}

impl Draws {
    /// The sequence with a number.
    pub(crate) fn new(number: u64) -> Self {
        Self { key: Key::of_seed(OWN_SEED).with(number), count: 0 }
    }

    /// Uniform between 0 and 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.count += 1;
        self.key.with(self.count).uniform()
    }

    /// A gamma variable of a mean and a variance.
    pub(crate) fn gamma(&mut self, mean: f64, variance: f64) -> f64 {
        if mean <= 0.0 || variance <= 0.0 {
            return mean.max(0.0);
        }
        self.count += 1;
        mean * self.key.with(self.count).gamma(mean * mean / variance)
    }
}

/// A quantile of the standard normal distribution: Abramowitz and Stegun, 26.2.23, error below 0.0005.
pub(crate) fn normal_quantile(share: f64) -> f64 {
    let tail = share.min(1.0 - share).max(1e-12);
    let t = (-2.0 * libm::log(tail)).sqrt();
    let value = t
        - (2.515_517 + 0.802_853 * t + 0.010_328 * t * t)
            / (1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t);
    if share < 0.5 { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_normal_law() {
        for (share, value) in [(0.5, 0.0), (0.95, 1.645), (0.01, -2.326), (0.999, 3.090)] {
            assert!((normal_quantile(share) - value).abs() < 1e-3, "{share}");
        }
    }

    #[test]
    fn an_exponential_wait_has_its_mean_and_its_percentiles() {
        let mut draws = Draws::new(0);
        let mut waits: Vec<f64> = (0..20_000).map(|_| draws.gamma(0.001, 1e-6)).collect();
        waits.sort_by(f64::total_cmp);
        let mean = waits.iter().sum::<f64>() / 20_000.0;
        assert!((mean / 0.001 - 1.0).abs() < 0.03, "{mean}");
        for share in [0.5_f64, 0.9, 0.95, 0.99] {
            let expected = -0.001 * libm::log(1.0 - share);
            let found = waits[(share * 20_000.0) as usize];
            assert!((found / expected - 1.0).abs() < 0.06, "{share}: {found} for {expected}");
        }
    }

    #[test]
    fn without_variance_there_is_no_draw() {
        let mut draws = Draws::new(1);
        assert!((draws.gamma(0.002, 0.0) - 0.002).abs() < 1e-12);
        assert!(draws.gamma(0.0, 1.0) == 0.0);
    }
}
