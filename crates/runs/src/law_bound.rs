//! The choice of Law's latency bound from the latencies under baseline link layers (Law paper, appendix B, Fig. 24).
//!
//! For an accepted loss of 1 - alpha, beta is the latency under a baseline that a share alpha of the packets does not exceed. A bound
//! between the smallest and the largest beta of the baselines costs about that share of the packets; the paper leaves open which. Law is
//! run with several of them, and the shortest that keeps the accepted loss with a margin is taken. The time in hardware is deducted from
//! it: Limit_q = bound - 2 Limit_h (Sec. 3.3).

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

/// The interval in which the bound lies.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundInterval {
    /// One for each baseline, in their order.
    pub thresholds: Vec<Threshold>,
    /// The smallest beta.
    pub lowest: Span,
    /// The largest beta.
    pub highest: Span,
}

/// Losses of Law with one bound, one for each seed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoundLosses {
    /// The bound of the latency in the link layer.
    pub bound: Span,
    /// Lost packets over all packets, 0 to 1.
    pub losses: Vec<f64>,
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

impl BoundInterval {
    /// The interval of several baselines, for a share `alpha` (0 to 1) of the packets that keeps the bound.
    ///
    /// # Errors
    /// [`BoundError::TooLossy`] if every baseline delivers too few packets.
    pub fn of(baselines: Vec<Stays>, alpha: f64) -> Result<Self, BoundError> {
        let thresholds: Vec<Threshold> =
            baselines.into_iter().map(|stays| stays.threshold(alpha.clamp(0.0, 1.0))).collect();
        let betas = || thresholds.iter().filter_map(|threshold| threshold.latency);
        let (Some(lowest), Some(highest)) = (betas().min(), betas().max()) else {
            return Err(BoundError::TooLossy(format!("{}", 100.0 * alpha)));
        };
        Ok(Self { lowest, highest, thresholds })
    }

    /// Bounds of the interval at equal ratios, both ends included, ascending: those that leave Law's queue its shortest limit, where each
    /// of two PSDUs takes at most `limit_h` in hardware.
    ///
    /// # Errors
    /// [`BoundError::TooShort`] if there is none.
    pub fn candidates(&self, count: u32, limit_h: Span) -> Result<Vec<Span>, BoundError> {
        let steps = count.saturating_sub(1).max(1);
        let ratio = self.highest.as_secs_f64() / self.lowest.as_secs_f64().max(f64::MIN_POSITIVE);
        let at = |step: u32| {
            let seconds = self.lowest.as_secs_f64() * libm::pow(ratio, f64::from(step) / f64::from(steps));
            // In whole tenths of a millisecond, as they are written.
            Span::from_micros(libm::ceil(seconds * 1e4) as u64 * 100)
        };
        let mut bounds: Vec<Span> = (0..=steps).map(at).collect();
        bounds.dedup();
        bounds.retain(|bound| *bound >= limit_h * 2 + SHORTEST_LIMIT_Q);
        if bounds.is_empty() {
            return Err(BoundError::TooShort { bound: self.highest, limit_h });
        }
        Ok(bounds)
    }
}

impl BoundLosses {
    /// The mean over the seeds.
    #[must_use]
    pub(crate) fn mean(&self) -> f64 {
        self.losses.iter().sum::<f64>() / self.losses.len().max(1) as f64
    }

    /// The mean and twice its standard error; with a single seed the mean.
    #[must_use]
    pub(crate) fn upper(&self) -> f64 {
        let (count, mean) = (self.losses.len() as f64, self.mean());
        if self.losses.len() < 2 {
            return mean;
        }
        let squares: f64 = self.losses.iter().map(|loss| (loss - mean) * (loss - mean)).sum();
        mean + 2.0 * libm::sqrt(squares / (count - 1.0) / count)
    }

    /// The number of the shortest bound that keeps the `accepted` loss (0 to 1) with its margin. Without one, that of the bound that loses
    /// least, which does not keep it.
    #[must_use]
    pub(crate) fn shortest(all: &[Self], accepted: f64) -> Option<usize> {
        let keeping = all.iter().enumerate().filter(|(_, one)| one.upper() <= accepted);
        let best = keeping.min_by_key(|(_, one)| one.bound);
        let least =
            || all.iter().enumerate().min_by(|(_, one), (_, other)| one.upper().total_cmp(&other.upper()));
        best.or_else(least).map(|(number, _)| number)
    }
}

/// The shortest limit of Law's queue.
const SHORTEST_LIMIT_Q: Span = Span::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn stays(name: &str, millis: impl Iterator<Item = u64>, lost: u64) -> Stays {
        Stays { name: name.to_owned(), latencies: millis.map(Span::from_millis).collect(), lost }
    }

    #[test]
    fn the_interval_is_that_of_the_thresholds() {
        // Of the first baseline 98 of 100 arrive, within 98 ms; of the second all, the 98th of 100 within 30 ms.
        let slow = stays("slow", (1..=98).rev(), 2);
        let fast = stays("fast", (1..=100).map(|n| if n <= 98 { 30 } else { 500 }), 0);
        let interval = BoundInterval::of(vec![slow, fast], 0.98).expect("an interval");
        assert_eq!((interval.lowest, interval.highest), (Span::from_millis(30), Span::from_millis(98)));
        assert!((interval.thresholds[0].loss_rate - 0.02).abs() < 1e-12);
        // The middle one is the geometric mean, 54.22 ms, rounded up.
        let micros: Vec<u64> = interval
            .candidates(3, Span::from_millis(3))
            .expect("bounds")
            .into_iter()
            .map(|bound| bound.as_nanos() / 1000)
            .collect();
        assert_eq!(micros, [30_000, 54_300, 98_000]);
    }

    #[test]
    fn a_baseline_with_too_much_loss_is_ignored() {
        let lossy = stays("lossy", 1..=90, 10);
        let interval = |baselines| BoundInterval::of(baselines, 0.99);
        assert_eq!(interval(vec![lossy.clone()]), Err(BoundError::TooLossy("99".to_owned())));
        let both = interval(vec![lossy, stays("good", 1..=100, 0)]).expect("one suffices");
        assert_eq!((both.thresholds[0].latency, both.highest), (None, Span::from_millis(99)));
    }

    #[test]
    fn hardware_may_need_the_whole_bound() {
        let quick = BoundInterval::of(vec![stays("quick", 1..=5, 0)], 1.0).expect("an interval");
        let error = quick.candidates(5, Span::from_millis(3)).expect_err("5 ms are too few");
        assert!(error.to_string().contains("leaves nothing for the queue"), "{error}");
        // Law's queue needs 1 ms.
        assert!(quick.candidates(5, Span::from_micros(2001)).is_err());
        assert!(quick.candidates(5, Span::from_millis(2)).is_ok());
        assert!(BoundInterval::of(Vec::new(), 0.99).is_err());
    }

    #[test]
    fn the_shortest_bound_with_a_margin_is_taken() {
        let losses = |millis, losses: &[f64]| BoundLosses {
            bound: Span::from_millis(millis),
            losses: losses.to_vec(),
        };
        // Mean 0.9 %, standard error 0.2 %: 1.3 % at most.
        let doubtful = losses(20, &[0.007, 0.011]);
        assert!((doubtful.upper() - 0.013).abs() < 1e-12);
        let good = losses(40, &[0.006, 0.006]);
        let better = losses(80, &[0.001, 0.002]);
        assert_eq!(BoundLosses::shortest(&[doubtful.clone(), good, better.clone()], 0.01), Some(1));
        assert_eq!(BoundLosses::shortest(&[doubtful, better], 0.001), Some(1));
        assert_eq!(BoundLosses::shortest(&[], 0.5), None);
    }
}
