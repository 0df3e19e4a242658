//! `airbound reproduce`: a paper's experiments done again.

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use airbound_console::{Steps, Verbosity, output};
use airbound_report::{validation_grid, validation_json};
use airbound_runs::folder::{Fresh, write_whole};
use airbound_runs::jobs;

use super::args::Reproduce;
use super::error::CommandError;
use crate::papers::{Paper, TraceSets};
use crate::{Effort, grid_markdown, rows_markdown};

pub(super) fn reproduce(reproduce: &Reproduce, verbosity: Verbosity) -> Result<(), CommandError> {
    let paper = Paper::named(&reproduce.paper)
        .ok_or_else(|| CommandError::Defect(format!("the paper {} has no experiments", reproduce.paper)))?;
    let effort = Effort {
        quick: reproduce.quick,
        standard: reproduce.standard,
        jobs: NonZeroUsize::new(jobs::threads(reproduce.jobs)).unwrap_or(NonZeroUsize::MIN),
    };
    let is_plum = paper == Paper::Plum;
    if !is_plum && (reproduce.standard || reproduce.traces.is_some()) {
        let option = if reproduce.standard { "--standard" } else { "--traces" };
        return Err(CommandError::Input(format!("{option} is for plum; {} has no use for it", paper.name())));
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
    let steps = Steps::new(verbosity, 1);
    steps.begin(&format!("reproducing {}", paper.name()));
    let result = paper
        .reproduce_with(&traces, effort, &|done, count| steps.reach(done, count))
        .map_err(|error| CommandError::Defect(error.to_string()))?;
    drop(steps);
    write_whole(&page, &result.to_html()?)?;
    if let Some(fresh) = fresh {
        fresh.keep();
    }
    if verbosity.json {
        output::print(&validation_json(&result.rows)?)?;
    } else if reproduce.markdown {
        let tables = result.chapters.iter().flat_map(|chapter| &chapter.tables);
        let conclusion = result.conclusion();
        let tables: String = tables.chain([&conclusion]).map(grid_markdown).collect();
        output::say(verbosity, &(rows_markdown(paper.title(), &result.rows) + &tables))?;
    } else {
        let width = output::width();
        let mut text = validation_grid(paper.title(), &result.rows).to_text(width);
        for table in result.chapters.iter().flat_map(|chapter| &chapter.tables) {
            text += &format!("\n{}", table.to_text(width));
        }
        text += &format!("\n{}", result.conclusion().to_text(width));
        text += &format!("\n{} simulations. Report: {}\n", result.runs, page.display());
        output::say(verbosity, &text)?;
    }
    let outside = result.rows.iter().filter(|row| row.within() == Some(false)).count();
    if outside == 0 {
        Ok(())
    } else {
        Err(CommandError::Reproduction(outside, result.rows.len(), paper.name()))
    }
}

fn default_page(paper: Paper) -> PathBuf {
    PathBuf::from("runs").join(format!("reproduce-{}.html", paper.name()))
}
