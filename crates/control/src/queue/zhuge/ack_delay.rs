//! The delay of acknowledgements: growths of the predicted delay reach the sender at once, where its feedback has no times of its own.
//!
//! Each growth is given to acknowledgements at random, so that their delays have its distribution; each decline is a token that a later
//! growth uses up first (the feedback updater for out-of-band feedback; `DeltaDelay` and `OnRecv_snddev` of the public code). An
//! acknowledgement never overtakes another.

use std::collections::VecDeque;

use airbound_units::{Instant, Span};

use super::super::draws::SplitMix64;
use super::config::ZhugeConfig;

/// The acknowledgements of one flow.
#[derive(Debug, Clone)]
pub(super) struct AckDelay {
    history: Span,
    most: Span,
    draws: SplitMix64,
    /// The last prediction.
    predicted: Span,
    /// Growths and declines of the history, when they were predicted; and when the declines that are used up were.
    growths: VecDeque<(Instant, Span)>,
    tokens: VecDeque<(Instant, Span)>,
    spent: VecDeque<Instant>,
    /// Changes of the history before this one.
    past: VecDeque<Instant>,
    /// When the last acknowledgement came, and when it left.
    last: Option<(Instant, Instant)>,
}

impl AckDelay {
    pub(super) fn new(config: &ZhugeConfig, seed: u64) -> Self {
        Self {
            history: config.history,
            most: config.most_hold,
            draws: SplitMix64(seed),
            predicted: Span::ZERO,
            growths: VecDeque::new(),
            tokens: VecDeque::new(),
            spent: VecDeque::new(),
            past: VecDeque::new(),
            last: None,
        }
    }

    /// Notes the predicted delay of an arriving packet; its change counts unless the queue was empty throughout.
    pub(super) fn on_predicted(&mut self, now: Instant, predicted: Span, is_idle: bool) {
        let before = std::mem::replace(&mut self.predicted, predicted);
        if is_idle {
            return;
        }
        self.age(now);
        if predicted >= before {
            self.growths.push_back((now, (predicted - before).min(self.most)));
        } else {
            self.tokens.push_back((now, (before - predicted).min(self.most)));
        }
    }

    /// When an acknowledgement that comes now leaves: now, or up to the longest delay later.
    pub(super) fn leaves(&mut self, now: Instant) -> Instant {
        let Some((came, left)) = self.last else {
            self.last = Some((now, now));
            return now;
        };
        // Those behind one that still waits wait as long as it does at least.
        let ahead = if now > left { Span::ZERO } else { left.since(came) };
        let leaves = (now + ahead + self.draw(now)).min(now + self.most);
        self.last = Some((now, leaves));
        leaves
    }

    /// Draws a growth of the history, less what declines take of it.
    fn draw(&mut self, now: Instant) -> Span {
        self.age(now);
        if self.growths.is_empty() {
            return Span::ZERO;
        }
        let place = (self.draws.unit() * self.growths.len() as f64) as usize;
        let mut delay = self.growths.get(place).map_or(Span::ZERO, |(_, growth)| *growth);
        while let Some((at, token)) = self.tokens.front_mut() {
            if *token >= delay {
                *token -= delay;
                delay = Span::ZERO;
                break;
            }
            delay -= *token;
            self.spent.push_back(*at);
            self.tokens.pop_front();
        }
        // Fewer packets now than acknowledgements of the window before: each takes its share.
        let (present, past) = (self.growths.len() + self.tokens.len() + self.spent.len(), self.past.len());
        if past > present { delay.mul_f64(present as f64 / past as f64) } else { delay }
    }

    /// Moves changes out of the history, and out of that before.
    fn age(&mut self, now: Instant) {
        for changes in [&mut self.growths, &mut self.tokens] {
            let old = changes.iter().take_while(|(at, _)| now.since(*at) > self.history).count();
            self.past.extend(changes.drain(..old).map(|(at, _)| at));
        }
        let old = self.spent.iter().take_while(|at| now.since(**at) > self.history).count();
        self.past.extend(self.spent.drain(..old));
        let gone = self.past.iter().take_while(|at| now.since(**at) > self.history * 2).count();
        self.past.drain(..gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    const fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    fn delay() -> AckDelay {
        let mut one = AckDelay::new(&ZhugeConfig::default(), 7);
        // The first acknowledgement is not delayed.
        assert_eq!(one.leaves(at(0)), at(0));
        one
    }

    #[test]
    fn a_growth_delays_and_those_behind_wait_too() {
        let mut one = delay();
        one.on_predicted(at(1), ms(3), false);
        assert_eq!(one.leaves(at(2)), at(5));
        // Behind one that waits: its 3 ms, and 3 more. Never longer than 10 ms.
        assert_eq!(one.leaves(at(3)), at(9));
        assert_eq!(one.leaves(at(4)), at(13));
        assert_eq!(one.leaves(at(5)), at(15));
        // The last one has left.
        assert_eq!(one.leaves(at(20)), at(23));
    }

    #[test]
    fn a_decline_is_used_up_before_a_growth_delays() {
        let mut one = delay();
        one.on_predicted(at(1), ms(8), false);
        one.on_predicted(at(2), ms(3), false);
        // A token of 5 ms: 3 of the 8 are left, and then all 8.
        assert_eq!(one.leaves(at(3)), at(6));
        assert_eq!(one.leaves(at(10)), at(18));
    }

    #[test]
    fn old_growths_are_forgotten_and_an_empty_queue_has_none() {
        let mut one = delay();
        one.on_predicted(at(1), ms(3), true);
        assert_eq!(one.leaves(at(2)), at(2));
        one.on_predicted(at(3), ms(5), false);
        assert_eq!(one.leaves(at(43)), at(45), "a growth of 2 ms, 40 ms old");
        assert_eq!(one.leaves(at(46)), at(46));
    }

    #[test]
    fn fewer_packets_than_before_delay_by_their_share() {
        let mut one = delay();
        (0..4).for_each(|_| one.on_predicted(at(1), ms(0), false));
        one.on_predicted(at(50), ms(8), false);
        // Four changes in the window before, one in this one: a quarter of 8 ms.
        assert_eq!(one.leaves(at(60)), at(62));
    }

    #[test]
    fn no_acknowledgement_overtakes_another_and_none_waits_too_long() {
        let mut one = delay();
        let mut last = at(0);
        for step in 1..2000 {
            let now = at(step);
            one.on_predicted(now, ms(step * 7919 % 23), false);
            let left = one.leaves(now);
            assert!(left >= last && left >= now && left <= now + ms(10), "{left:?} after {last:?}");
            last = left;
        }
    }
}
