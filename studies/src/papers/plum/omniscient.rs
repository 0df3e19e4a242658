//! Gain that an allocation could have on links of the simulated air if it knew their capacity at every second.

use airbound_sim::conference::AccessSpec;

use super::fluid::{self, Limits};
use super::gain;
use super::saturated::saturated;
use crate::TrialError;

/// The first seconds, which sessions leave out.
const WARM_UP: usize = 5;

/// Returns the load that an access link carries in each measured second while both directions always have packets waiting, in Mb/s of IP
/// packets. Headers and the acknowledgements of TCP are not taken off, so that what follows from it is an upper bound.
pub(super) fn capacities(link: &AccessSpec, seconds: u32, seed: u64) -> Result<Vec<f64>, TrialError> {
    let wrong = |error: airbound_sim::BuildError| TrialError {
        name: "capacity of a walk".to_owned(),
        reason: error.to_string(),
    };
    Ok(saturated(link, seconds, seed).map_err(wrong)?.into_iter().skip(WARM_UP).collect())
}

/// By how many per cent the best allocation of each second exceeds an even split, in mean downlink: when the mean alone counts, and with the
/// paper's rho of 0.5. Each second has the capacities of all clients.
pub(super) fn bounds(seconds: &[Vec<f64>]) -> Option<[f64; 2]> {
    let mut sums = [0.0; 3];
    for capacities in seconds {
        let fair = fluid::fair_share(capacities, Limits::USUAL);
        sums[0] += fair;
        // An even split is an allocation too; the best one's rates are rounded down to 1 kb/s.
        sums[1] += fluid::best(capacities, Limits::USUAL, 0.0)?.max(fair);
        sums[2] += fluid::best(capacities, Limits::USUAL, 0.5)?;
    }
    let [fair, mean, utility] = sums;
    (fair > 0.0).then(|| [gain(mean, fair), gain(utility, fair)])
}

/// The most that any capacity of `wireless` links beside wires of 50 Mb/s each way lets an allocation gain, in per cent, and that capacity in
/// Mb/s; `None` where none does.
pub(super) fn ceiling(wireless: usize) -> Option<(f64, f64)> {
    let at = |capacity: f64| {
        let links = (0..3).map(|client| if client < wireless { capacity } else { 100.0 }).collect();
        Some((bounds(&[links])?[0], capacity))
    };
    let all = (1..=120).filter_map(|half| at(f64::from(half) / 2.0));
    all.filter(|(gain, _)| *gain > 0.0).max_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_channel_gains_as_much_as_the_paper_measured() {
        // Even: 5 up, 5 down, the others 15. Best: 10 up, nothing down, the others 20: 40 / 35.
        let (gain, capacity) = ceiling(1).expect("feasible");
        assert!(
            (gain - 100.0 * (40.0 / 35.0 - 1.0)).abs() < 0.5 && (capacity - 10.0).abs() < 0.6,
            "{gain} {capacity}"
        );
    }
}
