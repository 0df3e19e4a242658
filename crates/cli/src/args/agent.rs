//! What may be typed behind `airbound agent`.

use clap::{Args, Subcommand};

/// The access-point agent: keeps latency bounded on a real Linux access point.
#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Find out what this kernel and this driver offer, and what the agent will therefore use
    Probe(AgentProbe),
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
