//! Wait of the access point for the channel before one of its exchanges.
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
//! A contender with load q has n = q C exchanges in a cycle of length C: what is there when the backoff begins is gone, on average, in
//! its middle, so that it takes part in n / 2 of the slots, in 1 - 1 / (2 n) of them above one, and in all if its queue does not empty.
//! C contains the wait: the two are iterated to a fixed point. From it single waits are drawn, backoff by backoff.
//!
//! TCP acknowledgements of what was just sent are no such contender: they come once ([`Echo`]).

use airbound_units::ByteCount;
use airbound_wifi::EdcaParameters;

use crate::draws::Draws;
use crate::exchange::{Exchange, Medium};

/// Transmitters of one kind that contend with the access point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contender {
    /// Number of the station; `None` for one of another network, and for beacons.
    pub(crate) station: Option<usize>,
    /// With what.
    pub(crate) parameters: EdcaParameters,
    /// Number of transmitters of the kind.
    pub(crate) count: f64,
    /// Packets that each gets a second; infinite if it is saturated.
    pub(crate) load: f64,
    /// Whether they come in bursts that fill its aggregates.
    pub(crate) is_bursty: bool,
    /// The size of a packet.
    pub(crate) packet: ByteCount,
    /// Frame exchanges of each.
    pub(crate) exchange: Exchange,
}

impl Contender {
    /// The packets of one of its exchanges, when it has one in a cycle of that length.
    fn together(&self, cycle: f64) -> f64 {
        let least = if self.is_bursty { self.exchange.most } else { 1.0 };
        (self.load * cycle).clamp(least, self.exchange.most)
    }

    /// The share of the slots of a backoff in which it has something to send. What is there when the backoff begins is gone, on
    /// average, in the middle of it, unless more follows.
    fn active(&self, cycle: f64) -> f64 {
        let exchanges = self.load * cycle / self.together(cycle);
        if exchanges < 1.0 { exchanges / 2.0 } else { 1.0 - 0.5 / exchanges }
    }
}

impl Contender {
    /// The share of time in which its queue is not empty: the time that it needs over what it could get. That is what the access point
    /// (whose demands leave `free`) and `others`, it among them, leave, but no less than an equal chance of each, the access point with
    /// exchanges of `own` seconds included.
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

/// The wait for the channel: what decides it, and its mean in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) mean: f64,
    parameters: EdcaParameters,
    aifs: f64,
    slot: f64,
    /// The probability that another one begins in a slot.
    others: f64,
    /// Mean and variance of the time that a slot takes in which others may begin.
    slot_mean: f64,
    slot_variance: f64,
    /// Time that a collision takes, in seconds.
    crash: f64,
    /// The share of the others that one of them makes.
    one: f64,
}

/// Attempts after which a frame is given up: beyond it p^k no longer matters.
const ATTEMPTS: u32 = 10;
/// The pauses between the exchanges of a single saturated contender are uniform: their number in a time varies by a third of what
/// it would at random. Of several, or of some that are rarely active, it varies as at random.
const REGULARITY: f64 = 2.0 / 3.0;
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

/// An answer that another station sends once, as soon as it can: the TCP acknowledgements of what it was just sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Echo {
    /// Seconds that it takes, with the AIFS behind it.
    pub(crate) duration: f64,
    /// The probability that its backoff ends before that of the access point, and in the same slot.
    pub(crate) before: f64,
    pub(crate) tied: f64,
    /// Time that a collision takes beyond the longest of its frames, in seconds.
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
        // Whole slots: both count from the end of the same exchange.
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

    /// Returns the time that it adds to the wait before an exchange of `own` seconds, for a draw of 0 to 1, and whether it is sent then.
    pub(crate) fn adds(&self, own: f64, draw: f64) -> (f64, bool) {
        if draw < self.before {
            (self.duration, true)
        } else if draw < self.before + self.tied {
            (self.crash(own), false)
        } else {
            (0.0, false)
        }
    }

    /// Returns the mean time that it adds, in seconds.
    pub(crate) fn mean(&self, own: f64) -> f64 {
        self.before * self.duration + self.tied * self.crash(own)
    }

    fn crash(&self, own: f64) -> f64 {
        own.max(self.duration) + self.pause
    }
}

impl Wait {
    /// Returns the factor (0.5 to 1) of the others' probability to begin in a slot after so many failures: a station that collided has
    /// doubled its window too, until it gets through, about half of the time.
    fn calm(&self, failures: u32) -> f64 {
        let growth =
            f64::from(self.parameters.window(failures)) / f64::from(self.parameters.window(0)).max(1.0);
        1.0 - self.one * (1.0 - 1.0 / growth.max(1.0)) / 2.0
    }

    fn expected(&self) -> f64 {
        let (mut mean, mut reached) = (0.0, 1.0);
        for failures in 0..ATTEMPTS {
            let calm = self.calm(failures);
            let slots = f64::from(self.parameters.window(failures)) / 2.0;
            mean += reached * (self.aifs + slots * (self.slot + (self.slot_mean - self.slot) * calm));
            reached *= self.others * calm;
            mean += reached * self.crash;
        }
        mean
    }

    /// One wait: backoff after backoff until nobody begins in the same slot.
    pub(crate) fn draw(&self, draws: &mut Draws) -> f64 {
        let mut wait = 0.0;
        for failures in 0..ATTEMPTS {
            let calm = self.calm(failures);
            let slots = (draws.unit() * (f64::from(self.parameters.window(failures)) + 1.0)).floor();
            // Slots without anybody else are the least.
            wait += self.aifs + slots * self.slot;
            wait +=
                draws.gamma(slots * calm * (self.slot_mean - self.slot), slots * calm * self.slot_variance);
            if draws.unit() >= self.others * calm {
                break;
            }
            wait += self.crash;
        }
        wait
    }
}

/// The wait in front of an exchange of `own` seconds, when only the exchanges of `others` are in the way.
/// `free` is the share of all time that the access point leaves to them.
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
        crash: 0.0,
        one: 1.0,
    };
    for _ in 0..ROUNDS {
        let cycle = own + result.mean;
        let active = |contender: &Contender| {
            contender.active(cycle).max(contender.pressure(medium, others, own, free))
        };
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
        let crash = own.max(other) + medium.collision_pause;
        result.others = collision;
        result.slot_mean = per_slot.max(medium.slot);
        result.slot_variance = collision * (other_square - other * other).max(0.0)
            + collision * (1.0 - collision) * other * other * dispersion;
        result.crash = crash;
        let present: f64 = others.iter().map(|contender| contender.count * active(contender)).sum();
        result.one = 1.0 / present.max(1.0);
        result.mean = result.expected();
    }
    result
}
