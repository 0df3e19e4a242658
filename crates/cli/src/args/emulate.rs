//! Arguments of `airbound emulate`.

use std::ffi::OsString;
use std::path::PathBuf;

use airbound_units::Span;
use clap::{Args, Subcommand};

use super::Changes;

/// Real applications over the simulated air.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  airbound emulate my-flat --station laptop --server \"iperf3 -s -1\" -- iperf3 -c server
  airbound emulate vr-congested --scheme last-pq --protect \"udp dport 5000\" --p95 20ms \\
      --server ./game-server -- ./game-client server:5000
  airbound emulate my-flat --on laptop \"ping -c 20 phone\" --on phone \"sleep 20\"
  airbound emulate my-flat --shell                 then, elsewhere: airbound emulate enter server

Hosts find each other by name (server, stations, those of --wired) and have no way out, unless --internet is there: neither internet nor \
the networks of this machine. \
The exit code is that of the first command on a station that failed, 128 and its number after a signal; 2 for wrong input, and where the \
system permits no emulation. Results go to standard error and to a folder; with --json they go to standard output, \
and the output of commands to standard error. docs/use/emulate.md is the guide."
)]
pub(crate) struct Emulate {
    #[command(subcommand)]
    pub(crate) command: Option<EmulateCommand>,
    #[command(flatten)]
    pub(crate) run: EmulateRun,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EmulateCommand {
    /// Run a command on a host of a running emulation
    Enter(Enter),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound emulate enter laptop                    a shell
  airbound emulate enter server -- ss -tn
  airbound emulate enter 4711/laptop               of the emulation with this process number

The exit code is that of the command.")]
pub(crate) struct Enter {
    /// The host: server, a station, or one of --wired
    pub(crate) host: String,
    /// Command [default: a shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct EmulateRun {
    /// Scenario file, or name of a shipped scenario (see `airbound list`)
    #[arg(required = true)]
    pub(crate) scenario: Option<String>,
    #[command(flatten)]
    pub(crate) changes: Changes,
    /// Station of the command [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(crate) station: Option<String>,
    /// Run a shell command on the server, behind the wire; repeatable
    #[arg(long, value_name = "COMMAND")]
    pub(crate) server: Vec<String>,
    /// Run a shell command on a station; repeatable
    #[arg(long, num_args = 2, value_names = ["STATION", "COMMAND"])]
    pub(crate) on: Vec<String>,
    /// Run a shell command on another host behind the wire; repeatable
    #[arg(long, num_args = 2, value_names = ["NAME", "COMMAND"])]
    pub(crate) wired: Vec<String>,
    /// Run a shell on the station
    #[arg(long, conflicts_with = "words")]
    pub(crate) shell: bool,
    /// Scheme, such as pie or pie+minstrel-ht [default: that of the scenario]
    #[arg(long, value_name = "NAME")]
    pub(crate) scheme: Option<String>,
    /// Leave out a flow or group of the scenario, or all; repeatable
    #[arg(long, value_name = "FLOW")]
    pub(crate) without: Vec<String>,
    /// Protect connections that begin with a matching packet; repeatable, each with its demand
    #[arg(long, value_name = "CONDITION", requires = "p95")]
    pub(crate) protect: Vec<String>,
    /// Demanded 95th percentile of the latency; one for all conditions, or one for each
    #[arg(long, value_name = "TIME", requires = "protect")]
    pub(crate) p95: Vec<Span>,
    /// Flow of the headline and of the page [default: the protected connection, else the one with most bytes]
    #[arg(long, value_name = "FLOW")]
    pub(crate) focus: Option<String>,
    /// Show every connection, those of a few packets too
    #[arg(long)]
    pub(crate) full: bool,
    /// Let stations reach the internet, over the air and through this machine (IPv4, by the program passt)
    #[arg(long)]
    pub(crate) internet: bool,
    /// Carry what two networks of this machine send to each other, in place of commands: the station's device, and that behind the wire
    #[arg(long, num_args = 2, value_names = ["DEVICE", "DEVICE"],
          conflicts_with_all = ["words", "shell", "server", "on", "wired", "internet"])]
    pub(crate) between: Vec<String>,
    /// With --between: accept connections on this TCP port from when packets pass
    #[arg(long, value_name = "PORT")]
    pub(crate) ready: Option<u16>,
    /// End the commands after this time
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) limit: Option<Span>,
    /// Folder for the results [default: runs/SCENARIO-SCHEME-emulated]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the air as a capture with the content of packets, for Wireshark
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// End with code 1 if more than 1 % of the packets were more than 1 ms late
    #[arg(long)]
    pub(crate) strict: bool,
    /// Log packets to packets.parquet and transmissions to txops.parquet
    #[arg(long)]
    pub(crate) log_packets: bool,
    /// Say how late packets are each so often, or never with 0s [default: 10s on a terminal]
    #[arg(long, value_name = "TIME")]
    pub(crate) status: Option<Span>,
    /// Command on the station, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
}
