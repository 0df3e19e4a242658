//! `airbound lab`: the real Linux stack in a virtual machine.

use std::path::{Path, PathBuf};

use airbound_lab::host::{self, Built, Machine, Network};
use airbound_lab::{LabError, guest};
use airbound_report::Comparison;

use crate::Within;
use crate::args::lab::{Lab, LabBuild, LabGuest, LabRun, LabShell};
use crate::args::{Source, Voice};
use crate::error::CliError;
use crate::results::{REPORT, write_report};
use crate::{output, session};

pub(super) fn lab(lab: Lab, within: Within, voice: Voice) -> Result<(), CliError> {
    if within == Within::Python {
        // The machine runs this very program, and has no Python.
        let problem =
            "the laboratory takes the program of its own; build it with cargo install --path crates/cli";
        return Err(CliError::Input(problem.to_owned()));
    }
    match lab {
        Lab::Build(build) => {
            let built = prepare(&build, voice)?;
            output::say(voice, &format!("The laboratory is ready, with Linux {}.\n", built.release))
        }
        Lab::Run(run) => play(&run, voice),
        Lab::Demo(demo) => super::lab_demo::demo(&demo, voice),
        Lab::Faults(faults) => super::lab_demo::faults(&faults, voice),
        Lab::Shell(shell) => open(shell, voice),
        Lab::Guest(part) => Ok(inside(&part)?),
    }
}

fn inside(part: &LabGuest) -> Result<(), LabError> {
    match part {
        LabGuest::Medium => guest::medium(),
        LabGuest::Zero => guest::set_zero(),
        LabGuest::Ends { node } => guest::ends(*node),
        LabGuest::Pack { device } => guest::pack(device),
    }
}

pub(super) fn prepare(build: &LabBuild, voice: Voice) -> Result<Built, CliError> {
    let cache = build.cache.clone().map_or_else(host::cache, Ok)?;
    Ok(host::build(&cache, build.kernel, &mut |step| progress(voice, step))?)
}

/// What is being done; not on standard output, which may be read by a machine.
pub(super) fn progress(voice: Voice, step: &str) {
    if !voice.quiet && !voice.json {
        output::remark(&format!("lab: {step}"));
    }
}

/// A folder for the machine's files, beside the results or in the system's place for such.
pub(super) fn scratch(beside: &Path) -> PathBuf {
    beside.with_extension(format!("machine-{}", std::process::id()))
}

fn play(run: &LabRun, voice: Voice) -> Result<(), CliError> {
    let opened = session::open(&run.source)?;
    airbound_lab::plan::check(&opened.scenario)?;
    let folder =
        run.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(format!("{}-lab", opened.name)));
    let built = prepare(&run.build, voice)?;
    let config = run.agent_config.as_ref();
    let agent_config =
        config.map(|path| std::fs::read_to_string(path).map_err(CliError::io("read", path))).transpose()?;
    let network = Network { bridged: run.network.bridged, agent: run.agent.clone(), agent_config };
    let machine =
        Machine { built: &built, scenario: &opened.scenario, network: &network, scratch: scratch(&folder) };
    let outcome = machine.play(&mut |words| progress(voice, words))?;
    let summary = host::write_record(&opened.name, &opened.scenario, &outcome, &folder, run.log_packets)?;
    let record = airbound_record::RunFolder::open(&folder)?;
    let loaded = airbound_report::Run::load(&record)?;
    let comparison = Comparison::new(vec![("lab".to_owned(), loaded)], opened.focus().as_deref(), None)?;
    let report = folder.join(REPORT);
    write_report(&comparison, &report)?;
    if voice.json {
        return output::print(&summary.to_json()?);
    }
    let mut text = comparison.to_text(output::width());
    text += &format!(
        "\nLinux {}, {:.1} s of the scenario in {:.0} s\nRun:    {}\nReport: {}\n",
        built.release,
        opened.scenario.end().as_secs_f64(),
        outcome.wall.as_secs_f64(),
        folder.display(),
        report.display()
    );
    output::say(voice, &text)
}

fn open(shell: LabShell, voice: Voice) -> Result<(), CliError> {
    let opened = session::open(&Source { scenario: shell.scenario, changes: shell.changes })?;
    let built = prepare(&shell.build, voice)?;
    let scratch = std::env::temp_dir().join(format!("airbound-lab-{}", std::process::id()));
    let network = Network { bridged: shell.network.bridged, ..Network::default() };
    let machine = Machine { built: &built, scenario: &opened.scenario, network: &network, scratch };
    let Some(command) = &shell.command else { return Ok(machine.shell()?) };
    match machine.command(command, &shell.with, &mut std::io::stdout().lock())? {
        0 => Ok(()),
        code => Err(CliError::Command(u8::try_from(code).unwrap_or(1))),
    }
}
