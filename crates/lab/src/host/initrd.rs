//! Writes an initial file system: cpio, format "newc" (kernel Documentation/driver-api/early-userspace).

use std::collections::BTreeSet;
use std::io::Write;

use cpio::newc::{self, ModeFileType};

/// An archive under construction.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    inode: u32,
    folders: BTreeSet<String>,
}

impl Archive {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a folder and its parents.
    pub(crate) fn folder(&mut self, name: &str) {
        let mut at = 0;
        while at < name.len() {
            at = name[at..].find('/').map_or(name.len(), |found| at + found);
            if self.folders.insert(name[..at].to_owned()) {
                self.entry(&name[..at], ModeFileType::Directory, 0o755, 0, b"");
            }
            at += 1;
        }
    }

    /// Adds a file and its parent folders.
    pub(crate) fn file(&mut self, name: &str, permissions: u32, content: &[u8]) {
        self.dated_file(name, permissions, 0, content);
    }

    /// Adds a file with the time of its last change, seconds of Unix time, and its parent folders.
    pub(crate) fn dated_file(&mut self, name: &str, permissions: u32, changed: u32, content: &[u8]) {
        self.folder_of(name);
        self.entry(name, ModeFileType::Regular, permissions, changed, content);
    }

    /// Adds a symbolic link and its parent folders.
    pub(crate) fn link(&mut self, name: &str, target: &str) {
        self.folder_of(name);
        self.entry(name, ModeFileType::Symlink, 0o777, 0, target.as_bytes());
    }

    fn folder_of(&mut self, name: &str) {
        if let Some((folder, _)) = name.rsplit_once('/') {
            self.folder(folder);
        }
    }

    /// Adds a character device.
    pub(crate) fn device(&mut self, name: &str, major: u32, minor: u32) {
        self.inode += 1;
        let entry =
            newc::Builder::new(name).ino(self.inode).mode(0o600).set_mode_file_type(ModeFileType::Char);
        let writer = entry.rdev_major(major).rdev_minor(minor).write(&mut self.bytes, 0);
        writer.finish().expect("memory takes all bytes");
    }

    /// The finished archive.
    pub(crate) fn finish(self) -> Vec<u8> {
        newc::trailer(self.bytes).expect("memory takes all bytes")
    }

    fn entry(&mut self, name: &str, kind: ModeFileType, permissions: u32, changed: u32, content: &[u8]) {
        self.inode += 1;
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let entry = newc::Builder::new(name).ino(self.inode).mode(permissions).set_mode_file_type(kind);
        let mut writer = entry.mtime(changed).write(&mut self.bytes, size);
        let written = writer.write_all(content).and_then(|()| writer.finish());
        written.expect("memory takes all bytes");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_folders_before_files_and_is_padded() {
        let mut archive = Archive::new();
        archive.file("a/b/c", 0o644, b"hello");
        archive.file("a/b/d", 0o644, b"");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let names: Vec<usize> = ["a\0", "a/b\0", "a/b/c\0", "a/b/d\0", "TRAILER!!!\0"]
            .iter()
            .map(|name| bytes.windows(name.len()).position(|window| window == name.as_bytes()).unwrap())
            .collect();
        assert!(names.is_sorted());
        assert_eq!(bytes.windows(6).filter(|window| *window == b"070701").count(), 5);
    }
}
