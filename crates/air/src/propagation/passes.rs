//! Independent arrivals that last for a while: people in the path, busy periods of a room.

use std::cell::RefCell;

use airbound_random::Key;
use airbound_units::Instant;

use super::config::Coming;

/// A Poisson process of passes, each with a log-normal length (M/G/infinity): any number may be present at once.
///
/// Time is divided into cells. The passes that begin in a cell are a function of its key alone, and no pass is longer than a cell, so
/// that an instant depends only on its own cell and the previous one.
///
/// `T` is a further draw of each pass.
#[derive(Debug, Clone)]
pub(super) struct Passes<T> {
    key: Key,
    /// Mean length in nanoseconds, as all following times.
    mean_length: f64,
    /// Standard deviation of the logarithm of a length.
    length_spread: f64,
    mean_pause: f64,
    ramp: f64,
    cell: u64,
    /// The passes of the cell of the last lookup and of the previous one, which most lookups reuse. It does not affect results.
    near: RefCell<Near<T>>,
}

/// The passes that begin in two cells, in order.
#[derive(Debug, Clone)]
struct Near<T> {
    /// The later of the cells; none is numbered 0.
    cell: u64,
    passes: Vec<Pass<T>>,
}

/// One pass, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Pass<T> {
    cell: u64,
    /// Start of the pass within its cell.
    offset: f64,
    length: f64,
    what: T,
}

/// The longest pass in mean lengths. With the largest spread one pass in 450 is truncated, with the smaller ones of people none.
const LONGEST: f64 = 20.0;

impl<T: Copy> Passes<T> {
    pub(super) fn new(coming: &Coming, key: Key) -> Self {
        let mean_length = coming.length.as_nanos() as f64;
        Self {
            key,
            mean_length,
            length_spread: coming.length_spread,
            mean_pause: coming.pause.as_nanos() as f64,
            ramp: coming.ramp.as_nanos() as f64,
            cell: (mean_length * LONGEST) as u64 + 1,
            near: RefCell::new(Near { cell: 0, passes: Vec::new() }),
        }
    }

    /// Calls `each` for the passes at an instant, with the result of `draw` for the key and start of the pass, and with its presence: 0 at
    /// its ends, 1 after the ramps.
    pub(super) fn at(&self, now: Instant, draw: impl Fn(Key, Instant) -> T, mut each: impl FnMut(T, f64)) {
        // One cell precedes the start of the run, so that the process is stationary from the start.
        let time = now.as_nanos().saturating_add(self.cell);
        let cell = time / self.cell;
        let mut near = self.near.borrow_mut();
        if near.cell != cell {
            near.cell = cell;
            near.passes.clear();
            for cell in [cell - 1, cell] {
                near.passes.extend(self.beginnings(cell).map(|(key, offset)| {
                    let begin = (cell * self.cell).saturating_add(offset as u64).saturating_sub(self.cell);
                    let what = draw(key, Instant::from_nanos(begin));
                    Pass { cell, offset, length: self.length(key), what }
                }));
            }
        }
        for pass in &near.passes {
            let since_cell = (time - pass.cell * self.cell) as f64;
            if pass.offset <= since_cell
                && let Some(presence) = self.presence(since_cell - pass.offset, pass.length)
            {
                each(pass.what, presence);
            }
        }
    }

    /// The passes that begin in a cell, each with its key and its offset in the cell.
    fn beginnings(&self, cell: u64) -> impl Iterator<Item = (Key, f64)> + '_ {
        let key = self.key.with(cell);
        let mut offset = 0.0;
        let all = (0u64..).map(move |number| {
            let key = key.with(number);
            offset += key.with(0).exponential() * self.mean_pause;
            (key, offset)
        });
        all.take_while(|(_, offset)| *offset < self.cell as f64)
    }

    fn length(&self, key: Key) -> f64 {
        let sigma = self.length_spread;
        let factor = libm::exp(sigma * key.with(1).normal() - sigma * sigma / 2.0);
        self.mean_length * factor.min(LONGEST)
    }

    /// Presence of a pass of `length` at `age`: half a cosine at each edge, like the obstruction of the first Fresnel zone by a body that
    /// moves steadily.
    fn presence(&self, age: f64, length: f64) -> Option<f64> {
        let to_edge = age.min(length - age);
        if to_edge <= 0.0 {
            return None;
        }
        let ramp = self.ramp.min(length / 2.0);
        if to_edge >= ramp {
            return Some(1.0);
        }
        Some(0.5 - 0.5 * libm::cos(std::f64::consts::PI * to_edge / ramp))
    }
}
