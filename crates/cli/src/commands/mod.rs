//! One file for each command.

#[cfg(target_os = "linux")]
mod agent;
mod check;
mod compare;
mod demo;
#[cfg(target_os = "linux")]
mod emulate;
mod explain;
mod init;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod lab_exec;
#[cfg(target_os = "linux")]
mod lab_machine;
mod law;
mod list;
mod plan;
mod report;
mod run;
mod shell;
mod studies;
mod sweep;

use crate::Host;
use crate::args::{Cli, Command};
use crate::error::CliError;
use airbound_console::{Verbosity, interrupt, output};
use airbound_runs::Opened;

/// Says what in a scenario is allowed and hardly meant.
fn warn(opened: &Opened, verbosity: Verbosity) {
    /// Sentences of one scenario.
    const MOST: usize = 5;
    if !verbosity.quiet {
        for doubt in opened.scenario.doubts().take(MOST) {
            output::remark(&format!("airbound: warning: {doubt}"));
        }
    }
}

/// Does what was asked for.
pub(crate) fn dispatch(cli: Cli, host: Host) -> Result<(), CliError> {
    let verbosity = cli.verbosity;
    if matches!(cli.command, Command::Demo(_) | Command::Run(_) | Command::Compare(_) | Command::Sweep(_)) {
        interrupt::listen();
    }
    match cli.command {
        Command::Demo(demo) => demo::demo(&demo, verbosity),
        Command::Run(run) => run::run(&run, verbosity),
        Command::Compare(compare) => compare::compare(&compare, verbosity),
        Command::Sweep(sweep) => sweep::sweep(&sweep, verbosity),
        Command::Init(init) => init::init(&init, verbosity),
        Command::Check(check) => check::check(&check, verbosity),
        Command::List(list) => list::list(&list, verbosity),
        Command::Report(report) => report::report(&report, verbosity),
        Command::Explain(explain) => explain::explain(&explain, verbosity),
        Command::Law(law) => law::law(&law, verbosity),
        Command::Completions(completions) => shell::completions(&completions),
        Command::Man(man) => shell::man(&man),
        Command::Plan(plan) => plan::plan(&plan, host, verbosity),
        Command::Reproduce(study) => studies::start(&["reproduce"], study.arguments, host, verbosity),
        Command::Room(room) => studies::room("room", room.arguments, host),
        Command::Allocator(allocator) => studies::room("allocator", allocator.arguments, host),
        Command::Validate(study) => studies::start(&["validate"], study.arguments, host, verbosity),
        #[cfg(target_os = "linux")]
        Command::Lab(lab) => lab::lab(lab, host, verbosity),
        #[cfg(target_os = "linux")]
        Command::Emulate(emulate) => emulate::emulate(*emulate, verbosity),
        #[cfg(target_os = "linux")]
        Command::Relay(relay) => studies::relay(relay.arguments, host),
        #[cfg(target_os = "linux")]
        Command::Agent(agent) => agent::agent(agent, verbosity),
    }
}
