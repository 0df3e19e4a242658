//! `airbound completions` and `airbound man`: the command line for shells and for `man`, from its one declaration.

use std::fs;
use std::path::Path;

use airbound_console::output;
use airbound_runs::folder::write_whole;
use clap::{Command, CommandFactory};

use crate::args::{Cli, Completions, Man};
use crate::error::CliError;

pub(super) fn completions(completions: &Completions) -> Result<(), CliError> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Cli::command(), "airbound", &mut script);
    Ok(output::print(&String::from_utf8_lossy(&script))?)
}

pub(super) fn man(man: &Man) -> Result<(), CliError> {
    let mut command = Cli::command();
    command.build();
    match &man.out {
        None => Ok(output::print(&page(command))?),
        Some(folder) => {
            fs::create_dir_all(folder).map_err(CliError::io("create the folder", folder))?;
            pages(command, folder)
        }
    }
}

/// Writes the page of a command and those of its commands: `airbound-law-choose-bound.1`.
fn pages(command: Command, folder: &Path) -> Result<(), CliError> {
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help" && !inner.is_hide_set())
    {
        pages(inner.clone(), folder)?;
    }
    let name = clap_mangen::Man::new(command.clone()).get_filename();
    Ok(write_whole(&folder.join(name), &page(command))?)
}

fn page(command: Command) -> String {
    let mut text = Vec::new();
    // A vector takes what is written.
    let _ = clap_mangen::Man::new(command).render(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}
