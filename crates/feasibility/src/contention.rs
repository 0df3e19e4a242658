//! The access point's wait for the channel before an exchange.
//!
//! Bianchi's model (see `airbound_wifi::bianchi`) with unsaturated contenders of several kinds. With p the probability that another
//! one begins in the same slot, W_k the window after k failures, and T_o the mean exchange of the others followed by AIFS,
//!
//! ```text
//! attempts A = sum p^k        slots B = sum p^k W_k / 2        tau = A / (A + B)
//! wait       = A AIFS + B ((1 - p) slot + p T_o) + (A - 1) T_collision
//! ```
//!
//! A contender with load q has n = q C exchanges in a cycle of length C. A backlog at the start of the backoff is, on average, sent by
//! its middle, so the contender takes part in n / 2 of the slots, in 1 - 1 / (2 n) of them for n above one, and in all if its queue does
//! not empty. C includes the wait: the two are iterated to a fixed point. Single waits are then drawn, backoff by backoff.
//!
//! TCP acknowledgements of the data just sent contend once ([`Echo`]) and are not counted here.

use airbound_units::ByteCount;
use airbound_wifi::EdcaParameters;

use crate::draws::Draws;
use crate::exchange::{Exchange, Medium};

/// Transmitters of one kind that contend with the access point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contender {
    /// Number of the station; `None` for transmitters of other networks and for beacons.
    pub(crate) station: Option<usize>,
    /// Its contention parameters.
    pub(crate) parameters: EdcaParameters,
    /// Number of transmitters of the kind.
    pub(crate) count: f64,
    /// Packet arrivals per second at each; infinite if saturated.
    pub(crate) load: f64,
    /// Whether packets arrive in bursts that fill its aggregates.
    pub(crate) is_bursty: bool,
    /// The size of a packet.
    pub(crate) packet: ByteCount,
    /// Frame exchanges of each.
    pub(crate) exchange: Exchange,
}

impl Contender {
    /// The packets of an exchange, with one exchange in a cycle.
    fn together(&self, cycle: f64) -> f64 {
        let least = if self.is_bursty { self.exchange.most } else { 1.0 };
        (self.load * cycle).clamp(least, self.exchange.most)
    }

    /// The share of a backoff's slots in which it has a backlog. A backlog at the start of the backoff is, on average, sent by its middle,
    /// unless more packets arrive.
    fn active(&self, cycle: f64) -> f64 {
        let exchanges = self.load * cycle / self.together(cycle);
        if exchanges < 1.0 { exchanges / 2.0 } else { 1.0 - 0.5 / exchanges }
    }
}

impl Contender {
    /// The share of time in which its queue is not empty: the time that it needs over the time available to it. The latter is the rest
    /// left by the access point (`free`) and by `others`, which include it, but at least its share with equal access chances for all,
    /// where the access point has exchanges of `own` seconds.
    fn pressure(&self, medium: &Medium, others: &[Self], own: f64, free: f64) -> f64 {
        if self.load.is_infinite() {
            return 1.0;
        }
        let one = |contender: &Self| {
            let slots = f64::from(contender.parameters.cw_min) / 2.0;
            let pause = medium.aifs(&contender.parameters) + slots * medium.slot / (contender.count + 1.0);
            contender.exchange.duration(contender.exchange.most) + pause
        };
        let rate = self.load / self.exchange.most;
        let all: f64 = others.iter().map(|contender| contender.count * one(contender)).sum();
        let taken: f64 = others
            .iter()
            .map(|contender| contender.count * one(contender) * contender.load / contender.exchange.most)
            .sum();
        let needed = self.count * rate * one(self);
        let left = (free - (taken - needed)).max(self.count * one(self) / (all + own));
        (needed / left).min(1.0)
    }
}

/// The parameters of the wait for the channel, and its mean in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) mean: f64,
    parameters: EdcaParameters,
    aifs: f64,
    slot: f64,
    /// The probability that another one begins in a slot.
    others: f64,
    /// Mean and variance of the duration of a slot in which others may begin.
    slot_mean: f64,
    slot_variance: f64,
    /// Duration of a collision, seconds.
    collision_time: f64,
    /// The share of one contender in all others.
    one: f64,
}

/// Limit of attempts; p^k is negligible beyond it.
const ATTEMPTS: u32 = 10;
/// Reduction of the variance for a single saturated contender: the gaps between its exchanges are uniform, so that the variance of
/// their number is a third of a random process's. With several contenders, or rarely active ones, the process counts as random.
const REGULARITY: f64 = 2.0 / 3.0;
/// Rounds of the fixed-point iteration, which converges within about ten.
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

/// The TCP acknowledgements by which a station answers an exchange: one transmission, as soon as possible.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Echo {
    /// Its duration with the AIFS that follows, seconds.
    pub(crate) duration: f64,
    /// The probability that its backoff ends before that of the access point, and in the same slot.
    pub(crate) before: f64,
    pub(crate) tied: f64,
    /// Duration of a collision beyond its longest frame, seconds.
    pub(crate) pause: f64,
}

impl Echo {
    pub(crate) fn new(
        medium: &Medium,
        own: &EdcaParameters,
        other: &EdcaParameters,
        exchange: &Exchange,
        packets: f64,
    ) -> Self {
        // In whole slots, since both count down from the end of the same exchange.
        let (mut before, mut tied) = (0.0, 0.0);
        for mine in 0..=own.cw_min {
            for theirs in 0..=other.cw_min {
                let mine = u32::from(own.aifsn) + u32::from(mine);
                let theirs = u32::from(other.aifsn) + u32::from(theirs);
                before += f64::from(u8::from(theirs < mine));
                tied += f64::from(u8::from(theirs == mine));
            }
        }
        let all = (f64::from(own.cw_min) + 1.0) * (f64::from(other.cw_min) + 1.0);
        Self {
            duration: exchange.duration(packets.min(exchange.most)) + medium.aifs(other),
            before: before / all,
            tied: tied / all,
            pause: medium.collision_pause,
        }
    }

    /// The time that it adds to the wait before an exchange of `own` seconds, for a draw of 0 to 1, and whether it has been sent.
    pub(crate) fn adds(&self, own: f64, draw: f64) -> (f64, bool) {
        if draw < self.before {
            (self.duration, true)
        } else if draw < self.before + self.tied {
            (self.collision_time(own), false)
        } else {
            (0.0, false)
        }
    }

    /// The mean time that it adds, seconds.
    pub(crate) fn mean(&self, own: f64) -> f64 {
        self.before * self.duration + self.tied * self.collision_time(own)
    }

    fn collision_time(&self, own: f64) -> f64 {
        own.max(self.duration) + self.pause
    }
}

impl Wait {
    /// The factor (0.5 to 1) of the others' probability to begin in a slot after a number of failures: the other station of a collision
    /// has doubled its window, too, until its success, about half of the time.
    fn retreat(&self, failures: u32) -> f64 {
        let growth =
            f64::from(self.parameters.window(failures)) / f64::from(self.parameters.window(0)).max(1.0);
        1.0 - self.one * (1.0 - 1.0 / growth.max(1.0)) / 2.0
    }

    fn expected(&self) -> f64 {
        let (mut mean, mut reached) = (0.0, 1.0);
        for failures in 0..ATTEMPTS {
            let retreat = self.retreat(failures);
            let slots = f64::from(self.parameters.window(failures)) / 2.0;
            mean += reached * (self.aifs + slots * (self.slot + (self.slot_mean - self.slot) * retreat));
            reached *= self.others * retreat;
            mean += reached * self.collision_time;
        }
        mean
    }

    /// Draws one wait: backoffs until no other transmitter begins in the same slot.
    pub(crate) fn draw(&self, draws: &mut Draws) -> f64 {
        let mut wait = 0.0;
        for failures in 0..ATTEMPTS {
            let retreat = self.retreat(failures);
            let slots = (draws.unit() * (f64::from(self.parameters.window(failures)) + 1.0)).floor();
            // The minimum, in which all slots are idle.
            wait += self.aifs + slots * self.slot;
            wait += draws
                .gamma(slots * retreat * (self.slot_mean - self.slot), slots * retreat * self.slot_variance);
            if draws.unit() >= self.others * retreat {
                break;
            }
            wait += self.collision_time;
        }
        wait
    }
}

/// The wait before an exchange of `own` seconds among the exchanges of `others`, to which the access point leaves the share `free` of
/// all time.
pub(crate) fn wait(
    medium: &Medium,
    parameters: &EdcaParameters,
    own: f64,
    others: &[Contender],
    free: f64,
) -> Wait {
    let mut collision = 0.0;
    let mut own_rate = 0.0;
    let mut rates = vec![0.0; others.len()];
    let aifs = medium.aifs(parameters);
    let mut result = Wait {
        mean: 0.0,
        parameters: *parameters,
        aifs,
        slot: medium.slot,
        others: 0.0,
        slot_mean: medium.slot,
        slot_variance: 0.0,
        collision_time: 0.0,
        one: 1.0,
    };
    for _ in 0..ROUNDS {
        let cycle = own + result.mean;
        let active = |contender: &Contender| {
            contender.active(cycle).max(contender.pressure(medium, others, own, free))
        };
        // The probability that none but the excluded contender begins in a slot.
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
        // First and second moment of the others' exchanges.
        let (mut weight, mut first, mut second, mut regular) = (0.0, 0.0, 0.0, 0.0);
        for (contender, rate) in others.iter().zip(&rates) {
            let share = contender.count * active(contender) * rate;
            let packets = contender.together(cycle);
            let time = contender.exchange.duration(packets) + aifs;
            weight += share;
            first += share * time;
            second += share * time * time;
            regular += share * active(contender) / contender.count.max(1.0);
        }
        let per_weight = if weight > 0.0 { 1.0 / weight } else { 0.0 };
        let (other, other_square) = (first * per_weight, second * per_weight);
        let dispersion = 1.0 - REGULARITY * regular * per_weight;
        let per_slot = (1.0 - collision) * medium.slot + collision * other;
        let collision_time = own.max(other) + medium.collision_pause;
        result.others = collision;
        result.slot_mean = per_slot.max(medium.slot);
        result.slot_variance = collision * (other_square - other * other).max(0.0)
            + collision * (1.0 - collision) * other * other * dispersion;
        result.collision_time = collision_time;
        let present: f64 = others.iter().map(|contender| contender.count * active(contender)).sum();
        result.one = 1.0 / present.max(1.0);
        result.mean = result.expected();
    }
    result
}
