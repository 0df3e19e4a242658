//! An alternating renewal process that can be entered at any time: bursts of interference, spells of load.

use std::cell::Cell;

use airbound_units::{Instant, Span};

use crate::Key;

/// Spells of exponential length with exponential pauses.
///
/// Time is cut into blocks; the spells of a block are a function of its key alone. Both lengths are memoryless, so that a
/// block that begins in the long-run proportion of the two states and then alternates has the statistics of the uncut process,
/// but for the memory across the border, which a block of 64 mean cycles makes rare.
#[derive(Debug, Clone)]
pub struct OnOff {
    key: Key,
    mean_on: f64,
    mean_off: f64,
    /// In nanoseconds.
    block: u64,
    start: u64,
    stop: u64,
    /// Where the last question was answered: the next one mostly begins there. It changes no answer.
    near: Cell<Option<Turn>>,
}

/// A spell or a pause within a block.
#[derive(Debug, Clone, Copy)]
struct Turn {
    block: u64,
    /// Its number in the block, from 1.
    number: u64,
    on: bool,
    begin: u64,
    end: u64,
}

/// The state at a time, and until when it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Whether a spell is on.
    pub on: bool,
    /// The first instant after which the state is looked at anew; the state may be the same then.
    pub until: Instant,
}

const CYCLES: f64 = 64.0;

impl OnOff {
    /// A process with exponential lengths of these means, without end.
    #[must_use]
    pub fn new(mean_on: Span, mean_off: Span, key: Key) -> Self {
        let (on, off) = (mean_on.as_nanos() as f64, mean_off.as_nanos() as f64);
        let block = ((on + off) * CYCLES) as u64 + 1;
        Self { key, mean_on: on, mean_off: off, block, start: 0, stop: u64::MAX, near: Cell::new(None) }
    }

    /// The same process, on from `start` to `stop` only.
    #[must_use]
    pub fn between(self, start: Instant, stop: Instant) -> Self {
        Self { start: start.as_nanos(), stop: stop.as_nanos(), ..self }
    }

    /// The state at a time.
    #[must_use]
    pub fn state(&self, now: Instant) -> State {
        let time = now.as_nanos();
        if time < self.start || time >= self.stop {
            let until = if time < self.start { self.start } else { u64::MAX };
            return State { on: false, until: Instant::from_nanos(until) };
        }
        let block = time / self.block;
        let begin = block.saturating_mul(self.block);
        let end = begin.saturating_add(self.block);
        let mut turn = match self.near.get().filter(|near| near.block == block && near.begin <= time) {
            Some(near) => near,
            None => {
                let on =
                    self.key.with(block).with(0).uniform() < self.mean_on / (self.mean_on + self.mean_off);
                self.turn(block, 1, on, begin)
            }
        };
        while turn.end <= time {
            turn = self.turn(block, turn.number + 1, !turn.on, turn.end);
        }
        self.near.set(Some(turn));
        State { on: turn.on, until: Instant::from_nanos(turn.end.min(end).min(self.stop)) }
    }

    /// A turn that begins then.
    fn turn(&self, block: u64, number: u64, on: bool, begin: u64) -> Turn {
        let mean = if on { self.mean_on } else { self.mean_off };
        let length = (self.key.with(block).with(number).exponential() * mean) as u64 + 1;
        Turn { block, number, on, begin, end: begin.saturating_add(length) }
    }

    /// Whether a spell is on at a time.
    #[must_use]
    pub fn is_on(&self, now: Instant) -> bool {
        self.state(now).on
    }

    /// The next instant at which a spell begins or ends; [`Instant::MAX`] if none does any more.
    #[must_use]
    pub fn next_change(&self, now: Instant) -> Instant {
        let mut state = self.state(now);
        let on = state.on;
        // The state is looked at anew at the end of a block, where it need not change.
        while state.on == on && state.until < Instant::MAX {
            let until = state.until;
            state = self.state(until);
            if state.on != on {
                return until;
            }
        }
        Instant::MAX
    }
}
