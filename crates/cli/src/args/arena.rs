//! Arguments of `airbound arena`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound arena --quick                         all rules at four places, in half a minute
  airbound arena                                 all rules at all nine places, five seeds, in minutes
  airbound arena --rules moonlight,scream2 --schemes linux,last-pq   two rules, over two queues each
  airbound arena --places walk,away --seeds 20   narrower intervals at two places
  airbound arena --places my-call.toml           a scenario of one's own, whose focus is a flow of kind rtc

The stream is that of the scenario game-stream: up to 40 Mb/s and 60 frames a second, begun at 20 Mb/s. Rules: airbound list has them among \
the senders; those that take no reports (fixed, wivrn) keep 20 Mb/s. Places: calm, saturated, walk, away, office, harsh, hidden, crowded-room, corridor \
(docs/use/arena.md). The folder holds report.html and arena.json.")]
pub(crate) struct Arena {
    /// Rules that compete, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) rules: Vec<String>,
    /// Queues and rate controls of the access point that each rule meets, as --schemes of compare
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "linux")]
    pub(crate) schemes: Vec<String>,
    /// Places, or scenario files [default: all nine]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) places: Vec<String>,
    /// Seeds of each rule at each place, 1 to 1000 [default: 5, quick: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: Option<u32>,
    /// Four places, 12 s each, two seeds, unless they are given
    #[arg(long)]
    pub(crate) quick: bool,
    /// Folder for the page and the figures [default: runs/arena]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Parallel simulations, 1 to 1024; results do not depend on it [default: one for each core]
    #[arg(long, visible_alias = "threads", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Open the page in the browser
    #[arg(long)]
    pub(crate) open: bool,
}
