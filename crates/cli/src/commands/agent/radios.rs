//! Several radios of one file: a part that holds packets for each, and one process that watches over all of them.

use std::thread;

use airbound_agent::config::Config;
use airbound_agent::datapath::Plan;
use airbound_agent::supervise::again;
use airbound_console::{Verbosity, interrupt, output};
use airbound_units::Span;

use super::watch_over;
use crate::args::agent::AgentRun;
use crate::error::CliError;

/// Time from the end of a radio's agent to its next start.
const PAUSE: Span = Span::from_secs(1);

/// The radio with this interface.
pub(super) fn named(configs: Vec<Config>, name: &str) -> Result<Config, CliError> {
    let has = |config: &&Config| config.interfaces.iter().any(|interface| interface == name);
    if let Some(config) = configs.iter().find(has) {
        return Ok(config.clone());
    }
    let known: Vec<&str> = configs.iter().flat_map(|config| &config.interfaces).map(String::as_str).collect();
    Err(CliError::Input(if known.is_empty() {
        format!("--radio {name:?} is unknown; the file names no interface")
    } else {
        format!("--radio {name:?} is unknown; the file names {}", known.join(", "))
    }))
}

/// Runs each radio by itself: one that fails is started again, the others go on. Ends at once only if no radio can be served.
pub(super) fn start(run: &AgentRun, configs: Vec<Config>, verbosity: Verbosity) -> Result<(), CliError> {
    let mut failures = Vec::new();
    let mut plans = 0;
    for config in &configs {
        match Plan::new(config.clone()) {
            Ok(plan) if run.dry_run => output::print(&format!("{}:\n{}", name(config), plan.to_text()))?,
            Ok(_) => plans += 1,
            Err(error) => failures.push((name(config), CliError::from(error))),
        }
    }
    if run.dry_run || plans == 0 {
        let last = failures.pop();
        for (name, error) in failures {
            output::complain(&format!("radio {name}: {error}"));
        }
        return last.map_or(Ok(()), |(name, error)| Err(CliError::Input(format!("radio {name}: {error}"))));
    }
    // All privileges stay: an agent that is started again needs them. This process handles no packet.
    interrupt::listen();
    thread::scope(|scope| {
        let radios: Vec<_> =
            configs.into_iter().map(|config| scope.spawn(move || keep(run, &config, verbosity))).collect();
        let mut result = Ok(());
        for radio in radios {
            // A thread that panics has closed its agent's pipes, which ends that.
            let ended = radio.join().unwrap_or_else(|_| Err(CliError::AgentEnded(1)));
            result = result.and(ended);
        }
        result
    })
}

fn name(config: &Config) -> &str {
    config.interfaces.first().map_or("", String::as_str)
}

/// Runs one radio until shutdown is requested.
fn keep(run: &AgentRun, config: &Config, verbosity: Verbosity) -> Result<(), CliError> {
    let attempt = || watch_over(run, config.clone(), verbosity, || ());
    let failed = |error: &CliError| {
        output::complain(&format!("radio {}: {error}; it is tried again every second", name(config)));
    };
    again(interrupt::asked(), PAUSE, attempt, failed)
}
