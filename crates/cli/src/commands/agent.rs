//! `airbound agent`: the access-point agent.

mod probe;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use airbound_agent::config::{Config, Metrics, Rule};
use airbound_agent::control;
use airbound_agent::datapath::{Around, Plan, Process};
use airbound_agent::supervise::{Ended, Heartbeat, announce_end, supervise};
use airbound_agent::timeline::Timeline;
use airbound_agent::{AgentError, datapath, http, status};
use airbound_control::queue::Demand;
use airbound_linux::nftables;
use airbound_linux::privileges::{self, Capability};

use crate::args::agent::{Agent, AgentCheck, AgentRun, AgentSet, AgentStatus};
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::{interrupt, output};

/// Interval at which the table is renewed.
const RENEWED: Duration = Duration::from_secs(1);

pub(super) fn agent(agent: Agent, verbosity: Verbosity) -> Result<(), CliError> {
    match agent {
        Agent::Run(run) if run.worker => work(&run),
        Agent::Run(run) => start(&run, verbosity),
        Agent::Check(asked) => check(&asked, verbosity),
        Agent::Probe(asked) => probe::probe(&asked, verbosity),
        Agent::Status(status) => show(&status, verbosity),
        Agent::Set(change) => set(&change, verbosity),
    }
}

/// The configuration: the file, and on top of it the command line.
fn configuration(run: &AgentRun) -> Result<Config, CliError> {
    let mut config = match &run.config {
        Some(path) => {
            let text = privileges::read_trusted(path).map_err(AgentError::from)?;
            Config::read(&path.display().to_string(), &text)?
        }
        None => Config::default(),
    };
    if run.p95.len() > 1 && run.p95.len() != run.protect.len() {
        let (times, conditions) = (run.p95.len(), run.protect.len());
        return Err(CliError::Input(format!(
            "--p95 is given {times} times and --protect {conditions} times; give one time for all, or one for each"
        )));
    }
    for (number, (text, latency)) in run.protect.iter().zip(run.p95.iter().cycle()).enumerate() {
        let condition =
            text.parse().map_err(|error| CliError::Input(format!("--protect {text:?}, {error}")))?;
        let demand =
            Demand::new(*latency, 95.0).map_err(|error| CliError::Input(format!("--p95: {error}")))?;
        config.rules.push(Rule { name: format!("protect-{}", number + 1), condition, demand, rate: None });
    }
    if !run.iface.is_empty() {
        config.interfaces = run.iface.clone();
    }
    if let Some(scheme) = run.scheme {
        // Parameters of another scheme's queue mean nothing to this one.
        if config.scheme != scheme {
            config.queue = None;
        }
        config.scheme = scheme;
    }
    config.metrics = run.metrics.unwrap_or(config.metrics);
    config.journal = run.journal.clone().or(config.journal);
    config.check()?;
    Ok(config)
}

/// Checks a file as the agent reads it, without its machine. Whose file it is matters to the agent only.
fn check(asked: &AgentCheck, verbosity: Verbosity) -> Result<(), CliError> {
    let file = asked.config.display().to_string();
    let text = std::fs::read_to_string(&asked.config)
        .map_err(|error| CliError::Input(format!("{file} cannot be read: {error}")))?;
    let config = Config::read(&file, &text)?;
    // Values that only together are wrong have no line.
    config.check().map_err(|error| CliError::Input(format!("{file}: {error}")))?;
    if verbosity.json {
        let rules: Vec<&str> = config.rules.iter().map(|rule| rule.name.as_str()).collect();
        return Ok(output::json(&serde_json::json!({ "scheme": config.scheme.name(), "rules": rules }))?);
    }
    let rules = match config.rules.len() {
        0 => "no protected flows".to_owned(),
        1 => "1 protected flow".to_owned(),
        count => format!("{count} protected flows"),
    };
    Ok(output::say(verbosity, &format!("{file} is valid: scheme {}, {rules}\n", config.scheme.name()))?)
}

/// The parent: checks, explains, and watches over the part that holds packets.
fn start(run: &AgentRun, verbosity: Verbosity) -> Result<(), CliError> {
    let config = configuration(run)?;
    let patience = config.watchdog;
    let plan = Plan::new(config)?;
    let owner = plan.owner().to_owned();
    if run.dry_run {
        return Ok(output::print(&plan.to_text())?);
    }
    // Before anything is changed: the end of this process removes the agent's rules.
    let _only = datapath::only_agent_of(plan.radio(), Process::Watches)?;
    if !verbosity.quiet && !verbosity.json {
        output::remark(plan.to_text().trim_end());
    }
    let mut worker = this_command()?;
    worker.arg("--worker");
    // To remove rules is all that is left to do. What cannot be given up stays.
    let started = || {
        let _ = privileges::keep_only(&[Capability::NetworkAdministration]);
        interrupt::listen();
    };
    // Packets shall not wait for a queue that nobody reads.
    let bypass = || {
        let _ = nftables::remove_leftovers(&owner);
    };
    let ended = supervise(worker, patience, interrupt::asked(), started, bypass);
    let removed = nftables::remove_leftovers(&owner);
    let ended = ended.map_err(CliError::io("watch over", "the agent".as_ref()))?;
    match ended {
        Ended::Asked(_) => Ok(removed.map_err(AgentError::from)?),
        // It has said why.
        Ended::Itself(status) if status.success() => Ok(()),
        Ended::Itself(status) => Err(CliError::AgentEnded(status.code().unwrap_or(1))),
        Ended::Hung(silent) => Err(CliError::AgentHung(silent)),
    }
}

/// This command again. The kernel's words for it, and not our arguments: where the dynamic loader was called by name, it names that.
fn this_command() -> Result<Command, CliError> {
    let program = std::env::current_exe().map_err(CliError::io("find", "this program".as_ref()))?;
    let words = Path::new("/proc/self/cmdline");
    let words = std::fs::read(words).map_err(CliError::io("read", words))?;
    let words = words.strip_suffix(b"\0").unwrap_or(&words).split(|byte| *byte == 0).skip(1);
    let mut command = Command::new(program);
    command.args(words.map(OsStr::from_bytes));
    Ok(command)
}

/// The child: holds packets.
fn work(run: &AgentRun) -> Result<(), CliError> {
    let config = configuration(run)?;
    let shared = datapath::shared();
    let metrics = config.metrics;
    let plan = Plan::new(config)?;
    // Held until this process ends.
    let _only = datapath::only_agent_of(plan.radio(), Process::Holds)?;
    let mut heart = Heartbeat::new();
    let mut timeline = Timeline::default();
    let mut beat = || {
        if run.record.is_some() {
            timeline.note(&http::current(&shared));
        }
        heart.beat()
    };
    let mut opened = || {
        // Ctrl-C reaches the whole group; the parent tells when to end.
        interrupt::listen();
        let Metrics::At(address) = metrics else { return Ok(()) };
        let served = http::serve(address, shared.clone());
        served.map(drop).map_err(|error| {
            AgentError::Value(format!(
                "cannot show metrics at {address}: {error}; --metrics takes another address, and \"off\" does without"
            ))
        })
    };
    let mut ends = announce_end;
    let around = Around {
        beat: &mut beat,
        opened: &mut opened,
        ends: &mut ends,
        shared: Some(shared.clone()),
        secret: secret(),
    };
    let result = plan.run(around);
    if let Some(folder) = &run.record {
        airbound_agent::record::write(folder, &http::current(&shared), &timeline)?;
    }
    Ok(result?)
}

/// A number that nobody outside knows: where the system put things, and when this began.
fn secret() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// Changes a demand of a running agent.
fn set(change: &AgentSet, verbosity: Verbosity) -> Result<(), CliError> {
    let socket =
        control::find(Path::new(control::FOLDER), change.iface.as_deref()).map_err(CliError::Input)?;
    let request = control::Request {
        rule: change.rule.clone(),
        latency: change.p95.or(change.latency),
        percentile: change.p95.map(|_| 95.0).or(change.percentile),
    };
    let changed = control::change(&socket, &request).map_err(CliError::Input)?;
    if verbosity.json {
        return Ok(output::json(&changed)?);
    }
    Ok(output::print(&changed.to_text())?)
}

fn show(asked: &AgentStatus, verbosity: Verbosity) -> Result<(), CliError> {
    let fetch = || http::status(asked.at).map_err(CliError::Input);
    if verbosity.json {
        return Ok(output::json(&fetch()?)?);
    }
    if asked.once || !output::is_terminal() {
        return Ok(output::print(&status::text(&fetch()?, output::width()))?);
    }
    interrupt::listen();
    while !interrupt::is_asked() {
        output::print_anew(&status::text(&fetch()?, output::width()))?;
        thread::sleep(RENEWED);
    }
    Ok(())
}
