//! `airbound validate`: the simulator beside what is known.

use std::num::NonZeroUsize;

use airbound_report::{ValidationRow, validation_grid, validation_json};
use airbound_validation::{Effort, Rung, markdown};

use crate::args::{Validate, Voice};
use crate::error::CliError;
use crate::progress::Steps;
use crate::{jobs, output};

pub(super) fn validate(validate: &Validate, voice: Voice) -> Result<(), CliError> {
    let effort = Effort {
        quick: validate.quick,
        standard: false,
        jobs: NonZeroUsize::new(jobs::threads(validate.jobs)).unwrap_or(NonZeroUsize::MIN),
    };
    let mut all: Vec<ValidationRow> = Vec::new();
    let wanted =
        |rung: &Rung| validate.rungs.is_empty() || validate.rungs.iter().any(|name| name == rung.name());
    let rungs: Vec<Rung> = Rung::ALL.into_iter().filter(wanted).collect();
    let steps = Steps::new(voice, rungs.len());
    for rung in rungs {
        steps.begin(rung.name());
        let rows = rung.rows(effort).map_err(|error| CliError::Defect(error.to_string()))?;
        let text = if validate.markdown {
            markdown(rung, &rows)
        } else {
            format!("{}\n", validation_grid(rung.title(), &rows).to_text(output::width()))
        };
        steps.end(|| output::say(voice, &text))?;
        all.extend(rows);
    }
    drop(steps);
    if voice.json {
        output::print(&validation_json(&all)?)?;
    }
    let outside = all.iter().filter(|row| row.within() == Some(false)).count();
    if outside == 0 { Ok(()) } else { Err(CliError::Validation(outside, all.len())) }
}
