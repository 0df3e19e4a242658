//! `airbound validate`: the simulator beside what is known.

use std::num::NonZeroUsize;

use airbound_report::{ValidationRow, validation_grid, validation_json};
use airbound_validation::{Effort, Rung, markdown};

use crate::args::{Validate, Voice};
use crate::error::CliError;
use crate::{jobs, output};

pub(super) fn validate(validate: &Validate, voice: Voice) -> Result<(), CliError> {
    let effort = Effort {
        quick: validate.quick,
        jobs: NonZeroUsize::new(jobs::threads(validate.jobs)).unwrap_or(NonZeroUsize::MIN),
    };
    let mut all: Vec<ValidationRow> = Vec::new();
    for rung in Rung::ALL {
        if !validate.rungs.is_empty() && !validate.rungs.iter().any(|name| name == rung.name()) {
            continue;
        }
        let rows = rung.rows(effort).map_err(|error| CliError::Defect(error.to_string()))?;
        if validate.markdown {
            output::say(voice, &markdown(rung, &rows))?;
        } else {
            let grid = validation_grid(rung.title(), &rows);
            output::say(voice, &format!("{}\n", grid.to_text(output::width())))?;
        }
        all.extend(rows);
    }
    if voice.json {
        output::print(&validation_json(&all)?)?;
    }
    let outside = all.iter().filter(|row| row.within() == Some(false)).count();
    if outside == 0 { Ok(()) } else { Err(CliError::Validation(outside, all.len())) }
}
