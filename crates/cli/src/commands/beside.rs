//! Commands of other programs: reproductions, validation and demonstrations are `airbound-studies`, the relay is `airbound-relay`,
//! rooms, the allocator and the bitrate of a host are `airbound-room`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use airbound_console::Verbosity;

use crate::Host;
use crate::error::CliError;

/// Another program, and how to get it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    name: &'static str,
    /// Whether it has several commands of `airbound`, and expects the one that was given before the arguments.
    expects_command: bool,
    remedy: &'static str,
}

/// Reproductions, validation, demonstrations.
pub(super) const STUDIES: Program = Program {
    name: "airbound-studies",
    expects_command: true,
    remedy: "`make install` in the repository installs it",
};
/// The relay at the edge.
#[cfg(target_os = "linux")]
pub(super) const RELAY: Program = Program {
    name: "airbound-relay",
    expects_command: false,
    remedy: "`make install` in the repository installs it",
};
/// Rooms, the allocator and the bitrate of a host of games.
pub(super) const ROOM: Program = Program {
    name: "airbound-room",
    expects_command: true,
    remedy: "`make room` in the repository builds it",
};
/// Variable by which the studies learn which program started it, for the laboratory's machine to run.
const STARTED_BY: &str = "AIRBOUND_PROGRAM";

/// Starts another program in place of this one: the one beside its executable, else the one on `PATH`, as git finds its commands.
///
/// # Errors
/// It is not there, or the system refuses to start it.
pub(super) fn start(
    other: Program,
    command: &[&str],
    arguments: Vec<OsString>,
    host: Host,
    verbosity: Verbosity,
) -> Result<(), CliError> {
    let own = std::env::current_exe().ok().filter(|_| host == Host::Itself);
    let path = find(other.name, own.as_ref()).ok_or_else(|| {
        CliError::Input(format!(
            "airbound {} is part of {}, which is neither beside this program nor on PATH; {}",
            command.join(" "),
            other.name,
            other.remedy
        ))
    })?;
    let mut program = Command::new(&path);
    if other.expects_command {
        program.args(command);
    }
    // The options of all commands may stand before the command.
    program.args(
        [("--json", verbosity.json), ("--quiet", verbosity.quiet)]
            .iter()
            .filter(|(_, set)| *set)
            .map(|(option, _)| option),
    );
    program.args(arguments);
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
