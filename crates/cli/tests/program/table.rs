//! The table of wrong inputs: each is refused with one sentence that holds what the table says, exit code 2, and nothing left behind.

use serde::Deserialize;

use crate::place::{Place, TINY};

/// Pairs of an input and a part of its sentence.
type Cases = Vec<(String, String)>;

/// `wrong_inputs.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    commands: Cases,
    sets: Cases,
    lines: Cases,
    grids: Cases,
}

impl Table {
    fn read() -> Self {
        toml::from_str(include_str!("wrong_inputs.toml")).expect("a table")
    }
}

/// The words of a command line, in which quotes of both kinds hold words together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for sign in line.chars() {
        match (quote, sign) {
            (Some(open), _) if sign == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(sign),
        }
    }
    assert_eq!(quote, None, "{line}");
    words.extend(word);
    words
}

/// A folder with `tiny.toml`, and one with a letter in it.
fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("mine")).expect("a folder");
    std::fs::write(place.path("mine/letter.txt"), "Dear").expect("written");
    place
}

/// Runs a command and collects what differs from the table.
fn compare(place: &Place, input: &str, arguments: &[&str], expected: &str, wrong: &mut Vec<String>) {
    let sentence = place.refuse(arguments);
    if !sentence.contains(expected) {
        wrong.push(format!("{input}\n  expected: {expected}\n  found:    {sentence}"));
    }
}

fn assert_none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn command_lines() {
    let (place, mut wrong) = (place(), Vec::new());
    for (line, expected) in Table::read().commands {
        let words = words(&line);
        // Access points and the laboratory are those of Linux.
        let is_of_linux = words.first().is_some_and(|command| ["agent", "lab"].contains(&command.as_str()));
        if is_of_linux && !cfg!(target_os = "linux") {
            continue;
        }
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        compare(&place, &line, &arguments, &expected, &mut wrong);
    }
    assert_none(&wrong);
}

#[test]
fn changes() {
    let (place, mut wrong) = (place(), Vec::new());
    for (number, (set, expected)) in Table::read().sets.into_iter().enumerate() {
        // All commands read a scenario alike.
        let command = ["plan", "run", "compare"][number % 3];
        compare(&place, &set, &[command, "tiny.toml", "--set", &set], &expected, &mut wrong);
    }
    assert_none(&wrong);
}

#[test]
fn scenarios() {
    let (place, mut wrong) = (place(), Vec::new());
    for (number, (lines, expected)) in Table::read().lines.into_iter().enumerate() {
        let text = format!("{TINY}{}\n", lines.replace('|', "\n"));
        std::fs::write(place.path("x.toml"), text).expect("written");
        let command = ["plan", "run", "compare"][number % 3];
        compare(&place, &lines, &[command, "x.toml"], &expected, &mut wrong);
    }
    assert_none(&wrong);
}

#[test]
fn grids() {
    let (place, mut wrong) = (place(), Vec::new());
    for (lines, expected) in Table::read().grids {
        std::fs::write(place.path("grid.toml"), format!("{}\n", lines.replace('|', "\n"))).expect("written");
        for arguments in [&["sweep", "grid.toml"][..], &["sweep", "grid.toml", "--dry-run"]] {
            compare(&place, &lines, arguments, &expected, &mut wrong);
        }
    }
    assert_none(&wrong);
}

#[test]
fn the_table_is_long_and_says_what_is_wrong() {
    let table = Table::read();
    let all = [table.commands, table.sets, table.lines, table.grids].concat();
    assert!(all.len() >= 300, "{}", all.len());
    let mut inputs: Vec<&String> = all.iter().map(|(input, _)| input).collect();
    inputs.sort();
    inputs.dedup();
    assert_eq!(inputs.len(), all.len(), "an input is there twice");
    assert!(all.iter().all(|(_, expected)| expected.len() >= 10));
}

/// `sweep` on a full disk blames the disk, not the file that it could not write.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let place = place();
    std::fs::write(
        place.path("grid.toml"),
        "scenario = \"tiny.toml\"\nseeds = 40\n[axes]\n\"wire.delay\" = [\"1 ms\", \"2 ms\", \"3 ms\"]\n",
    )
    .expect("a grid");
    // Files of at most 16 KiB, and an error in place of a signal beyond that.
    let script =
        format!("trap '' XFSZ; ulimit -f 16; exec {} sweep grid.toml", env!("CARGO_BIN_EXE_airbound"));
    let limited = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(place.path("."))
        .output()
        .expect("bash starts");
    let sentence = String::from_utf8(limited.stderr).expect("text");
    assert_eq!(limited.status.code(), Some(2), "{sentence}");
    assert_eq!(sentence.lines().count(), 1, "{sentence}");
    assert!(sentence.contains("cannot write") && sentence.contains("File too large"), "{sentence}");
    // With room again the same command goes on.
    let again = place.succeed(&["sweep", "grid.toml"]);
    assert!(again.contains("of the runs were there already"), "{again}");
}
