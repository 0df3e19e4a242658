//! `airbound lab exec`: programs of this machine on the real Linux stack, in virtual time.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use airbound_console::{Verbosity, output};
use airbound_emulate::command::CommandLine;
use airbound_emulate::hosts::{Hosts, SERVER};
use airbound_emulate::without;
use airbound_lab::host::{self, Brought, Ended, HostCommand, Machine, Request, Results};
use airbound_lab::plan::Driver;
use airbound_report::Comparison;
use airbound_runs::folder::{REPORT, write_report};
use airbound_runs::{Opened, facts};
use airbound_units::Span;

use super::lab_machine::{network, one_decides, prepare, progress};
use crate::args::lab::LabExec;
use crate::error::CliError;

/// Longest run: what the laboratory plays of a scenario.
const LONGEST: Span = Span::from_secs(300);

pub(super) fn exec(run: &LabExec, verbosity: Verbosity) -> Result<(), CliError> {
    one_decides(run.driver, run.agent.as_deref())?;
    let opened = run.source.open()?;
    super::warn(&opened, verbosity);
    let scenario = without(&opened.scenario, &run.without)?;
    let commands = commands(run, &opened)?;
    let scenario = Driver::from(run.driver).put_into(&scenario)?;
    let request = request(run, &commands, scenario.warm_up)?;
    let network = network(run.network, run.agent.as_deref(), run.agent_config.as_deref())?;
    let folder =
        run.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(format!("{}-exec", opened.name)));
    remark_forgotten(run, verbosity);
    let built = prepare(&run.build, verbosity)?;
    let scratch = host::scratch(&folder);
    let machine = Machine { built: &built, scenario: &scenario, network: &network, scratch };
    let results = machine.run_commands(&request, &mut |words| progress(verbosity, words))?;
    let summary = host::write_record(
        &opened.name,
        &results.scenario,
        &results.outcome,
        &folder,
        run.log_packets,
        host::LatencyEnd::Program,
    )?;
    results.write_files(&folder)?;
    let record = airbound_record::RunFolder::open(&folder)?;
    let loaded = airbound_report::Run::load(&record)?;
    // The connection with the most packets is what it was run for.
    let own = summary.flows.iter().skip(results.scenario.flows.len());
    let largest = own.max_by_key(|flow| flow.packets.sent).map(|flow| flow.name.clone());
    let focus = largest.or(opened.focus());
    let comparison = Comparison::new(vec![("lab".to_owned(), loaded)], focus.as_deref(), None)?
        .with_facts(facts(&opened.scenario));
    let report = folder.join(REPORT);
    write_report(&comparison, &report)?;
    show(&results.ended, verbosity)?;
    if verbosity.json {
        output::print(&summary.to_json()?)?;
    } else if verbosity.remarks() {
        let text = format!(
            "{}\nLinux {}{}, {:.1} s of the scenario in {:.0} s; {} files from the commands\nRun:    {}\nReport: {}",
            comparison.to_text(output::width()),
            built.release,
            built.pinned.remark(),
            results.scenario.end().as_secs_f64(),
            results.outcome.wall.as_secs_f64(),
            results.files(),
            folder.display(),
            report.display()
        );
        output::remark(&text);
    }
    verdict(&results)
}

/// A command as it was written.
struct Written {
    host: String,
    is_server: bool,
    line: CommandLine,
}

/// All commands: the server's, that after `--`, those of `--on`.
fn commands(run: &LabExec, opened: &Opened) -> Result<Vec<Written>, CliError> {
    if opened.scenario.session.is_some() {
        return Err(CliError::Input(format!(
            "{} is a session, whose clients are simulated; the laboratory runs scenarios whose stations have flows, such as my-flat",
            opened.name
        )));
    }
    let first = opened.scenario.stations.first().map(|station| station.name.clone());
    let station = run.station.clone().or(first).unwrap_or_default();
    let line = |host: &str, is_server, line: &String| Written {
        host: host.to_owned(),
        is_server,
        line: CommandLine::Line(line.clone()),
    };
    let mut all: Vec<Written> = run.server.iter().map(|text| line(SERVER, true, text)).collect();
    if !run.words.is_empty() {
        all.push(Written { host: station, is_server: false, line: CommandLine::Words(run.words.clone()) });
    }
    all.extend(run.on.chunks_exact(2).map(|pair| line(&pair[0], false, &pair[1])));
    if all.iter().all(|command| command.is_server) {
        let problem = "name a command: `-- COMMAND` on the station, or --on STATION COMMAND";
        return Err(CliError::Input(problem.to_owned()));
    }
    for command in &all {
        command.line.check()?;
    }
    let stations = all.iter().filter(|command| !command.is_server).map(|command| command.host.as_str());
    Hosts::new(&opened.scenario, &stations.collect::<Vec<_>>(), &[])?;
    Ok(all)
}

fn request(run: &LabExec, commands: &[Written], warm_up: Span) -> Result<Request, CliError> {
    let longest = LONGEST - warm_up;
    if run.limit.is_zero() || run.limit > longest {
        return Err(CliError::Input(format!("--for {}: allowed is a time up to {longest}", run.limit)));
    }
    if run.host_time.is_some_and(|time| time.is_zero()) {
        return Err(CliError::Input("--host-time 0s: allowed is any time above 0".to_owned()));
    }
    let wrong = |text: &&String| text.split_once('=').is_none_or(|(name, _)| name.is_empty());
    if let Some(text) = run.env.iter().find(wrong) {
        return Err(CliError::Input(format!("--env {text}: write NAME=VALUE, for example --env DEBUG=1")));
    }
    let mut brought = Brought::on(run.build.arch);
    run.with.iter().try_for_each(|path| brought.input(path))?;
    let mut placed = Vec::new();
    for command in commands {
        let words = match &command.line {
            CommandLine::Words(words) => {
                let mut words = words.clone();
                if let Some(program) = words.first_mut() {
                    *program = brought.program(&program.to_string_lossy())?.into_os_string();
                }
                words
            }
            CommandLine::Line(line) => {
                brought.line(line)?;
                ["sh", "-c", line].map(OsString::from).to_vec()
            }
        };
        let (host, line) = (command.host.clone(), command.line.to_string());
        placed.push(HostCommand { host, is_server: command.is_server, words, line });
    }
    run.bring.iter().try_for_each(|name| brought.named(name))?;
    Ok(Request {
        commands: placed,
        brought,
        environment: run.env.clone(),
        limit: run.limit,
        host_time: run.host_time.map(|time| Duration::from_nanos(time.as_nanos())),
    })
}

/// Says which arguments name files here that will not be there.
fn remark_forgotten(run: &LabExec, verbosity: Verbosity) {
    for word in run.words.iter().skip(1) {
        let path = Path::new(word);
        let mut parts = path.components().filter(|part| matches!(part, Component::Normal(_)));
        let first = parts.next().map(Component::as_os_str);
        let is_brought = run.with.iter().any(|with| with.file_name() == first);
        let is_own = run.bring.iter().any(|bring| path.starts_with(bring));
        if verbosity.remarks() && path.is_file() && !is_brought && !is_own {
            let name = path.display();
            output::remark(&format!("lab: {name} stays here; --with {name} copies it to the commands"));
        }
    }
}

/// Shows the output of commands: that of the first on a station where this program's goes, all else on standard error.
fn show(ended: &[Ended], verbosity: Verbosity) -> Result<(), CliError> {
    let main = ended.iter().position(|one| !one.command.is_server);
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr().lock());
    for (number, one) in ended.iter().enumerate() {
        let shown = if Some(number) == main && !verbosity.json {
            out.write_all(&one.output).and_then(|()| out.flush())
        } else {
            err.write_all(&one.output)
        };
        shown
            .and_then(|()| err.write_all(&one.error))
            .map_err(CliError::io("write", Path::new("the output of a command")))?;
    }
    Ok(())
}

/// The exit code of the first command on a station that failed, as for an emulation: one that was asked to end has not failed.
fn verdict(results: &Results) -> Result<(), CliError> {
    let failed = |one: &&Ended| one.code != 0 && !one.was_asked;
    let all: Vec<&Ended> = results.ended.iter().filter(failed).collect();
    match all.iter().find(|one| !one.command.is_server) {
        None => Ok(()),
        Some(first) => {
            let words = all
                .iter()
                .map(|one| format!("{} on {} ended with {}", one.command.line, one.command.host, one.code));
            Err(CliError::Emulated(words.collect::<Vec<_>>().join("; "), first.code))
        }
    }
}
