//! Folders for the temporary files of machines.

use std::fs::{self, DirBuilder};
use std::hash::{BuildHasher as _, RandomState};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::create;
use crate::LabError;

/// Names that are tried.
const ATTEMPTS: usize = 100;

/// A folder that this program has made under a name that nobody could foretell, and that only its user can enter: the initial file
/// system in it holds files of the user and the configuration of the agent. It goes with all that is in it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a folder whose path begins with `beginning`.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(beginning: &Path) -> Result<Self, LabError> {
        create(beginning.parent().unwrap_or(Path::new("")))?;
        let mut taken = ErrorKind::AlreadyExists.into();
        for attempt in 0..ATTEMPTS {
            let mut path = beginning.as_os_str().to_owned();
            path.push(format!("-{:016x}", RandomState::new().hash_one(attempt)));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path: path.into() }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = error,
                Err(error) => return Err(LabError::io("create", path.display().to_string())(error)),
            }
        }
        Err(LabError::io("create", beginning.display().to_string())(taken))
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A rest does no harm.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_folder_is_new_private_and_gone_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let beginning = folder.path().join("runs/vr.machine-7");
        let [one, other] = [&beginning; 2].map(|beginning| Scratch::create(beginning).unwrap());
        assert_ne!(one.path(), other.path());
        for scratch in [&one, &other] {
            assert!(scratch.path().to_str().unwrap().starts_with(beginning.to_str().unwrap()));
            assert_eq!(fs::metadata(scratch.path()).unwrap().permissions().mode() & 0o7777, 0o700);
            fs::write(scratch.path().join("initrd"), "secret").unwrap();
        }
        drop((one, other));
        assert_eq!(fs::read_dir(folder.path().join("runs")).unwrap().count(), 0);
    }
}
