//! `airbound arena`: every rule for the rate of a stream, at every place, ranked.

use std::io::Write;
use std::path::PathBuf;

use airbound_console::{Progress, Verbosity, output};
use airbound_runs::arena::{Arena, OwnRules, Place};
use airbound_runs::folder::{Fresh, REPORT, STANDINGS, check_arena, write_whole};
use airbound_runs::jobs;
use airbound_runs::output::{Kind, Output};

use crate::args::arena::Arena as Asked;
use crate::error::CliError;

pub(super) fn arena(asked: &Asked, verbosity: Verbosity) -> Result<(), CliError> {
    let places = if asked.places.is_empty() { Place::usual(asked.quick) } else { asked.places.clone() };
    let (seeds, duration) = Arena::extent(asked.quick);
    let seeds = asked.seeds.unwrap_or(seeds);
    let arena = Arena::new(&asked.rules, OwnRules::new(), &asked.schemes, &places, seeds, duration)?;
    let folder = asked.out.clone().unwrap_or_else(|| PathBuf::from("runs").join("arena"));
    let (path, figures) = (folder.join(REPORT), folder.join(STANDINGS));
    // What stands in the way is said before anything is simulated; what was made is removed if the arena does not end.
    check_arena(&folder)?;
    let fresh = Fresh::note(&folder);
    std::fs::create_dir_all(&folder).map_err(CliError::io("create", &folder))?;
    let mut page = Output::begin(&path, Kind::Page)?;
    let progress = Progress::new(verbosity);
    let standings = arena.hold(jobs::threads(asked.jobs), &progress)?;
    drop(progress);
    let found = standings.to_json();
    page.write_all(standings.to_html()?.as_bytes()).map_err(CliError::io("write", &path))?;
    page.finish()?;
    write_whole(&figures, &format!("{found:#}\n"))?;
    fresh.keep();
    if asked.open {
        airbound_console::open(&path);
    }
    if verbosity.json {
        return Ok(output::json(&found)?);
    }
    let text = standings.to_text(output::width());
    Ok(output::say(
        verbosity,
        &format!("{text}\nFigures: {}\nReport:  {}\n", figures.display(), path.display()),
    )?)
}
