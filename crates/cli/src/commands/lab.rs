//! `airbound lab`: the real Linux stack in a virtual machine.

use std::path::PathBuf;

use airbound_lab::host::{self, Machine, Network};
use airbound_lab::plan::Driver;
use airbound_lab::{LabError, guest};
use airbound_record::{FlowSummary, Summary};
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
    let summary = host::write_record(
        &opened.name,
        &scenario,
        &outcome,
        &folder,
        run.log_packets,
        host::LatencyEnd::Program,
    )?;
    let record = airbound_record::RunFolder::open(&folder)?;
    let loaded = airbound_report::Run::load(&record)?;
    let comparison = Comparison::new(vec![("lab".to_owned(), loaded)], opened.focus().as_deref(), None)?
        .with_facts(facts(&scenario));
    // A dry run of the agent has no summary.
    let summaries = outcome.texts.iter().filter(|(name, _)| *name == "agent-summary.json");
    let kept: Vec<String> = summaries.map(|(_, text)| demands(text)).collect::<Result<Vec<_>, _>>()?.concat();
    let comparison = kept.iter().fold(comparison, |comparison, sentence| comparison.with_remark(sentence));
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
    if !kept.is_empty() {
        text += "The same command without --agent and with another --out runs the kernel alone.\n";
    }
    text.extend(kept.iter().map(|sentence| format!("=> {sentence}\n")));
    Ok(output::say(verbosity, &text)?)
}

/// Sentences on the demands of the agent's rules, from its summary.
fn demands(summary: &str) -> Result<Vec<String>, CliError> {
    let summary: Summary = serde_json::from_str(summary)
        .map_err(|error| CliError::Input(format!("the agent's summary cannot be read: {error}")))?;
    let sentence = |flow: &FlowSummary| {
        let demand = flow.demand?;
        let (name, percentile, latency) = (&flow.name, demand.percentile, demand.latency_ms);
        Some(match demand.measured_ms {
            Some(measured) => format!(
                "The agent {} the demand of {name}: p{percentile} {measured:.1} of {latency} ms.",
                if measured <= latency { "kept" } else { "missed" }
            ),
            None => format!("The agent measured no packet of {name}."),
        })
    };
    Ok(summary.flows.iter().filter_map(sentence).collect())
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
        assert_eq!(of(Some(17.7)), ["The agent kept the demand of protect-1: p95 17.7 of 20 ms."]);
        assert_eq!(of(Some(31.0)), ["The agent missed the demand of protect-1: p95 31.0 of 20 ms."]);
        assert_eq!(of(None), ["The agent measured no packet of protect-1."]);
    }
}
