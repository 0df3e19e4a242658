//! `airbound check`: is a scenario right, and what is it with every default filled in?

use crate::args::Check;
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

pub(super) fn check(check: &Check, verbosity: Verbosity) -> Result<(), CliError> {
    let mut opened = check.source.open()?;
    super::warn(&opened, verbosity);
    for name in &opened.scenario.schemes {
        opened.scheme(Some(name))?;
    }
    opened.scenario.scheme = opened.scenario.scheme.in_full();
    if verbosity.json {
        return Ok(output::json(&opened.scenario)?);
    }
    Ok(output::say(verbosity, &opened.scenario.to_toml())?)
}
