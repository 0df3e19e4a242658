//! Errors of an emulation.

use std::io;

use airbound_linux::LinuxError;
use airbound_runs::RunsError;
use airbound_units::ConfigError;

/// Why an emulation was refused, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulateError {
    /// The scenario, its scheme, or the folder of the results.
    #[error(transparent)]
    Runs(#[from] RunsError),
    /// The operating system.
    #[error(transparent)]
    Linux(#[from] LinuxError),
    /// The scenario has no such station.
    #[error("the scenario has no station named \"{station}\"; stations are {known}")]
    NoStation {
        /// The name that was asked for.
        station: String,
        /// The first stations of the scenario.
        known: String,
    },
    /// A host cannot have this name.
    #[error(
        "no host can be named \"{0}\"; allowed are letters, digits and -, but not a name of another station, server or localhost"
    )]
    Name(String),
    /// No command is to be run.
    #[error("name a command: `-- COMMAND` on the station, --on STATION COMMAND, or --shell")]
    NoCommand,
    /// A command does not exist.
    #[error("there is no command \"{0}\"; give its path, or install it")]
    Missing(String),
    /// A command could not be started.
    #[error("cannot start {command}: {source}")]
    Start {
        /// The command.
        command: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The server ended before anything began.
    #[error("{command} on {host} ended before it could serve, with {status}")]
    Ended {
        /// The command.
        command: String,
        /// The host.
        host: String,
        /// The status with which it ended.
        status: String,
    },
    /// A flow that was to be left out does not exist.
    #[error("--without {flow}: there is no such flow; flows are {known}")]
    NoFlow {
        /// The name that was asked for.
        flow: String,
        /// The first flows of the scenario.
        known: String,
    },
    /// The scheme does not support a demand.
    #[error("--protect {condition}: {reason}")]
    Demand {
        /// The condition.
        condition: String,
        /// The error as text.
        reason: ConfigError,
    },
    /// The machine is too slow for the scenario's own traffic.
    #[error(
        "the scenario's own traffic is {expected:.0} packets a second, and this machine carries {possible:.0} of them in real time; leave \
         some out by --without, or lower its rates"
    )]
    Load {
        /// Packets a second that it sends.
        expected: f64,
        /// Packets a second that the machine carries.
        possible: f64,
    },
    /// No running emulation has such a host.
    #[error("no emulation of this user has a host named \"{host}\"; running hosts are {known}")]
    NoHost {
        /// The name that was asked for.
        host: String,
        /// The hosts of all emulations.
        known: String,
    },
    /// Several emulations have a host of this name.
    #[error("several emulations have a host named \"{0}\"; write PROCESS/{0}, one of {1}")]
    Ambiguous(String, String),
    /// A device failed.
    #[error("the device of {host} failed: {source}")]
    Device {
        /// The host.
        host: String,
        /// The error of the system.
        source: io::Error,
    },
}
