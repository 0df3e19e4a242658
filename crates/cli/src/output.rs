//! Printing: results on standard output, remarks and errors on standard error.

use std::error::Error;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::num::{IntErrorKind, ParseIntError};
use std::path::Path;

use serde::Serialize;

use crate::args::Verbosity;
use crate::error::CliError;

/// Columns of a table where nobody says how wide the terminal is.
const WIDTH: u16 = 100;

/// Prints `text` for people; says nothing if they want JSON or quiet.
pub(crate) fn say(verbosity: Verbosity, text: &str) -> Result<(), CliError> {
    if verbosity.json || verbosity.quiet { Ok(()) } else { print(text) }
}

/// Prints what was asked for itself, whatever the verbosity.
pub(crate) fn print(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        // Who reads has enough: `airbound list | head -1`.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(source) => Err(CliError::io("write to", Path::new("standard output"))(source)),
        Ok(()) => Ok(()),
    }
}

/// Prints `value` as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| CliError::Defect(format!("the result is no JSON: {error}")))?;
    print(&format!("{text}\n"))
}

/// Columns that a table may have: as many as the terminal, where there is one.
pub(crate) fn width() -> u16 {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let measured = || terminal_size::terminal_size().map(|(width, _)| width.0);
    told.or_else(measured).filter(|columns| (40..=400).contains(columns)).unwrap_or(WIDTH)
}

/// Whether somebody watches standard error.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Whether somebody watches standard output.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints a remark beside the results.
pub(crate) fn remark(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints an error as one line.
pub(crate) fn complain(error: &CliError) {
    let text = error.to_string();
    let sentence: Vec<&str> = text.split_whitespace().collect();
    // Nobody is left to be told that standard error is closed.
    let _ = writeln!(io::stderr().lock(), "airbound: {}", sentence.join(" "));
}

/// Prints help and version as clap does, and anything wrong with the options as one sentence.
pub(crate) fn usage(error: &clap::Error) -> Result<(), CliError> {
    if !error.use_stderr() {
        return print(&error.render().to_string());
    }
    let text = error.render().to_string();
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Err(CliError::Input("name a command; `airbound --help` lists them".to_owned()));
    }
    let problem: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .collect();
    let problem = problem.join(" ").replace(" tip: ", "; ");
    let problem = problem.strip_prefix("error: ").unwrap_or(&problem);
    // What the standard library says of a word in a number's place is not what is allowed.
    let number = error.source().and_then(|cause| cause.downcast_ref::<ParseIntError>());
    let problem = match number.filter(|cause| *cause.kind() == IntErrorKind::InvalidDigit) {
        Some(cause) => problem.replace(&cause.to_string(), "allowed is a whole number from 0 on"),
        None => problem.to_owned(),
    };
    Err(CliError::Input(format!("{problem}; see --help")))
}
