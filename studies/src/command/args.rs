//! Commands and arguments of the command line.

use std::path::PathBuf;

use airbound_console::Verbosity;
use airbound_lab::host::{Arch, Kernel};
use clap::{Args, Parser, Subcommand};

/// Studies of Airbound: papers reproduced, the simulator validated, the agent demonstrated. `airbound` starts this program.
#[derive(Debug, Parser)]
#[command(
    name = "airbound",
    bin_name = "airbound",
    version,
    max_term_width = 100,
    after_help = "\
Commands of airbound-studies alone, each with --help:
  airbound-studies evening   judge schemes by five lines on one ground (docs/results/evening.md)
  airbound-studies verdict   check how often the verdict of a comparison is right
  airbound-studies doctor    check how often the doctor names the right cause"
)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
    #[command(flatten)]
    pub(super) verbosity: Verbosity,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Reproduce a paper's experiments, its claims beside the results
    Reproduce(Reproduce),
    /// Validate the simulator against closed forms, ns-3, published measurements and the real Linux stack
    Validate(Validate),
    /// Check how often the verdict of a comparison is right
    #[command(hide = true, override_usage = "airbound-studies verdict [OPTIONS] --check <N>")]
    Verdict(Set),
    /// Judge schemes by five lines on the scenario `evening`
    #[command(hide = true, override_usage = "airbound-studies evening [OPTIONS]")]
    Evening(EveningArgs),
    /// Check how often the doctor names the right cause
    #[command(hide = true, override_usage = "airbound-studies doctor [OPTIONS]")]
    Doctor(Patients),
    /// Studies in the laboratory
    #[command(subcommand)]
    Lab(Lab),
}

/// Studies in the laboratory.
#[derive(Debug, Subcommand)]
pub(super) enum Lab {
    /// Demonstrate the agent on the real stack: aims, measured values, verdicts, a report
    Demo(LabDemo),
    /// Inject faults into the agent and its surroundings, and measure losses and interruptions
    Faults(LabFaults),
}

/// Kernel, architecture and cache.
#[derive(Debug, Clone, Args)]
pub(super) struct LabBuild {
    /// Kernel, by its first two numbers: 6.12, 7.2, or another that Debian 13's backports have
    #[arg(long, value_name = "SERIES", default_value_t)]
    pub(super) kernel: Kernel,
    /// Architecture of the machine: x86_64 or arm64, on which the kernel is 6.12
    #[arg(long, value_name = "ARCH", default_value_t)]
    pub(super) arch: Arch,
    /// Cache folder for packages and builds [default: airbound/lab in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(super) cache: Option<PathBuf>,
}

/// Links with an injected cause, and healthy ones.
#[derive(Debug, Args)]
pub(super) struct Patients {
    /// Links with a cause, the nine causes in turn
    #[arg(long, value_name = "N", default_value_t = 180)]
    pub(super) causes: u32,
    /// Links without one
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(super) healthy: u32,
    /// Name of the set; thresholds were looked at on 1, 2 and 6
    #[arg(long, value_name = "N", default_value_t = 46)]
    pub(super) seed: u64,
    /// Parallel simulations, 1 to 1024; results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
    /// Inject 20 causes into the real stack in the laboratory instead
    #[arg(long, conflicts_with_all = ["causes", "healthy", "seed", "jobs"])]
    pub(super) lab: bool,
    /// Cases of the laboratory to try [default: all]
    #[arg(long, value_name = "NAME", num_args = 1.., requires = "lab")]
    pub(super) only: Vec<String>,
    #[command(flatten)]
    pub(super) build: LabBuild,
}

/// Schemes on the ground of `evening`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound-studies evening --quick --schemes airbound,linux --channels static   a first look, in seconds
  airbound-studies evening --schemes linux,airbound+plum --seeds 4 --out evening.html   with a page

docs/results/evening.md has the five lines, the channels and what came out.")]
pub(super) struct EveningArgs {
    /// Schemes to judge; one that names no session policy has `plain` [default: plain queues, and each paper's own]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub(super) schemes: Vec<String>,
    /// Seeds, counted up from 1 [default: 20, with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) seeds: Option<u32>,
    /// Channels: static, walk, neighbour [default: all]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub(super) channels: Vec<String>,
    /// Runs of 4 s in place of 20, for a first look
    #[arg(long)]
    pub(super) quick: bool,
    /// Print tables in Markdown
    #[arg(long)]
    pub(super) markdown: bool,
    /// Write a page, too
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Parallel simulations, 1 to 1024; results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
}

/// Random networks, judged twice.
#[derive(Debug, Args)]
pub(super) struct Set {
    /// Judge N random networks by the verdict and by an oracle, and count wrong answers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) check: u32,
    /// Name of the set of scenarios
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Parallel simulations, 1 to 1024; results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound lab demo
  airbound lab demo vr --quick

Each demonstration plays its scenario three times: with the kernel alone, with the agent, and in the simulator. It exits \
with 1 if an aim is missed. docs/results/agent.md has the figures.")]
pub(super) struct LabDemo {
    /// Which of them [default: all]
    #[arg(value_parser = ["vr", "wqm", "law"])]
    pub(super) which: Vec<String>,
    /// Shorter runs, for a first look; aims are judged with a quarter of slack
    #[arg(long)]
    pub(super) quick: bool,
    /// Another seed [default: that of the scenario]
    #[arg(long, value_name = "NUMBER")]
    pub(super) seed: Option<u64>,
    /// Folder for the results [default: runs/lab-demo]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) build: LabBuild,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound lab faults --log runs/faults.log
  airbound lab faults --only two-networks roaming wds

Says what is lost, and for how long nothing comes through, when something goes wrong with the agent or beside it.")]
pub(super) struct LabFaults {
    #[command(flatten)]
    pub(super) build: LabBuild,
    /// Cases to try, as the first column names them [default: all]
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(super) only: Vec<String>,
    /// File for the output of the machine
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound validate                       everything
  airbound validate ns3 --json            one rung, for machines
  airbound validate closed bianchi --quick
  airbound validate ns3 --data tables     hidden.csv of that folder instead of the recorded runs

Tables of --data are hidden.csv, capture.csv and lostack.csv, any of them; their rows are simulated in place of the recorded ones. With \
--json it prints rows (docs/reference/file-formats.md#validation-rows).

Exit code 1: a row that has a tolerance falls outside it.")]
pub(super) struct Validate {
    /// Which rungs of the ladder [default: all but lab, which needs QEMU and minutes]
    #[arg(value_parser = ["closed", "bianchi", "ns3", "papers", "lab"])]
    pub(super) rungs: Vec<String>,
    /// Shorter runs and one seed, for a first look
    #[arg(long)]
    pub(super) quick: bool,
    /// Print tables in Markdown
    #[arg(long)]
    pub(super) markdown: bool,
    /// Parallel simulations, 1 to 1024; results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
    /// ns3: judge the tables of this folder, with the columns of those in studies/data, instead of these; lab: take the kernel's side
    /// from the records that --out kept there, instead of playing
    #[arg(long, value_name = "FOLDER")]
    pub(super) data: Option<PathBuf>,
    /// lab: only the case with this name, or else those whose name contains it
    #[arg(long, value_name = "TEXT")]
    pub(super) only: Option<String>,
    /// lab: keep the records of its runs in this folder
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// lab: seeds of the cases with HT, 1 to 9; means are compared
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=9))]
    pub(super) seeds: u8,
    /// lab: kernel, by its first two numbers
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "SERIES", default_value_t)]
    pub(super) kernel: airbound_lab::host::Kernel,
    /// lab: architecture of the machine, x86_64 or arm64
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "ARCH", default_value_t)]
    pub(super) arch: airbound_lab::host::Arch,
    /// lab: folder for what is fetched and built [default: airbound/lab in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(super) cache: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound reproduce wqm                  every claim of the paper, its figures redrawn in a page
  airbound reproduce last-pq --quick      a first look, in seconds
  airbound reproduce wqm --json | jq '.[] | select(.headline)'

Papers: wqm (Showail and Shihada, IEEE Access 2018), last-pq (Lu et al., PerCom 2024), law (Shen and Meng, NSDI 2026), \
low-delay-rate-allocation (Gringoli and Leith), plum (Chen et al., Bidirectional Bandwidth Coordination).
With --json it prints rows (docs/reference/file-formats.md#validation-rows).

Exit code 1: a row is outside its tolerance; with --quick, one whose verdict does not depend on the seed.")]
pub(super) struct Reproduce {
    /// Which paper
    #[arg(value_parser = ["wqm", "last-pq", "law", "low-delay-rate-allocation", "plum"])]
    pub(super) paper: String,
    /// Run this queue in the place of the paper's system: a name, or a table as scheme.queue has it (not plum)
    #[arg(long, value_name = "QUEUE")]
    pub(super) r#as: Option<String>,
    /// Shorter runs, fewer seeds and settings, for a first look
    #[arg(long)]
    pub(super) quick: bool,
    /// Folder with measured traces (plum) [default: ../shared/traces, or synthetic ones]
    #[arg(long, value_name = "FOLDER")]
    pub(super) traces: Option<PathBuf>,
    /// The page [default: runs/reproduce-PAPER.html]
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Print tables in Markdown
    #[arg(long)]
    pub(super) markdown: bool,
    /// First seed of the runs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) seed: u64,
    /// Parallel simulations, 1 to 1024; results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: Option<u16>,
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{env, fs};

    use airbound_arguments::reference;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        super::Cli::command().debug_assert();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_reference_page_is_what_the_help_says() {
        let mut program = super::Cli::command();
        program.build();
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/commands.md");
        let found = fs::read_to_string(&page).expect("the page");
        let wanted =
            reference::with_part(&found, "airbound-studies", &reference::sections("airbound", &program))
                .expect("the part");
        if env::var_os(reference::RENEW).is_some() {
            fs::write(&page, &wanted).expect("written");
        } else {
            assert!(found == wanted, "{} is not what the code says; run: make reference", page.display());
        }
    }
}
