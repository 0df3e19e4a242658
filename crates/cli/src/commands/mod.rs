//! One file for each command.

#[cfg(target_os = "linux")]
mod agent;
mod check;
mod compare;
mod demo;
mod explain;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod lab_demo;
mod law;
mod list;
mod plan;
mod report;
mod reproduce;
mod run;
mod sweep;
mod validate;

use crate::Within;
use crate::args::{Cli, Command};
use crate::error::CliError;
use crate::interrupt;

/// Does what was asked for.
pub(crate) fn dispatch(cli: Cli, within: Within) -> Result<(), CliError> {
    let voice = cli.voice;
    if matches!(cli.command, Command::Demo(_) | Command::Run(_) | Command::Compare(_) | Command::Sweep(_)) {
        interrupt::listen();
    }
    match cli.command {
        Command::Demo(demo) => demo::demo(&demo, voice),
        Command::Run(run) => run::run(&run, voice),
        Command::Compare(compare) => compare::compare(&compare, voice),
        Command::Sweep(sweep) => sweep::sweep(&sweep, voice),
        Command::Check(check) => check::check(&check, voice),
        Command::List(_) => list::list(voice),
        Command::Report(report) => report::report(&report, voice),
        Command::Explain(explain) => explain::explain(&explain, voice),
        Command::Law(law) => law::law(&law, voice),
        Command::Plan(plan) => plan::plan(&plan, voice),
        Command::Reproduce(reproduce) => reproduce::reproduce(&reproduce, voice),
        #[cfg(target_os = "linux")]
        Command::Lab(lab) => lab::lab(lab, within, voice),
        #[cfg(target_os = "linux")]
        Command::Agent(agent) => agent::agent(agent, voice),
        Command::Validate(validate) => validate::validate(&validate, voice),
    }
}
