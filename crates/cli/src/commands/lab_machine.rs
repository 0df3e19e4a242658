//! The machine of the laboratory, as its commands build it.

use std::path::Path;

use airbound_lab::host::{self, Built};

use crate::args::lab::LabBuild;
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

/// Builds what the machine needs, or finds it.
pub(super) fn prepare(build: &LabBuild, verbosity: Verbosity) -> Result<Built, CliError> {
    let cache = build.cache.clone().map_or_else(host::cache, Ok)?;
    let own = std::env::current_exe().map_err(CliError::io("find", Path::new("this program")))?;
    Ok(host::build(&cache, build.kernel, &own, &mut |step| progress(verbosity, step))?)
}

/// Says the step under way; not on standard output, which may be read by a machine.
pub(super) fn progress(verbosity: Verbosity, step: &str) {
    if verbosity.remarks() {
        output::remark(&format!("lab: {step}"));
    }
}
