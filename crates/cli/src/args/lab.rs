//! Arguments of `airbound lab`.

use std::ffi::OsString;
use std::path::PathBuf;

use airbound_lab::host::{Arch, Kernel};
use airbound_lab::plan;
use airbound_units::Span;
use clap::{Args, Subcommand, ValueEnum};

use super::{Elsewhere, Source};

/// The real Linux 802.11 stack in a virtual machine, over the simulator's air.
#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// Fetch Debian's kernel and tools, build the driver, keep both in a cache
    #[command(after_help = "\
Examples:
  airbound lab build
  airbound lab build --kernel 7.2
  airbound lab build --arch arm64

Needs a Debian or Ubuntu with QEMU, apt, dpkg, make, gcc and xz; no root, no KVM. arm64 needs more: docs/use/lab.md#arm64.")]
    Build(LabBuild),
    /// Run a scenario on the real stack; the record is that of a simulated run
    Run(LabRun),
    /// Run programs on the real stack in virtual time: the same bytes each time
    Exec(Box<LabExec>),
    /// Demonstrate the agent on the real stack: aims, measured values, verdicts, a report
    #[command(disable_help_flag = true)]
    Demo(Elsewhere),
    /// Inject faults into the agent and its surroundings, and measure losses and interruptions
    #[command(disable_help_flag = true)]
    Faults(Elsewhere),
    /// Bring a scenario's network up, and open a shell in the machine
    Shell(LabShell),
    /// Commands of the machine itself
    #[command(subcommand, hide = true)]
    Guest(LabGuest),
}

/// Kernel, architecture and cache.
#[derive(Debug, Clone, Args)]
pub(crate) struct LabBuild {
    /// Kernel, by its first two numbers: 6.12, 7.2, or another that Debian 13's backports have
    #[arg(long, value_name = "SERIES", default_value_t)]
    pub(crate) kernel: Kernel,
    /// Architecture of the machine: x86_64 or arm64, on which the kernel is 6.12
    #[arg(long, value_name = "ARCH", default_value_t)]
    pub(crate) arch: Arch,
    /// Cache folder for packages and builds [default: airbound/lab in the user's cache]
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
laboratory cannot express is refused by name; docs/use/lab.md lists it. --driver law and --agent exclude each other.")]
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
    /// Run the agent, with these arguments of `airbound agent run --iface wlan0`
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub(crate) agent: Option<String>,
    /// The agent's configuration file
    #[arg(long, value_name = "FILE", requires = "agent")]
    pub(crate) agent_config: Option<PathBuf>,
    /// Folder for the results [default: runs/SCENARIO-lab]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Log packets to packets.parquet and transmissions to txops.parquet
    #[arg(long)]
    pub(crate) log_packets: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound lab exec lab-hello --server \"iperf3 -s -1\" -- iperf3 -c server -t 3
  airbound lab exec lab-weak --server \"python3 -m http.server 80\" --with page.html \\
      -- curl -s -o copy.html http://server/page.html
  airbound lab exec lab-hello --with client.py --with server.py \\
      --server \"python3 server.py\" --for 20s -- python3 client.py server
  airbound lab exec lab-hello --without all --bring /etc/ssl -- ./my-program

Programs are those of this machine; they come with their libraries, scripts with their interpreters, Python with its modules. They start in \
/files, which holds what --with named; what they leave there is in the folder of the results. Time is virtual: same program, files, \
scenario, seed and kernel, same bytes. The exit code is that of the first command on a station that failed, 1 if the machine failed; \
results go to standard error. \
`airbound emulate` takes the same options and runs in real time: faster, and never twice the same.")]
pub(crate) struct LabExec {
    #[command(flatten)]
    pub(crate) source: Source,
    #[command(flatten)]
    pub(crate) build: LabBuild,
    #[command(flatten)]
    pub(crate) network: LabNetwork,
    /// The access point's driver: a card's queue, or Law with queue, rates, retries and time limits of its own
    #[arg(long, value_enum, default_value_t)]
    pub(crate) driver: LabDriver,
    /// Run the agent, with these arguments of `airbound agent run --iface wlan0`
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub(crate) agent: Option<String>,
    /// The agent's configuration file
    #[arg(long, value_name = "FILE", requires = "agent")]
    pub(crate) agent_config: Option<PathBuf>,
    /// Station of the command [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(crate) station: Option<String>,
    /// Run a shell command on the server, behind the wire; repeatable
    #[arg(long, value_name = "COMMAND")]
    pub(crate) server: Vec<String>,
    /// Run a shell command on a station; repeatable
    #[arg(long, num_args = 2, value_names = ["STATION", "COMMAND"])]
    pub(crate) on: Vec<String>,
    /// Leave out a flow or group of the scenario, or all; repeatable
    #[arg(long, value_name = "FLOW")]
    pub(crate) without: Vec<String>,
    /// Copy a file or folder into the folder in which the commands start; repeatable
    #[arg(long, value_name = "PATH")]
    pub(crate) with: Vec<PathBuf>,
    /// Bring a program by its name, or a file or folder at its own path; repeatable
    #[arg(long, value_name = "NAME|PATH")]
    pub(crate) bring: Vec<String>,
    /// Set a variable of the commands' environment; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Ask the commands to end after this time of theirs, up to 300 s with the warm-up
    #[arg(long = "for", value_name = "TIME", default_value = "60s")]
    pub(crate) limit: Span,
    /// Give up after this time of this machine [default: none]
    #[arg(long, value_name = "TIME")]
    pub(crate) host_time: Option<Span>,
    /// Folder for the results [default: runs/SCENARIO-exec]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Log packets to packets.parquet and transmissions to txops.parquet
    #[arg(long)]
    pub(crate) log_packets: bool,
    /// Command on the station, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) words: Vec<OsString>,
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

/// Connection of air and wire at the access point.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct LabNetwork {
    /// Bridge air and wire [default: route between two networks]
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
    /// Scenario file, or name of a shipped scenario
    #[arg(default_value = "lab-hello")]
    pub(crate) scenario: String,
    #[command(flatten)]
    pub(crate) changes: super::Changes,
    #[command(flatten)]
    pub(crate) build: LabBuild,
    #[command(flatten)]
    pub(crate) network: LabNetwork,
    /// Run this command in the access point's namespace instead of a shell; output and exit code are its own
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    /// Copy a file of this host into /files of the machine; repeatable
    #[arg(long, value_name = "FILE", requires = "command")]
    pub(crate) with: Vec<PathBuf>,
}

/// Parts of the guest.
#[derive(Debug, Subcommand)]
pub(crate) enum LabGuest {
    /// Run the medium
    Medium,
    /// Run the commands of all hosts
    Commands,
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
