//! Folders of results: single runs, comparisons of several, and arenas.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use airbound_record::{FolderLock, RunFolder, files};
use airbound_report::Comparison;
use serde::{Deserialize, Serialize};

use crate::error::RunsError;
use crate::output::write_page;

/// The file that makes a folder a comparison.
const INDEX: &str = "comparison.json";
/// The page of a run, a comparison or an arena.
pub const REPORT: &str = "report.html";
/// The file that makes a folder an arena: its figures.
pub const STANDINGS: &str = "arena.json";

/// Index of a comparison: `comparison.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// Name of the scenario.
    pub scenario: String,
    /// The flow that the headline is about.
    pub focus: Option<String>,
    /// The scheme against which costs are counted.
    pub baseline: Option<String>,
    /// The runs, by scheme and seed.
    pub runs: Vec<Entry>,
}

/// One run of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its folder within that of the comparison.
    pub folder: String,
    /// The scheme under the name by which it was asked for.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
}

impl Index {
    /// Reads the index of a comparison; `None` if the folder holds none.
    ///
    /// # Errors
    /// It cannot be read, or does not have the form of this version.
    pub fn read(folder: &Path) -> Result<Option<Self>, RunsError> {
        let path = folder.join(INDEX);
        if !path.is_file() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).map_err(RunsError::io("read", &path))?;
        match serde_json::from_str(&text) {
            Ok(index) => Ok(Some(index)),
            Err(error) => Err(RunsError::Index { path, reason: error.to_string() }),
        }
    }
}

/// Folders that are about to be made. When it is dropped, those that did not exist before and are empty are removed; [`Fresh::keep`] keeps
/// them.
#[derive(Debug)]
pub struct Fresh {
    folders: Vec<PathBuf>,
}

impl Fresh {
    /// Notes which of `folder` and those that it is in do not exist.
    pub fn note(folder: &Path) -> Self {
        let missing = folder
            .ancestors()
            .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
            .map(Path::to_owned);
        Self { folders: missing.collect() }
    }

    /// Keeps the folders.
    pub fn keep(mut self) {
        self.folders.clear();
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        for folder in &self.folders {
            // Fails where something is inside, or it was never made: both are fine.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// A comparison that is being written next to its place, where it is moved when it is complete.
pub(crate) struct Staging {
    place: PathBuf,
    partial: PathBuf,
    /// Released before the folders that it lies in are removed.
    _lock: FolderLock,
    fresh: Option<Fresh>,
}

impl Staging {
    /// Makes sure that a comparison may be put in `place`.
    ///
    /// # Errors
    /// There is something else than an earlier comparison, another process writes one there, or nothing can be written there.
    pub(crate) fn begin(place: &Path) -> Result<Self, RunsError> {
        // The folder behind a link is replaced, and the link stays.
        let place = if place.is_symlink() {
            fs::canonicalize(place).map_err(RunsError::io("read the folder", place))?
        } else {
            place.to_owned()
        };
        check_place(&place)?;
        let Some(name) = place.file_name() else {
            return Err(RunsError::NoFolderName { path: place });
        };
        let partial = place.with_file_name(beside(name, "partial"));
        let fresh = Some(Fresh::note(&place));
        if let Some(parent) = place.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(RunsError::io("create the folder", parent))?;
        }
        let lock = FolderLock::beside(&place)?;
        let old = place.with_file_name(beside(name, "old"));
        if old.exists() && !place.exists() {
            // A process was killed between two renames: the earlier comparison is the only whole one.
            fs::rename(&old, &place).map_err(RunsError::io("move", &old))?;
        }
        for left in [&partial, &old] {
            if left.exists() {
                // Left by a process that was killed: nobody else writes under such a name.
                fs::remove_dir_all(left).map_err(RunsError::io("remove", left))?;
            }
        }
        fs::create_dir_all(&partial).map_err(RunsError::io("create the folder", &partial))?;
        Ok(Self { place, partial, _lock: lock, fresh })
    }

    /// Where to write until then.
    pub(crate) fn path(&self) -> &Path {
        &self.partial
    }

    /// Writes the index and puts everything in its place, instead of an earlier comparison.
    pub(crate) fn finish(mut self, index: &Index) -> Result<(), RunsError> {
        let text = serde_json::to_string_pretty(index)
            .map_err(|error| RunsError::Defect(format!("the index is no JSON: {error}")))?;
        let path = self.partial.join(INDEX);
        fs::write(&path, text + "\n").map_err(RunsError::io("write", &path))?;
        if let Some(fresh) = self.fresh.take() {
            fresh.keep();
        }
        if self.place.exists() {
            // It was empty, or an earlier comparison and nothing else.
            check_place(&self.place)?;
            let old = self.place.with_file_name(beside(self.place.file_name().unwrap_or_default(), "old"));
            fs::rename(&self.place, &old).map_err(RunsError::io("move", &self.place))?;
            fs::rename(&self.partial, &self.place).map_err(RunsError::io("move", &self.partial))?;
            return fs::remove_dir_all(&old).map_err(RunsError::io("remove", &old));
        }
        fs::rename(&self.partial, &self.place).map_err(RunsError::io("move", &self.partial))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Gone already if the comparison was finished.
        let _ = fs::remove_dir_all(&self.partial);
    }
}

fn beside(name: &std::ffi::OsStr, ending: &str) -> OsString {
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".airbound-");
    hidden.push(ending);
    hidden
}

/// Makes sure that a comparison may be put in `place`.
///
/// # Errors
/// There is something else than an earlier comparison.
pub fn check(place: &Path) -> Result<(), RunsError> {
    check_place(place)
}

/// Refuses the folder of a comparison as that of a run.
pub(crate) fn refuse_comparison(place: &Path) -> Result<(), RunsError> {
    match Index::read(place) {
        Ok(None) => Ok(()),
        _ => Err(RunsError::Comparison { path: place.to_owned() }),
    }
}

fn check_place(place: &Path) -> Result<(), RunsError> {
    if !place.exists() {
        return Ok(());
    }
    let read = || RunsError::io("read the folder", place);
    let entries = fs::read_dir(place).map_err(read())?;
    let names = entries
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<BTreeSet<OsString>, _>>()
        .map_err(read())?;
    if names.is_empty() {
        return Ok(());
    }
    let Some(index) = Index::read(place)? else {
        if RunFolder::open(place).is_ok() {
            return Err(RunsError::SingleRun { path: place.to_owned() });
        }
        return Err(RunsError::NoComparison { path: place.to_owned() });
    };
    let known = |name: &OsString| {
        name == INDEX || name == REPORT || index.runs.iter().any(|entry| name == entry.folder.as_str())
    };
    if let Some(stranger) = names.iter().find(|name| !known(name)) {
        return Err(RunsError::Stranger { path: place.to_owned(), stranger: PathBuf::from(stranger) });
    }
    // The runs are removed with all that they hold.
    for run in index.runs.iter().map(|entry| place.join(&entry.folder)) {
        let Ok(folder) = RunFolder::open(&run) else { continue };
        if let Some(stranger) = folder.stranger()? {
            return Err(RunsError::Stranger { path: run, stranger: PathBuf::from(stranger) });
        }
    }
    Ok(())
}

/// Makes sure that the files of an arena may be put in `place`.
///
/// # Errors
/// There is something else than an earlier arena.
pub fn check_arena(place: &Path) -> Result<(), RunsError> {
    if !place.exists() {
        return Ok(());
    }
    let read = || RunsError::io("read the folder", place);
    let mut is_empty = true;
    for entry in fs::read_dir(place).map_err(read())? {
        // What a process that was killed left is no result.
        is_empty &= entry.map_err(read())?.path().extension().is_some_and(|ending| ending == "partial");
    }
    let found = fs::read(place.join(STANDINGS)).unwrap_or_default();
    let found: serde_json::Value = serde_json::from_slice(&found).unwrap_or_default();
    if is_empty || (found["verdict"].is_array() && found["ranking"].is_array()) {
        return Ok(());
    }
    Err(RunsError::NoArena { path: place.to_owned() })
}

/// Writes the page of a comparison.
///
/// # Errors
/// A plot cannot be drawn, there is something else than an earlier page, or the file cannot be written.
pub fn write_report(comparison: &Comparison, path: &Path) -> Result<(), RunsError> {
    write_page(path, &comparison.to_html()?)
}

/// Writes a text file of a folder of results, which appears whole or not at all.
///
/// # Errors
/// The file cannot be written.
pub fn write_whole(path: &Path, text: &str) -> Result<(), RunsError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    let partial = path.with_file_name(name);
    let written = files::write(&partial, text).and_then(|()| fs::rename(&partial, path));
    written.map_err(|source| {
        // What was tried first says more.
        let _ = fs::remove_file(&partial);
        RunsError::io("write", path)(source)
    })
}
