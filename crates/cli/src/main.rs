//! The one binary, `airbound`: reads the command line, lets the other crates do the work, and tells how it went.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod error;
mod interrupt;
mod output;
mod performance;
mod progress;
mod results;
mod session;

use std::process::ExitCode;

use airbound_sweep::jobs;
use args::Cli;
use error::CliError;

fn main() -> ExitCode {
    let outcome = match std::panic::catch_unwind(run) {
        Ok(outcome) => outcome,
        // The panic itself has been printed.
        Err(_) => Err(CliError::Panic),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(error.code())
        }
    }
}

fn run() -> Result<(), CliError> {
    match Cli::read() {
        Ok(cli) => commands::dispatch(cli),
        Err(error) => output::usage(&error),
    }
}
