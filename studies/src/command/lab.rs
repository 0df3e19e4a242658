//! `airbound lab demo` and `airbound lab faults`: effects of the access-point agent on the real Linux stack, beside the simulator.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use airbound_console::{Progress, Verbosity, output};
use airbound_lab::host::{self, Built, Machine, Network};
use airbound_record::{Encoding, RunFolder, Summary, Tables};
use airbound_report::{Comparison, ValidationRow, validation_grid, validation_json};
use airbound_runs::folder::{REPORT, write_report};
use airbound_runs::output::begin_log;
use airbound_runs::{Opened, RunRequest, RunsError};
use airbound_scenario::Overrides;

use super::args::{LabBuild, LabDemo, LabFaults};
use super::error::CommandError;
use crate::lab::{AgentBooks, Demonstration, FAULTS_SCENARIO, fault_rows, faults_script, first_look};

/// Duration of the scenarios that do not need their full length, for a first look.
const QUICK: &str = "duration=\"4 s\"";

/// Builds what the machine needs, or finds it.
pub(super) fn prepare(build: &LabBuild, verbosity: Verbosity) -> Result<Built, CommandError> {
    let program = product()?;
    let cache = build.cache.clone().map_or_else(host::cache, Ok)?;
    Ok(host::build(&cache, build.kernel.on(build.arch)?, &program, &mut |step| progress(verbosity, step))?)
}

/// Says the step under way; not on standard output, which may be read by a machine.
pub(super) fn progress(verbosity: Verbosity, step: &str) {
    if verbosity.remarks() {
        output::remark(&format!("lab: {step}"));
    }
}

/// The program `airbound` that the machine runs: the one that started this one, else the one beside it, else the one on `PATH`.
pub(super) fn product() -> Result<PathBuf, CommandError> {
    let started_by = std::env::var_os("AIRBOUND_PROGRAM").map(PathBuf::from);
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("airbound"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("airbound"));
    let mut candidates = started_by.into_iter().chain(beside).chain(on_path);
    candidates.find(|program| program.is_file()).ok_or_else(|| {
        CommandError::Input(
            "the laboratory runs the program airbound inside, which is neither beside this program nor on PATH; \
             `make install` in the repository installs it"
                .to_owned(),
        )
    })
}

pub(super) fn demo(demo: &LabDemo, verbosity: Verbosity) -> Result<(), CommandError> {
    let built = prepare(&demo.build, verbosity)?;
    let wanted =
        |one: &Demonstration| demo.which.is_empty() || demo.which.iter().any(|name| name == one.name());
    let folder = demo.out.clone().unwrap_or_else(|| PathBuf::from("runs").join("lab-demo"));
    let mut all = Vec::new();
    for one in Demonstration::ALL.into_iter().filter(wanted) {
        let rows = show(one, demo, &built, &folder.join(one.name()), verbosity)?;
        all.extend(rows);
    }
    judge(&all, verbosity)
}

/// Prints the rows for machines, and judges them.
fn judge(rows: &[ValidationRow], verbosity: Verbosity) -> Result<(), CommandError> {
    if verbosity.json {
        output::print(&validation_json(rows)?)?;
    }
    // Rows without an aim inform.
    let verdicts: Vec<bool> = rows.iter().filter_map(ValidationRow::within).collect();
    let outside = verdicts.iter().filter(|held| !**held).count();
    if outside == 0 {
        Ok(())
    } else {
        Err(CommandError::Demonstration(outside, verdicts.len(), "docs/results/agent.md"))
    }
}

/// Output of the machine, whose fault cases are also shown as they come: whole lines are written at once.
struct Watched {
    verbosity: Verbosity,
    bytes: Vec<u8>,
}

impl std::io::Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Some(case) = String::from_utf8_lossy(bytes).strip_prefix("fault ") {
            progress(self.verbosity, case.split(' ').next().unwrap_or(case));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Tries all faults in one machine, one after another.
pub(super) fn faults(faults: &LabFaults, verbosity: Verbosity) -> Result<(), CommandError> {
    let script = faults_script(&faults.only).map_err(CommandError::Input)?;
    // What is in the way of the log is said before the minutes of work.
    let log = faults.log.as_deref().map(|path| Ok::<_, RunsError>((path, begin_log(path)?))).transpose()?;
    let built = prepare(&faults.build, verbosity)?;
    let opened = Opened::by_name(FAULTS_SCENARIO, &Overrides::none())?;
    let network = Network::default();
    let beside = std::env::temp_dir().join("airbound-faults");
    let machine = Machine {
        built: &built,
        scenario: &opened.scenario,
        network: &network,
        scratch: host::scratch(&beside),
    };
    progress(verbosity, "trying faults; that takes some minutes");
    let mut printed = Watched { verbosity, bytes: Vec::new() };
    machine.command(&script, &[], &mut printed)?;
    if let Some((path, mut log)) = log {
        log.write_all(&printed.bytes).map_err(CommandError::io("write", path))?;
        log.finish()?;
    }
    let rows = fault_rows(&String::from_utf8_lossy(&printed.bytes), &faults.only);
    output::say(
        verbosity,
        &validation_grid("The agent and what can go wrong", &rows).to_text(output::width()),
    )?;
    judge(&rows, verbosity)
}

/// Plays one demonstration three times: kernel alone, with the agent, simulated.
fn show(
    one: Demonstration,
    demo: &LabDemo,
    built: &Built,
    folder: &Path,
    verbosity: Verbosity,
) -> Result<Vec<ValidationRow>, CommandError> {
    let quick: &[&str] = if demo.quick && one != Demonstration::Law { &[QUICK] } else { &[] };
    let opened = open(one, demo, quick)?;
    progress(verbosity, &format!("{}: kernel alone", one.name()));
    let (kernel, kernel_folder) =
        play(&opened, built, Network::default(), &folder.join("kernel"), verbosity)?;
    progress(verbosity, &format!("{}: airbound agent run --iface wlan0 {}", one.name(), one.arguments()));
    let network = Network {
        agent: Some(one.arguments().to_owned()),
        agent_config: one.config().map(str::to_owned),
        ..Network::default()
    };
    let (agent, agent_folder) = play(&opened, built, network, &folder.join("agent"), verbosity)?;
    progress(verbosity, &format!("{}: simulated", one.name()));
    let (scheme, changes) = one.simulated();
    let sets: Vec<&str> = quick.iter().chain(changes).copied().collect();
    let (simulated, simulated_folder) =
        simulate(&open(one, demo, &sets)?, scheme, &folder.join("simulated"), verbosity)?;
    let books = books(agent_folder.path(), kernel_folder.path());
    let mut rows = one.rows(&kernel, &agent, &books, Some(&simulated));
    let mut beside = one.beside(&agent, &simulated);
    if !quick.is_empty() {
        rows = rows.into_iter().map(first_look).collect();
        beside = beside.into_iter().map(first_look).collect();
    }
    let mut runs = Vec::new();
    for (label, record) in
        [("kernel alone", kernel_folder), ("with the agent", agent_folder), ("simulated", simulated_folder)]
    {
        runs.push((label.to_owned(), airbound_report::Run::load(&record)?));
    }
    let comparison = Comparison::new(runs, opened.focus().as_deref(), None)?;
    let report = folder.join(REPORT);
    write_report(&comparison, &report)?;
    let mut text = validation_grid(one.title(), &rows).to_text(output::width());
    text += "\n";
    text += &validation_grid("The simulator beside the agent", &beside).to_text(output::width());
    text += &format!("\nReport: {}\n\n", report.display());
    output::say(verbosity, &text)?;
    rows.extend(beside);
    Ok(rows)
}

fn open(one: Demonstration, demo: &LabDemo, sets: &[&str]) -> Result<Opened, CommandError> {
    let mut overrides = Overrides::none();
    for set in sets {
        overrides.set(set)?;
    }
    if let Some(seed) = demo.seed {
        overrides.set(&format!("seed={seed}"))?;
    }
    Ok(Opened::by_name(one.scenario(), &overrides)?)
}

fn play(
    opened: &Opened,
    built: &Built,
    network: Network,
    folder: &Path,
    verbosity: Verbosity,
) -> Result<(Summary, RunFolder), CommandError> {
    let machine =
        Machine { built, scenario: &opened.scenario, network: &network, scratch: host::scratch(folder) };
    let outcome = machine.play(&mut |words| progress(verbosity, words))?;
    let summary = host::write_record(
        &opened.name,
        &opened.scenario,
        &outcome,
        folder,
        false,
        host::LatencyEnd::Program,
    )?;
    Ok((summary, RunFolder::open(folder)?))
}

fn simulate(
    opened: &Opened,
    scheme: &str,
    folder: &Path,
    verbosity: Verbosity,
) -> Result<(Summary, RunFolder), CommandError> {
    let session = RunRequest {
        named: opened.scheme(Some(scheme))?,
        seed: opened.scenario.seed,
        tables: Tables::SMALL,
        encoding: Encoding::Inline,
    };
    let (record, summary) = session.run(opened, folder, None, &Progress::new(verbosity))?;
    Ok((summary, record))
}

/// Reads what the agent left in a run's folder, and the machine beside it; what is not there is empty, and its rows are not judged.
fn books(folder: &Path, alone: &Path) -> AgentBooks {
    let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let text = |name: &str| read(folder, name);
    let json = |name: &str| serde_json::from_str(&text(name)).unwrap_or_default();
    AgentBooks {
        summary: json("agent-summary.json"),
        status: json("agent-status.json"),
        processor: text("agent-cpu.txt"),
        machine: text("kernel-processor.txt"),
        machine_alone: read(alone, "kernel-processor.txt"),
    }
}
