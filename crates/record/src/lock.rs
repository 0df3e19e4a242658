//! One writer a folder.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::RecordError;
use crate::files::{self, is_at};

/// The lock inside a folder.
pub(crate) const LOCK: &str = ".lock";
/// Attempts to open the file that the last holder has not removed.
const ATTEMPTS: usize = 100;

/// The right to write results into a folder, held by one process at a time. The file behind it is removed when the lock is dropped, and
/// means nothing if a killed process left it.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    /// Locked as long as it is open.
    _file: File,
}

impl FolderLock {
    /// Takes the lock inside a folder that exists.
    ///
    /// # Errors
    /// [`RecordError::Busy`] if it is held, or the file cannot be created.
    pub fn inside(folder: &Path) -> Result<Self, RecordError> {
        Self::take(folder.join(LOCK), folder)
    }

    /// Takes the lock beside a folder, which is replaced as a whole and need not exist.
    ///
    /// # Errors
    /// [`RecordError::Busy`] if it is held, or the file cannot be created.
    pub fn beside(folder: &Path) -> Result<Self, RecordError> {
        let mut name = OsString::from(".");
        name.push(folder.file_name().unwrap_or_default());
        name.push(".airbound-lock");
        Self::take(folder.with_file_name(name), folder)
    }

    /// Whether another process is writing results into a folder. Nothing is created there.
    #[must_use]
    pub fn is_held(folder: &Path) -> bool {
        folder.join(LOCK).exists() && matches!(Self::inside(folder), Err(RecordError::Busy { .. }))
    }

    fn take(path: PathBuf, folder: &Path) -> Result<Self, RecordError> {
        let busy = || RecordError::Busy { path: folder.to_owned() };
        for _ in 0..ATTEMPTS {
            let file = files::append(&path).map_err(RecordError::io("create", &path))?;
            match file.try_lock() {
                // Whoever held it may have removed it after it was opened here.
                Ok(()) if is_at(&file, &path) => return Ok(Self { path, _file: file }),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(busy()),
                Err(TryLockError::Error(source)) => return Err(RecordError::io("lock", &path)(source)),
            }
        }
        Err(busy())
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // While it is locked: another process that has opened it sees that it is gone.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_writer_is_refused_until_the_first_is_done() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for take in [FolderLock::inside, FolderLock::beside] {
            let held = take(folder.path()).expect("free");
            assert!(matches!(take(folder.path()), Err(RecordError::Busy { path }) if path == folder.path()));
            drop(held);
            drop(take(folder.path()).expect("free again"));
        }
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "nothing is left");
    }

    #[test]
    fn a_file_that_a_killed_process_left_means_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join(LOCK), "").expect("written");
        FolderLock::inside(folder.path()).expect("free");
    }
}
