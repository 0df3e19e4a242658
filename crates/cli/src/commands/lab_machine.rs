//! The machine of the laboratory, as its commands build it.

use std::path::{Path, PathBuf};

use airbound_lab::host::{self, Built};

use crate::args::Verbosity;
use crate::args::lab::LabBuild;
use crate::error::CliError;
use crate::output;

/// Builds what the machine needs, or finds it.
pub(super) fn prepare(build: &LabBuild, verbosity: Verbosity) -> Result<Built, CliError> {
    let cache = build.cache.clone().map_or_else(host::cache, Ok)?;
    Ok(host::build(&cache, build.kernel, &mut |step| progress(verbosity, step))?)
}

/// Says the step under way; not on standard output, which may be read by a machine.
pub(super) fn progress(verbosity: Verbosity, step: &str) {
    if !verbosity.quiet && !verbosity.json {
        output::remark(&format!("lab: {step}"));
    }
}

/// A folder for the machine's files, beside the results or in the system's place for such.
pub(super) fn scratch(beside: &Path) -> PathBuf {
    beside.with_extension(format!("machine-{}", std::process::id()))
}
