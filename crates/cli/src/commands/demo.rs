//! `airbound demo`: the first thing to look at.

use airbound_record::Tables;

use super::compare;
use crate::args::{Changes, Demo, Source, Verbosity};
use crate::error::CliError;
use crate::matrix::{Matrix, baseline};
use crate::{jobs, output, request};

const SCENARIO: &str = "vr-congested";

pub(super) fn demo(demo: &Demo, verbosity: Verbosity) -> Result<(), CliError> {
    let source = Source { scenario: SCENARIO.to_owned(), changes: Changes::default() };
    let opened = request::open(&source)?;
    let schemes = compare::schemes(&opened, &opened.scenario.schemes)?;
    let matrix = Matrix { baseline: baseline(&opened, &schemes), schemes, seeds: 1, tables: Tables::SMALL };
    output::say(verbosity, &format!("{}\n{}\n\n", opened.scenario.title, opened.scenario.description))?;
    compare::matrix(&opened, &matrix, jobs::threads(demo.jobs), &demo.out, verbosity)?;
    output::say(verbosity, "\nThe same with your own values: airbound compare vr-congested --help\n")
}
