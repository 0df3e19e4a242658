//! `airbound-studies doctor`: how often `airbound doctor` names the cause that was injected.

use std::num::NonZeroUsize;

use airbound_console::{Verbosity, output};
use airbound_report::{Cell, Grid};
use airbound_runs::jobs;

use super::args::Patients;
use super::error::CommandError;
use crate::doctor::{INJECTED, Score, doctor};
use airbound_senders::diagnosis::Cause;

pub(super) fn doctor_set(set: &Patients, verbosity: Verbosity) -> Result<(), CommandError> {
    let jobs = NonZeroUsize::new(jobs::threads(set.jobs)).unwrap_or(NonZeroUsize::MIN);
    let links = doctor(set.seed, u64::from(set.causes), u64::from(set.healthy), jobs)
        .map_err(|error| CommandError::Defect(error.to_string()))?;
    if verbosity.json {
        return Ok(output::json(&links)?);
    }
    let mut grid = Grid::new("Causes as injected and as named", &["injected", "links", "right", "else"], 1);
    for truth in INJECTED.into_iter().chain([Cause::Healthy]) {
        let all: Vec<_> = links.iter().filter(|link| link.truth == truth).collect();
        let wrong: Vec<&str> =
            all.iter().filter(|link| link.named != truth).map(|link| link.named.name()).collect();
        let right = all.len() - wrong.len();
        let cells = [truth.name().to_owned(), all.len().to_string(), right.to_string(), wrong.join(", ")];
        grid.rows.push(cells.map(Cell::from).to_vec());
    }
    let Score { causes, right, healthy, alarms, unfelt } = Score::of(&links);
    grid.note = format!(
        "{right} of {causes} causes are named right, {alarms} of {healthy} healthy links raise an alarm; {unfelt} draws that delay nobody were drawn again."
    );
    Ok(output::say(verbosity, &grid.to_text(output::width()))?)
}
