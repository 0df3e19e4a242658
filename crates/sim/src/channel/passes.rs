//! Things that come, last a while and go, whoever else is there: people who pass, busy spells of a room.

use airbound_units::Instant;

use super::hash::Key;
use crate::scenario::Coming;

/// A Poisson process of passes, each with a log-normal length (M/G/infinity): any number may be there at once.
///
/// Time is cut into cells. What begins in a cell is a function of its key alone, and nothing lasts longer than a cell, so
/// that an instant is decided by its own cell and the one before: no state, no seam.
#[derive(Debug, Clone)]
pub(super) struct Passes {
    key: Key,
    /// In nanoseconds, like all that follows.
    mean_length: f64,
    /// Standard deviation of the logarithm of a length.
    length_spread: f64,
    mean_pause: f64,
    ramp: f64,
    cell: u64,
}

/// One pass, as it is at the instant that was asked about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    /// What else is to be drawn about it.
    pub(super) key: Key,
    pub(super) begin: Instant,
    /// How far it is there: 0 at its ends, 1 behind the ramps.
    pub(super) presence: f64,
}

/// The longest pass in mean lengths. With the largest spread one in 450 is cut, at the smaller ones of people none.
const LONGEST: f64 = 20.0;

impl Passes {
    pub(super) fn new(coming: &Coming, key: Key) -> Self {
        let mean_length = coming.length.as_nanos() as f64;
        Self {
            key,
            mean_length,
            length_spread: coming.length_spread,
            mean_pause: coming.pause.as_nanos() as f64,
            ramp: coming.ramp.as_nanos() as f64,
            cell: (mean_length * LONGEST) as u64 + 1,
        }
    }

    /// All passes that are there at an instant.
    pub(super) fn at(&self, now: Instant) -> impl Iterator<Item = Pass> + '_ {
        // One cell lies before the beginning of the run, so that it begins like any other moment.
        let time = now.as_nanos().saturating_add(self.cell);
        let cell = time / self.cell;
        [cell - 1, cell].into_iter().flat_map(move |cell| {
            let since_cell = (time - cell * self.cell) as f64;
            self.beginnings(cell).take_while(move |(_, offset)| *offset <= since_cell).filter_map(
                move |(key, offset)| {
                    let presence = self.presence(since_cell - offset, self.length(key))?;
                    let begin = (cell * self.cell).saturating_add(offset as u64).saturating_sub(self.cell);
                    Some(Pass { key, begin: Instant::from_nanos(begin), presence })
                },
            )
        })
    }

    /// The passes that begin in a cell, each with its key and how long after the beginning of the cell.
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

    /// How far a pass of `length` that began `age` ago is there: half a cosine at each edge, as a body that moves evenly
    /// covers more and more of the first Fresnel zone.
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
