//! Files whose names others can foretell: never written through a symbolic link that they have put there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Attempts to open a file that others remove meanwhile.
const ATTEMPTS: usize = 100;

/// Creates a file. What has its name is removed; what a symbolic link of that name points to is left alone.
///
/// # Errors
/// A folder or another thing that cannot be removed is there, or the file cannot be created.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Writes a whole file as [`create`] makes it.
///
/// # Errors
/// The file cannot be created or written.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    create(path)?.write_all(content.as_ref())
}

/// Opens a file for appending, and creates it where it is missing; what is in it stays.
///
/// # Errors
/// It is a symbolic link or another thing that is no file, or it cannot be opened.
pub fn append(path: &Path) -> io::Result<File> {
    for _ in 0..ATTEMPTS {
        match OpenOptions::new().append(true).create_new(true).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return opened,
        }
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
            Ok(found) if found.is_file() => {}
            Ok(_) => {
                return Err(io::Error::new(ErrorKind::InvalidInput, "it is a symbolic link, or no file"));
            }
        }
        match OpenOptions::new().append(true).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // A link may have taken its place since.
            Ok(file) if !is_at(&file, path) => {}
            opened => return opened,
        }
    }
    Err(io::Error::from(ErrorKind::ResourceBusy))
}

/// Whether the open file is the one at the path, and not behind a symbolic link there.
#[cfg(unix)]
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(opened), Ok(found)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (opened.dev(), opened.ino()) == (found.dev(), found.ino())
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
pub(crate) fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let [victim, link, dangling] = ["victim", "link", "dangling"].map(|name| folder.path().join(name));
        fs::write(&victim, "precious").expect("written");
        symlink(&victim, &link).expect("a link");
        symlink(folder.path().join("nothing"), &dangling).expect("a link");
        for link in [&link, &dangling] {
            assert_eq!(append(link).expect_err("a link").kind(), ErrorKind::InvalidInput);
            write(link, "mine").expect("written");
            assert!(!link.is_symlink());
            assert_eq!(fs::read_to_string(link).expect("a file"), "mine");
        }
        assert_eq!(fs::read_to_string(&victim).expect("a file"), "precious");
        assert!(!folder.path().join("nothing").exists());
    }

    #[test]
    fn appending_keeps_what_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        for _ in 0..2 {
            append(&path).expect("a file").write_all(b"line\n").expect("written");
        }
        assert_eq!(fs::read_to_string(&path).expect("a file"), "line\nline\n");
        assert!(append(folder.path()).is_err(), "a folder");
    }
}
