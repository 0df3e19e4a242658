//! Studies: papers reproduced, the simulator validated, the agent demonstrated on the real Linux stack.
//!
//! [`papers`] holds each paper's claims beside what this simulator measures, [`ladder`] closed forms, ns-3 and published
//! measurements, [`evening`] five lines on one ground, [`lab`] the rows that need a virtual machine, [`verdict`] the verdict beside an oracle. The product does not
//! contain them: `airbound` starts the program `airbound-studies`.

mod chance;
pub mod command;
pub mod doctor;
mod draws;
pub mod evening;
#[cfg(target_os = "linux")]
pub mod lab;
pub mod ladder;
mod markdown;
pub mod papers;
mod trial;
pub mod verdict;

use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

pub use markdown::{markdown, page_markdown, rows_markdown};
pub use trial::{Trial, TrialError};

/// Amount of work: length and number of the runs, and simulations at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Shorter runs, one seed: for a first look and for tests. Sampling errors are larger; the tolerances stay.
    pub quick: bool,
    /// Simulations at a time.
    pub jobs: NonZeroUsize,
    /// First seed of the runs of a paper, from 1.
    pub first_seed: u64,
}

impl Default for Effort {
    /// Full length, one simulation at a time.
    fn default() -> Self {
        Self { quick: false, jobs: NonZeroUsize::MIN, first_seed: 1 }
    }
}

impl Effort {
    /// Returns the seeds of so many runs.
    pub(crate) const fn seeds(self, count: u64) -> RangeInclusive<u64> {
        self.first_seed..=self.first_seed + count - 1
    }

    /// `full`, or `quick` where that is asked for.
    pub(crate) const fn seconds(self, full: u32, quick: u32) -> u32 {
        if self.quick { quick } else { full }
    }
}
