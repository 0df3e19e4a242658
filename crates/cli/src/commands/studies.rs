//! Commands of other programs: reproductions, validation and demonstrations are `airbound-studies`, the relay is `airbound-relay`,
//! rooms and the allocator are `airbound-room`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use airbound_console::Verbosity;

use crate::Host;
use crate::error::CliError;

/// Another program of Airbound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Studies,
    Room,
    #[cfg(target_os = "linux")]
    Relay,
}

impl Program {
    const fn name(self) -> &'static str {
        match self {
            Self::Studies => "airbound-studies",
            Self::Room => "airbound-room",
            #[cfg(target_os = "linux")]
            Self::Relay => "airbound-relay",
        }
    }

    /// The target of `make` that brings it.
    const fn target(self) -> &'static str {
        match self {
            Self::Room => "room",
            _ => "install",
        }
    }
}

/// Variable by which that program learns which one started it, for the laboratory's machine to run.
const STARTED_BY: &str = "AIRBOUND_PROGRAM";

/// Starts the studies in place of this program.
///
/// # Errors
/// They are not there, or the system refuses to start them.
pub(super) fn start(
    command: &[&str],
    arguments: Vec<OsString>,
    host: Host,
    verbosity: Verbosity,
) -> Result<(), CliError> {
    // The options of all commands may stand before the command.
    let options = [("--json", verbosity.json), ("--quiet", verbosity.quiet)];
    let options = options.iter().filter(|(_, set)| *set).map(|(option, _)| OsString::from(option));
    let words = command.iter().map(OsString::from).chain(options).chain(arguments);
    become_program(Program::Studies, command, words, host)
}

/// Starts the relay in place of this program.
///
/// # Errors
/// It is not there, or the system refuses to start it.
#[cfg(target_os = "linux")]
pub(super) fn relay(arguments: Vec<OsString>, host: Host) -> Result<(), CliError> {
    become_program(Program::Relay, &["relay"], arguments.into_iter(), host)
}

/// Starts a room or the allocator in place of this program.
///
/// # Errors
/// The program is not there, or the system refuses to start it.
pub(super) fn room(command: &str, arguments: Vec<OsString>, host: Host) -> Result<(), CliError> {
    let words = std::iter::once(OsString::from(command)).chain(arguments);
    become_program(Program::Room, &[command], words, host)
}

/// Starts a program in place of this one: that beside its executable, else that on `PATH`, as git finds its commands.
///
/// # Errors
/// They are not there, or the system refuses to start them.
fn become_program(
    other: Program,
    command: &[&str],
    words: impl Iterator<Item = OsString>,
    host: Host,
) -> Result<(), CliError> {
    let own = std::env::current_exe().ok().filter(|_| host == Host::Itself);
    let name = other.name();
    let path = find(name, own.as_ref()).ok_or_else(|| {
        CliError::Input(format!(
            "airbound {} is part of {name}, which is neither beside this program nor on PATH; `make {}` in the repository installs it",
            command.join(" "),
            other.target()
        ))
    })?;
    let mut program = Command::new(&path);
    program.args(words);
    if let Some(own) = own {
        program.env(STARTED_BY, own);
    }
    Err(CliError::io("start", &path)(replace(&mut program)?))
}

/// Replaces this process; returns only if that fails.
#[cfg(unix)]
fn replace(program: &mut Command) -> Result<std::io::Error, CliError> {
    use std::os::unix::process::CommandExt;
    Ok(program.exec())
}

/// Waits for the other program and ends with its exit code.
#[cfg(not(unix))]
fn replace(program: &mut Command) -> Result<std::io::Error, CliError> {
    match program.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => Ok(error),
    }
}

fn find(name: &str, own: Option<&PathBuf>) -> Option<PathBuf> {
    let beside = own.and_then(|own| own.parent()).map(|folder| folder.join(name));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join(name));
    beside.into_iter().chain(on_path).find(|program| program.is_file())
}
