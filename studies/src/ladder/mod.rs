//! The ladder: the simulator beside closed forms, beside ns-3 and beside a paper's measurements.
//!
//! Each rung makes [`ValidationRow`]s. References are files under `studies/data` that are compiled in, each with its origin in
//! its head; a paper's are in its `claims.toml`. A difference is explained in the row's note and in `docs/results/validation.md`,
//! never tuned away.

mod attempts;
mod bianchi;
mod closed;
mod delays;
mod ns3;
mod scene;
mod table;

use airbound_report::ValidationRow;

use crate::{Effort, TrialError};
pub use ns3::{TableError, rows_of as ns3_rows_of};

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
            Self::Papers => crate::papers::case_study_rows(effort),
        }
    }
}
