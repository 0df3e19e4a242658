//! An alternating renewal process with random access in time, for bursts of interference and load.

use std::cell::Cell;

use airbound_units::{Instant, Span};

use crate::Key;

/// On periods of exponential length with exponential pauses.
///
/// Time is divided into blocks, and the periods of a block are a function of its key alone. Both lengths are memoryless, so that a
/// block that starts in the stationary proportion of the two states has the statistics of the undivided process, except for the
/// correlation across block boundaries, which are rare with 64 mean cycles per block.
#[derive(Debug, Clone)]
pub struct OnOff {
    key: Key,
    mean_on: f64,
    mean_off: f64,
    /// Length of a block in nanoseconds.
    block: u64,
    start: u64,
    stop: u64,
    /// The period of the last lookup, where the next search starts. It does not affect results.
    near: Cell<Option<Turn>>,
}

/// An on period or a pause within a block.
#[derive(Debug, Clone, Copy)]
struct Turn {
    block: u64,
    /// Its number within the block, from 1.
    number: u64,
    on: bool,
    begin: u64,
    end: u64,
}

/// The state at a time, and the time until which it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Whether the process is on.
    pub on: bool,
    /// The time of the next lookup, at which the state may be the same.
    pub until: Instant,
}

const CYCLES: f64 = 64.0;

impl OnOff {
    /// An unlimited process with exponential lengths of these means.
    #[must_use]
    pub fn new(mean_on: Span, mean_off: Span, key: Key) -> Self {
        let (on, off) = (mean_on.as_nanos() as f64, mean_off.as_nanos() as f64);
        let block = ((on + off) * CYCLES) as u64 + 1;
        Self { key, mean_on: on, mean_off: off, block, start: 0, stop: u64::MAX, near: Cell::new(None) }
    }

    /// The process limited to the time from `start` to `stop`, off outside.
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

    /// The period that begins at `begin`.
    fn turn(&self, block: u64, number: u64, on: bool, begin: u64) -> Turn {
        let mean = if on { self.mean_on } else { self.mean_off };
        let length = (self.key.with(block).with(number).exponential() * mean) as u64 + 1;
        Turn { block, number, on, begin, end: begin.saturating_add(length) }
    }

    /// Whether the process is on at a time.
    #[must_use]
    pub fn is_on(&self, now: Instant) -> bool {
        self.state(now).on
    }

    /// The next change of state; [`Instant::MAX`] if there is none.
    #[must_use]
    pub fn next_change(&self, now: Instant) -> Instant {
        let mut state = self.state(now);
        let on = state.on;
        // At the end of a block the state is looked up again and may be the same.
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
