//! `airbound lab`: the real Linux stack in a virtual machine.

use std::path::PathBuf;

use airbound_lab::host::{self, Machine, Network};
use airbound_lab::plan::Driver;
use airbound_lab::{LabError, guest};
use airbound_record::Summary;
use airbound_report::Comparison;
use airbound_runs::facts;
use airbound_runs::folder::{REPORT, write_report};

use super::lab_machine::{network, one_decides, prepare, progress};
use crate::Host;
use crate::args::Source;
use crate::args::lab::{Lab, LabGuest, LabRun, LabShell};
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

pub(super) fn lab(lab: Lab, host: Host, verbosity: Verbosity) -> Result<(), CliError> {
    let is_study = matches!(lab, Lab::Demo(_) | Lab::Faults(_));
    if host == Host::Python && !is_study {
        // The machine runs this very program, and has no Python.
        let problem =
            "the laboratory takes the program of its own; `make install` in the repository installs it";
        return Err(CliError::Input(problem.to_owned()));
    }
    match lab {
        Lab::Build(build) => {
            let built = prepare(&build, verbosity)?;
            Ok(output::say(
                verbosity,
                &format!("The laboratory is ready, with Linux {}{}.\n", built.release, built.pinned.remark()),
            )?)
        }
        Lab::Run(run) => play(&run, verbosity),
        Lab::Exec(exec) => super::lab_exec::exec(&exec, verbosity),
        Lab::Demo(study) => {
            super::beside::start(super::STUDIES, &["lab", "demo"], study.arguments, host, verbosity)
        }
        Lab::Faults(study) => {
            super::beside::start(super::STUDIES, &["lab", "faults"], study.arguments, host, verbosity)
        }
        Lab::Shell(shell) => open(shell, verbosity),
        Lab::Guest(part) => Ok(inside(&part)?),
    }
}

fn inside(part: &LabGuest) -> Result<(), LabError> {
    match part {
        LabGuest::Medium => guest::medium(),
        LabGuest::Commands => guest::commands(),
        LabGuest::Zero => guest::set_zero(),
        LabGuest::Ends { node } => guest::ends(*node),
        LabGuest::Pack { device } => guest::pack(device),
    }
}

fn play(run: &LabRun, verbosity: Verbosity) -> Result<(), CliError> {
    one_decides(run.driver, run.agent.as_deref())?;
    let opened = run.source.open()?;
    let scenario = Driver::from(run.driver).put_into(&opened.scenario)?;
    let folder =
        run.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(format!("{}-lab", opened.name)));
    let built = prepare(&run.build, verbosity)?;
    let network = network(run.network, run.agent.as_deref(), run.agent_config.as_deref())?;
    let machine =
        Machine { built: &built, scenario: &scenario, network: &network, scratch: host::scratch(&folder) };
    let outcome = machine.play(&mut |words| progress(verbosity, words))?;
    let summary = host::write_record(&opened.name, &scenario, &outcome, &folder, run.log_packets)?;
    let record = airbound_record::RunFolder::open(&folder)?;
    let loaded = airbound_report::Run::load(&record)?;
    let comparison = Comparison::new(vec![("lab".to_owned(), loaded)], opened.focus().as_deref(), None)?
        .with_facts(facts(&scenario));
    let report = folder.join(REPORT);
    write_report(&comparison, &report)?;
    if verbosity.json {
        return Ok(output::print(&summary.to_json()?)?);
    }
    let mut text = comparison.to_text(output::width());
    text += &format!(
        "\nLinux {}{}, {:.1} s of the scenario in {:.0} s\nRun:    {}\nReport: {}\n",
        built.release,
        built.pinned.remark(),
        opened.scenario.end().as_secs_f64(),
        outcome.wall.as_secs_f64(),
        folder.display(),
        report.display()
    );
    // A dry run has none.
    for (_, summary) in outcome.texts.iter().filter(|(name, _)| *name == "agent-summary.json") {
        text += &demands(summary)?;
    }
    Ok(output::say(verbosity, &text)?)
}

/// Sentences on the demands of the agent's rules, from its summary.
fn demands(summary: &str) -> Result<String, CliError> {
    let summary: Summary = serde_json::from_str(summary)
        .map_err(|error| CliError::Input(format!("the agent's summary cannot be read: {error}")))?;
    let mut text = String::new();
    for flow in &summary.flows {
        let Some(demand) = flow.demand else { continue };
        let (name, percentile, latency) = (&flow.name, demand.percentile, demand.latency_ms);
        text += &match demand.measured_ms {
            Some(measured) => format!(
                "Agent:  {name} {}: p{percentile} {measured:.1} ms of {latency} ms demanded\n",
                if measured <= latency { "kept" } else { "missed" }
            ),
            None => format!("Agent:  {name}: no packet of it was measured\n"),
        };
    }
    if !text.is_empty() {
        text += "The same command without --agent and with another --out runs the kernel alone.\n";
    }
    Ok(text)
}

fn open(shell: LabShell, verbosity: Verbosity) -> Result<(), CliError> {
    let opened = Source { scenario: shell.scenario, changes: shell.changes }.open()?;
    let built = prepare(&shell.build, verbosity)?;
    let scratch = host::scratch(&std::env::temp_dir().join("airbound-lab"));
    let network = Network { bridged: shell.network.bridged, ..Network::default() };
    let machine = Machine { built: &built, scenario: &opened.scenario, network: &network, scratch };
    let Some(command) = &shell.command else { return Ok(machine.shell()?) };
    match machine.command(command, &shell.with, &mut std::io::stdout().lock())? {
        0 => Ok(()),
        code => Err(CliError::Command(u8::try_from(code).unwrap_or(1))),
    }
}

#[cfg(test)]
mod tests {
    use airbound_record::DemandSummary;

    use super::*;

    #[test]
    fn the_agent_says_whether_its_demands_were_kept() {
        let of = |measured_ms| {
            let snapshot = airbound_agent::snapshot::Snapshot {
                rules: vec![airbound_agent::snapshot::RuleView {
                    name: "protect-1".to_owned(),
                    ..Default::default()
                }],
                ..Default::default()
            };
            let mut summary = airbound_agent::record::summary(&snapshot);
            summary.flows[0].demand =
                Some(DemandSummary { latency_ms: 20.0, percentile: 95.0, measured_ms, met_share: None });
            demands(&summary.to_json().expect("JSON")).expect("sentences")
        };
        assert!(of(Some(17.7)).starts_with("Agent:  protect-1 kept: p95 17.7 ms of 20 ms demanded\n"));
        assert!(of(Some(31.0)).starts_with("Agent:  protect-1 missed: p95 31.0 ms of 20 ms demanded\n"));
        assert!(of(None).starts_with("Agent:  protect-1: no packet of it was measured\n"));
    }
}
