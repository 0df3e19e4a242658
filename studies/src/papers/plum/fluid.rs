//! Conferences as fluids: a fair share, and the allocation that is best where every capacity of every second is known.

use airbound_senders::conference::{Problem, Qoe, Share, User};
use airbound_units::BitRate;
use serde::Deserialize;

use super::gain;

/// M and the encoder's highest bitrate, in Mb/s.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub(super) struct Limits {
    pub(super) max: f64,
    pub(super) encoder: f64,
}

impl Limits {
    /// Of the runs.
    pub(super) const USUAL: Self = Self { max: 30.0, encoder: 10.0 };

    /// The most that one client sends.
    fn source(self, clients: usize) -> f64 {
        (self.max / clients.clamp(1, 25) as f64).min(self.encoder)
    }
}

fn rate(mbps: f64) -> BitRate {
    BitRate::from_bps_f64(mbps * 1e6)
}

/// Shares of each client, up and down, when every link is split evenly; a direction that does not need its half leaves it to the other.
/// They keep to all constraints of the allocation, so that the best one is never worse.
fn fair_share(capacities: &[f64], limits: Limits) -> Vec<[f64; 2]> {
    let source = limits.source(capacities.len());
    let up = |capacity: &f64, down: f64| (capacity - down).min(limits.encoder);
    let mut shares: Vec<[f64; 2]> =
        capacities.iter().map(|capacity| [up(capacity, capacity / 2.0), 0.0]).collect();
    // Content that is missing leaves room for the uplink, which is content for others: a few rounds settle it.
    for _ in 0..6 {
        let total: f64 = shares.iter().map(|[up, _]| up.min(source)).sum();
        for (share, capacity) in shares.iter_mut().zip(capacities) {
            let content = total - share[0].min(source);
            share[1] = (capacity - share[0]).min(content).min(limits.max);
            share[0] = up(capacity, share[1]);
        }
    }
    shares
}

fn problem(capacities: &[f64], limits: Limits, rho: f64) -> Problem {
    Problem {
        users: capacities
            .iter()
            .map(|mbps| User { capacity: rate(*mbps), weight: 1.0, least_down: BitRate::ZERO })
            .collect(),
        qoe: Qoe::Linear,
        rho,
        max_bitrate: rate(limits.max),
        source_cap: rate(limits.source(capacities.len())),
        least_up: BitRate::ZERO,
        least_down: BitRate::ZERO,
    }
}

/// The allocation with the greatest utility: of each client up and down.
fn best(capacities: &[f64], limits: Limits, rho: f64) -> Option<Vec<[f64; 2]>> {
    let shares = problem(capacities, limits, rho).solve().ok()?.shares;
    Some(shares.iter().map(|share| [share.up, share.down].map(BitRate::as_mbps_f64)).collect())
}

fn mean_down(shares: &[[f64; 2]]) -> f64 {
    shares.iter().map(|[_, down]| down).sum::<f64>() / shares.len().max(1) as f64
}

/// The utility of shares as the paper weighs it, with rho 0.5.
fn utility(capacities: &[f64], limits: Limits, shares: &[[f64; 2]]) -> f64 {
    let shares: Vec<Share> =
        shares.iter().map(|[up, down]| Share { up: rate(*up), down: rate(*down) }).collect();
    problem(capacities, limits, 0.5).welfare(&shares).utility
}

/// Gains of the best allocation of each second over an even split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gains {
    /// Of the mean downlink in per cent, when the mean alone counts: the most that any allocation gains.
    pub(super) alone: f64,
    /// Of the mean downlink in per cent, with the paper's rho of 0.5: negative where that gives bitrate away for fairness.
    pub(super) weighed: f64,
    /// Mean utility with rho 0.5, of the even split and of the best allocation for it.
    pub(super) utility: [f64; 2],
}

impl Gains {
    /// Of seconds, each with the capacities of all clients.
    pub(super) fn of(seconds: &[Vec<f64>], limits: Limits) -> Option<Self> {
        let mut sums = [0.0; 5];
        for capacities in seconds {
            let fair = fair_share(capacities, limits);
            let [alone, weighed] = [0.0, 0.5].map(|rho| best(capacities, limits, rho));
            let (alone, weighed) = (alone?, weighed?);
            let utility = |shares: &[[f64; 2]]| utility(capacities, limits, shares);
            // Rates of the best allocation are rounded down to 1 kb/s.
            let values = [
                mean_down(&fair),
                mean_down(&alone).max(mean_down(&fair)),
                mean_down(&weighed),
                utility(&fair),
                utility(&weighed).max(utility(&fair)),
            ];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        let [fair, alone, weighed, of_fair, of_best] = sums;
        let [alone, weighed] = [alone, weighed].map(|sum| gain(sum, fair));
        let utility = [of_fair, of_best].map(|sum| sum / seconds.len().max(1) as f64);
        (fair > 0.0).then_some(Self { alone, weighed, utility })
    }
}

/// The most that any capacity of `wireless` links beside wires of 50 Mb/s each way lets an allocation gain, in per cent, and that capacity in
/// Mb/s; `None` where none does.
pub(super) fn ceiling(wireless: usize) -> Option<[f64; 2]> {
    let at = |capacity: f64| {
        let links = (0..3).map(|client| if client < wireless { capacity } else { 100.0 }).collect();
        Some([Gains::of(&[links], Limits::USUAL)?.alone, capacity])
    };
    let all = (1..=120).filter_map(|half| at(f64::from(half) / 2.0));
    all.filter(|[gain, _]| *gain > 0.0).max_by(|a, b| a[0].total_cmp(&b[0]))
}

/// The same where the one wireless client's uplink has nothing but the encoder's lowest bitrate beforehand, whatever the channel: the most that
/// the mean gains in per cent, and the most that the two on wires gain, as a factor.
pub(super) fn ceiling_when_starved() -> [f64; 2] {
    let (least, wire) = (1.0, Limits::USUAL.encoder);
    let at = |capacity: f64| {
        let most = capacity.min(wire);
        // Up, the walker's view is what is left of the capacity, and at most what the two on wires send.
        let mean = |up: f64| ((capacity - up).min(2.0 * wire) + 2.0 * (wire + up)) / 3.0;
        let ups = (0..=100).map(|part| least + (most - least) * f64::from(part) / 100.0);
        let best = ups.map(mean).fold(0.0, f64::max);
        [gain(best, mean(least)), (wire + most) / (wire + least)]
    };
    let all = (2..=120).map(|half| at(f64::from(half) / 2.0));
    all.fold([0.0, 1.0], |[mean, others], found| [found[0].max(mean), found[1].max(others)])
}

#[cfg(test)]
mod tests {
    use super::super::traces::{Set, TraceSets};
    use super::*;

    fn means(capacities: &[f64]) -> [f64; 2] {
        let best = best(capacities, Limits::USUAL, 0.0).expect("feasible");
        [mean_down(&fair_share(capacities, Limits::USUAL)), mean_down(&best)]
    }

    #[test]
    fn eight_alike_gain_from_a_half_to_seven_eighths() {
        let [fair, best] = means(&[16.0; 8]);
        assert!((fair - 8.0).abs() < 1e-9 && (best - 14.0).abs() < 0.01, "{fair} {best}");
    }

    #[test]
    fn two_alike_cannot_gain() {
        let [fair, best] = means(&[16.0; 2]);
        assert!((fair - 8.0).abs() < 1e-9 && (best - 8.0).abs() < 0.01, "{fair} {best}");
    }

    #[test]
    fn an_even_split_keeps_to_the_constraints_and_is_never_the_better() {
        for set in Set::ALL {
            for clients in [3, 8, 16] {
                for capacities in TraceSets::synthetic().seconds(set, clients, 1, 10) {
                    let fair = fair_share(&capacities, Limits::USUAL);
                    let value = |shares: &[[f64; 2]]| utility(&capacities, Limits::USUAL, shares);
                    let best = best(&capacities, Limits::USUAL, 0.5).expect("feasible");
                    assert!(value(&best) > value(&fair) - 1e-4, "{set:?} {clients}: {fair:?} {best:?}");
                    let [fair, alone] = means(&capacities);
                    assert!(alone > fair - 2e-3, "{set:?} {clients}: {fair} {alone}");
                }
            }
        }
    }

    #[test]
    fn no_channel_gains_as_much_as_the_paper_measured() {
        // Even: 5 up, 5 down, the others 15. Best: 10 up, nothing down, the others 20: 40 / 35.
        let [gain, capacity] = ceiling(1).expect("feasible");
        assert!(
            (gain - 100.0 * (40.0 / 35.0 - 1.0)).abs() < 0.5 && (capacity - 10.0).abs() < 0.6,
            "{gain} {capacity}"
        );
        // From 30 Mb/s on: 1 up, 20 down, the others 11, against 10 up, 20 down, the others 20: 60 / 42.
        let [mean, others] = ceiling_when_starved();
        assert!((mean - 100.0 * (60.0 / 42.0 - 1.0)).abs() < 0.5, "{mean}");
        assert!((others - 20.0 / 11.0).abs() < 1e-9, "{others}");
    }
}
