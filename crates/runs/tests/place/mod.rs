//! A small scenario, grids over it, and sweeps of them in a folder of their own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use airbound_runs::RunsError;
use airbound_runs::sweep::{Changes, Folder, Grid, Plan, Sweep, local};
use tempfile::TempDir;

/// Two stations, two flows, a fifth of a second.
const TINY: &str = r#"
duration = "200 ms"
focus = "stream"
schemes = ["fifo", "linux"]
[[station]]
name = "near"
channel = { kind = "log-distance", distance = "5 m" }
[[station]]
name = "far"
channel = { kind = "log-distance", distance = "25 m", shadowing = "2 dB" }
[[flow]]
name = "stream"
kind = "poisson"
station = "near"
rate = "10 Mbit/s"
[[flow]]
name = "download"
kind = "tcp"
station = "far"
"#;

/// Two axes, two schemes, three seeds: 24 runs.
pub(crate) const GRID: &str = r#"
scenario = "tiny.toml"
seeds = 3
[axes]
"flow.stream.rate" = ["5 Mbit/s", "20 Mbit/s"]
"station.far.channel.distance" = ["10 m", "30 m"]
"#;

pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        std::fs::write(folder.path().join("tiny.toml"), TINY).expect("a scenario");
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn grid(&self, text: &str) -> Result<Grid, String> {
        let parsed = Grid::parse(text, "grid.toml", self.folder.path(), &Changes::default());
        parsed.map_err(|error| error.to_string())
    }

    pub(crate) fn plan(&self, text: &str) -> Result<Plan, String> {
        Plan::check(self.grid(text)?, 2, &()).map_err(|error| error.to_string())
    }

    pub(crate) fn begin(&self, text: &str, out: &str, replace: bool) -> Result<Sweep, RunsError> {
        let plan = self.plan(text).expect("a plan");
        Sweep::begin(plan, Folder::open(&self.path(out))?, replace)
    }

    /// Does a whole sweep; returns how many runs were there already.
    pub(crate) fn sweep(&self, text: &str, out: &str, threads: usize) -> usize {
        let mut sweep = self.begin(text, out, false).expect("it begins");
        local(&mut sweep, threads, &()).expect("it ends");
        let known = sweep.progress().known;
        sweep.finish().expect("a report");
        known
    }

    /// All files of a sweep by name.
    pub(crate) fn files(&self, out: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        walk(&self.path(out), &self.path(out), &mut found);
        found
    }
}

fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            walk(root, &path, found);
        } else {
            let name = path.strip_prefix(root).expect("inside").to_owned();
            found.insert(name, std::fs::read(&path).expect("a file"));
        }
    }
}
