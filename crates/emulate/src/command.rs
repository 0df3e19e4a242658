//! Commands on hosts: their start and their end.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::error::EmulateError;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// A program and its arguments, which are passed on as they are.
    Words(Vec<OsString>),
    /// A line for the shell.
    Line(String),
}

/// Where a command's standard output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// Where this program's goes.
    Same,
    /// To standard error, since this program's own output is for another program.
    Error,
}

impl CommandLine {
    /// The command to be started.
    #[must_use]
    pub fn command(&self, output: Output) -> Command {
        let mut command = match self {
            Self::Words(words) => {
                let mut words = words.iter();
                let mut command = Command::new(words.next().cloned().unwrap_or_default());
                command.args(words);
                command
            }
            Self::Line(line) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(line);
                command
            }
        };
        if output == Output::Error {
            command.stdout(Stdio::from(std::io::stderr()));
        }
        command
    }

    /// Checks that its program exists. A shell is asked for the first word of its line, unless that is no plain word.
    ///
    /// # Errors
    /// It does not.
    pub fn check(&self) -> Result<(), EmulateError> {
        let (name, exists) = match self {
            Self::Words(words) => {
                let name = words.first().cloned().unwrap_or_default();
                let exists = is_program(&name);
                (name.to_string_lossy().into_owned(), exists)
            }
            Self::Line(line) => {
                let word = line.split_whitespace().next().unwrap_or_default();
                let is_plain =
                    !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "./_+-".contains(c));
                let exists = if is_plain { is_known_to_shell(word) } else { !word.is_empty() };
                (word.to_owned(), exists)
            }
        };
        if exists { Ok(()) } else { Err(EmulateError::Missing(name)) }
    }
}

impl std::fmt::Display for CommandLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Words(words) => {
                let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
                f.write_str(&words.join(" "))
            }
            Self::Line(line) => f.write_str(line),
        }
    }
}

/// Whether a path, or a name in one of the folders of `PATH`, is a program.
fn is_program(name: &OsString) -> bool {
    let runs = |path: &Path| {
        fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    if name.as_encoded_bytes().contains(&b'/') {
        return runs(Path::new(name));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    !name.is_empty() && std::env::split_paths(&folders).any(|folder| runs(&folder.join(name)))
}

/// Whether a shell finds a command of this name: a program, or one of its own.
fn is_known_to_shell(word: &str) -> bool {
    let mut asked = Command::new("sh");
    asked.args(["-c", "command -v \"$1\"", "sh", word]).stdout(Stdio::null()).stderr(Stdio::null());
    asked.stdin(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The exit code of a program that ended so: as a shell says it.
#[must_use]
pub fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> CommandLine {
        CommandLine::Words(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn commands_that_do_not_exist_are_refused() {
        for line in ["true", "cd /", "X=1 nothing-of-this-name", "(true)", "exit 3", "/bin/sh -c true"] {
            CommandLine::Line(line.to_owned()).check().expect(line);
        }
        for line in ["", "  ", "nothing-of-this-name -x", "/nothing/there"] {
            CommandLine::Line(line.to_owned()).check().expect_err(line);
        }
        words(&["sh", "-c", "true"]).check().expect("a program");
        words(&["/bin/sh"]).check().expect("a path");
        for name in ["nothing-of-this-name", "/nothing/there", "/etc/passwd", ""] {
            let error = words(&[name]).check().expect_err(name).to_string();
            assert!(error.contains(&format!("no command \"{name}\"")), "{error}");
        }
    }

    #[test]
    fn codes_are_those_of_a_shell() {
        let run =
            |line: &str| CommandLine::Line(line.to_owned()).command(Output::Same).status().expect("a shell");
        assert_eq!(code(run("exit 7")), 7);
        assert_eq!(code(run("kill -9 $$")), 137);
    }
}
