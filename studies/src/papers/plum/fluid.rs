//! Conferences as fluids: what a fair share brings, and what is best for whoever knows every capacity at every second.

use airbound_senders::conference::{Problem, Qoe, User};
use airbound_units::BitRate;

use super::case::Case;
use super::traces::TraceSets;

/// M and the encoder's highest bitrate, in Mb/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits {
    pub(super) max: f64,
    pub(super) encoder: f64,
}

impl Limits {
    /// Of the runs.
    pub(super) const USUAL: Self = Self { max: 30.0, encoder: 10.0 };
}

fn rate(mbps: f64) -> BitRate {
    BitRate::from_bps_f64(mbps * 1e6)
}

/// Mean downlink when every link is split evenly; a direction that does not need its half leaves it to the other.
pub(super) fn fair_share(capacities: &[f64], limits: Limits) -> f64 {
    let half = |capacity: &f64| capacity / 2.0;
    let mut up: Vec<f64> = capacities.iter().map(|capacity| half(capacity).min(limits.encoder)).collect();
    let mut down = vec![0.0; up.len()];
    // Content that is missing leaves room for the uplink, which is content for others: a few rounds settle it.
    for _ in 0..6 {
        let total: f64 = up.iter().sum();
        for (index, capacity) in capacities.iter().enumerate() {
            down[index] = (capacity - up[index]).min(total - up[index]);
            up[index] = (capacity - down[index]).min(limits.encoder);
        }
    }
    down.iter().sum::<f64>() / down.len().max(1) as f64
}

/// The problem of one second.
fn problem(capacities: &[f64], limits: Limits, rho: f64) -> Problem {
    let clients = capacities.len();
    Problem {
        users: capacities.iter().map(|mbps| User { capacity: rate(*mbps), weight: 1.0 }).collect(),
        qoe: Qoe::Linear,
        rho,
        max_bitrate: rate(limits.max),
        source_cap: rate((limits.max / clients.clamp(1, 25) as f64).min(limits.encoder)),
        least_up: BitRate::ZERO,
    }
}

/// Mean downlink of the allocation with the greatest utility.
pub(super) fn best(capacities: &[f64], limits: Limits, rho: f64) -> Option<f64> {
    let shares = problem(capacities, limits, rho).solve().ok()?.shares;
    Some(shares.iter().map(|share| share.down.as_mbps_f64()).sum::<f64>() / shares.len().max(1) as f64)
}

/// Means over the seconds of a case: the fair share, and the best of each second under `rho`.
pub(super) fn bound(
    case: &Case,
    traces: &TraceSets,
    limits: Limits,
    rho: f64,
    step: usize,
) -> Option<(f64, f64)> {
    let mut sums = (0.0, 0.0, 0.0);
    for second in (5..case.seconds).step_by(step) {
        let capacities = case.capacities(traces, second);
        sums.0 += 1.0;
        sums.1 += fair_share(&capacities, limits);
        sums.2 += best(&capacities, limits, rho)?;
    }
    (sums.0 > 0.0).then(|| (sums.1 / sums.0, sums.2 / sums.0))
}

/// For each client, the share of its link that the uplink gets in the best allocation for mean capacities.
fn static_shares(case: &Case, traces: &TraceSets) -> Vec<f64> {
    let mut means = vec![0.0; case.clients];
    for second in 0..case.seconds {
        let capacities = case.capacities(traces, second);
        means
            .iter_mut()
            .zip(capacities)
            .for_each(|(sum, capacity)| *sum += capacity / f64::from(case.seconds));
    }
    let Ok(allocation) = problem(&means, Limits::USUAL, 0.0).solve() else { return vec![0.5; case.clients] };
    let share = |(mean, up): (&f64, f64)| (up / mean.max(1e-3)).clamp(0.02, 0.98);
    means.iter().zip(allocation.shares.iter().map(|share| share.up.as_mbps_f64())).map(share).collect()
}

/// Mean downlink when each client has two links of its own at those shares: what the public code calls Plum. The first seconds are left
/// out, and the same limits hold as for [`best`], so that it never exceeds that.
pub(super) fn oracle(case: &Case, traces: &TraceSets) -> f64 {
    let shares = static_shares(case, traces);
    let Limits { max, encoder } = Limits::USUAL;
    let most_up = (max / case.clients.clamp(1, 25) as f64).min(encoder);
    let mut sum = 0.0;
    for second in 5..case.seconds {
        let capacities = case.capacities(traces, second);
        let up: Vec<f64> =
            capacities.iter().zip(&shares).map(|(capacity, share)| (capacity * share).min(most_up)).collect();
        let total: f64 = up.iter().sum();
        let links = capacities.iter().zip(&shares).zip(&up);
        sum += links
            .map(|((capacity, share), up)| (capacity * (1.0 - share)).min(total - up).min(max))
            .sum::<f64>();
    }
    sum / f64::from(case.seconds.saturating_sub(5).max(1)) / case.clients.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_alike_gain_from_a_half_to_seven_eighths() {
        let capacities = [16.0; 8];
        let fair = fair_share(&capacities, Limits::USUAL);
        let best = best(&capacities, Limits::USUAL, 0.0).expect("feasible");
        assert!((fair - 8.0).abs() < 1e-9 && (best - 14.0).abs() < 0.01, "{fair} {best}");
    }

    #[test]
    fn the_oracle_of_steady_links_is_the_optimum_of_their_means() {
        use crate::papers::plum::case::Who;
        use crate::papers::plum::traces::Set;
        let traces = TraceSets::synthetic();
        let case =
            Case::usual(Set::Game, 8, Who::Vanilla, crate::Effort { quick: true, ..Default::default() });
        let found = oracle(&case, &traces);
        let (fair, best) = bound(&case, &traces, Limits::USUAL, 0.0, 1).expect("feasible");
        // It knows the means alone: above the fair share, below who knows every second.
        assert!(fair < found && found < best, "{fair} {found} {best}");
    }

    #[test]
    fn two_alike_cannot_gain() {
        let capacities = [16.0; 2];
        let fair = fair_share(&capacities, Limits::USUAL);
        let best = best(&capacities, Limits::USUAL, 0.0).expect("feasible");
        assert!((fair - 8.0).abs() < 1e-9 && (best - 8.0).abs() < 0.01, "{fair} {best}");
    }
}
