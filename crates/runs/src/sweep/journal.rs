//! Results that are not in the data set yet: a line for each run, appended as it ends.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use airbound_record::files;
use serde::{Deserialize, Serialize};

use super::key::Key;
use super::metric::{METRICS, RunResult};
use crate::error::RunsError;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    run: String,
    flows: RunResult,
}

/// A journal that is written to.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens a journal, behind what is in it.
    pub(crate) fn open(path: &Path) -> Result<Self, RunsError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder).map_err(RunsError::io("create the folder", folder))?;
        let mut file = files::append(path).map_err(RunsError::io("open", path))?;
        // A line that was cut off by the end of the program ends here.
        file.write_all(b"\n").map_err(RunsError::io("write to", path))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Adds a run. One call of the operating system: a program that is killed leaves whole lines, but for the last.
    pub(crate) fn append(&mut self, key: Key, flows: &RunResult) -> Result<(), RunsError> {
        let line = Line { run: key.to_string(), flows: flows.clone() };
        let text = serde_json::to_string(&line)
            .map_err(|error| RunsError::Table { path: self.path.clone(), reason: error.to_string() })?;
        self.file.write_all((text + "\n").as_bytes()).map_err(RunsError::io("write to", &self.path))
    }

    /// Makes sure that what was added survives a loss of power.
    pub(crate) fn sync(&self) -> Result<(), RunsError> {
        self.file.sync_all().map_err(RunsError::io("write to", &self.path))
    }

    /// Removes it: its runs stand in the data set.
    pub(crate) fn remove(self) -> Result<(), RunsError> {
        drop(self.file);
        fs::remove_file(&self.path).map_err(RunsError::io("remove", &self.path))
    }
}

/// The runs of a journal. Lines that are cut off or of another version are passed over: their runs are made again.
pub(crate) fn read(path: &Path, found: &mut BTreeMap<Key, RunResult>) -> Result<(), RunsError> {
    let bytes = fs::read(path).map_err(RunsError::io("read", path))?;
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Line>(line) else { continue };
        let Ok(key) = line.run.parse::<Key>() else { continue };
        if is_sound(&line.flows) {
            found.insert(key, line.flows);
        }
    }
    Ok(())
}

/// Whether a result has the figures of this version.
pub(crate) fn is_sound(flows: &RunResult) -> bool {
    !flows.is_empty() && flows.iter().all(|flow| flow.values.len() == METRICS.len())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Journal, read};
    use crate::sweep::key::Key;
    use crate::sweep::metric::{FlowResult, METRICS, RunResult};

    fn result(value: f64) -> RunResult {
        let name = || "stream".to_owned();
        vec![FlowResult {
            flow: name(),
            group: name(),
            kind: name(),
            station: name(),
            direction: name(),
            values: vec![Some(value); METRICS.len()],
        }]
    }

    #[test]
    fn a_line_that_was_cut_off_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("0.jsonl");
        let keys: Vec<Key> = ["a", "b", "c"].into_iter().map(Key::of).collect();
        let mut journal = Journal::open(&path).expect("opened");
        journal.append(keys[0], &result(0.1)).expect("added");
        journal.append(keys[1], &result(0.2)).expect("added");
        drop(journal);
        let whole = std::fs::read(&path).expect("read");
        std::fs::write(&path, &whole[..whole.len() - 9]).expect("cut");
        let mut journal = Journal::open(&path).expect("opened");
        journal.append(keys[2], &result(0.3)).expect("added");
        let mut found = BTreeMap::new();
        read(&path, &mut found).expect("read");
        assert_eq!(found, BTreeMap::from([(keys[0], result(0.1)), (keys[2], result(0.3))]));
    }

    #[test]
    fn any_bytes_are_read_or_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("0.jsonl");
        bolero::check!().with_type::<Vec<u8>>().with_iterations(500).for_each(|bytes| {
            std::fs::write(&path, bytes).expect("written");
            let mut found = BTreeMap::new();
            read(&path, &mut found).expect("read");
            assert!(found.values().all(super::is_sound));
        });
    }
}
