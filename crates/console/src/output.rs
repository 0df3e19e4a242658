//! Printing: results on standard output, remarks and errors on standard error.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, ErrorKind, IsTerminal, Write};

use serde::Serialize;

use crate::Verbosity;

/// Output that could not be written, or arguments that could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The system refused a write.
    #[error("cannot write to standard output: {0}")]
    Io(#[source] io::Error),
    /// A result that JSON cannot hold, which is a defect.
    #[error("the result is no JSON: {0}; this is a defect of airbound")]
    Json(#[source] serde_json::Error),
    /// Arguments that are wrong.
    #[error("{0}")]
    Usage(String),
}

impl OutputError {
    /// The exit code: 1 for a defect, else 2.
    #[must_use]
    pub const fn code(&self) -> u8 {
        if matches!(self, Self::Json(_)) { 1 } else { 2 }
    }
}

/// Columns of a table where there is no terminal.
const WIDTH: u16 = 100;

/// Prints `text` for people; says nothing if they want JSON or quiet.
///
/// # Errors
/// [`OutputError::Io`].
pub fn say(verbosity: Verbosity, text: &str) -> Result<(), OutputError> {
    if verbosity.remarks() { print(text) } else { Ok(()) }
}

/// The text without the control characters that a terminal would obey, which names in the files of others may hold: they are escaped,
/// but for line feeds and tabs.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_command = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let escaped = |letter: char| {
        if is_command(letter) { letter.escape_default().to_string() } else { letter.to_string() }
    };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// Prints `text` in the place of what stands on the terminal.
///
/// # Errors
/// [`OutputError::Io`].
pub fn print_anew(text: &str) -> Result<(), OutputError> {
    // To the upper left, and clear what is below (ECMA-48 CUP, ED).
    write(&format!("\x1b[H\x1b[J{}", harmless(text)))
}

/// Prints what was asked for itself, whatever the verbosity. A reader that has enough (`airbound list | head -1`) is no error.
///
/// # Errors
/// [`OutputError::Io`].
pub fn print(text: &str) -> Result<(), OutputError> {
    write(&harmless(text))
}

fn write(text: &str) -> Result<(), OutputError> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(source) => Err(OutputError::Io(source)),
        Ok(()) => Ok(()),
    }
}

/// Prints `value` as JSON.
///
/// # Errors
/// [`OutputError::Io`], or [`OutputError::Json`].
pub fn json(value: &impl Serialize) -> Result<(), OutputError> {
    let text = serde_json::to_string_pretty(value).map_err(OutputError::Json)?;
    print(&format!("{text}\n"))
}

/// Columns that a table may have: as many as the terminal, where there is one.
#[must_use]
pub fn width() -> u16 {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let measured = || terminal_size::terminal_size().map(|(width, _)| width.0);
    told.or_else(measured).filter(|columns| (40..=400).contains(columns)).unwrap_or(WIDTH)
}

/// Whether standard error is a terminal.
#[must_use]
pub fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Whether standard output is a terminal.
#[must_use]
pub fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether somebody at a terminal answers on standard input.
#[must_use]
pub fn is_answered() -> bool {
    io::stdin().is_terminal()
}

/// Prints a remark beside the results.
pub fn remark(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", harmless(text));
}

/// Prints an error as one line.
pub fn complain(error: &dyn Display) {
    let text = error.to_string();
    let sentence: Vec<&str> = text.split_whitespace().collect();
    // A standard error that is closed takes no complaint about that.
    let _ = writeln!(io::stderr().lock(), "airbound: {}", harmless(&sentence.join(" ")));
}

/// Prints help and version as clap does.
///
/// # Errors
/// [`OutputError::Usage`] says in one sentence what is wrong with the arguments.
pub fn usage(error: &clap::Error) -> Result<(), OutputError> {
    if error.use_stderr() {
        return Err(OutputError::Usage(airbound_arguments::sentence(error)));
    }
    print(&error.render().to_string())
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn a_terminal_obeys_no_name() {
        assert_eq!(harmless("a\tüber\n"), "a\tüber\n");
        assert_eq!(harmless("\u{1b}[2Jx\r\u{9b}31m\n"), "\\u{1b}[2Jx\\r\\u{9b}31m\n");
    }
}
