//! Random numbers as functions of a key, independent of the order of calls.

/// A key: the seed of the run mixed with identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u64);

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014, variant 13), in which every input bit changes every output bit with a
/// probability of about one half.
const fn mix(mut bits: u64) -> u64 {
    bits ^= bits >> 30;
    bits = bits.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^= bits >> 27;
    bits = bits.wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// 2^64 divided by the golden ratio: the increment of splitmix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Key {
    /// The key of a run.
    #[must_use]
    pub const fn of_seed(seed: u64) -> Self {
        Self(mix(seed.wrapping_add(GOLDEN)))
    }

    /// The key of a part of this key's entity.
    #[must_use]
    pub const fn with(self, part: u64) -> Self {
        // The part is mixed first, so that nearby parts of nearby keys do not collide.
        Self(mix(self.0.wrapping_mul(GOLDEN) ^ mix(part.wrapping_add(GOLDEN))))
    }

    /// 64 random bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        mix(self.0.wrapping_add(GOLDEN))
    }

    /// Uniform in the open interval from 0 to 1.
    #[must_use]
    pub fn uniform(self) -> f64 {
        // 53 bits, offset by half a step from zero.
        ((self.bits() >> 11) as f64 + 0.5) * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Standard normal (Box and Muller 1958).
    #[must_use]
    pub fn normal(self) -> f64 {
        let radius = (-2.0 * libm::log(self.with(1).uniform())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.with(2).uniform())
    }

    /// Exponential with mean 1.
    #[must_use]
    pub fn exponential(self) -> f64 {
        -libm::log(self.uniform())
    }

    /// Gamma with a shape of at least 0.01 and mean 1 (Marsaglia and Tsang 2000; below a shape of 1 by their boost).
    #[must_use]
    pub fn gamma(self, shape: f64) -> f64 {
        let shape = shape.max(0.01);
        let boosted = if shape < 1.0 { shape + 1.0 } else { shape };
        let d = boosted - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        // At most one attempt in 20 is rejected: 64 consecutive rejections do not occur.
        let mut value = d;
        for attempt in 0..64 {
            let key = self.with(10 + attempt);
            let x = key.normal();
            let v = 1.0 + c * x;
            if v <= 0.0 {
                continue;
            }
            let v = v * v * v;
            if libm::log(key.with(3).uniform()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
                value = d * v;
                break;
            }
        }
        if shape < 1.0 {
            value *= libm::pow(self.with(4).uniform(), 1.0 / shape);
        }
        value / shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments() {
        let n = 200_000u64;
        let mut sums = [0.0; 8];
        for i in 0..n {
            let key = Key::of_seed(7).with(i);
            let (u, z, e) = (key.uniform(), key.normal(), key.exponential());
            let (g, h) = (key.gamma(1.5), key.gamma(0.75));
            for (sum, x) in sums.iter_mut().zip([u, u * u, z, z * z, e, g, g * g, h * h]) {
                *sum += x / n as f64;
            }
        }
        // Second moment of a gamma variate of mean 1: 1 + 1/shape.
        let expected = [0.5, 1.0 / 3.0, 0.0, 1.0, 1.0, 1.0, 1.0 + 1.0 / 1.5, 1.0 + 1.0 / 0.75];
        for (sum, expected) in sums.iter().zip(expected) {
            assert!((sum - expected).abs() < 0.02, "{sums:?}");
        }
    }

    #[test]
    fn neighbouring_keys_are_unrelated() {
        let n = 100_000u64;
        let product = |a: Key, b: Key| (a.uniform() - 0.5) * (b.uniform() - 0.5);
        let mut sums = [0.0; 3];
        for i in 0..n {
            let key = Key::of_seed(i);
            sums[0] += product(key, Key::of_seed(i + 1));
            sums[1] += product(key.with(1), key.with(2));
            sums[2] += product(key.with(5), Key::of_seed(i + 1).with(5));
        }
        for sum in sums {
            // Standard deviation of the sum: sqrt(n)/12.
            assert!(sum.abs() < 5.0 * (n as f64).sqrt() / 12.0, "{sums:?}");
        }
    }
}
