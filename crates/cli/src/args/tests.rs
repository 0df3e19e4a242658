//! The definition of the command line: consistent, its examples valid, its reference page up to date.

use std::path::Path;
use std::{env, fs};

use airbound_arguments::reference;
use clap::CommandFactory;

#[test]
fn the_help_of_run_names_every_part_of_a_scheme() {
    let help =
        super::Cli::command().find_subcommand_mut("run").expect("a command").render_long_help().to_string();
    let words: Vec<&str> = help.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();
    for chapter in &airbound_scenario::catalogue()[..4] {
        assert!(chapter.words.iter().all(|(word, _)| words.contains(word)), "{chapter:?}");
    }
}

#[test]
fn the_definition_is_consistent() {
    super::Cli::command().debug_assert();
}

/// The words of a command line, quotes removed; what other programs do with its output is cut off.
fn words(line: &str) -> Vec<String> {
    let line = line.split("   ").next().unwrap_or(line);
    let (mut words, mut quote, mut is_new) = (Vec::<String>::new(), None, true);
    for letter in line.chars() {
        match (letter, quote) {
            ('\'' | '"', None) => quote = Some(letter),
            (_, Some(open)) if open == letter => quote = None,
            (' ', None) => is_new = true,
            ('|' | '>', None) if is_new => break,
            _ if is_new => {
                words.push(letter.to_string());
                is_new = false;
            }
            _ => words.last_mut().expect("a word").push(letter),
        }
    }
    words
}

#[test]
fn every_example_of_the_help_is_a_command() {
    fn check(command: &clap::Command) -> usize {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default().replace("\\\n ", "");
        let examples = help.lines().map(|line| line.trim().trim_start_matches("sudo "));
        let examples: Vec<&str> = examples.filter(|line| line.starts_with("airbound ")).collect();
        for example in &examples {
            if let Err(error) = super::Cli::command().try_get_matches_from(words(example)) {
                panic!("{example}: {error}");
            }
        }
        examples.len() + command.get_subcommands().map(check).sum::<usize>()
    }
    assert!(check(&super::Cli::command()) > 40);
}

/// Its first lines, the table and the options of all commands are this program's.
#[test]
#[cfg(target_os = "linux")]
fn the_reference_page_is_what_the_help_says() {
    let mut program = super::Cli::command();
    program.build();
    let text = format!(
        "# Commands\n\nEvery command and option, as `--help` says it.\n\n{}\n## Options of all commands\n\n{}{}",
        reference::table("airbound", &program),
        reference::arguments(&program, |_| true),
        reference::sections("airbound", &program)
    );
    compare("commands.md", &[("airbound", text)]);
}

/// The tables of keys are the declarations of the reader.
#[test]
fn the_reference_page_of_scenarios_is_what_they_declare() {
    compare("scenario-keys.md", &airbound_scenario::reference_tables());
}

/// Compares the parts of a page, or writes them.
fn compare(page: &str, parts: &[(&str, String)]) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    let found = fs::read_to_string(&page).expect("the page");
    let wanted = parts.iter().fold(found.clone(), |page, (name, text)| {
        reference::with_part(&page, name, text).unwrap_or_else(|| panic!("no part {name}"))
    });
    if env::var_os(reference::RENEW).is_some() {
        fs::write(&page, &wanted).expect("written");
    } else {
        assert!(found == wanted, "{} is not what the code says; run: make reference", page.display());
    }
}
