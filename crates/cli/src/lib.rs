//! The command `airbound`: reads the command line, lets the other crates do the work, and tells how it went.
//!
//! The program is one call of [`main`], and so is the script that the Python package installs.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod error;

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;

use airbound_console::output;
use args::Cli;
#[cfg(target_os = "linux")]
use args::agent::Router;
#[cfg(target_os = "linux")]
use clap::Parser as _;
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
    let arguments = arguments.into_iter().collect();
    outcome(|| match Cli::read(arguments) {
        Ok(cli) => commands::dispatch(cli, host),
        Err(error) => Ok(output::usage(&error)?),
    })
}

/// The same of the program for routers, which has the agent's commands alone.
#[cfg(target_os = "linux")]
pub fn router(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    outcome(|| match Router::try_parse_from(arguments) {
        Ok(router) => commands::router(router),
        Err(error) => Ok(output::usage(&error)?),
    })
}

/// Runs a command, and prints why it failed.
fn outcome(command: impl FnOnce() -> Result<(), CliError>) -> u8 {
    let outcome = match std::panic::catch_unwind(AssertUnwindSafe(command)) {
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
