//! `airbound sweep`: a grid or a sample over keys of a scenario, schemes and seeds.

use std::path::{Path, PathBuf};
use std::process::Command;

use airbound_runs::jobs;
use airbound_runs::sweep::{Changes, Folder, Grid, Plan, Sweep, local};

use crate::args::sweep::Sweep as Asked;
use crate::error::CliError;
use airbound_console::Progress;
use airbound_console::Verbosity;
use airbound_console::output;

/// Names the Python that has the package, where it is not the first in the path.
const PYTHON: &str = "AIRBOUND_PYTHON";
/// `python -m airbound.sweeps`, without its warning that the package imports the module itself.
const COMMAND: &str = "import sys; from airbound.sweeps import main; sys.exit(main())";

pub(super) fn sweep(asked: &Asked, verbosity: Verbosity) -> Result<(), CliError> {
    if let Some(place) = &asked.on {
        return hand_over(asked, place, verbosity);
    }
    let changes = Changes { until: asked.until, seeds: asked.seeds };
    let grid = Grid::open(&asked.grid, &changes)?;
    let out = asked.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(format!("sweep-{}", grid.name)));
    let threads = jobs::threads(asked.jobs);
    let progress = Progress::new(verbosity);
    let plan = Plan::check(grid, threads, &progress)?;
    if asked.dry_run {
        drop(progress);
        return tell_plan(&plan, verbosity);
    }
    let mut sweep = Sweep::begin(plan, Folder::open(&out)?, asked.replace)?;
    local(&mut sweep, threads, &progress)?;
    drop(progress);
    let known = sweep.progress().known;
    let (findings, folder) = sweep.finish()?;
    if asked.open {
        airbound_console::open(&folder.report());
    }
    if verbosity.json {
        return Ok(output::json(&findings.to_json())?);
    }
    let mut text = findings.to_text(output::width());
    if known > 0 {
        text += &format!("\n{known} of the runs were there already.\n");
    }
    text += &format!("\nResults: {}\nReport:  {}\n", folder.results().display(), folder.report().display());
    Ok(output::say(verbosity, &text)?)
}

fn tell_plan(plan: &Plan, verbosity: Verbosity) -> Result<(), CliError> {
    let (cells, schemes, seeds) = (plan.grid.cells(), plan.grid.schemes.len(), plan.grid.seeds.len());
    if verbosity.json {
        return Ok(output::json(&serde_json::json!({
            "cells": cells, "schemes": plan.grid.schemes, "seeds": plan.grid.seeds, "most_runs": plan.most_runs(),
        }))?);
    }
    let at_most = if plan.grid.rule.until.is_some() { "at most " } else { "" };
    Ok(output::say(
        verbosity,
        &format!(
            "{}: {cells} cells x {schemes} schemes x {at_most}{seeds} seeds = {at_most}{} runs; every cell is a scenario that can be run.\n",
            plan.grid.name,
            plan.most_runs()
        ),
    )?)
}

/// Ray speaks Python: the package's own command does the sweep over the same crate.
fn hand_over(asked: &Asked, place: &str, verbosity: Verbosity) -> Result<(), CliError> {
    let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command.args(["-c", COMMAND, &asked.grid, "--on", place]);
    if let Some(until) = asked.until {
        command.args(["--until", &until.to_string()]);
    }
    if let Some(seeds) = asked.seeds {
        command.args(["--seeds", &seeds.to_string()]);
    }
    if let Some(out) = &asked.out {
        command.arg("--out").arg(out);
    }
    for (flag, is_set) in
        [("--replace", asked.replace), ("--json", verbosity.json), ("--quiet", verbosity.quiet)]
    {
        if is_set {
            command.arg(flag);
        }
    }
    // Asked before anything is begun: a missing package is said in one sentence, and not by a traceback.
    let is_there = Command::new(&python).args(["-c", "import airbound, ray"]).output();
    if !is_there.as_ref().is_ok_and(|found| found.status.success()) {
        return Err(CliError::Input(format!(
            "--on {place} needs the Python package of airbound and ray, and {python} has not both; pip install . and pip install ray, \
             or name another Python in {PYTHON}"
        )));
    }
    let status = command.status().map_err(CliError::io("start", Path::new(&python)))?;
    match status.code() {
        Some(0) => Ok(()),
        // What went wrong has been said.
        code => Err(CliError::Elsewhere(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
    }
}
