//! What an allocation could gain on links of the simulated air, for whoever knows their capacity at every second.

use airbound_control::session::SessionConfig;
use airbound_sim::session::{AccessSpec, Encoder, Session, SessionSpec};
use airbound_units::{BitRate, Span};

use super::fluid::{self, Limits};
use super::gain;
use super::mobility::wire;
use crate::TrialError;

/// More than any link here carries.
const AMPLE: u32 = 1000;

/// What an access link with one client carries of media in each second, both directions together and both always busy, in Mb/s: a session
/// of two whose encoders send more than fits, the other on a wire that never binds. It reads low: an encoder halves its rate while frames
/// wait, and so a wire of 20 Mb/s each way shows 30 of its 40 Mb/s.
pub(super) fn capacities(link: AccessSpec, seconds: u32, seed: u64) -> Result<Vec<f64>, TrialError> {
    let mut spec = SessionSpec::new(vec![link, wire(AMPLE)?], SessionConfig::Plain, seed);
    spec.duration = Span::from_secs(u64::from(seconds)) - spec.warm_up;
    let rate = BitRate::from_mbps(100);
    spec.encoder = Encoder { least: rate, most: rate, ..Encoder::default() };
    let wrong = |error: airbound_sim::BuildError| TrialError {
        name: "capacity of a walk".to_owned(),
        reason: error.to_string(),
    };
    let outcome = Session::new(spec).map_err(wrong)?.finish();
    let [own, other] = &outcome.clients[..] else { return Ok(Vec::new()) };
    Ok(own.seconds.iter().zip(&other.seconds).map(|(down, up)| down + up).collect())
}

/// By how many per cent the best allocation of each second exceeds an even split, in mean downlink: when the mean alone counts, and with the
/// paper's rho of 0.5. Each second has the capacities of all clients.
pub(super) fn bounds(seconds: &[Vec<f64>]) -> Option<[f64; 2]> {
    let mut sums = [0.0; 3];
    for capacities in seconds {
        sums[0] += fluid::fair_share(capacities, Limits::USUAL);
        sums[1] += fluid::best(capacities, Limits::USUAL, 0.0)?;
        sums[2] += fluid::best(capacities, Limits::USUAL, 0.5)?;
    }
    let [fair, mean, utility] = sums;
    (fair > 0.0).then(|| [gain(mean, fair), gain(utility, fair)])
}

/// The most that any capacity of `wireless` links beside wires of 50 Mb/s each way lets an allocation gain, in per cent, and that capacity in
/// Mb/s.
pub(super) fn ceiling(wireless: usize) -> Option<(f64, f64)> {
    let at = |capacity: f64| {
        let links = (0..3).map(|client| if client < wireless { capacity } else { 100.0 }).collect();
        Some((bounds(&[links])?[0], capacity))
    };
    (1..=120).filter_map(|half| at(f64::from(half) / 2.0)).max_by(|a, b| a.0.total_cmp(&b.0))
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

    #[test]
    fn a_wire_carries_most_of_what_it_says() {
        let seconds = capacities(wire(20).expect("a wire"), 10, 1).expect("runs");
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        // Of two directions of 20 Mb/s some three quarters: an encoder halves its rate while frames wait.
        assert!(mean > 27.0 && mean < 38.0, "{mean}");
    }
}
