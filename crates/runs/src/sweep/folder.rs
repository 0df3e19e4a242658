//! The folder of a sweep.
//!
//! ```text
//! sweep.json                                                   what was swept
//! results/scheme-linux/batch-00000/results.parquet            one row for each flow of each run
//! intervals.parquet                                            one row for each cell and scheme
//! report.html
//! .journal/                                                    runs of unfinished partitions; gone when the sweep is done
//! .lock                                                        while a sweep writes there
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use airbound_record::{FolderLock, RecordError};

use super::journal::{self, Journal};
use super::key::Key;
use super::metric::{METRICS, RunResult};
use super::plan::Plan;
use super::results::{self, Placed};
use super::table;
use crate::error::RunsError;
use crate::folder::{Fresh, REPORT, write_whole};
use crate::output::write_page;

/// Cells of a partition: few enough that those that are under way fit into memory, enough that 10^6 runs make few files.
pub(crate) const BATCH_CELLS: usize = 64;
/// The file that makes a folder a sweep.
const INDEX: &str = "sweep.json";
const INTERVALS: &str = "intervals.parquet";
const RESULTS: &str = "results";
const JOURNAL: &str = ".journal";
const LOCK: &str = ".lock";
const PARTITION: &str = "results.parquet";
/// Metadata key of the digest of a partition's inputs.
const DIGEST_KEY: &str = "airbound.sweep.digest";

/// Where a sweep leaves its results; nobody else writes there meanwhile.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Whether nothing was in it.
    was_empty: bool,
    /// Released before the folders that it lies in are removed.
    _lock: FolderLock,
    /// Folders that were made for it; they go where nothing is left in them.
    _fresh: Fresh,
}

impl Folder {
    /// Takes a folder that is empty, does not exist yet, or holds a sweep.
    ///
    /// # Errors
    /// It holds anything else, somebody sweeps into it, or it cannot be written.
    pub fn open(path: &Path) -> Result<Self, RunsError> {
        let mut entries: BTreeSet<String> = BTreeSet::new();
        if path.exists() {
            let listed = fs::read_dir(path).map_err(RunsError::io("read the folder", path))?;
            for entry in listed {
                let entry = entry.map_err(RunsError::io("read the folder", path))?;
                entries.insert(entry.file_name().to_string_lossy().into_owned());
            }
        }
        // A first check that was killed leaves nothing but the lock.
        entries.remove(LOCK);
        if !entries.is_empty() && !is_index(&path.join(INDEX)) {
            return Err(RunsError::NoSweep { path: path.to_owned() });
        }
        let was_empty = entries.is_empty();
        let fresh = Fresh::note(path);
        fs::create_dir_all(path).map_err(RunsError::io("create the folder", path))?;
        let lock = FolderLock::inside(path).map_err(|error| match error {
            RecordError::Busy { path } => RunsError::Busy { path },
            other => other.into(),
        })?;
        Ok(Self { path: path.to_owned(), was_empty, _lock: lock, _fresh: fresh })
    }

    /// Removes what a sweep without results has left, unless an earlier one was here.
    pub(crate) fn discard(&self) {
        if !self.was_empty {
            return;
        }
        // Nothing of it is of use: a rest that cannot be removed does no harm.
        let _ = fs::remove_dir_all(self.path.join(JOURNAL));
        let _ = fs::remove_file(self.path.join(INDEX));
    }

    /// The page that shows the results.
    #[must_use]
    pub fn report(&self) -> PathBuf {
        self.path.join(REPORT)
    }

    /// The data set: all Parquet files below it.
    #[must_use]
    pub fn results(&self) -> PathBuf {
        self.path.join(RESULTS)
    }

    pub(crate) fn intervals(&self) -> PathBuf {
        self.path.join(INTERVALS)
    }

    fn partition(&self, plan: &Plan, shard: usize) -> PathBuf {
        let schemes = plan.grid.schemes.len();
        let scheme = encoded(&plan.grid.schemes[shard % schemes]);
        let batch = shard / schemes;
        // Without `=`: readers that take `scheme=S` for a column would have two of that name.
        self.results().join(format!("scheme-{scheme}")).join(format!("batch-{batch:05}")).join(PARTITION)
    }

    pub(crate) fn journal(&self, shard: usize) -> Result<Journal, RunsError> {
        Journal::open(&self.path.join(JOURNAL).join(format!("{shard:06}.jsonl")))
    }

    /// Writes `sweep.json`.
    pub(crate) fn write_index(&self, index: &serde_json::Value) -> Result<(), RunsError> {
        write_whole(&self.path.join(INDEX), &format!("{index:#}\n"))
    }

    /// Writes the report.
    pub(crate) fn write_report(&self, html: &str) -> Result<(), RunsError> {
        write_page(&self.report(), html)
    }

    /// The runs of a shard, if its partition is there and complete.
    pub(crate) fn read(
        &self,
        plan: &Plan,
        shard: usize,
    ) -> Result<Option<BTreeMap<Key, RunResult>>, RunsError> {
        let path = self.partition(plan, shard);
        if !path.is_file() {
            return Ok(None);
        }
        results::read(&path).map(Some)
    }

    /// Writes the partition of a shard.
    pub(crate) fn write(&self, plan: &Plan, shard: usize, runs: &[Placed<'_>]) -> Result<(), RunsError> {
        let columns = results::columns(plan, runs);
        let said = [(DIGEST_KEY, digest(plan, shard).to_string())];
        table::write(&self.partition(plan, shard), results::TABLE, &columns, &said)
    }

    /// Takes over what earlier sweeps left: partitions that belong to this plan stay, the runs of all others go to a journal. Returns
    /// the runs of all journals.
    ///
    /// # Errors
    /// [`RunsError::Others`] if there are runs that this plan does not have and `replace` does not allow to drop them; nothing is
    /// changed then. A partition that cannot be read.
    pub(crate) fn take_over(
        &self,
        plan: &Plan,
        replace: bool,
    ) -> Result<BTreeMap<Key, RunResult>, RunsError> {
        let mut known = BTreeMap::new();
        let mut journals = files(&self.path.join(JOURNAL), "jsonl")?;
        journals.sort();
        for path in &journals {
            journal::read(path, &mut known)?;
        }
        let schemes = plan.grid.schemes.len();
        let shards = plan.grid.design.cells().div_ceil(BATCH_CELLS) * schemes;
        let wanted: BTreeMap<PathBuf, usize> =
            (0..shards).map(|shard| (self.partition(plan, shard), shard)).collect();
        let mut strange = Vec::new();
        for path in files(&self.results(), "parquet")? {
            let digest = wanted.get(&path).map(|shard| digest(plan, *shard).to_string());
            let said = table::said(&path, results::TABLE, DIGEST_KEY)?;
            if said.is_none() || said != digest {
                known.extend(results::read(&path)?);
                strange.push(path);
            }
        }
        if known.is_empty() {
            return Ok(known);
        }
        let planned: BTreeSet<Key> = (0..plan.points())
            .flat_map(|point| (0..plan.grid.seeds.len()).map(move |number| plan.run_key(point, number)))
            .collect();
        let others = known.keys().filter(|key| !planned.contains(key)).count();
        if others > 0 && !replace {
            return Err(RunsError::Others { path: self.path.clone(), runs: others });
        }
        known.retain(|key, _| planned.contains(key));
        if !strange.is_empty() {
            // They are safe in the journal before the partitions go.
            let mut reused = Journal::open(&self.path.join(JOURNAL).join("reused.jsonl"))?;
            for (key, result) in &known {
                reused.append(*key, result)?;
            }
            reused.sync()?;
            for path in &strange {
                fs::remove_file(path).map_err(RunsError::io("remove", path))?;
                // Folders that are empty now go with it.
                let _ = path.parent().map(fs::remove_dir);
                let _ = path.parent().and_then(Path::parent).map(fs::remove_dir);
            }
        }
        Ok(known)
    }

    /// Removes the journals: all runs stand in the data set.
    pub(crate) fn close_journals(&self) -> Result<(), RunsError> {
        let journals = self.path.join(JOURNAL);
        if !journals.exists() {
            return Ok(());
        }
        fs::remove_dir_all(&journals).map_err(RunsError::io("remove", &journals))
    }
}

fn is_index(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|index| index.get("sweep").is_some())
}

/// All files below a folder with this ending; none if there is no such folder.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, RunsError> {
    let mut found = Vec::new();
    if !folder.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(folder).map_err(RunsError::io("read the folder", folder))? {
        let path = entry.map_err(RunsError::io("read the folder", folder))?.path();
        if path.is_dir() {
            found.extend(files(&path, ending)?);
        } else if path.extension().is_some_and(|found| found == ending) {
            found.push(path);
        }
    }
    Ok(found)
}

/// A value in the name of a folder: everything but letters, digits, and a few signs in per-cent notation.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Returns the digest of all that decides the content of a partition.
fn digest(plan: &Plan, shard: usize) -> Key {
    let grid = &plan.grid;
    let schemes = grid.schemes.len();
    let (batch, scheme) = (shard / schemes, shard % schemes);
    let cells = batch * BATCH_CELLS..((batch + 1) * BATCH_CELLS).min(grid.design.cells());
    let mut text = format!("{:?} {:?} {:?}\n", grid.seeds, grid.rule, grid.schemes[scheme]);
    if grid.rule.until.is_some() {
        text += &format!("{} {}\n", grid.flow, METRICS[grid.deciding()].name);
    }
    for parameter in grid.design.parameters() {
        text += &format!("{} {:?} {} {:?}\n", parameter.name, parameter.form, parameter.unit, parameter.keys);
    }
    for metric in METRICS {
        text += &format!("{} {} {}\n", metric.name, metric.unit, metric.meaning);
    }
    for cell in cells {
        text += &format!("{} {}\n", grid.describe(cell), plan.key(plan.point(cell, scheme)));
    }
    Key::of(&text)
}
