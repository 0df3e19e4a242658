//! The exact optimum of problem P (Sec. 5), which theorem 1 misses if stations differ.
//!
//! In the rates themselves, not their logarithms, the constraint N_i <= N is linear: with s = 1 - wᵀx it reads x_i <= (N/c) s. So P
//! maximises a concave sum under linear constraints, and its optimality conditions have a closed solution. Let r = (N/c) s be the
//! rate of a station at the target. Stations are either at r or below it:
//!
//! * below: U'(x_i) = λ w_i;
//! * at r: U'(r) = λ w_i + ν_i with ν_i >= 0;
//! * s:    λ = (N/c) Σ ν_i.
//!
//! With the k fastest stations at r and W the sum of their w, the last two give λ = k U'(r) / (c/N + W). A slower station is below r
//! exactly if w_i > (c/N + W) / k, for any utility: the set of stations at the target does not depend on it. For U' = x^(-a) the
//! rate of a slower station is r ((c/N + W) / (k w_i))^(1/a), and s + wᵀx = 1 gives r.

use super::model::Downlink;

/// Utility of the users' rates, to be maximised by problem P.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Utility {
    /// The sum of the logarithms.
    Proportional,
    /// The sum of x^(1-a) / (1-a) for an a above 0; 1 is proportional.
    Alpha(f64),
    /// The least rate.
    MaxMin,
}

/// An optimum of problem P.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimum {
    /// Packets per second to each station.
    pub rates: Vec<f64>,
    /// The rate of the stations held at the target, which no station exceeds.
    pub cap: f64,
    /// Number of stations held at the target.
    pub capped: usize,
}

impl Utility {
    /// The exponent a; infinite for max-min.
    const fn exponent(self) -> f64 {
        match self {
            Self::Proportional => 1.0,
            Self::Alpha(exponent) => exponent,
            Self::MaxMin => f64::INFINITY,
        }
    }

    /// The utility of rates; the least rate for max-min.
    #[must_use]
    pub fn of(self, rates: &[f64]) -> f64 {
        match self {
            Self::MaxMin => rates.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Alpha(a) if (a - 1.0).abs() > 1e-9 => {
                rates.iter().map(|rate| libm::pow(*rate, 1.0 - a) / (1.0 - a)).sum()
            }
            Self::Proportional | Self::Alpha(_) => rates.iter().map(|rate| libm::log(*rate)).sum(),
        }
    }
}

impl Optimum {
    /// Computes the optimum for `downlink` with levels of at most `target`; `None` unless the target is positive and the exponent
    /// above 0.
    #[must_use]
    pub fn of(downlink: &Downlink, target: f64, utility: Utility) -> Option<Self> {
        let (mut sorted, mut rates) = (Vec::new(), Vec::new());
        let airtimes = downlink.packet_airtime();
        let (cap, capped) =
            fill(airtimes, downlink.round_overhead(), target, utility, &mut sorted, &mut rates)?;
        Some(Self { rates, cap, capped })
    }
}

/// Writes the rates of the optimum for these packet airtimes and this overhead of a round to `rates`, and returns the cap and the number
/// of stations that it holds; `None` if `target` or `utility` is out of range.
pub(super) fn fill(
    airtimes: &[f64],
    round_overhead: f64,
    target: f64,
    utility: Utility,
    sorted: &mut Vec<f64>,
    rates: &mut Vec<f64>,
) -> Option<(f64, usize)> {
    let exponent = utility.exponent();
    if !(target > 0.0 && target.is_finite() && exponent > 0.0) {
        return None;
    }
    let overhead = round_overhead / target;
    sorted.clear();
    sorted.extend_from_slice(airtimes);
    sorted.sort_unstable_by(f64::total_cmp);
    let (mut capped, mut cost) = (0, overhead);
    for airtime in sorted.iter().copied() {
        // Rounding may not leave the fastest station out.
        if capped > 0 && airtime * capped as f64 > cost {
            break;
        }
        cost += airtime;
        capped += 1;
    }
    let ratio = cost / capped as f64;
    // Relative to the cap: 1 for stations held at the target.
    let relative = |airtime: f64| {
        if airtime <= ratio { 1.0 } else { libm::pow(ratio / airtime, 1.0 / exponent) }
    };
    let total: f64 = airtimes.iter().map(|airtime| airtime * relative(*airtime)).sum();
    let cap = 1.0 / (overhead + total);
    rates.clear();
    rates.extend(airtimes.iter().map(|airtime| cap * relative(*airtime)));
    Some((cap, capped))
}
