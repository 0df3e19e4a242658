//! The program in a folder of its own.

use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

/// An empty folder where the program runs. It lies in a temporary folder of its own, so that whatever lies beside that one
/// (`../shared` above all) has no say in a run.
pub(crate) struct Place {
    folder: PathBuf,
    _parent: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let parent = TempDir::new().expect("a temporary folder");
        let folder = parent.path().join("alone");
        std::fs::create_dir(&folder).expect("a folder");
        Self { folder, _parent: parent }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_airbound-studies"))
            .args(arguments)
            .current_dir(&self.folder)
            .env_remove("COLUMNS")
            .output()
            .expect("the program starts")
    }
}
