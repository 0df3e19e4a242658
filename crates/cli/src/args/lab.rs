//! What may be typed behind `airbound lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Source;

/// The real Linux 802.11 stack in a virtual machine, over the simulator's air.
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// Fetch Debian's kernel and tools, build the driver, keep both in a cache
    Build(LabBuild),
    /// Play a scenario with the real stack, and leave the same record as a simulated run
    Run(LabRun),
    /// Bring a scenario's network up, and open a shell in the machine
    Shell(LabShell),
    /// What the machine itself calls
    #[command(subcommand, hide = true)]
    Guest(LabGuest),
}

/// Where everything is kept.
#[derive(Debug, Clone, Args)]
pub(crate) struct LabBuild {
    /// Folder for what is fetched and built [default: airbound/lab in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound lab run lab-hello
  airbound lab run lab-hello --seed 7 --log-packets

Needs QEMU (qemu-system-x86), apt, dpkg, make, gcc and xz on a Debian or Ubuntu; no root, no KVM. What the \
laboratory cannot express is refused by name; docs/lab.md lists it.")]
pub(crate) struct LabRun {
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) build: LabBuild,
    /// Folder for the results [default: runs/SCENARIO-lab]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write every packet to packets.parquet, every transmission to txops.parquet
    #[arg(long)]
    pub(crate) log_packets: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LabShell {
    /// A scenario file, or the name of one that comes with airbound
    #[arg(default_value = "lab-hello")]
    pub(crate) scenario: String,
    #[command(flatten)]
    pub(crate) changes: super::Changes,
    #[command(flatten)]
    pub(crate) build: LabBuild,
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
