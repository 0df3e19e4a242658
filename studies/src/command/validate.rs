//! `airbound validate`: the simulator beside what is known.

use std::num::NonZeroUsize;

use airbound_console::{Steps, Verbosity, output};
use airbound_report::{ValidationRow, validation_grid, validation_json};
use airbound_runs::jobs;

use super::args::Validate;
use super::error::CommandError;
use crate::ladder::{Rung, TableError, ns3_rows_of};
use crate::{Effort, markdown};
#[cfg(target_os = "linux")]
use crate::{
    lab::{LAB_TITLE, LabSetting, case_ids, lab_rows},
    rows_markdown,
};

pub(super) fn validate(validate: &Validate, verbosity: Verbosity) -> Result<(), CommandError> {
    let effort = Effort {
        quick: validate.quick,
        first_seed: 1,
        jobs: NonZeroUsize::new(jobs::threads(validate.jobs)).unwrap_or(NonZeroUsize::MIN),
    };
    if validate.data.is_some() && validate.rungs != ["ns3"] && validate.rungs != ["lab"] {
        let problem = "--data is for the rung ns3 or lab alone; write airbound validate ns3 --data FOLDER";
        return Err(CommandError::Input(problem.to_owned()));
    }
    if validate.rungs == ["lab"] && validate.data.as_deref().is_some_and(|folder| !has_lab_runs(folder)) {
        let folder = validate.data.as_deref().unwrap_or(std::path::Path::new("")).display();
        let problem =
            format!("{folder} has no runs of the laboratory; airbound validate lab --out FOLDER keeps some");
        return Err(CommandError::Input(problem));
    }
    let asks_lab = validate.rungs.iter().any(|name| name == "lab");
    if validate.only.is_some() && !asks_lab {
        let problem = "--only is for the rung lab; write airbound validate lab --only NAME";
        return Err(CommandError::Input(problem.to_owned()));
    }
    #[cfg(target_os = "linux")]
    if let Some(only) = validate.only.as_deref().filter(|only| case_ids(Some(only)).is_empty()) {
        let all = case_ids(None).join(", ");
        let problem = format!("--only {only} names no case; allowed are {all}, and a part of such a name");
        return Err(CommandError::Input(problem));
    }
    let mut all: Vec<ValidationRow> = Vec::new();
    let wanted =
        |rung: &Rung| validate.rungs.is_empty() || validate.rungs.iter().any(|name| name == rung.name());
    let rungs: Vec<Rung> = Rung::ALL.into_iter().filter(wanted).collect();
    let steps = Steps::new(verbosity, rungs.len());
    for rung in rungs {
        steps.begin(rung.name());
        let rows = match &validate.data {
            None => rung.rows(effort).map_err(|error| CommandError::Defect(error.to_string()))?,
            Some(folder) => ns3_rows_of(folder, effort).map_err(|error| match error {
                TableError::Trial(error) => CommandError::Defect(error.to_string()),
                other => CommandError::Input(other.to_string()),
            })?,
        };
        let text = if validate.markdown {
            markdown(rung, &rows)
        } else {
            format!("{}\n", validation_grid(rung.title(), &rows).to_text(output::width()))
        };
        steps.end(|| output::say(verbosity, &text))?;
        all.extend(rows);
    }
    drop(steps);
    #[cfg(target_os = "linux")]
    if asks_lab {
        let rows = lab(validate, effort, verbosity)?;
        let text = if validate.markdown {
            rows_markdown(LAB_TITLE, &rows)
        } else {
            format!("{}\n", validation_grid(LAB_TITLE, &rows).to_text(output::width()))
        };
        output::say(verbosity, &text)?;
        all.extend(rows);
    }
    if verbosity.json {
        output::print(&validation_json(&all)?)?;
    }
    let outside = all.iter().filter(|row| row.within() == Some(false)).count();
    if outside == 0 { Ok(()) } else { Err(CommandError::Validation(outside, all.len())) }
}

/// Whether a folder has a run of one of the laboratory's scenarios.
fn has_lab_runs(folder: &std::path::Path) -> bool {
    let runs = std::fs::read_dir(folder).into_iter().flatten().flatten();
    runs.map(|run| run.file_name()).any(|name| name.to_string_lossy().starts_with("lab-"))
}

/// The rung that needs a virtual machine.
#[cfg(target_os = "linux")]
fn lab(
    validate: &Validate,
    effort: Effort,
    verbosity: Verbosity,
) -> Result<Vec<ValidationRow>, CommandError> {
    let program = super::lab::product()?;
    let cache = validate.cache.clone().map_or_else(airbound_lab::host::cache, Ok)?;
    let say = |step: &str| super::lab::progress(verbosity, step);
    let setting = LabSetting {
        program: &program,
        cache: &cache,
        kernel: validate.kernel.on(validate.arch)?,
        only: validate.only.as_deref(),
        out: validate.out.as_deref(),
        data: validate.data.as_deref(),
        seeds: validate.seeds.into(),
        say: &say,
    };
    lab_rows(effort, &setting).map_err(|error| CommandError::Defect(error.to_string()))
}
