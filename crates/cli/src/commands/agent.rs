//! `airbound agent`: the access-point agent.

mod probe;
mod radios;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use airbound_agent::config::{Config, Metrics, Rule};
use airbound_agent::control;
use airbound_agent::datapath::{Callbacks, Plan, Process};
use airbound_agent::journal::Journal;
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

/// The configuration of each radio: the file, and on top of it the command line.
fn configurations(run: &AgentRun) -> Result<Vec<Config>, CliError> {
    let mut configs = match &run.config {
        Some(path) => {
            let text = privileges::read_trusted(path).map_err(AgentError::from)?;
            Config::read_all(&path.display().to_string(), &text)?
        }
        None => vec![Config::default()],
    };
    if let Some(name) = &run.radio {
        configs = vec![radios::named(configs, name)?];
    }
    let rules = protected(run)?;
    for config in &mut configs {
        config.rules.extend(rules.iter().cloned());
        override_by(run, config)?;
        config.check()?;
    }
    Ok(configs)
}

/// The configuration of the only radio that this process is for.
fn configuration(run: &AgentRun) -> Result<Config, CliError> {
    let mut configs = configurations(run)?;
    if configs.len() > 1 {
        return Err(CliError::Input("--radio is missing; the file has several radios".to_owned()));
    }
    configs.pop().ok_or_else(|| CliError::Input("the file has no radio".to_owned()))
}

/// The rules of the command line.
fn protected(run: &AgentRun) -> Result<Vec<Rule>, CliError> {
    if run.p95.len() > 1 && run.p95.len() != run.protect.len() {
        let (times, conditions) = (run.p95.len(), run.protect.len());
        return Err(CliError::Input(format!(
            "--p95 is given {times} times and --protect {conditions} times; give one time for all, or one for each"
        )));
    }
    let mut rules = Vec::new();
    for (number, (text, latency)) in run.protect.iter().zip(run.p95.iter().cycle()).enumerate() {
        let condition =
            text.parse().map_err(|error| CliError::Input(format!("--protect {text:?}, {error}")))?;
        let demand =
            Demand::new(*latency, 95.0).map_err(|error| CliError::Input(format!("--p95: {error}")))?;
        rules.push(Rule { name: format!("protect-{}", number + 1), condition, demand, rate: None });
    }
    Ok(rules)
}

/// Options of the command line but rules. Each of several radios has a port and a journal of its own.
fn override_by(run: &AgentRun, config: &mut Config) -> Result<(), CliError> {
    if !run.iface.is_empty() {
        if config.radio.is_some() {
            return Err(CliError::Input(
                "--iface does not apply to a file of several radios; --radio runs one of them".to_owned(),
            ));
        }
        config.interfaces = run.iface.clone();
    }
    if let Some(scheme) = run.scheme {
        // Parameters of another scheme's queue mean nothing to this one.
        if config.scheme != scheme {
            config.queue = None;
        }
        config.scheme = scheme;
    }
    if let Some(metrics) = run.metrics {
        config.metrics = match &config.radio {
            Some(radio) => {
                radio.metrics(metrics).map_err(|problem| CliError::Input(format!("--{problem}")))?
            }
            None => metrics,
        };
    }
    if let Some(journal) = &run.journal {
        let own = config.radio.as_ref().map(|radio| radio.journal(journal));
        config.journal = Some(own.unwrap_or_else(|| journal.clone()));
    }
    Ok(())
}

/// Checks a file as the agent reads it, without its machine. Whose file it is matters to the agent only.
fn check(asked: &AgentCheck, verbosity: Verbosity) -> Result<(), CliError> {
    let file = asked.config.display().to_string();
    let text = std::fs::read_to_string(&asked.config)
        .map_err(|error| CliError::Input(format!("{file} cannot be read: {error}")))?;
    let configs = Config::read_all(&file, &text)?;
    if verbosity.json {
        let one = |config: &Config| {
            let rules: Vec<&str> = config.rules.iter().map(|rule| rule.name.as_str()).collect();
            serde_json::json!({ "interfaces": config.interfaces, "scheme": config.scheme.name(), "rules": rules })
        };
        let radios: Vec<_> = configs.iter().map(one).collect();
        return Ok(output::json(&serde_json::json!({ "radios": radios }))?);
    }
    let described = |config: &Config| {
        let rules = match config.rules.len() {
            0 => "no protected flows".to_owned(),
            1 => "1 protected flow".to_owned(),
            count => format!("{count} protected flows"),
        };
        format!("scheme {}, {rules}", config.scheme.name())
    };
    let text = match configs.as_slice() {
        [config] if text.trim().is_empty() => {
            format!("{file} is empty, which is valid and means: {}\n", described(config))
        }
        [config] => format!("{file} is valid: {}\n", described(config)),
        several => {
            let lines = several
                .iter()
                .map(|config| format!("  {}: {}\n", config.interfaces.join(", "), described(config)));
            format!("{file} is valid: {} radios\n{}", several.len(), lines.collect::<String>())
        }
    };
    Ok(output::say(verbosity, &text)?)
}

/// The parent: checks, explains, and watches over the part that holds packets, of each radio.
fn start(run: &AgentRun, verbosity: Verbosity) -> Result<(), CliError> {
    let mut configs = configurations(run)?;
    if configs.len() > 1 {
        return radios::start(run, configs, verbosity);
    }
    let Some(config) = configs.pop() else { return Ok(()) };
    if run.dry_run {
        return Ok(output::print(&Plan::new(config)?.to_text())?);
    }
    // To remove rules is all that is left to do. What cannot be given up stays.
    let started = || {
        let _ = privileges::keep_only(&[Capability::NetworkAdministration]);
        interrupt::listen();
    };
    watch_over(run, config, verbosity, started)
}

/// Runs the part that holds a radio's packets until it ends. `started` is called once it runs.
fn watch_over(
    run: &AgentRun,
    config: Config,
    verbosity: Verbosity,
    started: impl FnOnce(),
) -> Result<(), CliError> {
    let patience = config.watchdog;
    // The worker has our arguments.
    let radio = config.radio.as_ref().filter(|_| run.radio.is_none()).map(|radio| radio.name.clone());
    let plan = Plan::new(config)?;
    let owner = plan.owner().to_owned();
    // Before anything is changed: the end of this process removes the agent's rules.
    let _only = datapath::only_agent_of(plan.radio(), Process::Watches)?;
    if !verbosity.quiet && !verbosity.json {
        output::remark(plan.to_text().trim_end());
    }
    let mut worker = this_command()?;
    worker.arg("--worker");
    if let Some(radio) = radio {
        worker.args(["--radio", &radio]);
    }
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
    let own_folder = |folder: &PathBuf| {
        config.radio.as_ref().map_or_else(|| folder.clone(), |radio| folder.join(&radio.name))
    };
    let record = run.record.as_ref().map(own_folder);
    let (room, journal) = (config.room.clone(), config.journal.clone());
    let radio = config.radio.as_ref().map(|radio| radio.name.clone());
    let plan = Plan::new(config)?;
    // Held until this process ends.
    let _only = datapath::only_agent_of(plan.radio(), Process::Holds)?;
    let mut heart = Heartbeat::new();
    let mut timeline = Timeline::default();
    let mut beat = || {
        if record.is_some() {
            timeline.note(&http::current(&shared));
        }
        heart.beat()
    };
    let mut opened = || {
        // Ctrl-C reaches the whole group; the parent tells when to end.
        interrupt::listen();
        if let Some(settings) = &room {
            let journal = Journal::open(journal.as_deref(), radio.as_deref())?;
            airbound_agent::room::serve(settings, plan.interface_names().to_vec(), journal)?;
        }
        let Metrics::At(address) = metrics else { return Ok(()) };
        let served = http::serve(address, shared.clone());
        served.map(drop).map_err(|error| {
            AgentError::Value(format!(
                "cannot show metrics at {address}: {error}; --metrics takes another address, and \"off\" does without"
            ))
        })
    };
    let mut ends = announce_end;
    let callbacks = Callbacks {
        beat: &mut beat,
        opened: &mut opened,
        ends: &mut ends,
        shared: Some(shared.clone()),
        secret: secret(),
    };
    let result = plan.run(callbacks);
    if let Some(folder) = &record {
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
