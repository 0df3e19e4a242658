//! `airbound list`: the names that commands and scenarios take.

use airbound_runs::sweep;
use airbound_scenario::{catalogue, shipped};
use serde_json::{Value, json};

use crate::args::List;
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

/// Names of one kind.
struct Chapter {
    name: &'static str,
    /// The place that takes them.
    place: &'static str,
    names: Vec<(&'static str, &'static str)>,
}

/// All chapters: scenarios first, then grids, schemes and presets.
fn chapters() -> Vec<Chapter> {
    let scenarios = shipped().iter().map(|scenario| (scenario.name, scenario.title())).collect();
    let grids = sweep::shipped().collect();
    let mut chapters = vec![
        Chapter { name: "scenarios", place: "airbound run, compare", names: scenarios },
        Chapter { name: "grids", place: "airbound sweep", names: grids },
    ];
    let words = catalogue().into_iter();
    chapters.extend(words.map(|chapter| Chapter {
        name: chapter.name,
        place: chapter.place,
        names: chapter.words,
    }));
    chapters
}

pub(super) fn list(list: &List, verbosity: Verbosity) -> Result<(), CliError> {
    let mut chapters = chapters();
    if let Some(wanted) = &list.kind {
        let known: Vec<&str> = chapters.iter().map(|chapter| chapter.name).collect();
        let known = known.join(", ");
        chapters.retain(|chapter| chapter.name == wanted.replace('-', " "));
        if chapters.is_empty() {
            return Err(CliError::Input(format!("there are no {wanted:?} to list; there are {known}")));
        }
    }
    if verbosity.json {
        let all: serde_json::Map<String, Value> = chapters.iter().map(of_chapter).collect();
        return Ok(output::json(&all)?);
    }
    let names = || chapters.iter().flat_map(|chapter| &chapter.names);
    let width = names().map(|(name, _)| name.len()).max().unwrap_or(0);
    let texts = chapters.iter().map(|Chapter { name, place, names }| {
        let lines = names.iter().map(|(name, title)| format!("  {name:width$}  {title}\n"));
        format!("{name} ({place}):\n{}", lines.collect::<String>())
    });
    Ok(output::say(verbosity, &texts.collect::<Vec<_>>().join("\n"))?)
}

/// A list of names and titles under the name of a chapter.
fn of_chapter(chapter: &Chapter) -> (String, Value) {
    let names = chapter.names.iter().map(|(name, title)| json!({ "name": name, "title": title }));
    (chapter.name.replace(' ', "-"), names.collect())
}
