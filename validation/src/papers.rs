//! The papers' own numbers.

pub(crate) mod last_pq;

use airbound_report::ValidationRow;

use crate::{Effort, TrialError};

/// All rows of this rung.
pub(crate) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    last_pq::rows(effort)
}
