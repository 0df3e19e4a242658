//! How long the access point waits for the channel before one of its exchanges.
//!
//! Bianchi's model (see `airbound_wifi::bianchi`) with contenders of several kinds, each of which has something to send
//! only some of the time. With p the probability that another one begins in the same slot, W_k the window after k
//! failures, and T_o the mean exchange of the others with the AIFS behind it,
//!
//! ```text
//! attempts A = sum p^k        slots B = sum p^k W_k / 2        tau = A / (A + B)
//! wait       = A AIFS + B ((1 - p) slot + p T_o) + (A - 1) T_collision
//! ```
//!
//! A contender with load q packets a second takes part in a cycle of length C with probability min(1, q C), with the
//! packets that came in that time. C contains the wait: the two are iterated to a fixed point.

use airbound_wifi::EdcaParameters;

use crate::exchange::{Exchange, Medium};

/// Who contends with the access point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contender {
    /// With what.
    pub(crate) parameters: EdcaParameters,
    /// How many of the kind.
    pub(crate) count: f64,
    /// Packets that each gets a second; infinite if it is saturated.
    pub(crate) load: f64,
    /// What it sends.
    pub(crate) exchange: Exchange,
}

/// The wait for the channel, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wait {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

/// Attempts after which a frame is given up: beyond it p^k no longer matters.
const ATTEMPTS: u32 = 10;
/// Rounds of the fixed point; it settles after some ten.
const ROUNDS: usize = 40;

/// Mean attempts and mean slots of backoff until success.
fn backoff(parameters: &EdcaParameters, collision: f64) -> (f64, f64) {
    let (mut attempts, mut slots, mut reached) = (0.0, 0.0, 1.0);
    for failures in 0..ATTEMPTS {
        attempts += reached;
        slots += reached * f64::from(parameters.window(failures)) / 2.0;
        reached *= collision;
    }
    (attempts, slots)
}

/// The wait in front of an exchange of `own` seconds, when only the exchanges of `others` are in the way.
pub(crate) fn wait(medium: &Medium, parameters: &EdcaParameters, own: f64, others: &[Contender]) -> Wait {
    let mut collision = 0.0;
    let mut own_rate = 0.0;
    let mut rates = vec![0.0; others.len()];
    let mut result = Wait::default();
    let aifs = medium.aifs(parameters);
    for _ in 0..ROUNDS {
        let cycle = own + result.mean;
        let active = |contender: &Contender| (contender.load * cycle).min(1.0);
        // The probability that nobody but the left out one begins in a slot.
        let silent = |left_out: Option<usize>, rates: &[f64]| -> f64 {
            let others = others.iter().zip(rates).enumerate().map(|(index, (contender, rate))| {
                let count = if left_out == Some(index) { contender.count - 1.0 } else { contender.count };
                libm::pow(1.0 - active(contender) * rate, count.max(0.0))
            });
            others.product()
        };
        let (attempts, slots) = backoff(parameters, collision);
        let next_rate = attempts / (attempts + slots);
        let next: Vec<f64> = others
            .iter()
            .enumerate()
            .map(|(index, contender)| {
                let met = 1.0 - (1.0 - own_rate) * silent(Some(index), &rates);
                let (attempts, slots) = backoff(&contender.parameters, met);
                attempts / (attempts + slots)
            })
            .collect();
        own_rate = f64::midpoint(own_rate, next_rate);
        rates.iter_mut().zip(next).for_each(|(rate, next)| *rate = f64::midpoint(*rate, next));
        collision = 1.0 - silent(None, &rates);
        // The mean exchange of the others, and its second moment.
        let (mut weight, mut first, mut second) = (0.0, 0.0, 0.0);
        for (contender, rate) in others.iter().zip(&rates) {
            let share = contender.count * active(contender) * rate;
            let packets = (contender.load * cycle).clamp(1.0, contender.exchange.most);
            let time = contender.exchange.duration(packets) + aifs;
            weight += share;
            first += share * time;
            second += share * time * time;
        }
        let (other, other_square) = if weight > 0.0 { (first / weight, second / weight) } else { (0.0, 0.0) };
        let (attempts, slots) = backoff(parameters, collision);
        let per_slot = (1.0 - collision) * medium.slot + collision * other;
        let crash = own.max(other) + medium.collision_pause;
        let window = f64::from(parameters.cw_min);
        result.mean = attempts * aifs + slots * per_slot + (attempts - 1.0) * crash;
        result.variance = window * (window + 2.0) / 12.0 * per_slot * per_slot
            + slots * (collision * other_square - collision * collision * other * other).max(0.0)
            + collision * (1.0 - collision) * crash * crash;
    }
    result
}
