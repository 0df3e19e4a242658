//! A rule on what a client counts each second.
//!
//! A round trip above the least one is a queue, whose growth is the share that the air does not carry: the rate falls to what it carries,
//! less what drains the queue within a second. Lost frames lower it, too. As in [`crate::allocation`] a fall is a trial: a moderate queue or
//! loss that three falls leave as it was, without ten seconds of calm among them, is that of others, and the rate returns. It rises after
//! ten seconds without either, in small steps near the rate that was too high last, and beyond that one only after a time that doubles
//! with each failure.

use airbound_units::{BitRate, Instant, Span};

use super::feedback::{CALM, Feedback, Why};
use super::way::Way;

/// Reports so soon after a change tell of the queue before it.
const SETTLES: Span = Span::from_millis(1500);
/// Multiple of the allowed queue from which on one report suffices; else two in a row.
const FAR_ABOVE: u64 = 3;
/// Share of lost frames above which one report suffices, from which on two do, and up to which there is calm.
const MANY: f64 = 0.05;
const SOME: f64 = 0.01;
const NONE: f64 = 0.005;
/// Share of what the air carries that is sent after a fall.
const BELOW: f64 = 0.92;
/// Least share of the rate that one fall leaves. A lost frame may be one lost packet.
const DEEPEST: f64 = 0.5;
const DEEPEST_BY_LOSS: f64 = 0.7;
/// Steps up, and the one near the rate that was too high.
const RISE: f64 = 1.1;
const NEAR_RISE: f64 = 1.04;
/// Share of the rate that was too high from which on a rate is near it.
const NEAR: f64 = 0.9;
/// Time after which a rate that was too high is tried again: at first, and at most.
const RETRY: Span = Span::from_secs(60);
const LONGEST_RETRY: Span = Span::from_secs(960);
/// A queue so soon after a rise is its effect.
const BLAME: Span = Span::from_secs(20);
/// Falls without an effect after which a queue or a loss is that of others.
const TRIALS: u32 = 3;
/// Share of a queue or a loss from which on it has not become less, and factor above which it is a new one.
const REMAINING: f64 = 0.5;
const NEW: f64 = 1.5;
/// Share of lost frames from which on a stream is of no use: the rate falls whatever that helps.
const USELESS: f64 = 0.2;
/// Time after which what others do is found out anew.
const OTHERS: Span = Span::from_secs(300);

/// The rate that was too high last.
#[derive(Debug, Clone, Copy)]
struct Ceiling {
    rate: BitRate,
    since: Instant,
    retry: Span,
}

/// A moderate queue or loss.
#[derive(Debug, Clone, Copy, Default)]
struct Harm {
    wait: Span,
    loss: f64,
}

/// Falls in a row.
#[derive(Debug, Clone, Copy)]
struct Trial {
    /// The rate and the harm before the first.
    rate: BitRate,
    harm: Harm,
    falls: u32,
}

/// The rule, with what it knows of one client.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    allowed: Span,
    way: Way,
    /// Reports in a row with a queue or a loss.
    bad: u32,
    /// Since when there was neither.
    calm: Option<Instant>,
    settles: Option<Instant>,
    rose: Option<Instant>,
    ceiling: Option<Ceiling>,
    trial: Option<Trial>,
    /// Harm at any rate, and since when it is known.
    others: Option<(Instant, Harm)>,
}

impl Rule {
    pub(super) fn new(allowed: Span) -> Self {
        Self {
            allowed,
            way: Way::default(),
            bad: 0,
            calm: None,
            settles: None,
            rose: None,
            ceiling: None,
            trial: None,
            others: None,
        }
    }

    /// Forgets what was in progress when reports stopped.
    pub(super) fn forget(&mut self, now: Instant) {
        (self.bad, self.trial, self.calm) = (0, None, Some(now));
    }

    /// Notes a change of the rate.
    pub(super) fn on_set(&mut self, now: Instant, before: BitRate, rate: BitRate) {
        self.bad = 0;
        self.settles = Some(now + SETTLES);
        self.calm = Some(now);
        self.rose = (rate > before).then_some(now);
    }

    /// Takes a report on a slot at a rate that the host has since `changed`. Returns a rate that fits better, and the reason.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        slot: Span,
        feedback: &Feedback,
        rate: BitRate,
        changed: Option<Instant>,
    ) -> Option<(BitRate, Why)> {
        let queue = feedback.round_trip.map(|trip| self.way.on_round_trip(now, trip)).unwrap_or_default();
        let harm = Harm { wait: queue.wait, loss: lost(slot, feedback) };
        let calm = *self.calm.get_or_insert(now);
        if self.settles.is_some_and(|settles| now < settles) {
            return None;
        }
        self.others = self.others.filter(|(since, _)| now.since(*since) < OTHERS);
        let others = self.others.map_or(Harm::default(), |(_, harm)| harm);
        let queued = harm.wait > self.allowed.max(others.wait.mul_f64(NEW));
        let lossy = harm.loss > SOME.max(others.loss * NEW);
        if !queued && !lossy {
            self.bad = 0;
            if harm.wait > self.allowed.mul_f64(0.5).max(others.wait) || harm.loss > NONE.max(others.loss) {
                self.calm = Some(now);
                return None;
            }
            if now.since(calm) >= CALM {
                // Falls that a calm followed had their effect.
                self.trial = None;
            }
            return self.rise(now, rate, now.since(changed.map_or(calm, |changed| changed.max(calm))));
        }
        self.calm = Some(now);
        self.bad += 1;
        let far = harm.wait.as_nanos() > FAR_ABOVE * self.allowed.as_nanos();
        if self.bad < 2 && !far && harm.loss <= MANY {
            return None;
        }
        if far || harm.loss > USELESS {
            self.trial = None;
        } else if let Some(back) = self.try_fall(now, rate, harm) {
            return Some((back, Why::Others));
        }
        self.note_ceiling(now, rate);
        let kept = if lossy { (1.0 - harm.loss).max(DEEPEST_BY_LOSS) } else { 1.0 };
        let drains = 1.0 - harm.wait.as_secs_f64().min(0.5);
        let share = (BELOW * kept * (1.0 - queue.growth) * drains).max(DEEPEST);
        let why = if queued {
            Why::Queue { wait: harm.wait, allowed: self.allowed }
        } else {
            Why::Loss { share: harm.loss }
        };
        Some((rate.mul_f64(share), why))
    }

    /// Counts a fall. Returns the rate before the first once falls have had no effect.
    fn try_fall(&mut self, now: Instant, rate: BitRate, harm: Harm) -> Option<BitRate> {
        let trial = self.trial.get_or_insert(Trial { rate, harm, falls: 0 });
        let remains =
            harm.wait >= trial.harm.wait.mul_f64(REMAINING) && harm.loss >= trial.harm.loss * REMAINING;
        if !remains || rate > trial.rate {
            *trial = Trial { rate, harm, falls: 0 };
        }
        if trial.falls < TRIALS {
            trial.falls += 1;
            return None;
        }
        let back = trial.rate;
        (self.others, self.trial, self.ceiling) = (Some((now, harm)), None, None);
        Some(back)
    }

    /// Remembers a rate that was too high.
    fn note_ceiling(&mut self, now: Instant, rate: BitRate) {
        let blamed = self.rose.is_some_and(|rose| now.since(rose) < BLAME);
        let retry = match self.ceiling {
            // The rise was a trial of a rate known to be too high.
            Some(ceiling) if blamed && rate >= ceiling.rate.mul_f64(NEAR) => {
                LONGEST_RETRY.min(ceiling.retry.mul_f64(2.0))
            }
            // Falls in a row are those of one event: the first was that of the rate that was too high.
            Some(ceiling) if now.since(ceiling.since) < BLAME && rate < ceiling.rate => return,
            _ => RETRY,
        };
        self.ceiling = Some(Ceiling { rate, since: now, retry });
    }

    /// A higher rate after so long a calm.
    fn rise(&mut self, now: Instant, rate: BitRate, calm: Span) -> Option<(BitRate, Why)> {
        if calm < CALM {
            return None;
        }
        let why = Why::Room { calm };
        let Some(ceiling) = self.ceiling else { return Some((rate.mul_f64(RISE), why)) };
        if now.since(ceiling.since) >= ceiling.retry {
            let step = if rate < ceiling.rate.mul_f64(NEAR) { RISE } else { NEAR_RISE };
            let next = rate.mul_f64(step);
            if rate > ceiling.rate.mul_f64(1.0 / NEAR) {
                self.ceiling = None;
            }
            return Some((next, why));
        }
        let near = ceiling.rate.mul_f64(NEAR);
        (rate < near.mul_f64(1.0 / NEAR_RISE)).then(|| (rate.mul_f64(RISE).min(near), why))
    }
}

/// The share of frames lost in a slot: as the client says, or as it counts them.
fn lost(slot: Span, feedback: &Feedback) -> f64 {
    let decoded = if feedback.frames.is_finite() { feedback.frames.max(0.0) } else { 0.0 };
    let dropped = f64::from(feedback.dropped);
    // A report that is late and the one after it are less than a second apart.
    let all = dropped + decoded * slot.as_secs_f64().max(1.0);
    let counted = if all > 0.0 { dropped / all } else { 0.0 };
    let told = if feedback.loss.is_finite() { feedback.loss.clamp(0.0, 1.0) } else { 0.0 };
    told.max(counted)
}
