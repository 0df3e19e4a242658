//! `airbound emulate`: real applications over the simulated air.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use airbound_agent::expression::Expression;
use airbound_console::{Verbosity, interrupt, output};
use airbound_control::queue::Demand;
use airbound_emulate::between::Between;
use airbound_emulate::command::{CommandLine, Output};
use airbound_emulate::hosts::SERVER;
use airbound_emulate::lanes::Protected;
use airbound_emulate::{Class, Emulation, Finished, HostCommand, Request, Status, Stop, enter};
use airbound_record::{EmulationSummary, FolderLock, Lateness, Tables};
use airbound_report::{Comparison, fold, leading};
use airbound_runs::folder::{REPORT, write_report};
use airbound_runs::output::STDOUT;
use airbound_runs::{Opened, facts};
use airbound_units::Span;

use crate::args::emulate::{Emulate, EmulateCommand, EmulateRun, Enter};
use crate::error::CliError;

pub(super) fn emulate(emulate: Emulate, verbosity: Verbosity) -> Result<(), CliError> {
    match emulate.command {
        Some(EmulateCommand::Enter(enter)) => go_in(enter),
        None => start(emulate.run, verbosity),
    }
}

fn go_in(wanted: Enter) -> Result<(), CliError> {
    let words = if wanted.words.is_empty() { vec![shell()] } else { wanted.words };
    let line = CommandLine::Words(words);
    line.check()?;
    let command: Command = line.command(Output::Same);
    match enter::enter(&wanted.host, command)? {
        0 => Ok(()),
        code => Err(CliError::Entered(code)),
    }
}

/// The user's shell.
fn shell() -> OsString {
    std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into())
}

fn start(run: EmulateRun, verbosity: Verbosity) -> Result<(), CliError> {
    let opened = Opened::by_name(run.scenario.as_deref().unwrap_or_default(), &run.changes.overrides()?)?;
    super::warn(&opened, verbosity);
    let named = opened.scheme(run.scheme.as_deref())?;
    if run.pcap.as_deref() == Some(Path::new(STDOUT)) {
        return Err(CliError::Input("--pcap -: standard output is the command's; name a file".to_owned()));
    }
    if run.ready.is_some() && run.between.is_empty() {
        return Err(CliError::Input("--ready: write --between DEVICE DEVICE, too".to_owned()));
    }
    if run.wired.chunks_exact(2).any(|pair| pair[0] == SERVER) {
        return Err(CliError::Input(
            "--wired server: this host is always there; write --server COMMAND, or another name".to_owned(),
        ));
    }
    let label = named.label.clone();
    let folder = run.out.clone().unwrap_or_else(|| own_folder(&opened.name, &named.file_name()));
    let first = opened.scenario.stations.first().map(|station| station.name.clone());
    let station = run.station.clone().or(first).unwrap_or_default();
    if let [near, far] = run.between.as_slice() {
        let devices = [near.clone(), far.clone()];
        return between(
            &run,
            Between {
                devices,
                station,
                without: run.without.clone(),
                protected: protected(&run)?,
                limit: run.limit,
                capture: run.pcap.clone(),
                tables: tables(&run),
                folder,
                opened,
                named,
            },
            verbosity,
        );
    }
    let request = Request {
        servers: servers(&run),
        commands: commands(&run, &station),
        without: run.without.clone(),
        protected: protected(&run)?,
        internet: run.internet,
        limit: run.limit,
        capture: run.pcap.clone(),
        folder: folder.clone(),
        tables: tables(&run),
        output: if verbosity.json { Output::Error } else { Output::Same },
        opened: opened.clone(),
        named,
    };
    let emulation = Emulation::prepare(request)?;
    if verbosity.remarks() {
        output::remark(&introduction(&emulation));
    }
    // From here on there may be threads.
    interrupt::listen_without_end();
    let finished = emulation.run(stop(), reporter(&run, verbosity))?;
    tell(&finished, &opened, &label, &run, verbosity)?;
    verdict(finished, run.strict)
}

/// The requests to stop that signals make.
const fn stop() -> Stop<'static> {
    Stop { asked: interrupt::asked(), hurried: interrupt::hurried() }
}

/// The same between two devices of this machine.
fn between(run: &EmulateRun, between: Between, verbosity: Verbosity) -> Result<(), CliError> {
    let (opened, label) = (between.opened.clone(), between.named.label.clone());
    let [near, far] = between.devices.clone();
    let opening = between.prepare()?;
    // Bound before anything runs: a port that is taken is wrong input.
    let bind = |port: u16| {
        let address = (std::net::Ipv6Addr::UNSPECIFIED, port);
        std::net::TcpListener::bind(address)
            .or_else(|_| std::net::TcpListener::bind((std::net::Ipv4Addr::UNSPECIFIED, port)))
            .map_err(|error| {
                CliError::Input(format!("--ready {port}: {error}; allowed is a port that is free"))
            })
    };
    if let Some(port) = run.ready {
        drop(bind(port)?);
    }
    if verbosity.remarks() {
        output::remark(&format!("airbound: between {near} and {far}; {}", class_in_words(opening.class())));
    }
    interrupt::listen_without_end();
    let mut listening = None;
    let ready = || listening = run.ready.and_then(|port| bind(port).ok());
    let finished = opening.run(stop(), ready, reporter(run, verbosity))?;
    drop(listening);
    tell(&finished, &opened, &label, run, verbosity)?;
    verdict(finished, run.strict)
}

/// The default folder, with a number where another emulation is writing into it.
fn own_folder(scenario: &str, scheme: &str) -> PathBuf {
    let mut folder = PathBuf::from("runs").join(format!("{scenario}-{scheme}-emulated"));
    let mut number = 2;
    while FolderLock::is_held(&folder) {
        folder.set_file_name(format!("{scenario}-{scheme}-emulated-{number}"));
        number += 1;
    }
    folder
}

fn verdict(finished: Finished, strict: bool) -> Result<(), CliError> {
    let counts = finished.summary.emulation.as_ref().is_none_or(|emulation| emulation.counts);
    match finished {
        Finished { code: 0, .. } if strict && !counts => Err(CliError::Uncounted),
        Finished { code: 0, .. } => Ok(()),
        Finished { code, failed, .. } => Err(CliError::Emulated(failed.join("; "), code)),
    }
}

fn tables(run: &EmulateRun) -> Tables {
    if run.log_packets { Tables::ALL } else { Tables::SMALL }
}

/// Says how late packets are, each so often.
fn reporter(run: &EmulateRun, verbosity: Verbosity) -> impl FnMut(Status) + Send + use<> {
    let period = match run.status {
        Some(period) => period,
        None if verbosity.remarks() && output::is_watched() && !run.shell => Span::from_secs(10),
        None => Span::ZERO,
    };
    let mut next = period;
    move |status: Status| {
        if !period.is_zero() && status.elapsed >= next {
            next = status.elapsed + period;
            output::remark(&line_of(&status));
        }
    }
}

fn servers(run: &EmulateRun) -> Vec<HostCommand> {
    let server = run.server.iter().map(|line| (SERVER, line));
    let wired = run.wired.chunks_exact(2).map(|pair| (pair[0].as_str(), &pair[1]));
    let all = server.chain(wired);
    all.map(|(host, line)| HostCommand { host: host.to_owned(), line: CommandLine::Line(line.clone()) })
        .collect()
}

/// The command after `--`, or a shell, and those of `--on`.
fn commands(run: &EmulateRun, station: &str) -> Vec<HostCommand> {
    let words = if run.shell { vec![shell()] } else { run.words.clone() };
    let main = (!words.is_empty())
        .then(|| HostCommand { host: station.to_owned(), line: CommandLine::Words(words) });
    let others = run
        .on
        .chunks_exact(2)
        .map(|pair| HostCommand { host: pair[0].clone(), line: CommandLine::Line(pair[1].clone()) });
    main.into_iter().chain(others).collect()
}

fn protected(run: &EmulateRun) -> Result<Vec<Protected>, CliError> {
    if run.p95.len() > 1 && run.p95.len() != run.protect.len() {
        return Err(CliError::Input(format!(
            "--p95 is there {} times and --protect {} times; write one for all, or one for each",
            run.p95.len(),
            run.protect.len()
        )));
    }
    let demands = run.p95.iter().cycle();
    let pairs = run.protect.iter().zip(demands);
    pairs
        .map(|(text, latency)| {
            let wrong = |problem: String| CliError::Input(format!("--protect \"{text}\": {problem}"));
            let condition: Expression = text.parse().map_err(|error| wrong(format!("{error}")))?;
            let demand = Demand::new(*latency, 95.0)
                .map_err(|error| CliError::Input(format!("--p95 {latency}: {error}")))?;
            Ok(Protected { condition, demand })
        })
        .collect()
}

/// The scheduling class that it got, its cost, and the way to a better one.
const fn class_in_words(class: Class) -> &'static str {
    match class {
        Class::RealTime => "real-time class (SCHED_FIFO), packets are late by some 10 us, up to half a core",
        Class::Ordinary => {
            "ordinary class: other processes delay packets by milliseconds; for the real-time class run it as root, or once \
             `sudo setcap cap_sys_nice+ep $(command -v airbound)`"
        }
    }
}

fn introduction(emulation: &Emulation) -> String {
    let names: Vec<&str> = emulation.hosts().all().iter().map(|host| host.name.as_str()).collect();
    let load = emulation.load().map_or_else(String::new, |load| {
        format!(
            "; simulated traffic {:.0} packets/s, of which this machine could carry {:.0}",
            load.expected, load.possible
        )
    });
    format!("airbound: hosts {}; {}{load}", names.join(", "), class_in_words(emulation.class()))
}

fn line_of(status: &Status) -> String {
    let seconds = status.elapsed.as_secs_f64();
    let micros = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0} us"));
    format!(
        "airbound: {seconds:.0} s: {} packets, {} later than 1 ms; late by {} (p50), {} (p99), {} (max); {} slips, {} drops at devices",
        status.packets,
        share(status.late_share),
        micros(status.first.p50_us),
        micros(status.first.p99_us),
        micros(status.first.max_us),
        status.slips,
        status.device_drops.map_or("?".to_owned(), |drops| drops.to_string()),
    )
}

fn share(share: Option<f64>) -> String {
    share.map_or("none".to_owned(), |share| format!("{:.2} %", share * 100.0))
}

/// Flows that a sentence names.
const MOST_NAMES: usize = 20;

/// Writes the report, and prints results.
fn tell(
    finished: &Finished,
    opened: &Opened,
    label: &str,
    run: &EmulateRun,
    verbosity: Verbosity,
) -> Result<(), CliError> {
    let folder = finished.folder.path();
    let mut runs = vec![(label.to_owned(), airbound_report::Run::load(&finished.folder)?)];
    // The applications are what it was run for; the scenario's own flows may have been left out.
    let is_there = |name: &String| finished.summary.flows.iter().any(|flow| flow.name == *name);
    let wanted = run.focus.clone().filter(is_there);
    let focus = wanted.clone().or_else(|| leading(&runs)).or(opened.focus().filter(is_there));
    if !run.full {
        fold(&mut runs, focus.as_deref());
    }
    let comparison = Comparison::new(runs, focus.as_deref(), None)?.with_facts(facts(&opened.scenario));
    let report = folder.join(REPORT);
    write_report(&comparison, &report)?;
    if let (Some(name), None, false) = (&run.focus, wanted, verbosity.quiet) {
        let known = finished.summary.flows.iter().map(|flow| flow.name.as_str());
        let known: Vec<&str> = known.take(MOST_NAMES).collect();
        output::remark(&format!(
            "airbound: --focus {name}: there was no such flow; flows are {}",
            known.join(", ")
        ));
    }
    for condition in finished.unmet.iter().filter(|_| !verbosity.quiet) {
        output::remark(&format!(
            "airbound: --protect \"{condition}\": no connection began with such a packet, so nothing was protected by it"
        ));
    }
    if verbosity.json {
        return Ok(output::print(&finished.summary.to_json()?)?);
    }
    if verbosity.remarks() {
        let mut text = comparison.to_text(output::width());
        if let Some(emulation) = &finished.summary.emulation {
            text += &format!("\n{}", timing(emulation));
        }
        text += &format!("\nRun:    {}\nReport: {}", folder.display(), report.display());
        if finished.left_out > 0 {
            text += &format!("\nThe capture lacks {} packets: the disk was too slow", finished.left_out);
        }
        output::remark(&text);
    }
    Ok(())
}

/// The lateness of a run in words.
fn timing(emulation: &EmulationSummary) -> String {
    let figures = |lateness: &Lateness| {
        let all = [lateness.p50_us, lateness.p99_us, lateness.p999_us, lateness.max_us];
        let texts = all.map(|value| value.map_or("-".to_owned(), |value| format!("{value:.0}")));
        texts.join(" / ")
    };
    let verdict = if emulation.counts { "the run counts" } else { "THE RUN DOES NOT COUNT" };
    format!(
        "Timing: {verdict}: {} of {} packets later than 1 ms (at most 1 % may be), class {}\n\
         Late by, us (p50 / p99 / p99.9 / max): first of aggregate {}, last {}\n\
         {} slips ({:.1} s), {} drops at devices, {} strays; stolen {}\n\
         Processors used {:.2}: spinning {:.2}, system calls {}, simulation the rest\n",
        share(emulation.late_share),
        emulation.packets,
        emulation.class,
        figures(&emulation.first),
        figures(&emulation.last),
        emulation.slips,
        emulation.slipped_s,
        emulation.device_drops.map_or("?".to_owned(), |drops| drops.to_string()),
        emulation.strays,
        share(emulation.steal_share),
        emulation.processors,
        emulation.spinning,
        emulation.system.map_or("?".to_owned(), |system| format!("{system:.2}")),
    )
}
