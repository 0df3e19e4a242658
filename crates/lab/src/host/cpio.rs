//! Writes an initial file system: cpio, format "newc" (kernel Documentation/driver-api/early-userspace).

use std::collections::BTreeSet;

/// An archive under construction.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
    inode: u32,
    folders: BTreeSet<String>,
}

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

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
                self.entry(&name[..at], FOLDER | 0o755, (0, 0), b"");
            }
            at += 1;
        }
    }

    /// Adds a file and its parent folders.
    pub(crate) fn file(&mut self, name: &str, permissions: u32, content: &[u8]) {
        if let Some((folder, _)) = name.rsplit_once('/') {
            self.folder(folder);
        }
        self.entry(name, FILE | permissions, (0, 0), content);
    }

    /// Adds a character device.
    pub(crate) fn device(&mut self, name: &str, major: u32, minor: u32) {
        self.entry(name, CHARACTER_DEVICE | 0o600, (major, minor), b"");
    }

    /// The finished archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.inode = 0;
        self.entry("TRAILER!!!", 0, (0, 0), b"");
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.inode += 1;
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let name_size = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        // Inode, mode, owner, group, links, time, size, device (2), device of the file (2), size of the name, checksum.
        let fields = [self.inode, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
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
