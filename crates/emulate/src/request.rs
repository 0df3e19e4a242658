//! The request for an emulation.

use std::path::PathBuf;

use airbound_record::Tables;
use airbound_runs::{Named, Opened};
use airbound_scenario::Scenario;
use airbound_units::Span;

use crate::command::{CommandLine, Output};
use crate::error::EmulateError;
use crate::hosts::{Hosts, list};
use crate::lanes::Protected;

/// A command and its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCommand {
    /// The name of the host.
    pub host: String,
    /// The command.
    pub line: CommandLine,
}

/// An emulation that was asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The scenario.
    pub opened: Opened,
    /// The scheme.
    pub named: Named,
    /// Commands behind the wire; they are started first, and the run does not wait for their end.
    pub servers: Vec<HostCommand>,
    /// Commands on stations. The run lasts until all have ended; the exit code is that of the first of them.
    pub commands: Vec<HostCommand>,
    /// Flows and groups of flows that are left out of the scenario; `all` stands for all of them.
    pub without: Vec<String>,
    /// Demands on flows of applications.
    pub protected: Vec<Protected>,
    /// Whether stations reach the internet, over the air and through this machine.
    pub internet: bool,
    /// The run ends after this time at the latest.
    pub limit: Option<Span>,
    /// Folder of the results.
    pub folder: PathBuf,
    /// The tables in it.
    pub tables: Tables,
    /// File for the packets of stations.
    pub capture: Option<PathBuf>,
    /// Where the commands' standard output goes.
    pub output: Output,
}

impl Request {
    /// All commands: servers first.
    pub(crate) fn all_commands(&self) -> impl Iterator<Item = &HostCommand> {
        self.servers.iter().chain(&self.commands)
    }

    /// The hosts.
    ///
    /// # Errors
    /// No command, a command that does not exist, or a name that no host can have.
    pub(crate) fn hosts(&self) -> Result<Hosts, EmulateError> {
        if self.commands.is_empty() {
            return Err(EmulateError::NoCommand);
        }
        for command in self.all_commands() {
            command.line.check()?;
        }
        fn names(commands: &[HostCommand]) -> Vec<&str> {
            commands.iter().map(|command| command.host.as_str()).collect()
        }
        Hosts::new(&self.opened.scenario, &names(&self.commands), &names(&self.servers))
    }

    /// The scenario without the flows that are left out.
    ///
    /// # Errors
    /// There is no such flow.
    pub(crate) fn scenario(&self) -> Result<Scenario, EmulateError> {
        without(&self.opened.scenario, &self.without)
    }
}

/// A scenario without some flows and groups of flows; `all` stands for all of them.
///
/// # Errors
/// There is no such flow.
pub fn without(whole: &Scenario, flows: &[String]) -> Result<Scenario, EmulateError> {
    let mut scenario = whole.clone();
    for wanted in flows {
        let is_meant =
            |flow: &airbound_scenario::Flow| wanted == "all" || flow.name == *wanted || flow.group == *wanted;
        if wanted != "all" && !whole.flows.iter().any(is_meant) {
            let known = list(whole.flows.iter().map(|flow| flow.name.as_str()));
            return Err(EmulateError::NoFlow { flow: wanted.clone(), known });
        }
        scenario.flows.retain(|flow| !is_meant(flow));
    }
    // A scenario is about a flow that it has; without any it is read no more.
    let first = scenario.flows.first().map(|flow| flow.group.clone());
    if scenario.focus_flows().next().is_none()
        && let Some(first) = first
    {
        scenario.focus = first;
    }
    Ok(scenario)
}

#[cfg(test)]
mod tests {
    use airbound_scenario::Overrides;

    use super::*;

    #[test]
    fn what_is_left_of_a_scenario_can_be_read_again() {
        let whole = Scenario::open("vr-congested", &Overrides::none()).expect("a scenario");
        let left = without(&whole, &["vr".to_owned()]).expect("a flow");
        assert_eq!(left.focus, left.flows[0].group);
        let read = Scenario::parse(&left.to_toml(), "scenario.toml", &Overrides::none()).expect("a scenario");
        assert_eq!((read.focus, read.flows.len()), (left.focus, left.flows.len()));
        let same = without(&whole, &["upload".to_owned()]).expect("a flow");
        assert_eq!(same.focus, whole.focus);
    }
}
