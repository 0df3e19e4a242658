//! Closed forms: what follows from the standard and from the papers' equations by arithmetic alone must come out to the last
//! printed digit, and a link whose every exchange is known must do what its formula says.

mod absence;
mod airtimes;
mod equations;
mod power_save;
mod protection;
mod shaper;
mod single_link;

use airbound_report::{Tolerance, ValidationRow};

use crate::{Effort, TrialError};

/// All rows of this rung.
pub(crate) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let mut rows = airtimes::rows();
    rows.extend(equations::rows());
    rows.extend(single_link::rows(effort)?);
    rows.extend(shaper::rows(effort)?);
    rows.extend(absence::rows(effort)?);
    rows.extend(power_save::rows(effort)?);
    rows.extend(protection::rows(effort)?);
    Ok(rows)
}

/// A row that has to be right up to the rounding of its reference.
fn exact(
    id: &str,
    metric: &str,
    unit: &str,
    reference: f64,
    measured: f64,
    rounding: f64,
    note: &str,
) -> ValidationRow {
    let tolerance = Some(Tolerance::Absolute(rounding));
    ValidationRow::judged(id, metric, unit, Some(reference), Some(measured), tolerance, note)
}
