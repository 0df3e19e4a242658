//! The library that orders QEMU's threads (`lab/host/turns.c`), so that runs repeat whatever else the host does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::packages::stamp;
use super::{run, write};
use crate::LabError;

const SOURCE: &str = include_str!("../../../../lab/host/turns.c");

/// Builds the library with `compiler`, if the cache lacks it.
pub(super) fn build(cache: &Path, mut compiler: Command) -> Result<PathBuf, LabError> {
    let name = format!("turns-{}", stamp([SOURCE]));
    let library = cache.join(format!("{name}.so"));
    if library.exists() {
        return Ok(library);
    }
    // Renamed into place, since another run may build it too.
    let [source, partial] = ["c", "so"].map(|end| cache.join(format!("{name}-{}.{end}", std::process::id())));
    write(&source, SOURCE)?;
    // An unpacked compiler's plugin for the host's linker may need a newer C library than the host's.
    compiler.args(["-shared", "-nostdlib", "-fPIC", "-O2", "-ffreestanding", "-fno-use-linker-plugin", "-o"]);
    let built = run(compiler.arg(&partial).arg(&source));
    let _ = fs::remove_file(&source);
    built?;
    fs::rename(&partial, &library).map_err(LabError::io("write", library.display().to_string()))?;
    Ok(library)
}
