//! The command `airbound`: reads the command line, lets the other crates do the work, and tells how it went.
//!
//! The program is one call of [`main`], and so is the script that the Python package installs.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod error;

use std::ffi::OsString;

use airbound_console::output;
use args::Cli;
use error::CliError;

/// The program that the command is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Its own.
    Itself,
    /// A Python interpreter.
    Python,
}

/// Does what the command line asks for, prints what comes of it, and returns the exit code. The first of `arguments` is the name
/// of the program.
pub fn main(arguments: impl IntoIterator<Item = OsString>, host: Host) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let outcome = match std::panic::catch_unwind(|| run(arguments, host)) {
        Ok(outcome) => outcome,
        // The panic itself has been printed.
        Err(_) => Err(CliError::Panic),
    };
    match outcome {
        Ok(()) => 0,
        // As `env` or `nsenter`: its standard error is the command's alone.
        #[cfg(target_os = "linux")]
        Err(CliError::Entered(code)) => code,
        Err(error) => {
            output::complain(&error);
            error.code()
        }
    }
}

fn run(arguments: Vec<OsString>, host: Host) -> Result<(), CliError> {
    match Cli::read(arguments) {
        Ok(cli) => commands::dispatch(cli, host),
        Err(error) => Ok(output::usage(&error)?),
    }
}
