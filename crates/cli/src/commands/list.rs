//! `airbound list`: the scenarios that come with the program.

use airbound_scenario::shipped;
use serde_json::json;

use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

pub(super) fn list(verbosity: Verbosity) -> Result<(), CliError> {
    if verbosity.json {
        let list: Vec<serde_json::Value> = shipped()
            .iter()
            .map(|scenario| json!({ "name": scenario.name, "title": scenario.title() }))
            .collect();
        return Ok(output::json(&list)?);
    }
    let width = shipped().iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
    let lines: String = shipped()
        .iter()
        .map(|scenario| format!("{:width$}  {}\n", scenario.name, scenario.title()))
        .collect();
    Ok(output::say(verbosity, &lines)?)
}
