//! Welfare of a whole session: mean and fairness of its users' QoE (Plum, equations 1 and 2).

/// The two terms of equation 1 and their sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welfare {
    /// The (weighted) mean QoE, 0 to 1.
    pub mean: f64,
    /// F = 1 - 2 sigma, with sigma the (weighted) standard deviation over the users, 0 to 1 (equation 2; Hoßfeld et al.).
    pub fairness: f64,
    /// U = (1 - rho) mean + rho F (equation 1).
    pub utility: f64,
}

impl Welfare {
    /// Computes the welfare of QoE values with weights that sum to 1. Both lists have the same length; `rho` is from 0 to
    /// 1.
    #[must_use]
    pub fn of(qoe: &[f64], weights: &[f64], rho: f64) -> Self {
        let mean: f64 = qoe.iter().zip(weights).map(|(q, w)| q * w).sum();
        let variance: f64 = qoe.iter().zip(weights).map(|(q, w)| w * (q - mean) * (q - mean)).sum();
        let fairness = 1.0 - 2.0 * libm::sqrt(variance.max(0.0));
        Self { mean, fairness, utility: (1.0 - rho) * mean + rho * fairness }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fairness_term_has_the_range_that_section_iii_b_names() {
        let weights = [0.25; 4];
        let equal = Welfare::of(&[0.3; 4], &weights, 0.5);
        assert!((equal.fairness - 1.0).abs() < 1e-12 && (equal.utility - 0.65).abs() < 1e-12);
        let split = Welfare::of(&[0.0, 0.0, 1.0, 1.0], &weights, 0.5);
        assert!(split.fairness.abs() < 1e-12 && (split.utility - 0.25).abs() < 1e-12);
    }

    #[test]
    fn a_weight_counts_like_so_many_users() {
        let weighted = Welfare::of(&[0.2, 0.8], &[0.75, 0.25], 0.3);
        let counted = Welfare::of(&[0.2, 0.2, 0.2, 0.8], &[0.25; 4], 0.3);
        assert!((weighted.utility - counted.utility).abs() < 1e-12);
    }
}
