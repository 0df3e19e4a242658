//! `airbound list`: the scenarios that come with the program.

use airbound_scenario::shipped;
use serde_json::json;

use crate::args::Verbosity;
use crate::error::CliError;
use crate::output;

pub(super) fn list(verbosity: Verbosity) -> Result<(), CliError> {
    if verbosity.json {
        let list: Vec<serde_json::Value> = shipped()
            .iter()
            .map(|scenario| json!({ "name": scenario.name, "title": scenario.title() }))
            .collect();
        return output::json(&list);
    }
    let width = shipped().iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
    let lines: String = shipped()
        .iter()
        .map(|scenario| format!("{:width$}  {}\n", scenario.name, scenario.title()))
        .collect();
    output::say(verbosity, &lines)
}
