//! The command line for shells and for `man`, from its one declaration.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use clap::{Command, CommandFactory};

use super::args::{Cli, Completions, Man};
use super::error::RelayError;

/// The program's own name: `airbound relay` starts it under another.
const PROGRAM: &str = "airbound-relay";

fn program() -> Command {
    Cli::command().name(PROGRAM)
}

pub(super) fn completions(completions: &Completions) -> Result<(), RelayError> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut program(), PROGRAM, &mut script);
    print(&script)
}

pub(super) fn man(man: &Man) -> Result<(), RelayError> {
    let mut command = program();
    command.build();
    match &man.out {
        None => print(&page(command)),
        Some(folder) => {
            fs::create_dir_all(folder).map_err(RelayError::io("create the folder of the pages"))?;
            pages(command, folder)
        }
    }
}

/// Writes the page of a command and those of its commands: `airbound-relay-edge.1`.
fn pages(command: Command, folder: &Path) -> Result<(), RelayError> {
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        pages(inner.clone(), folder)?;
    }
    let name = clap_mangen::Man::new(command.clone()).get_filename();
    fs::write(folder.join(name), page(command)).map_err(RelayError::io("write a page"))
}

fn page(command: Command) -> Vec<u8> {
    let mut text = Vec::new();
    // A vector takes what is written.
    let _ = clap_mangen::Man::new(command).render(&mut text);
    text
}

fn print(bytes: &[u8]) -> Result<(), RelayError> {
    std::io::stdout().lock().write_all(bytes).map_err(RelayError::io("write to standard output"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page() {
        let folder = tempfile::tempdir().expect("a folder");
        man(&Man { out: Some(folder.path().join("man1")) }).expect("written");
        for (name, option) in [
            ("airbound-relay.1", "edge"),
            ("airbound-relay-edge.1", "txtime"),
            ("airbound-relay-key.1", "epoch"),
        ] {
            let text = fs::read_to_string(folder.path().join("man1").join(name)).expect(name);
            assert!(text.contains(option), "{name}: {text}");
        }
    }
}
