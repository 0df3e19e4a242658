//! `airbound reproduce`: a paper's experiments done again.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use airbound_console::{Steps, Verbosity, output};
use airbound_report::validation_json;
use airbound_runs::folder::Fresh;
use airbound_runs::jobs;
use airbound_runs::output::{Kind, Output, STDOUT, write_page};

use super::args::Reproduce;
use super::error::CommandError;
use crate::papers::headlines::score;
use crate::papers::{InPlace, Paper, TraceSets};
use crate::{Effort, page_markdown};

pub(super) fn reproduce(reproduce: &Reproduce, verbosity: Verbosity) -> Result<(), CommandError> {
    let paper = Paper::named(&reproduce.paper)
        .ok_or_else(|| CommandError::Defect(format!("the paper {} has no experiments", reproduce.paper)))?;
    let effort = Effort {
        quick: reproduce.quick,
        jobs: NonZeroUsize::new(jobs::threads(reproduce.jobs)).unwrap_or(NonZeroUsize::MIN),
        first_seed: reproduce.seed,
    };
    let in_place = reproduce.r#as.as_deref().map(|queue| InPlace::read(paper, queue));
    let in_place = in_place.transpose().map_err(CommandError::Input)?;
    let is_plum = paper == Paper::Plum;
    if !is_plum && reproduce.traces.is_some() {
        return Err(CommandError::Input(format!("--traces is for plum; {} has no use for it", paper.name())));
    }
    let traces = TraceSets::load(reproduce.traces.as_deref())
        .map_err(|error| CommandError::Input(error.to_string()))?;
    // What cannot be written should be known before the work is done.
    let page = reproduce.out.clone().unwrap_or_else(|| default_page(paper));
    if page.is_dir() {
        return Err(CommandError::Input(format!(
            "{} is a folder; --out takes the name of a page",
            page.display()
        )));
    }
    let folder = page.parent().filter(|folder| !folder.as_os_str().is_empty());
    let fresh = folder.map(Fresh::note);
    if let Some(folder) = folder {
        fs::create_dir_all(folder).map_err(CommandError::io("create the folder", folder))?;
    }
    let streamed = page == Path::new(STDOUT);
    if streamed && verbosity.json {
        return Err(CommandError::Input("--out - and --json both write to standard output".to_owned()));
    }
    Output::check(&page, Kind::Page)?;
    let steps = Steps::new(verbosity, 1);
    steps.begin(&format!("reproducing {}", paper.name()));
    let result = paper
        .reproduce(&traces, in_place.as_ref(), effort, &|done, count| steps.reach(done, count))
        .map_err(|error| CommandError::Defect(error.to_string()))?;
    drop(steps);
    write_page(&page, &result.to_html(effort)?)?;
    if let Some(fresh) = fresh {
        fresh.keep();
    }
    if streamed {
        // The page is what was asked for.
    } else if verbosity.json {
        output::print(&validation_json(&result.rows)?)?;
    } else {
        let verdicts = result.verdicts();
        let conclusion = result.conclusion();
        let tables = result.chapters.iter().flat_map(|chapter| &chapter.tables);
        let tables = verdicts.iter().chain(tables).chain([&conclusion]);
        let text = if reproduce.markdown {
            page_markdown(&result.title(), &command(reproduce), tables) + "\n"
        } else {
            let width = output::width();
            let tables: String = tables.map(|table| format!("\n{}", table.to_text(width))).collect();
            format!("{}\n{tables}\n{} simulations. Report: {}\n", result.title(), result.runs, page.display())
        };
        output::say(verbosity, &text)?;
    }
    if effort.quick && !streamed {
        output::say(verbosity, QUICK)?;
    }
    let failed = result.failed(effort).len();
    if failed == 0 {
        Ok(())
    } else {
        let (reached, of) = score(&result.headlines());
        let why = match in_place {
            None => format!("; docs/results/{}.md says why", paper.name()),
            Some(ours) => format!(" with {} in the place of the paper's system", ours.name()),
        };
        Err(CommandError::Reproduction { reached, of, failed, why })
    }
}

/// Words below the tables of a quick reproduction.
const QUICK: &str = "\nThis was --quick: shorter runs, fewer seeds and settings. Its verdicts are a first look;\nit \
fails only on rows whose verdict was the same with ten seeds.\n";

/// The command that writes the same tables, but for the place of traces.
fn command(reproduce: &Reproduce) -> String {
    let quick = if reproduce.quick { " --quick" } else { "" };
    let seed = if reproduce.seed == 1 { String::new() } else { format!(" --seed {}", reproduce.seed) };
    let traces = if reproduce.traces.is_some() { " --traces FOLDER" } else { "" };
    let ours = reproduce.r#as.as_ref().map_or(String::new(), |queue| format!(" --as '{queue}'"));
    format!("airbound reproduce {}{ours}{quick}{seed}{traces} --markdown", reproduce.paper)
}

fn default_page(paper: Paper) -> PathBuf {
    PathBuf::from("runs").join(format!("reproduce-{}.html", paper.name()))
}
