//! The folder of one run.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::error::RecordError;
use crate::files;
use crate::lock::LOCK;
use crate::summary::{Performance, Summary};

/// The file that marks a complete run; written last.
const SUMMARY: &str = "summary.json";
/// The files of a run besides the summary.
const OTHERS: [&str; 10] = [
    "scenario.toml",
    "performance.json",
    "packets.parquet",
    "hops.parquet",
    "senders.parquet",
    "txops.parquet",
    "frames.parquet",
    "series.parquet",
    "distributions.parquet",
    "report.html",
];
/// Suffix of a file that is being written.
const PARTIAL: &str = ".partial";

/// Whether a file of this name is what an interrupted run leaves.
fn is_left_over(name: &str) -> bool {
    name == LOCK || name.strip_suffix(PARTIAL).is_some_and(|name| name == SUMMARY || OTHERS.contains(&name))
}

/// Policy for a folder that already holds a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Replace it once the new run is complete.
    Replace,
    /// Keep it, and fail.
    Keep,
}

/// The folder of one run, to be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Prepares a folder for a run; creates it and its parents if needed.
    ///
    /// An earlier run remains until the new one is complete.
    ///
    /// # Errors
    /// If the folder contains other files than a run, contains a run that is to be kept, or cannot be created.
    pub fn create(path: &Path, existing: Existing) -> Result<Self, RecordError> {
        fs::create_dir_all(path).map_err(RecordError::io("create the folder", path))?;
        let read = || RecordError::io("read the folder", path);
        let mut strangers = false;
        for entry in fs::read_dir(path).map_err(read())? {
            let name = entry.map_err(read())?.file_name();
            // Files of an interrupted run may be overwritten.
            strangers |= !name.to_str().is_some_and(is_left_over);
        }
        let folder = Self { path: path.to_owned() };
        match (strangers, folder.has_summary(), existing) {
            (true, false, _) => Err(RecordError::Occupied { path: path.to_owned() }),
            (_, true, Existing::Keep) => Err(RecordError::Exists { path: path.to_owned() }),
            _ => Ok(folder),
        }
    }

    /// Returns the name of a file in the folder that is not of a run; `None` if all are.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn stranger(&self) -> Result<Option<OsString>, RecordError> {
        let read = || RecordError::io("read the folder", &self.path);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(read())? {
            names.push(entry.map_err(read())?.file_name());
        }
        names.sort();
        let is_known = |name: &str| name == SUMMARY || OTHERS.contains(&name) || is_left_over(name);
        Ok(names.into_iter().find(|name| !name.to_str().is_some_and(is_known)))
    }

    /// Whether it holds the summary of a run, and not another file of that name.
    fn has_summary(&self) -> bool {
        let text = fs::read_to_string(self.file(SUMMARY)).unwrap_or_default();
        let is_summary = |value: &serde_json::Value| {
            ["airbound", "scenario"]
                .into_iter()
                .all(|key| value.get(key).is_some_and(serde_json::Value::is_string))
        };
        serde_json::from_str(&text).is_ok_and(|value| is_summary(&value))
    }

    /// Opens the folder of a complete run.
    ///
    /// # Errors
    /// If there is no `summary.json` in it.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let folder = Self { path: path.to_owned() };
        if folder.file(SUMMARY).is_file() {
            Ok(folder)
        } else {
            Err(RecordError::NotARun { path: path.to_owned() })
        }
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The path of a file, if it exists.
    #[must_use]
    pub fn existing(&self, name: &str) -> Option<PathBuf> {
        Some(self.file(name)).filter(|path| path.is_file())
    }

    /// Reads `summary.json`.
    ///
    /// # Errors
    /// If it cannot be read or has unknown or missing keys.
    pub fn summary(&self) -> Result<Summary, RecordError> {
        self.json(SUMMARY)
    }

    /// Reads `performance.json`.
    ///
    /// # Errors
    /// If it cannot be read or has unknown or missing keys.
    pub fn performance(&self) -> Result<Performance, RecordError> {
        self.json("performance.json")
    }

    /// Reads the resolved scenario.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn scenario(&self) -> Result<String, RecordError> {
        let path = self.file("scenario.toml");
        fs::read_to_string(&path).map_err(RecordError::io("read", &path))
    }

    fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, RecordError> {
        let path = self.file(name);
        let text = fs::read_to_string(&path).map_err(RecordError::io("read", &path))?;
        serde_json::from_str(&text).map_err(|source| RecordError::Json { path, source })
    }

    /// The path of a file until the run is complete.
    pub(crate) fn partial(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{PARTIAL}"))
    }

    pub(crate) fn write_partial(&self, name: &str, text: &str) -> Result<(), RecordError> {
        let path = self.partial(name);
        files::write(&path, text).map_err(RecordError::io("write", &path))
    }

    /// Replaces an earlier run by the complete one. The summary is removed first and renamed last, so that a mixture of two runs never
    /// counts as complete.
    pub(crate) fn commit(&self) -> Result<(), RecordError> {
        self.remove(&self.file(SUMMARY))?;
        for name in OTHERS {
            let partial = self.partial(name);
            let target = self.file(name);
            if partial.is_file() {
                fs::rename(&partial, &target).map_err(RecordError::io("rename", &partial))?;
            } else {
                self.remove(&target)?;
            }
        }
        let partial = self.partial(SUMMARY);
        fs::rename(&partial, self.file(SUMMARY)).map_err(RecordError::io("rename", &partial))
    }

    /// Removes the files of an unfinished run.
    pub(crate) fn discard(&self) -> Result<(), RecordError> {
        std::iter::once(SUMMARY).chain(OTHERS).try_for_each(|name| self.remove(&self.partial(name)))
    }

    fn remove(&self, path: &Path) -> Result<(), RecordError> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(RecordError::io("remove", path)(error))
            }
            _ => Ok(()),
        }
    }
}
