//! The choice of Law's latency bound from the latencies under baseline link layers (Law paper, appendix B, Fig. 24).
//!
//! For an accepted loss of 1 - alpha, beta is the latency under a baseline that a share alpha of the packets does not exceed. A bound
//! between the smallest and the largest beta of the baselines costs about that share of the packets. The time in hardware is deducted
//! from it: Limit_q = bound - 2 Limit_h (Sec. 3.3).

use airbound_units::Span;

/// Latencies and losses of the packets under one baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stays {
    /// Name of the baseline.
    pub name: String,
    /// Latencies of the delivered packets, in any order.
    pub latencies: Vec<Span>,
    /// Lost packets, which count as infinite latencies.
    pub lost: u64,
}

/// The latency under one baseline that a share of the packets does not exceed.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// Name of the baseline.
    pub name: String,
    /// beta; `None` if fewer packets are delivered than that share.
    pub latency: Option<Span>,
    /// Lost packets over all packets, 0 to 1.
    pub loss_rate: f64,
}

/// The chosen bound and its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundChoice {
    /// One for each baseline, in their order.
    pub thresholds: Vec<Threshold>,
    /// The smallest beta.
    pub lowest: Span,
    /// The largest beta.
    pub highest: Span,
    /// The bound of the latency in the link layer: the middle of the interval, from which the paper leaves the choice open.
    pub bound: Span,
    /// Limit_q: the part of the bound for the driver's queue.
    pub limit_q: Span,
}

/// Errors of the choice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BoundError {
    /// No baseline delivers the share alpha.
    #[error(
        "every baseline delivers fewer than {0} % of the packets; allow more loss with a smaller --alpha"
    )]
    TooLossy(String),
    /// The bound does not exceed the time in hardware.
    #[error(
        "the bound of {bound} leaves nothing for the queue beside two times {limit_h} in hardware; choose a shorter --limit-h or a \
         larger --alpha"
    )]
    TooShort {
        /// The bound that the baselines give.
        bound: Span,
        /// Limit_h.
        limit_h: Span,
    },
}

impl Stays {
    /// The latency that a share `alpha` (0 to 1) of all packets does not exceed.
    fn threshold(mut self, alpha: f64) -> Threshold {
        self.latencies.sort_unstable();
        let arrived = self.latencies.len() as f64;
        let all = arrived + self.lost as f64;
        // Nearest rank among all packets, lost ones last.
        let rank = (alpha * all).ceil().max(1.0);
        let latency = if rank > arrived { None } else { self.latencies.get(rank as usize - 1).copied() };
        Threshold {
            name: self.name,
            latency,
            loss_rate: if all > 0.0 { self.lost as f64 / all } else { 0.0 },
        }
    }
}

impl BoundChoice {
    /// Chooses the bound from several baselines, so that a share `alpha` (0 to 1) of the packets keeps it, where each of two PSDUs takes at
    /// most `limit_h` in hardware.
    ///
    /// # Errors
    /// [`BoundError`] if too few packets are delivered, or if the bound does not exceed the time in hardware.
    pub fn of(baselines: Vec<Stays>, alpha: f64, limit_h: Span) -> Result<Self, BoundError> {
        let thresholds: Vec<Threshold> =
            baselines.into_iter().map(|stays| stays.threshold(alpha.clamp(0.0, 1.0))).collect();
        let betas = || thresholds.iter().filter_map(|threshold| threshold.latency);
        let (Some(lowest), Some(highest)) = (betas().min(), betas().max()) else {
            return Err(BoundError::TooLossy(format!("{}", 100.0 * alpha)));
        };
        let bound = lowest + (highest - lowest) / 2;
        let in_hardware = limit_h * 2;
        if bound <= in_hardware {
            return Err(BoundError::TooShort { bound, limit_h });
        }
        Ok(Self { lowest, highest, bound, limit_q: bound - in_hardware, thresholds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stays(name: &str, millis: impl Iterator<Item = u64>, lost: u64) -> Stays {
        Stays { name: name.to_owned(), latencies: millis.map(Span::from_millis).collect(), lost }
    }

    #[test]
    fn the_bound_lies_between_the_thresholds() {
        // Of the first baseline 98 of 100 arrive, within 98 ms; of the second all, the 98th of 100 within 30 ms.
        let slow = stays("slow", (1..=98).rev(), 2);
        let fast = stays("fast", (1..=100).map(|n| if n <= 98 { 30 } else { 500 }), 0);
        let choice = BoundChoice::of(vec![slow, fast], 0.98, Span::from_millis(3)).expect("can be chosen");
        assert_eq!((choice.lowest, choice.highest), (Span::from_millis(30), Span::from_millis(98)));
        assert_eq!((choice.bound, choice.limit_q), (Span::from_millis(64), Span::from_millis(58)));
        assert!((choice.thresholds[0].loss_rate - 0.02).abs() < 1e-12);
    }

    #[test]
    fn a_baseline_with_too_much_loss_is_ignored() {
        let lossy = stays("lossy", 1..=90, 10);
        let choice = |baselines| BoundChoice::of(baselines, 0.99, Span::from_millis(3));
        assert_eq!(choice(vec![lossy.clone()]), Err(BoundError::TooLossy("99".to_owned())));
        let both = choice(vec![lossy, stays("good", 1..=100, 0)]).expect("one suffices");
        assert_eq!((both.thresholds[0].latency, both.bound), (None, Span::from_millis(99)));
    }

    #[test]
    fn hardware_may_need_the_whole_bound() {
        let quick = stays("quick", 1..=5, 0);
        let error = BoundChoice::of(vec![quick], 1.0, Span::from_millis(3)).expect_err("5 ms are too few");
        assert!(error.to_string().contains("leaves nothing for the queue"), "{error}");
        assert!(BoundChoice::of(Vec::new(), 0.99, Span::ZERO).is_err());
    }
}
