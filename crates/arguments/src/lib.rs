//! Wrong arguments in one sentence: what is wrong, and what is allowed, as all errors of Airbound's programs are. clap says it in
//! several paragraphs, with the usage and hints. [`mod@reference`] makes the pages of commands from the same declarations.
//!
//! ```
//! use clap::{Arg, Command};
//!
//! let error = Command::new("airbound").arg(Arg::new("seed").long("seed")).try_get_matches_from(["airbound", "--sed"]);
//! let sentence = airbound_arguments::sentence(&error.expect_err("an unknown argument"));
//! assert_eq!(sentence, "unexpected argument '--sed' found; a similar argument exists: '--seed'; see --help");
//! ```
#![forbid(unsafe_code)]

pub mod reference;

use std::error::Error;
use std::num::{IntErrorKind, ParseIntError};

use clap::error::ErrorKind;

/// The sentence for an error of clap's. Not for help and version, which [`clap::Error::use_stderr`] tells apart.
#[must_use]
pub fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return format!("name a command; `{} --help` lists them", given(&text));
    }
    let problem: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        // No command takes values that begin with a dash.
        .filter(|line| !line.is_empty() && !line.starts_with("tip: to pass '"))
        .collect();
    let problem = problem.join(" ").replace(" tip: ", "; ");
    let problem = problem.strip_prefix("error: ").unwrap_or(&problem);
    // What the standard library says of a word in a number's place is not what is allowed.
    let number = error.source().and_then(|cause| cause.downcast_ref::<ParseIntError>());
    let problem = match number {
        // Its range is not known here.
        Some(cause) if *cause.kind() == IntErrorKind::InvalidDigit => {
            let is_below = problem.starts_with("invalid value '-");
            let allowed = if is_below { "no number below 0 is allowed" } else { "allowed is a whole number" };
            problem.replace(&cause.to_string(), allowed)
        }
        Some(cause) => problem.replace(&cause.to_string(), "the number is too large"),
        None => with_range(problem),
    };
    format!("{problem}; see --help")
}

/// The name of the program, and of the commands that are given, as the usage in a help text has them.
fn given(help: &str) -> String {
    let usage = help.lines().find_map(|line| line.trim().strip_prefix("Usage: "));
    let words = usage.into_iter().flat_map(str::split_whitespace);
    let words: Vec<&str> = words.take_while(|word| !word.starts_with(['<', '['])).collect();
    words.join(" ")
}

/// The sentence with a range as scenarios have it: `0 is not in 1..=1024` becomes `allowed is a whole number from 1 to 1024`.
fn with_range(problem: &str) -> String {
    let Some((beginning, range)) = problem.split_once(" is not in ") else { return problem.to_owned() };
    let (Some((before, _)), Some((least, most))) = (beginning.rsplit_once(": "), range.split_once("..="))
    else {
        return problem.to_owned();
    };
    format!("{before}: allowed is a whole number from {least} to {most}")
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command, value_parser};

    use super::*;

    fn wrong(arguments: &[&str]) -> String {
        let run = Command::new("run")
            .arg(Arg::new("count").long("count").value_parser(value_parser!(u64).range(1..=9)))
            .arg(Arg::new("seed").long("seed").value_parser(value_parser!(u64)));
        let program =
            Command::new("airbound").subcommand(run).subcommand_required(true).arg_required_else_help(true);
        sentence(&program.try_get_matches_from(arguments).expect_err("wrong"))
    }

    #[test]
    fn a_value_is_named_with_what_is_allowed() {
        assert_eq!(
            wrong(&["airbound", "run", "--count", "10"]),
            "invalid value '10' for '--count <count>': allowed is a whole number from 1 to 9; see --help"
        );
        assert_eq!(
            wrong(&["airbound", "run", "--seed", "x"]),
            "invalid value 'x' for '--seed <seed>': allowed is a whole number; see --help"
        );
        assert_eq!(
            wrong(&["airbound", "run", "--seed=-1"]),
            "invalid value '-1' for '--seed <seed>': no number below 0 is allowed; see --help"
        );
        assert_eq!(
            wrong(&["airbound", "run", "--seed", "99999999999999999999"]),
            "invalid value '99999999999999999999' for '--seed <seed>': the number is too large; see --help"
        );
    }

    #[test]
    fn a_missing_command_and_an_unknown_one_are_sentences() {
        assert_eq!(wrong(&["airbound"]), "name a command; `airbound --help` lists them");
        assert_eq!(
            wrong(&["airbound", "rum"]),
            "unrecognized subcommand 'rum'; a similar subcommand exists: 'run'; see --help"
        );
    }
}
