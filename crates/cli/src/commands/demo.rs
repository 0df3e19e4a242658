//! `airbound demo`: the first thing to look at.

use airbound_runs::{Matrix, Opened, jobs};
use airbound_scenario::Overrides;

use super::compare;
use crate::args::Demo;
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

const SCENARIO: &str = "vr-congested";

pub(super) fn demo(demo: &Demo, verbosity: Verbosity) -> Result<(), CliError> {
    let opened = Opened::by_name(SCENARIO, &Overrides::none())?;
    let matrix = Matrix::of(&opened, opened.schemes(&opened.scenario.schemes)?);
    airbound_runs::folder::check(&demo.out)?;
    output::say(verbosity, &format!("{}\n{}\n\n", opened.scenario.title, opened.scenario.description))?;
    let shown = compare::Shown {
        open: demo.open,
        more: Some(format!("airbound report {} --full", demo.out.display())),
        ..Default::default()
    };
    compare::matrix(&opened, &matrix, shown, jobs::threads(demo.jobs), &demo.out, verbosity)?;
    Ok(output::say(verbosity, "\nThe same with your own values: airbound compare vr-congested --help\n")?)
}
