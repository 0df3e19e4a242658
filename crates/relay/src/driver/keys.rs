//! The file of keys: `NAME EPOCH KEY` on each line, `#` begins a comment. Its owner alone may read it.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use airbound_linux::privileges;

use super::error::RelayError;
use crate::protocol::{ClientKey, Key};

/// A file of keys, and its state when it was read.
#[derive(Debug)]
pub(super) struct KeyFile {
    path: PathBuf,
    state: Option<(i64, i64, u64, u64)>,
}

impl KeyFile {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), state: None }
    }

    /// Whether the file was replaced or written since it was read.
    pub(super) fn has_changed(&self) -> bool {
        state_of(&self.path) != self.state
    }

    /// Reads the keys.
    ///
    /// # Errors
    /// A file that others may read or write, or that has a wrong line.
    pub(super) fn read(&mut self) -> Result<Vec<ClientKey>, RelayError> {
        self.state = state_of(&self.path);
        let text = privileges::read_trusted(&self.path)?;
        let mode = std::fs::metadata(&self.path).map_or(0, |facts| facts.mode());
        // A credential of systemd is root's, and readable by the unit's user through an access list, which shows as the group's.
        let credentials = std::env::var_os("CREDENTIALS_DIRECTORY");
        let is_credential = credentials.is_some_and(|folder| self.path.starts_with(folder));
        let readers = if is_credential { 0o004 } else { 0o044 };
        if mode & readers != 0 {
            let path = self.path.display();
            return Err(RelayError::Input(format!(
                "{path} may be read by others; `chmod 600 {path}` it first"
            )));
        }
        parse(&text).map_err(|(line, problem)| {
            RelayError::Input(format!("{} line {line}: {problem}", self.path.display()))
        })
    }
}

fn state_of(path: &Path) -> Option<(i64, i64, u64, u64)> {
    let facts = std::fs::metadata(path).ok()?;
    Some((facts.mtime(), facts.mtime_nsec(), facts.size(), facts.ino()))
}

/// Reads the text of a key file. An error has the number of its line.
pub(super) fn parse(text: &str) -> Result<Vec<ClientKey>, (usize, String)> {
    let mut keys: Vec<ClientKey> = Vec::new();
    let mut ids = BTreeSet::new();
    for (place, line) in text.lines().enumerate() {
        let number = place + 1;
        let content = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = content.split_whitespace().collect();
        let [name, epoch, key] = words[..] else {
            if words.is_empty() {
                continue;
            }
            return Err((number, format!("it has {} words; required are NAME EPOCH KEY", words.len())));
        };
        let at = |problem: String| (number, problem);
        check_name(name).map_err(at)?;
        let epoch =
            epoch.parse().map_err(|_| (number, format!("the epoch is {epoch}; allowed are 0 to 15")))?;
        check_epoch(epoch).map_err(at)?;
        let key = Key::parse(key).map_err(|error| (number, error.to_string()))?;
        if !ids.insert(key.id()) {
            return Err((number, "the key is that of an earlier line; each needs its own".to_owned()));
        }
        if keys.iter().any(|other| other.name == name && other.epoch == epoch) {
            return Err((number, format!("{name} has a key of epoch {epoch} already")));
        }
        keys.push(ClientKey { name: name.to_owned(), epoch, key });
    }
    if keys.is_empty() {
        return Err((1, "there is no key; `airbound relay key` prints a line".to_owned()));
    }
    Ok(keys)
}

/// Checks the name of a client.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=64).contains(&name.len()) && name.bytes().all(allowed) {
        Ok(())
    } else {
        Err(format!("the name is {name:?}; allowed are 1 to 64 letters, digits, '-', '_' and '.'"))
    }
}

/// Checks the epoch of a key.
pub(super) fn check_epoch(epoch: u8) -> Result<(), String> {
    if epoch < 16 { Ok(()) } else { Err(format!("the epoch is {epoch}; allowed are 0 to 15")) }
}

#[cfg(test)]
#[path = "../../tests/parsers/keys.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const KEY: &str = "00112233445566778899aabbccddeeff";

    #[test]
    fn lines_are_read_and_wrong_ones_named() {
        let other = KEY.replace('f', "0");
        let text = format!("# clients\nvr 0 {KEY}\n\nvr 1 {other} # since May\n");
        let keys = parse(&text).expect("valid");
        assert_eq!(
            keys.iter().map(|key| (key.name.as_str(), key.epoch)).collect::<Vec<_>>(),
            [("vr", 0), ("vr", 1)]
        );
        for (wrong, sentence) in [
            ("".to_owned(), "there is no key"),
            (format!("vr {KEY}"), "it has 2 words"),
            (format!("v/r 0 {KEY}"), "the name is"),
            (format!("vr 16 {KEY}"), "the epoch is 16"),
            ("vr 0 0011".to_owned(), "the key has 4 characters"),
            (format!("vr 0 {KEY}\nvr 1 {KEY}"), "the key is that of an earlier line"),
            (format!("vr 0 {KEY}\nvr 0 {other}"), "vr has a key of epoch 0 already"),
        ] {
            let (_, problem) = parse(&wrong).expect_err("wrong");
            assert!(problem.starts_with(sentence), "{problem}");
        }
    }

    #[test]
    fn a_key_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        std::fs::write(&path, format!("vr 0 {KEY}\n")).expect("a file");
        let mode = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("permissions")
        };
        mode(0o600);
        let mut file = KeyFile::new(&path);
        assert_eq!(file.read().expect("trusted").len(), 1);
        assert!(!file.has_changed());
        for wrong in [0o640, 0o604, 0o660, 0o602] {
            mode(wrong);
            let error = file.read().expect_err("not trusted");
            assert_eq!(error.code(), 2, "{error}");
        }
        mode(0o600);
        std::fs::write(&path, "").expect("a file");
        assert!(file.has_changed());
    }
}
