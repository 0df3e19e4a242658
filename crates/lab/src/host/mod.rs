//! The host's part: fetches packages, builds, boots, and converts the logs to a record.

mod applications;
mod arch;
mod archive;
mod brought;
mod build;
mod commands;
mod init;
mod initramfs;
mod initrd;
mod kernel;
mod kernel_modules;
mod machine;
mod packages;
mod pinned;
mod record;
mod scratch;
mod series;
mod toolchain;
mod turns;
mod watched;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::LabError;

pub use arch::Arch;
pub use brought::{Brought, WORK};
pub use build::{Built, build};
pub use commands::{Ended, HostCommand, Request, Results};
pub use init::Network;
pub use kernel::Kernel;
pub use machine::{Machine, Outcome};
pub use pinned::Pinned;

pub use record::{LatencyEnd, write_record};
pub use scratch::Scratch;

/// The laboratory's cache of packages and builds: `airbound/lab` in the user's cache.
///
/// # Errors
/// Neither `XDG_CACHE_HOME` nor `HOME` is set.
pub fn cache() -> Result<PathBuf, LabError> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let base = base.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    base.map(|base| base.join("airbound").join("lab")).ok_or_else(|| LabError::Missing {
        what: "a folder for its cache".to_owned(),
        how: "set XDG_CACHE_HOME or HOME, or give --cache".to_owned(),
    })
}

/// Beginning of the path of a folder for a machine's files, next to its results.
#[must_use]
pub fn scratch(beside: &Path) -> PathBuf {
    beside.with_extension(format!("machine-{}", std::process::id()))
}

/// A command of a program on the host; an error if it is missing.
fn program(name: &str, how: &str) -> Result<Command, LabError> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let standard = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let found = std::env::split_paths(&paths)
        .chain(standard)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file());
    found.map(Command::new).ok_or_else(|| LabError::Missing { what: name.to_owned(), how: how.to_owned() })
}

/// Runs a program. Its error output becomes the error if it fails.
fn run(command: &mut Command) -> Result<Vec<u8>, LabError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(LabError::io("start", &name))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let words =
        String::from_utf8_lossy(if output.stderr.is_empty() { &output.stdout } else { &output.stderr });
    let lines: Vec<&str> = words.lines().collect();
    let last = lines[lines.len().saturating_sub(8)..].join("\n");
    Err(LabError::Program { program: name, reason: last })
}

fn create(folder: &Path) -> Result<(), LabError> {
    std::fs::create_dir_all(folder).map_err(LabError::io("create", folder.display().to_string()))
}

fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), LabError> {
    if let Some(folder) = path.parent() {
        create(folder)?;
    }
    std::fs::write(path, content).map_err(LabError::io("write", path.display().to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>, LabError> {
    std::fs::read(path).map_err(LabError::io("read", path.display().to_string()))
}
