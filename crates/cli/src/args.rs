//! Commands and arguments of the command line.

#[cfg(target_os = "linux")]
pub(crate) mod agent;
pub(crate) mod arena;
#[cfg(target_os = "linux")]
pub(crate) mod doctor;
#[cfg(target_os = "linux")]
pub(crate) mod emulate;
pub(crate) mod export;
mod help;
pub(crate) mod import;
#[cfg(target_os = "linux")]
pub(crate) mod lab;
pub(crate) mod sweep;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use airbound_console::Verbosity;
use airbound_record::Tables;
use airbound_runs::Opened;
use airbound_scenario::Overrides;
use airbound_units::Span;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::error::CliError;

/// Simulates Wi-Fi, compares schemes that bound its latency, and runs them on an access point.
#[derive(Debug, Parser)]
#[command(
    name = "airbound",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  airbound demo                                  a comparison with its report, in seconds
  airbound compare vr-congested --seeds 3        every scheme, three seeds each, on all cores
  airbound run trace-vr --trace trace1.log       one scheme over a measured trace
  airbound check my.toml                         errors of a scenario, and its defaults

reproduce, validate, lab demo and lab faults are commands of the program airbound-studies, relay of airbound-relay, \
room, allocator and bitrate of airbound-room: the one beside this program, else the one on PATH. lab, emulate, doctor, agent and relay exist on \
Linux only.

Exit codes:
  0    success
  1    a check failed: a row outside its tolerance, a missed aim, a demand that cannot be met
  1    a defect of airbound, or an agent that hung or failed
  2    wrong input, or something that the system refuses
  130  Ctrl-C; what was not finished is removed, a sweep keeps what is done

Errors are one line on standard error that begins with \"airbound: \".

Environment variables:
  COLUMNS                  width of tables, 40 to 400; else the terminal's, else 100
  BROWSER                  program that opens a page; else xdg-open, open
  PATH                     where QEMU, apt, gcc and the other programs are found
  AIRBOUND_PYTHON          sweep --on: Python with the package; else python3
  AIRBOUND_DEBIAN_ARCHIVE  lab: Debian's archive, where the host's apt has none
  XDG_CACHE_HOME, HOME     lab: the user's cache, $XDG_CACHE_HOME, else ~/.cache

docs/reference/file-formats.md#writing says how files and folders are written, and which are never replaced."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare six queues on a VR stream over a congested access point
    Demo(Demo),
    /// Simulate a scenario with one scheme
    Run(Run),
    /// Simulate a scenario with several schemes, and report them side by side
    Compare(Compare),
    /// Run a grid or a sample over keys of a scenario, schemes and seeds
    Sweep(sweep::Sweep),
    /// Rank the rules for the bitrate of a streamed game, at places of all kinds
    Arena(arena::Arena),
    /// Write a scenario of one's own from a few answers
    Init(Init),
    /// Say what a file of another tool is, and make a scenario of it
    Import(import::Import),
    /// Write a run in the format of another tool
    Export(export::Export),
    /// Check a scenario, and print it with every default filled in
    Check(Check),
    /// List scenarios, grids, schemes and presets
    List(List),
    /// Make one report of several runs
    Report(Report),
    /// Show every stage of one packet
    Explain(Explain),
    /// Find out whether latency demands can be met, and what would have to change
    Plan(Plan),
    /// Find out why a program stutters on this machine's Wi-Fi
    #[cfg(target_os = "linux")]
    Doctor(doctor::Doctor),
    /// Choose the parameters of Law
    #[command(subcommand)]
    Law(Law),
    /// Reproduce a paper's experiments, its claims beside the results
    #[command(disable_help_flag = true)]
    Reproduce(Elsewhere),
    /// Validate the simulator against closed forms, ns-3, published measurements and the real Linux stack
    #[command(disable_help_flag = true)]
    Validate(Elsewhere),
    /// Run a scenario on the real Linux stack in a virtual machine
    #[cfg(target_os = "linux")]
    #[command(subcommand)]
    Lab(lab::Lab),
    /// Run real applications over the simulated air, in real time
    #[cfg(target_os = "linux")]
    Emulate(Box<emulate::Emulate>),
    /// Serve a WebRTC room that explains who gets which bitrate
    #[command(disable_help_flag = true)]
    Room(Elsewhere),
    /// Decide bitrates of conferences for other servers, over lines of JSON
    #[command(disable_help_flag = true)]
    Allocator(Elsewhere),
    /// Set the bitrate of a game streaming host beside it, and say why
    #[command(disable_help_flag = true)]
    Bitrate(Elsewhere),
    /// Keep latency demands on a Linux access point
    #[cfg(target_os = "linux")]
    #[command(subcommand)]
    Agent(agent::Agent),
    /// Carry UDP between an edge and stations, paced so that no queue builds up at the access point
    #[cfg(target_os = "linux")]
    #[command(disable_help_flag = true)]
    Relay(Elsewhere),
    /// Print a script that completes commands in a shell
    Completions(Completions),
    /// Print the manual page, or write one for each command
    Man(Man),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound init                                  asks, and writes my-network.toml
  airbound init flat.toml --yes                  asks nothing: a flat of four stations
  airbound init flat.toml --wifi 6 --wire '1 Gbit/s' --place laptop:3:download+call --place tv:7:film

Uses: download, upload, film, web, call, voice, cloud-game, headset, remote-desktop, game. Cloud games and headsets demand 20 ms, remote \
desktops and games 30 ms.")]
pub(crate) struct Init {
    /// File to write, which must not exist; - prints the scenario
    #[arg(default_value = "my-network.toml")]
    pub(crate) file: PathBuf,
    /// Ask nothing: what is not given has its default
    #[arg(long)]
    pub(crate) yes: bool,
    /// Generation of Wi-Fi: 4 (802.11n), 5 (802.11ac) or 6 (802.11ax) [default: 5]
    #[arg(long, value_name = "N")]
    pub(crate) wifi: Option<String>,
    /// Width of the channel in MHz: 20, 40, 80 or 160 [default: 80, Wi-Fi 4: 40]
    #[arg(long, value_name = "MHZ", value_parser = width)]
    pub(crate) width: Option<u32>,
    /// Spatial streams, 1 to 4 [default: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4))]
    pub(crate) streams: Option<u32>,
    /// Rate of the line to the internet, or none [default: 250 Mbit/s]
    #[arg(long, value_name = "RATE")]
    pub(crate) wire: Option<String>,
    /// Networks of neighbours on the channel, 0 to 20 [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=20))]
    pub(crate) neighbours: Option<u32>,
    /// A station, its distance in m and its uses; repeatable [default: those of a flat]
    #[arg(long, value_name = "NAME:DISTANCE:USE+USE")]
    pub(crate) place: Vec<String>,
}

impl Init {
    /// Whether options answer the questions.
    pub(crate) fn is_answered(&self) -> bool {
        let words = [&self.wifi, &self.wire].iter().any(|option| option.is_some());
        let numbers = [self.width, self.streams, self.neighbours].iter().any(Option::is_some);
        self.yes || words || numbers || !self.place.is_empty()
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound completions bash > ~/.local/share/bash-completion/completions/airbound
  airbound completions fish > ~/.config/fish/completions/airbound.fish

The Debian package installs those of bash, fish and zsh. `airbound-relay completions` and `airbound-relay man` do the same for that program.")]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound man | man -l -                        the page of airbound
  airbound man --out ~/.local/share/man/man1     a page for each command")]
pub(crate) struct Man {
    /// Folder of the pages, made where it is missing
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
}

/// Arguments of a command of another program, `airbound-studies` or `airbound-relay`, which reads them.
#[derive(Debug, Args)]
pub(crate) struct Elsewhere {
    /// Arguments; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<OsString>,
}

/// A scenario with changes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Source {
    /// Scenario file, or name of a shipped scenario (see `airbound list`)
    pub(crate) scenario: String,
    #[command(flatten)]
    pub(crate) changes: Changes,
}

impl Source {
    /// Reads the scenario with its changes.
    pub(crate) fn open(&self) -> Result<Opened, CliError> {
        Ok(Opened::by_name(&self.scenario, &self.changes.overrides()?)?)
    }
}

/// Changes of a scenario.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Changes {
    /// Change a value of the scenario (docs/reference/scenario-keys.md); repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Trace of the first station whose channel is a trace
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<String>,
    /// Random seed, 0 to 2^63 - 1 [default: that of the scenario]
    #[arg(long, value_name = "N", value_parser = seed)]
    pub(crate) seed: Option<u64>,
}

impl Changes {
    pub(crate) fn overrides(&self) -> Result<Overrides, CliError> {
        let mut overrides = Overrides::none();
        for set in &self.sets {
            overrides.set(set)?;
        }
        if let Some(trace) = &self.trace {
            overrides.trace(trace);
        }
        if let Some(seed) = self.seed {
            overrides.set(&format!("seed={seed}"))?;
        }
        Ok(overrides)
    }
}

/// Number of runs, parallel jobs, and logs.
#[derive(Debug, Clone, Args)]
pub(crate) struct Effort {
    /// Number of seeds, counted up from the first; 1 to 10000
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: u32,
    /// Parallel simulations, 1 to 1024; results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Log packets to packets.parquet and transmissions to txops.parquet [default: of one run yes, of several no]
    #[arg(long, overrides_with = "no_packet_log")]
    pub(crate) log_packets: bool,
    /// Log neither packets nor transmissions
    #[arg(long)]
    pub(crate) no_packet_log: bool,
    /// Print every flow of a group in a row of its own
    #[arg(long)]
    pub(crate) members: bool,
}

impl Effort {
    /// Whether nothing is said about the log of packets.
    pub(crate) const fn logs_by_default(&self) -> bool {
        !self.log_packets && !self.no_packet_log
    }

    /// The tables of a run, those of packets too where `default` or the command line says so.
    pub(crate) const fn tables(&self, default: bool) -> Tables {
        if (default && !self.no_packet_log) || self.log_packets { Tables::ALL } else { Tables::SMALL }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound demo
  airbound demo --out my-demo

Compares fifo, codel, pie, linux, last-pq and wqm on the scenario vr-congested, and leaves a report.")]
pub(crate) struct Demo {
    /// Folder for the results
    #[arg(long, value_name = "DIR", default_value = "runs/demo")]
    pub(crate) out: PathBuf,
    /// Parallel simulations, 1 to 1024; results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Open the report in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
#[command(after_help = help::run())]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Scheme, such as pie or pie+minstrel-ht+bbr [default: that of the scenario]
    #[arg(long, value_name = "NAME")]
    pub(crate) scheme: Option<String>,
    /// Folder for the results; with --seed N -seedN is added [default: runs/SCENARIO-SCHEME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the air of one seed as a radiotap capture, for Wireshark; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) effort: Effort,
    /// Open the report in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound compare vr-congested
  airbound compare vr-congested --schemes fifo,linux --seeds 5
  airbound compare vr-congested --schemes all
  airbound compare vr-congested --schemes linux,linux+minstrel-ht+bbr --set flow.vr.rate=\"20 Mbit/s\"
  airbound compare my.toml --json | jq '.runs[].summary.flows[0].latency_ms.p99'

Every scheme meets the same channel: fading, shadowing and interference depend on the seed and the time \
only. Costs are counted against the scheme of the scenario (linux unless it says otherwise) if it is compared, else against the first.

Without --schemes these are the `schemes` of the scenario. Where it has none, the default is extended by what is made for its traffic: \
last-pq for latency demands, law for real-time video, wqm for transfers without a limit. docs/understand/verdicts.md explains the verdict.")]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Schemes to compare, or all: every queue and law [default: those of the scenario and what its traffic suggests]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    pub(crate) schemes: Vec<String>,
    /// Test the bottleneck of the verdict, and its advice: take the cause away and run again
    #[arg(long)]
    pub(crate) why: bool,
    /// Print all sentences and tables, in place of a screen
    #[arg(long)]
    pub(crate) full: bool,
    /// Folder for the results [default: runs/SCENARIO]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) effort: Effort,
    /// Open the report in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound check my.toml
  airbound check vr-congested > my.toml          a scenario of one's own, to be changed
  airbound check my.toml --set air.width=\"80 MHz\" --json

Prints a scenario file, with --json the same as JSON. Of a wrong scenario it names all mistakes at once, up to 50, each in a line with \
its place and key; other commands name the first.")]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) source: Source,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound list                                  scenarios, grids, schemes, presets
  airbound list scenarios
  airbound list queues --json")]
pub(crate) struct List {
    /// Kind of names: scenarios, grids, queues, rate-controls, senders, session-policies, presets, surroundings [default: all]
    #[arg(value_name = "KIND")]
    pub(crate) kind: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound report runs/vr-congested              of a comparison
  airbound report runs/hello-linux runs/hello-pie --out both.html")]
pub(crate) struct Report {
    /// Folders of runs or of comparisons
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Output page [default: report.html in the folder, or here if there are several]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Flow of the headline [default: that of the scenario; of emulations that of `airbound emulate`]
    #[arg(long, value_name = "FLOW")]
    pub(crate) focus: Option<String>,
    /// Baseline scheme for costs [default: that of the comparison]
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Print every flow of a group in a row of its own
    #[arg(long)]
    pub(crate) members: bool,
    /// Print all: every table of several schemes, every connection of emulated programs
    #[arg(long)]
    pub(crate) full: bool,
    /// Open the report in the browser
    #[arg(long)]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound explain runs/hello-linux --packet 1000
  airbound explain runs/vr-congested-linux --packet 50 --flow download-1
  airbound explain runs/vr-congested-linux --packet 444 --pcap air.pcap
  airbound explain runs/vr-congested-linux --worst 10 --flow vr
  airbound explain runs/vr-congested-linux --late              beyond the flows' own demands, by flow
  airbound explain runs/vr-congested-linux --late 20ms --csv > late.csv

Without --flow, N of --packet is the number in packets.parquet, which is unique in the run. The run must have logged \
its packets (`airbound run` does). A demand counts from the access point's queue to the acknowledgement, --late TIME \
and all latencies of the tables from the source to the destination.")]
#[command(group = clap::ArgGroup::new("asked").required(true))]
pub(crate) struct Explain {
    /// Folder of a run
    pub(crate) run: PathBuf,
    /// Number of the packet; with --flow counted from 0 within the flow
    #[arg(long, value_name = "N", group = "asked")]
    pub(crate) packet: Option<u64>,
    /// The N packets that took longest, 1 to 100000
    #[arg(long, value_name = "N", group = "asked", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) worst: Option<u32>,
    /// Count the packets beyond the demands of their flows, or beyond TIME, by flow
    #[arg(long, value_name = "TIME", group = "asked", num_args = 0..=1)]
    pub(crate) late: Option<Option<Span>>,
    /// Name of the flow [default: all]
    #[arg(long, value_name = "FLOW")]
    pub(crate) flow: Option<String>,
    /// Capture of this run: name the frame that was the packet's last transmission
    #[arg(long, value_name = "FILE", requires = "packet")]
    pub(crate) pcap: Option<PathBuf>,
    /// Print a row for each packet as comma-separated values
    #[arg(long, conflicts_with_all = ["packet", "json"])]
    pub(crate) csv: bool,
}

impl Cli {
    /// Reads the command line.
    ///
    /// A negative number or quantity is taken for the value of the option before it, so that the option can say what is allowed.
    pub(crate) fn read(arguments: Vec<OsString>) -> Result<Self, clap::Error> {
        let arguments = with_negative_values(arguments);
        let matches = with_negative_numbers(Self::command()).try_get_matches_from(arguments)?;
        Self::from_arg_matches(&matches)
    }
}

/// A negative quantity behind an option is meant as its value, so that the option says what is allowed: `--late -3ms` becomes
/// `--late=-3ms`. No option of ours begins with a digit; arguments behind `--` belong to others.
fn with_negative_values(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::with_capacity(arguments.len());
    let mut is_ours = true;
    for argument in arguments {
        is_ours &= argument != "--";
        let is_negative = argument
            .to_str()
            .and_then(|text| text.strip_prefix('-'))
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit() || first == '.'));
        let is_option = |before: &OsString| {
            before.to_str().is_some_and(|text| text.starts_with("--") && !text.contains('='))
        };
        match joined.last_mut() {
            Some(option) if is_ours && is_negative && is_option(option) => {
                option.push("=");
                option.push(argument);
            }
            _ => joined.push(argument),
        }
    }
    joined
}

fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let takes_value =
        |argument: &clap::Arg| !argument.is_positional() && argument.get_action().takes_values();
    let command = command.mut_args(|argument| {
        let takes = takes_value(&argument);
        if takes { argument.allow_negative_numbers(true) } else { argument }
    });
    command.mut_subcommands(with_negative_numbers)
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound plan vr-congested --demand vr=20ms@95
  airbound plan my.toml --demand headset=15ms --demand monitor=30ms@99 --json
  airbound plan my.toml --set flow.vr.rate=\"60 Mbit/s\"

The latency counts from the sender, over the wire, to the acknowledgement, when the flows with demands are \
served first (LAST-PQ). A `demand` of the scenario is the part of the access point, to which the wire is added. \
docs/use/plan.md says how.

Exit codes: 0 yes, all demands can be met; 1 no; 2 wrong input.")]
pub(crate) struct Plan {
    /// Scenario file, or name of a shipped scenario (see `airbound list`)
    pub(crate) scenario: String,
    /// Latency demand of a flow, at a percentile (95 if left out); repeatable [default: those of the scenario]
    #[arg(long = "demand", value_name = "FLOW=20ms@95")]
    pub(crate) demands: Vec<String>,
    #[command(flatten)]
    pub(crate) changes: Changes,
}

/// Commands for Law.
#[derive(Debug, Subcommand)]
pub(crate) enum Law {
    /// Derive the latency bound from the latency under other link layers
    ChooseBound(ChooseBound),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound law choose-bound office
  airbound law choose-bound office --alpha 99.5 --seeds 8
  airbound law choose-bound my.toml --flow video --schemes linux+minstrel-ht,fifo+llra

Under each baseline a share alpha of the packets stays below some latency. Law is run with six bounds between the \
smallest and the largest of these latencies (Law paper, appendix B), and the shortest that loses at most 1 - alpha, \
with twice the standard error over the seeds, is chosen and run with as many other seeds. Where none does, the one that loses least is \
named, and the text says so (`keeps` in --json). Latency counts from the access point's queue to the end of the transmission that \
got through.")]
pub(crate) struct ChooseBound {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Share of the packets that keeps the bound, in percent, 1 to 100
    #[arg(long, value_name = "PERCENT", default_value = "99", value_parser = percent)]
    pub(crate) alpha: f64,
    /// Flow whose packets count [default: the focus of the scenario]
    #[arg(long, value_name = "NAME")]
    pub(crate) flow: Option<String>,
    /// Baselines, by the names of schemes [default: minstrel-ht,llra,thompson]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) schemes: Vec<String>,
    /// Law's limit on each of two PSDUs in hardware
    #[arg(long, value_name = "SPAN", default_value = "3 ms")]
    pub(crate) limit_h: Span,
    /// Number of seeds, counted up from the first, 1 to 1000; as many again judge the choice
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    /// Parallel simulations, 1 to 1024; results do not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
}

/// The width of a channel, in MHz.
pub(crate) fn width(text: &str) -> Result<u32, String> {
    let width = text.parse().ok().filter(|width| [20, 40, 80, 160].contains(width));
    width.ok_or_else(|| "allowed are the widths 20, 40, 80 and 160, in MHz".to_owned())
}

/// A seed, which TOML can hold.
fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| *seed <= i64::MAX as u64);
    seed.ok_or_else(|| format!("allowed is a whole number from 0 to {}", i64::MAX))
}

/// A share in percent.
fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').trim().parse::<f64>() {
        Ok(value) if (1.0..=100.0).contains(&value) => Ok(value),
        _ => Err("allowed are numbers from 1 to 100".to_owned()),
    }
}
