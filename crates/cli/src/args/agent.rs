//! Arguments of `airbound agent`.

use std::net::SocketAddr;
use std::path::PathBuf;

use airbound_agent::config::{METRICS_PORT, Metrics, Scheme};
use airbound_console::Verbosity;
use airbound_units::Span;
use clap::{Args, Parser, Subcommand};

/// Keeps latency demands on this router's access point.
#[derive(Debug, Parser)]
#[command(
    name = "airbound",
    version,
    max_term_width = 100,
    after_help = "\
The package for routers has these commands; the others are those of the package for computers.

Exit codes: 0 success, 1 an agent that hung or failed, or a defect, 2 wrong input, or something that the system refuses."
)]
pub(crate) struct Router {
    #[command(subcommand)]
    pub(crate) command: OnRouter,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OnRouter {
    /// Keep latency demands on a Linux access point
    #[command(subcommand)]
    Agent(Agent),
}

/// Holds latency demands on this machine's access point.
#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Hold packets for Wi-Fi stations, and release them in the order that keeps the demands
    Run(AgentRun),
    /// Check a configuration file, on any machine
    Check(AgentCheck),
    /// Show the state of a running agent
    Status(AgentStatus),
    /// Change a demand of a running agent
    Set(AgentSet),
    /// Report the features of kernel and driver, and those that the agent would use
    Probe(AgentProbe),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound agent run --iface wlan0 --protect \"udp dport 9944\" --p95 20ms
  airbound agent run --config /etc/airbound/agent.toml
  airbound agent run --iface wlan0 --scheme law --dry-run

A condition is made of words such as udp, tcp, dport 5000-5010, daddr 10.0.0.0/8, dscp ef, station MAC, joined by and, or, \
not and parentheses. docs/reference/agent-keys.md lists them and the keys of the file, docs/use/agent.md what the agent does in every fault.

Needs nft and CAP_NET_ADMIN, at its start for exact completions CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN; gives up all but the first.")]
pub(crate) struct AgentRun {
    /// Interface of the access point; repeatable, all of one radio [default: those of the only radio with any]
    #[arg(long, value_name = "NAME")]
    pub(crate) iface: Vec<String>,
    /// Configuration file; options of the command line override it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Run only the radio of the file that has this interface
    #[arg(long, value_name = "NAME", requires = "config", conflicts_with = "iface")]
    pub(crate) radio: Option<String>,
    /// Protect matching packets; repeatable, each with its demand
    #[arg(long, value_name = "CONDITION", requires = "p95")]
    pub(crate) protect: Vec<String>,
    /// Demanded 95th percentile of the latency; one for all conditions, or one for each
    #[arg(long, value_name = "TIME", requires = "protect")]
    pub(crate) p95: Vec<Span>,
    #[arg(long, value_name = "NAME", help = schemes())]
    pub(crate) scheme: Option<Scheme>,
    /// Print decisions and their reasons, change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Address of metrics and status, or off [default: 127.0.0.1:9478]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<Metrics>,
    /// Append the journal to this file [default: standard error]
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Folder for a summary of the measurements at the end
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// The packet-holding process under the watchdog
    #[arg(long, hide = true)]
    pub(crate) worker: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound agent check /etc/airbound/agent.toml

Needs no Wi-Fi and no root. `airbound agent run --dry-run` says in addition what this machine offers.")]
pub(crate) struct AgentCheck {
    /// Configuration file
    #[arg(value_name = "FILE")]
    pub(crate) config: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound agent status            a table that renews itself; Ctrl-C ends it
  airbound agent status --once
  airbound agent status --json | jq .rules")]
pub(crate) struct AgentStatus {
    /// Address of the running agent
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from(([127, 0, 0, 1], METRICS_PORT)), value_parser = address)]
    pub(crate) at: SocketAddr,
    /// Print it once [default: where nobody watches]
    #[arg(long)]
    pub(crate) once: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo airbound agent set --rule vr --p95 15ms
  sudo airbound agent set --iface wlan0 --rule vr --latency 15ms --percentile 99

The agent goes on with what it holds. Its configuration is not changed: the next start begins with that. Rules of --protect are named \
protect-1, protect-2 and so on; `airbound agent status` lists them. Only the agent's user, and root, may change demands.")]
pub(crate) struct AgentSet {
    /// Interface of the agent [default: the only one that an agent runs for]
    #[arg(long, value_name = "NAME")]
    pub(crate) iface: Option<String>,
    /// Name of the rule
    #[arg(long, value_name = "NAME")]
    pub(crate) rule: String,
    /// Demanded 95th percentile of the latency
    #[arg(long, value_name = "TIME", conflicts_with_all = ["latency", "percentile"], required_unless_present_any = ["latency", "percentile"])]
    pub(crate) p95: Option<Span>,
    /// Demanded latency, at the percentile that the rule has
    #[arg(long, value_name = "TIME")]
    pub(crate) latency: Option<Span>,
    /// Percentile of the demand, above 0, up to 100
    #[arg(long, value_name = "PERCENT")]
    pub(crate) percentile: Option<f64>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo airbound agent probe
  sudo airbound agent probe wlan0 --json

Nothing is changed: a queue to which no rule leads, and eBPF programs, are there for a moment. With a station associated more can be \
found out. Without root, what may not be tried is unknown.")]
pub(crate) struct AgentProbe {
    /// A Wi-Fi interface [default: the first access point, or else the first Wi-Fi interface]
    #[arg(value_name = "IFACE")]
    pub(crate) interface: Option<String>,
}

/// An address with its port.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("allowed is an address with its port, such as 127.0.0.1:{METRICS_PORT}"))
}

/// The help of `--scheme`.
fn schemes() -> String {
    let names: Vec<&str> = Scheme::all().map(Scheme::name).collect();
    format!("Scheme: {} [default: {}]", names.join(", "), Scheme::default().name())
}
