//! Being right: the simulator beside closed forms, beside ns-3 and beside the numbers that papers report.
//!
//! Each rung of the ladder makes [`ValidationRow`]s. References are files under `validation/data` that are compiled in, each
//! with its origin in its head. A difference is explained in the row's note and in `docs/results/validation.md`, never tuned away.

mod bianchi;
mod closed;
mod delays;
mod demonstrations;
mod faults;
#[cfg(target_os = "linux")]
mod lab;
mod markdown;
mod ns3;
mod papers;
pub mod plan;
mod reproduce;
mod table;
mod trial;

use std::num::NonZeroUsize;

use airbound_report::ValidationRow;

pub use demonstrations::{AgentBooks, Demonstration, first_look};
pub use faults::{FAULTS, FAULTS_SCENARIO, fault_rows};
pub use markdown::{grid_markdown, markdown, rows_markdown};
pub use reproduce::{Paper, Reproduction, TraceSetError, TraceSets};
pub use trial::{Trial, TrialError};

/// One rung of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rung {
    /// Airtimes, the papers' equations, a single link worked by hand.
    Closed,
    /// Saturated contention against Bianchi's model with a retry limit.
    Bianchi,
    /// Recorded results of ns-3 for the same scenarios.
    Ns3,
    /// The papers' own numbers.
    Papers,
}

impl Rung {
    /// All of them, from the bottom.
    pub const ALL: [Self; 4] = [Self::Closed, Self::Bianchi, Self::Ns3, Self::Papers];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Bianchi => "bianchi",
            Self::Ns3 => "ns3",
            Self::Papers => "papers",
        }
    }

    /// The rung of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rung| rung.name() == name)
    }

    /// Returns the heading of its table.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Closed => "Closed forms",
            Self::Bianchi => "Saturated DCF and Bianchi's model",
            Self::Ns3 => "ns-3 on the same scenario",
            Self::Papers => "What the papers report",
        }
    }

    /// Measures everything on this rung.
    ///
    /// # Errors
    /// [`TrialError`] if a scenario of this crate cannot be run, which is a defect.
    pub fn rows(self, effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
        match self {
            Self::Closed => closed::rows(effort),
            Self::Bianchi => bianchi::rows(effort),
            Self::Ns3 => ns3::rows(effort),
            Self::Papers => papers::rows(effort),
        }
    }
}

/// Setting of the laboratory's rung. It stands apart from the others: it needs QEMU and Debian's packages, and takes minutes.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy)]
pub struct LabSetting<'a> {
    /// The laboratory's cache.
    pub cache: &'a std::path::Path,
    /// The kernel that plays.
    pub kernel: airbound_lab::host::Kernel,
    /// Only cases whose id contains this.
    pub only: Option<&'a str>,
    /// Keeps the record of each run in a folder here.
    pub out: Option<&'a std::path::Path>,
    /// Is told of each step.
    pub say: &'a dyn Fn(&str),
}

/// The simulator beside the real Linux stack; rows without a measured value, which say why, where the laboratory cannot be had.
///
/// # Errors
/// [`TrialError`] if the simulator cannot run a case, which is a defect.
#[cfg(target_os = "linux")]
pub fn lab_rows(effort: Effort, setting: &LabSetting<'_>) -> Result<Vec<ValidationRow>, TrialError> {
    lab::rows(effort, setting)
}

/// Heading of the laboratory's table.
pub const LAB_TITLE: &str = "The real Linux stack over the same air";

/// Amount of work: length and number of the runs, and simulations at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Shorter runs, one seed: for a first look and for tests. Sampling errors are larger; the tolerances stay.
    pub quick: bool,
    /// Fewer settings and seeds at full length, where a paper's matrix is large (Plum).
    pub standard: bool,
    /// Simulations at a time.
    pub jobs: NonZeroUsize,
}

impl Default for Effort {
    /// Full length, one simulation at a time.
    fn default() -> Self {
        Self { quick: false, standard: false, jobs: NonZeroUsize::MIN }
    }
}

impl Effort {
    /// `full`, or `quick` where that is asked for.
    pub(crate) const fn seconds(self, full: u32, quick: u32) -> u32 {
        if self.quick { quick } else { full }
    }
}
