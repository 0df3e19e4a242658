//! The folder of the commands: the files that they leave there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::pack::files;
use crate::LabError;

/// The files of a folder, with time of change and size.
#[derive(Debug)]
pub(super) struct Inventory(BTreeMap<PathBuf, (Option<SystemTime>, u64)>);

impl Inventory {
    /// The files that are there now.
    pub(super) fn of(folder: &Path) -> Result<Self, LabError> {
        let facts = |path: PathBuf| {
            let facts = fs::metadata(&path).map_err(LabError::io("read", path.display().to_string()))?;
            Ok((path, (facts.modified().ok(), facts.len())))
        };
        files(folder)?.into_iter().map(facts).collect::<Result<_, _>>().map(Self)
    }

    /// Links the files that are new or changed since into another folder of the file system.
    pub(super) fn link_changed(&self, folder: &Path, to: &Path) -> Result<(), LabError> {
        for (path, facts) in Self::of(folder)?.0 {
            if self.0.get(&path) == Some(&facts) {
                continue;
            }
            let target = to.join(path.strip_prefix(folder).unwrap_or(&path));
            let beside = target.parent().unwrap_or(to);
            fs::create_dir_all(beside)
                .and_then(|()| fs::hard_link(&path, &target))
                .map_err(LabError::io("keep", path.display().to_string()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_and_changed_files_are_kept() {
        let temporary = tempfile::tempdir().unwrap();
        let (work, out) = (temporary.path().join("work"), temporary.path().join("out"));
        fs::create_dir_all(work.join("deep")).unwrap();
        fs::write(work.join("same"), "1").unwrap();
        fs::write(work.join("deep/other"), "1").unwrap();
        let inventory = Inventory::of(&work).unwrap();
        fs::write(work.join("deep/other"), "12").unwrap();
        fs::write(work.join("deep/new"), "").unwrap();
        inventory.link_changed(&work, &out).unwrap();
        let kept: Vec<PathBuf> = files(&out).unwrap();
        assert_eq!(kept, [out.join("deep/new"), out.join("deep/other")]);
        assert_eq!(fs::read(out.join("deep/other")).unwrap(), b"12");
    }
}
