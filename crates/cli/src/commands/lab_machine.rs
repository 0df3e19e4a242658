//! The machine of the laboratory, as its commands build it.

use std::path::Path;

use airbound_lab::host::{self, Built, Network};

use crate::args::lab::{LabBuild, LabDriver, LabNetwork};
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

/// Builds what the machine needs, or finds it.
pub(super) fn prepare(build: &LabBuild, verbosity: Verbosity) -> Result<Built, CliError> {
    let cache = build.cache.clone().map_or_else(host::cache, Ok)?;
    let own = std::env::current_exe().map_err(CliError::io("find", Path::new("this program")))?;
    Ok(host::build(&cache, build.kernel.on(build.arch)?, &own, &mut |step| progress(verbosity, step))?)
}

/// Says the step under way; not on standard output, which may be read by a machine.
pub(super) fn progress(verbosity: Verbosity, step: &str) {
    if verbosity.remarks() {
        output::remark(&format!("lab: {step}"));
    }
}

/// Refuses Law and the agent together.
pub(super) fn one_decides(driver: LabDriver, agent: Option<&str>) -> Result<(), CliError> {
    if driver == LabDriver::Law && agent.is_some() {
        let problem = "--driver law and --agent both decide over queue and rates; choose one of them";
        return Err(CliError::Input(problem.to_owned()));
    }
    Ok(())
}

/// The access point with its agent, and the agent's configuration file.
pub(super) fn network(
    network: LabNetwork,
    agent: Option<&str>,
    config: Option<&Path>,
) -> Result<Network, CliError> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(CliError::io("read", path));
    let agent_config = config.map(read).transpose()?;
    Ok(Network { bridged: network.bridged, agent: agent.map(str::to_owned), agent_config })
}
