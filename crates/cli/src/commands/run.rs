//! `airbound run`: one scenario, one scheme.

use std::path::{Path, PathBuf};

use airbound_report::Comparison;
use airbound_runs::folder::{REPORT, write_report};
use airbound_runs::output::STDOUT;
use airbound_runs::{Matrix, Named, Opened, RunRequest, encoding, facts, jobs, packet_log_size};
use airbound_units::{ByteCount, Span};

use super::compare;
use crate::args::Run;
use crate::error::CliError;
use airbound_console::Progress;
use airbound_console::Verbosity;
use airbound_console::output;

pub(super) fn run(run: &Run, verbosity: Verbosity) -> Result<(), CliError> {
    let opened = run.source.open()?;
    super::warn(&opened, verbosity);
    if run.scheme.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err(CliError::Input(
            "--scheme is empty; write for example --scheme linux, or leave it out for the scenario's own"
                .to_owned(),
        ));
    }
    let named = opened.scheme(run.scheme.as_deref())?;
    let folder = run.out.clone().unwrap_or_else(|| {
        let seed = run.source.changes.seed.map_or(String::new(), |seed| format!("-seed{seed}"));
        PathBuf::from("runs").join(format!("{}-{}{seed}", opened.name, named.file_name()))
    });
    let tables = run.effort.tables(true);
    let threads = jobs::threads(run.effort.jobs);
    if run.effort.seeds > 1 {
        if run.pcap.is_some() {
            return Err(CliError::Input("--pcap takes one run; leave out --seeds".to_owned()));
        }
        let matrix = Matrix { schemes: vec![named], seeds: run.effort.seeds, tables, baseline: None };
        let shown =
            compare::Shown { members: run.effort.members, open: run.open, ..compare::Shown::default() };
        return compare::matrix(&opened, &matrix, shown, threads, &folder, verbosity);
    }
    if run.pcap.as_deref() == Some(Path::new(STDOUT)) {
        refuse_terminal("--pcap -", verbosity)?;
    }
    if run.effort.logs_by_default() {
        announce_log(&opened, &named, &folder, verbosity)?;
    }
    let request = RunRequest { named, seed: opened.scenario.seed, tables, encoding: encoding(1, threads) };
    one(&opened, &request, run, &folder, verbosity)
}

/// Simulated time from which on the size of the packet log is estimated.
const LONG: Span = Span::from_secs(120);
/// Size of a packet log that is announced, and size that is written only when it is asked for.
const LARGE: ByteCount = ByteCount::new(100_000_000);
const HUGE: ByteCount = ByteCount::new(1_000_000_000);

/// Says what a long run will write, and refuses a packet log that hardly anybody wants.
fn announce_log(opened: &Opened, named: &Named, folder: &Path, verbosity: Verbosity) -> Result<(), CliError> {
    if opened.scenario.end() < LONG {
        return Ok(());
    }
    let size = packet_log_size(opened, named)?;
    let about = format!("{:.1} GB", size.as_u64() as f64 / 1e9);
    if size > HUGE {
        return Err(CliError::Input(format!(
            "the packet log of {} would take about {about}; ask for it with --log-packets, or leave it out with --no-packet-log",
            opened.scenario.end()
        )));
    }
    if size > LARGE && verbosity.remarks() {
        let folder = folder.display();
        output::remark(&format!(
            "airbound: the packet log will take about {about} in {folder}; --no-packet-log leaves it out"
        ));
    }
    Ok(())
}

fn one(
    opened: &Opened,
    request: &RunRequest,
    run: &Run,
    folder: &Path,
    verbosity: Verbosity,
) -> Result<(), CliError> {
    let capture = run.pcap.as_deref();
    let progress = Progress::new(verbosity);
    let (record, summary) = request.run(opened, folder, capture, &progress)?;
    drop(progress);
    let loaded = airbound_report::Run::load(&record)?;
    let label = request.named.label.clone();
    let comparison = Comparison::new(vec![(label, loaded)], opened.focus().as_deref(), None)?
        .with_facts(facts(&opened.scenario));
    let report = folder.join(REPORT);
    write_report(&comparison, &report)?;
    if run.open {
        airbound_console::open(&report);
    }
    if verbosity.json {
        return Ok(output::print(&summary.to_json()?)?);
    }
    let mut text = compare::text(comparison, run.effort.members, None);
    text += &format!("\nRun:    {}\nReport: {}\n", folder.display(), report.display());
    if capture == Some(Path::new(STDOUT)) {
        if verbosity.remarks() {
            output::remark(&text);
        }
        return Ok(());
    }
    if let Some(capture) = capture {
        text += &format!("Air:    {}\n", capture.display());
    }
    Ok(output::say(verbosity, &text)?)
}

/// Refuses a file on standard output beside JSON, or on a terminal.
pub(super) fn refuse_terminal(option: &str, verbosity: Verbosity) -> Result<(), CliError> {
    if verbosity.json {
        return Err(CliError::Input(format!(
            "{option} and --json both write to standard output; leave out one of them, or name a file"
        )));
    }
    if output::is_terminal() {
        return Err(CliError::Input(format!(
            "{option} writes to standard output, which is a terminal; name a file"
        )));
    }
    Ok(())
}
