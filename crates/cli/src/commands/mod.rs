//! One file for each command.

#[cfg(target_os = "linux")]
mod agent;
mod arena;
mod beside;
mod check;
mod compare;
mod demo;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod emulate;
mod explain;
mod export;
mod import;
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
mod sweep;

use crate::Host;
use crate::args::{Cli, Command};
use crate::error::CliError;
use airbound_console::{Verbosity, interrupt, output};
use airbound_runs::Opened;
use beside::{ROOM, STUDIES};

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

/// Does what was asked of the program for routers.
#[cfg(target_os = "linux")]
pub(crate) fn router(router: crate::args::agent::Router) -> Result<(), CliError> {
    match router.command {
        crate::args::agent::OnRouter::Agent(agent) => agent::agent(agent, router.verbosity),
    }
}

/// Does what was asked for.
pub(crate) fn dispatch(cli: Cli, host: Host) -> Result<(), CliError> {
    let verbosity = cli.verbosity;
    if matches!(
        cli.command,
        Command::Demo(_) | Command::Run(_) | Command::Compare(_) | Command::Sweep(_) | Command::Arena(_)
    ) {
        interrupt::listen();
    }
    match cli.command {
        Command::Demo(demo) => demo::demo(&demo, verbosity),
        Command::Run(run) => run::run(&run, verbosity),
        Command::Compare(compare) => compare::compare(&compare, verbosity),
        Command::Sweep(sweep) => sweep::sweep(&sweep, verbosity),
        Command::Arena(arena) => arena::arena(&arena, verbosity),
        Command::Init(init) => init::init(&init, verbosity),
        Command::Import(import) => import::import(&import, verbosity),
        Command::Export(export) => export::export(&export, verbosity),
        Command::Check(check) => check::check(&check, verbosity),
        Command::List(list) => list::list(&list, verbosity),
        Command::Report(report) => report::report(&report, verbosity),
        Command::Explain(explain) => explain::explain(&explain, verbosity),
        Command::Law(law) => law::law(&law, verbosity),
        Command::Completions(completions) => shell::completions(&completions),
        Command::Man(man) => shell::man(&man),
        Command::Plan(plan) => plan::plan(&plan, verbosity),
        Command::Reproduce(study) => beside::start(STUDIES, &["reproduce"], study.arguments, host, verbosity),
        Command::Validate(study) => beside::start(STUDIES, &["validate"], study.arguments, host, verbosity),
        Command::Room(room) => beside::start(ROOM, &["room"], room.arguments, host, verbosity),
        Command::Allocator(allocator) => {
            beside::start(ROOM, &["allocator"], allocator.arguments, host, verbosity)
        }
        Command::Bitrate(bitrate) => beside::start(ROOM, &["bitrate"], bitrate.arguments, host, verbosity),
        #[cfg(target_os = "linux")]
        Command::Lab(lab) => lab::lab(lab, host, verbosity),
        #[cfg(target_os = "linux")]
        Command::Doctor(doctor) => doctor::doctor(&doctor, verbosity),
        #[cfg(target_os = "linux")]
        Command::Emulate(emulate) => emulate::emulate(*emulate, verbosity),
        #[cfg(target_os = "linux")]
        Command::Relay(relay) => beside::start(beside::RELAY, &["relay"], relay.arguments, host, verbosity),
        #[cfg(target_os = "linux")]
        Command::Agent(agent) => agent::agent(agent, verbosity),
    }
}
