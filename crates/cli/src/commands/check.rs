//! `airbound check`: is a scenario right, and what is it with every default filled in? All mistakes are named at once.

use crate::args::Check;
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;
use airbound_runs::Opened;
use airbound_scenario::{Scenario, ScenarioError};

pub(super) fn check(check: &Check, verbosity: Verbosity) -> Result<(), CliError> {
    let source = &check.source;
    let scenario = Scenario::examine(&source.scenario, &source.changes.overrides()?);
    let mut opened = Opened::of(&source.scenario, scenario.map_err(complain)?);
    super::warn(&opened, verbosity);
    opened.scenario.scheme = opened.scenario.scheme.in_full();
    if verbosity.json {
        return Ok(output::json(&opened.scenario)?);
    }
    Ok(output::say(verbosity, &opened.scenario.to_toml())?)
}

/// Prints all mistakes but the last, which ends the program.
fn complain(mut mistakes: Vec<ScenarioError>) -> CliError {
    let last = mistakes.pop();
    for mistake in mistakes {
        output::complain(&mistake);
    }
    last.map_or(CliError::Panic, CliError::from)
}
