//! Arguments of `airbound sweep`.

use std::path::PathBuf;

use airbound_runs::sweep::Percent;
use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  airbound sweep vr-load                         a grid that comes with airbound, in half a minute
  airbound sweep my-grid.toml --until 2%         each cell until its interval is within 2 % of its mean
  airbound sweep my-grid.toml --dry-run          is my grid right, and how many runs is it?
  airbound sweep my-grid.toml --on local-cluster   over Ray (needs the Python package; docs/use/sweep.md)

A grid names a scenario, axes and schemes:

  scenario = \"vr-congested\"
  schemes = [\"fifo\", \"linux\", \"last-pq\"]
  seeds = 5
  [axes]
  \"flow.vr.rate\" = { from = \"10 Mbit/s\", to = \"50 Mbit/s\", step = \"10 Mbit/s\" }
  \"flow.download.count\" = [1, 4, 16]

Every cell is checked before the first run. What was interrupted goes on where it stopped; a grid with more \
seeds or cells makes only the runs that are new. The folder holds the results as partitioned Parquet \
(results/), intervals.parquet, and report.html. Grids that come with airbound: vr-load, wifi-sample. docs/reference/sweep-keys.md has the keys. With --on the exit code \
is that of the Python program.")]
pub(crate) struct Sweep {
    /// Grid file, or name of a shipped grid
    pub(crate) grid: String,
    /// Stop a cell once half its confidence interval is at most this share of its mean, 0.01% to 100% [default: that of the grid]
    #[arg(long, value_name = "PERCENT")]
    pub(crate) until: Option<Percent>,
    /// Most seeds of each cell and scheme, 1 to 10000 [default: those of the grid]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: Option<u32>,
    /// Folder for the results [default: runs/sweep-GRID]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Parallel simulations, 1 to 1024; results do not depend on it [default: one for each core]
    #[arg(long, visible_alias = "threads", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Drop runs in the folder that are not part of this sweep
    #[arg(long)]
    pub(crate) replace: bool,
    /// Check every cell and count the runs, without running them
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run on a Ray cluster, with the Python package: local-cluster, auto, or an address such as ray://head:10001
    #[arg(long, value_name = "WHERE", conflicts_with_all = ["dry_run", "jobs"])]
    pub(crate) on: Option<String>,
    /// Open the report in the browser
    #[arg(long, conflicts_with_all = ["dry_run", "on"])]
    pub(crate) open: bool,
}
