//! The program in a folder of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Two stations, two flows, a fifth of a second.
pub(crate) const TINY: &str = r#"
title = "Two streams to two stations"
duration = "200 ms"
focus = "stream"
schemes = ["fifo", "linux"]

[[station]]
name = "near"
channel = { kind = "log-distance", distance = "5 m" }

[[station]]
name = "far"
channel = { kind = "log-distance", distance = "25 m", shadowing = "2 dB" }

[[flow]]
name = "stream"
kind = "cbr"
station = "near"
rate = "10 Mbit/s"

[[flow]]
name = "download"
kind = "tcp"
station = "far"
"#;

/// A folder with `tiny.toml` in it, where the program runs. It lies in a temporary folder of its own, so that whatever lies beside
/// that one (`../shared` above all) has no say in a run.
pub(crate) struct Place {
    folder: PathBuf,
    _parent: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let parent = TempDir::new().expect("a temporary folder");
        let folder = parent.path().join("alone");
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(folder.join("tiny.toml"), TINY).expect("a scenario");
        Self { folder, _parent: parent }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Names of all files and folders, sorted.
    pub(crate) fn list(&self) -> Vec<String> {
        let mut found = Vec::new();
        walk(&self.folder, &self.folder, &mut found);
        found.sort();
        found
    }

    /// All files and folders with their content.
    fn content(&self) -> BTreeMap<String, Option<Vec<u8>>> {
        let content = |name: String| {
            let bytes = std::fs::read(self.path(&name)).ok();
            (name, bytes)
        };
        self.list().into_iter().map(content).collect()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_airbound"))
            .args(arguments)
            .current_dir(&self.folder)
            .env_remove("COLUMNS")
            .output()
            .expect("the program starts")
    }

    /// Runs, expects success, and returns what was printed.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {errors}");
        assert_eq!(errors, "", "{arguments:?} says nothing on standard error");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs, expects exit code 2 with one sentence, nothing printed and nothing left behind; returns the sentence.
    pub(crate) fn refuse(&self, arguments: &[&str]) -> String {
        let before = self.content();
        let output = self.run(arguments);
        let errors = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.starts_with("airbound: "), "{arguments:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{arguments:?}: one sentence, not {errors}");
        assert!(output.stdout.is_empty(), "{arguments:?} prints nothing");
        assert!(self.content() == before, "{arguments:?} left or changed something: {:?}", self.list());
        errors
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.succeed(arguments)).expect("JSON and nothing else")
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        found.push(path.strip_prefix(root).expect("inside").display().to_string());
        if path.is_dir() {
            walk(root, &path, found);
        }
    }
}
