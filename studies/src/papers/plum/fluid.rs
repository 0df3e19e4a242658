//! Conferences as fluids: a fair share, and the allocation that is best where every capacity of every second is known.

use airbound_senders::conference::{Problem, Qoe, User};
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

/// Mean downlink when every link is split evenly; a direction that does not need its half leaves it to the other.
fn fair_share(capacities: &[f64], limits: Limits) -> f64 {
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

/// The allocation with the greatest utility: of each client up and down.
fn best(capacities: &[f64], limits: Limits, rho: f64) -> Option<Vec<[f64; 2]>> {
    let problem = Problem {
        users: capacities.iter().map(|mbps| User { capacity: rate(*mbps), weight: 1.0 }).collect(),
        qoe: Qoe::Linear,
        rho,
        max_bitrate: rate(limits.max),
        source_cap: rate(limits.source(capacities.len())),
        least_up: BitRate::ZERO,
    };
    let shares = problem.solve().ok()?.shares;
    Some(shares.iter().map(|share| [share.up, share.down].map(BitRate::as_mbps_f64)).collect())
}

fn mean_down(shares: Vec<[f64; 2]>) -> f64 {
    shares.iter().map(|[_, down]| down).sum::<f64>() / shares.len().max(1) as f64
}

/// By how many per cent the best allocation of each second exceeds an even split, in mean downlink.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gains {
    /// When the mean alone counts.
    pub(super) alone: f64,
    /// The same where an even split is an allocation too: the best one's rates are rounded down to 1 kb/s.
    pub(super) alone_or_even: f64,
    /// With the paper's rho of 0.5.
    pub(super) weighed: f64,
}

impl Gains {
    /// Of seconds, each with the capacities of all clients.
    pub(super) fn of(seconds: &[Vec<f64>], limits: Limits) -> Option<Self> {
        let mut sums = [0.0; 4];
        for capacities in seconds {
            let fair = fair_share(capacities, limits);
            let [alone, weighed] = [0.0, 0.5].map(|rho| best(capacities, limits, rho).map(mean_down));
            let values = [fair, alone?, alone?.max(fair), weighed?];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        let [fair, rest @ ..] = sums;
        let [alone, alone_or_even, weighed] = rest.map(|sum| gain(sum, fair));
        (fair > 0.0).then_some(Self { alone, alone_or_even, weighed })
    }
}

/// The most that any capacity of `wireless` links beside wires of 50 Mb/s each way lets an allocation gain, in per cent, and that capacity in
/// Mb/s; `None` where none does.
pub(super) fn ceiling(wireless: usize) -> Option<[f64; 2]> {
    let at = |capacity: f64| {
        let links = (0..3).map(|client| if client < wireless { capacity } else { 100.0 }).collect();
        Some([Gains::of(&[links], Limits::USUAL)?.alone_or_even, capacity])
    };
    let all = (1..=120).filter_map(|half| at(f64::from(half) / 2.0));
    all.filter(|[gain, _]| *gain > 0.0).max_by(|a, b| a[0].total_cmp(&b[0]))
}

/// Mean downlink when each client has two links of its own, at the shares of the best allocation for mean capacities: what the public code
/// calls Plum. The first seconds are left out, and the same limits hold as for the best allocation, so that it never exceeds that.
pub(super) fn oracle(seconds: &[Vec<f64>], warm_up: usize) -> f64 {
    let clients = seconds.first().map_or(0, Vec::len);
    let mean = |client: usize| seconds.iter().map(|all| all[client] / seconds.len() as f64).sum::<f64>();
    let means: Vec<f64> = (0..clients).map(mean).collect();
    let shares: Vec<f64> = match best(&means, Limits::USUAL, 0.0) {
        Some(best) => {
            best.iter().zip(&means).map(|([up, _], mean)| (up / mean.max(1e-3)).clamp(0.02, 0.98)).collect()
        }
        None => vec![0.5; clients],
    };
    let most_up = Limits::USUAL.source(clients);
    let mut sum = 0.0;
    for capacities in seconds.iter().skip(warm_up) {
        let links = || capacities.iter().zip(&shares);
        let up: Vec<f64> = links().map(|(capacity, share)| (capacity * share).min(most_up)).collect();
        let total: f64 = up.iter().sum();
        let down = |((capacity, share), up): ((&f64, &f64), &f64)| {
            (capacity * (1.0 - share)).min(total - up).min(Limits::USUAL.max)
        };
        sum += links().zip(&up).map(down).sum::<f64>();
    }
    sum / seconds.len().saturating_sub(warm_up).max(1) as f64 / clients.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::traces::{Set, TraceSets};
    use super::*;

    fn best_mean(capacities: &[f64]) -> f64 {
        mean_down(best(capacities, Limits::USUAL, 0.0).expect("feasible"))
    }

    #[test]
    fn eight_alike_gain_from_a_half_to_seven_eighths() {
        let capacities = [16.0; 8];
        let (fair, best) = (fair_share(&capacities, Limits::USUAL), best_mean(&capacities));
        assert!((fair - 8.0).abs() < 1e-9 && (best - 14.0).abs() < 0.01, "{fair} {best}");
    }

    #[test]
    fn two_alike_cannot_gain() {
        let capacities = [16.0; 2];
        let (fair, best) = (fair_share(&capacities, Limits::USUAL), best_mean(&capacities));
        assert!((fair - 8.0).abs() < 1e-9 && (best - 8.0).abs() < 0.01, "{fair} {best}");
    }

    #[test]
    fn the_oracle_lies_between_the_fair_share_and_the_optimum_of_every_second() {
        let seconds = TraceSets::synthetic().seconds(Set::Game, 8, 1, 30);
        let mean = |of: &dyn Fn(&[f64]) -> f64| seconds[5..].iter().map(|all| of(all)).sum::<f64>() / 25.0;
        let (fair, best) = (mean(&|all| fair_share(all, Limits::USUAL)), mean(&best_mean));
        let found = oracle(&seconds, 5);
        assert!(fair < found && found < best, "{fair} {found} {best}");
    }

    #[test]
    fn no_channel_gains_as_much_as_the_paper_measured() {
        // Even: 5 up, 5 down, the others 15. Best: 10 up, nothing down, the others 20: 40 / 35.
        let [gain, capacity] = ceiling(1).expect("feasible");
        assert!(
            (gain - 100.0 * (40.0 / 35.0 - 1.0)).abs() < 0.5 && (capacity - 10.0).abs() < 0.6,
            "{gain} {capacity}"
        );
    }
}
