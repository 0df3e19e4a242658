//! Arguments of `airbound lab`.

use std::path::PathBuf;

use airbound_lab::host::Kernel;
use airbound_lab::plan;
use clap::{Args, Subcommand, ValueEnum};

use super::{Elsewhere, Source};

/// The real Linux 802.11 stack in a virtual machine, over the simulator's air.
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// Fetch Debian's kernel and tools, build the driver, keep both in a cache
    Build(LabBuild),
    /// Play a scenario with the real stack, and leave the same record as a simulated run
    Run(LabRun),
    /// Show what the access-point agent does to the real stack: aim, measured value, verdict, and a report
    #[command(disable_help_flag = true)]
    Demo(Elsewhere),
    /// Try what can go wrong with the agent and beside it: what is lost, and for how long nothing comes through
    #[command(disable_help_flag = true)]
    Faults(Elsewhere),
    /// Bring a scenario's network up, and open a shell in the machine
    Shell(LabShell),
    /// What the machine itself calls
    #[command(subcommand, hide = true)]
    Guest(LabGuest),
}

/// Which kernel, and where everything is kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct LabBuild {
    /// Kernel, by its first two numbers: 6.12, 7.2, or another that Debian 13's backports have
    #[arg(long, value_name = "SERIES", default_value_t)]
    pub(crate) kernel: Kernel,
    /// Folder for what is fetched and built [default: airbound/lab in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound lab run lab-hello
  airbound lab run lab-hello --seed 7 --log-packets
  airbound lab run lab-hello --kernel 7.2
  airbound lab run lab-weak --driver law
  airbound lab run lab-hello --agent \"--protect 'udp dport 5000' --p95 20ms\"

Needs QEMU (qemu-system-x86), apt, dpkg, make, gcc and xz on a Debian or Ubuntu; no root, no KVM. What the \
laboratory cannot express is refused by name; docs/use/lab.md lists it.")]
pub(crate) struct LabRun {
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) build: LabBuild,
    #[command(flatten)]
    pub(crate) network: LabNetwork,
    /// The access point's driver: a card's queue, or Law with queue, rates, retries and time limits of its own
    #[arg(long, value_enum, default_value_t)]
    pub(crate) driver: LabDriver,
    /// Let the access-point agent work, with these arguments of `airbound agent run --iface wlan0`
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub(crate) agent: Option<String>,
    /// The agent's configuration file
    #[arg(long, value_name = "FILE", requires = "agent")]
    pub(crate) agent_config: Option<PathBuf>,
    /// Folder for the results [default: runs/SCENARIO-lab]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write every packet to packets.parquet, every transmission to txops.parquet
    #[arg(long)]
    pub(crate) log_packets: bool,
}

/// The part of the driver of the access point's radio that decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LabDriver {
    /// All decisions are the kernel's
    #[default]
    Kernel,
    /// Law, whole, over one queue in the order of arrival
    Law,
}

impl From<LabDriver> for plan::Driver {
    fn from(driver: LabDriver) -> Self {
        match driver {
            LabDriver::Kernel => Self::Kernel,
            LabDriver::Law => Self::Law,
        }
    }
}

/// How the access point joins air and wire.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct LabNetwork {
    /// Join air and wire by a bridge [default: two networks with a router between them]
    #[arg(long)]
    pub(crate) bridged: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound lab shell
  airbound lab shell --command 'iw dev wlan0 station dump'
  airbound lab shell --command 'ip -br addr' --bridged my-scenario.toml")]
pub(crate) struct LabShell {
    /// A scenario file, or the name of one that comes with airbound
    #[arg(default_value = "lab-hello")]
    pub(crate) scenario: String,
    #[command(flatten)]
    pub(crate) changes: super::Changes,
    #[command(flatten)]
    pub(crate) build: LabBuild,
    #[command(flatten)]
    pub(crate) network: LabNetwork,
    /// Run this instead, in the access point's namespace; its output comes here, its exit code too
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    /// Put a file of this computer into /files of the machine
    #[arg(long, value_name = "FILE", requires = "command")]
    pub(crate) with: Vec<PathBuf>,
}

/// Parts of the guest.
#[derive(Debug, Subcommand)]
pub(crate) enum LabGuest {
    /// Carry the air
    Medium,
    /// Set time zero of the scenario
    Zero,
    /// Run the ends of flows at a node
    Ends {
        /// 0 is the server, stations count from 1
        node: usize,
    },
    /// Write the logs to a device
    Pack {
        /// The device
        device: PathBuf,
    },
}
