//! The program `airbound-studies`: commands, arguments, errors.

mod args;
mod doctor;
mod error;
mod evening;
#[cfg(target_os = "linux")]
mod lab;
mod reproduce;
mod validate;
mod verdict;

use std::ffi::OsString;

use airbound_console::output;
use clap::Parser;

use args::{Cli, Command};
use error::CommandError;

/// Executes the command line, prints the results, and returns the exit code. The first of `arguments` is the name of the program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let outcome = std::panic::catch_unwind(|| run(arguments)).unwrap_or(Err(CommandError::Panic));
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            output::complain(&error);
            error.code()
        }
    }
}

fn run(arguments: Vec<OsString>) -> Result<(), CommandError> {
    let Cli { command, verbosity } = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return Ok(output::usage(&error)?),
    };
    match command {
        Command::Reproduce(reproduce) => reproduce::reproduce(&reproduce, verbosity),
        Command::Validate(validate) => validate::validate(&validate, verbosity),
        Command::Verdict(set) => verdict::verdict(&set, verbosity),
        #[cfg(target_os = "linux")]
        Command::Doctor(patients) if patients.lab => doctor::in_the_laboratory(&patients, verbosity),
        Command::Evening(asked) => evening::evening(&asked, verbosity),
        Command::Doctor(patients) => doctor::doctor_set(&patients, verbosity),
        #[cfg(target_os = "linux")]
        Command::Lab(args::Lab::Demo(demo)) => lab::demo(&demo, verbosity),
        #[cfg(target_os = "linux")]
        Command::Lab(args::Lab::Faults(faults)) => lab::faults(&faults, verbosity),
    }
}
