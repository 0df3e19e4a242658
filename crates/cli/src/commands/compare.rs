//! `airbound compare`: schemes side by side, each with one or more seeds, on all cores.

use std::path::{Path, PathBuf};

use airbound_record::Summary;
use airbound_report::{Answer, Comparison, Trial};
use airbound_runs::folder::{REPORT, write_report};
use airbound_runs::{Finished, Matrix, Opened, jobs};
use serde::Serialize;

use crate::args::Compare;
use crate::error::CliError;
use airbound_console::Progress;
use airbound_console::Verbosity;
use airbound_console::output;

/// Output of `--json`.
#[derive(Serialize)]
struct Results<'a> {
    scenario: &'a str,
    folder: &'a Path,
    report: &'a Path,
    focus: &'a Option<String>,
    baseline: &'a Option<String>,
    verdict: Answer,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Trial>,
    runs: Vec<Outcome<'a>>,
}

#[derive(Serialize)]
struct Outcome<'a> {
    scheme: &'a str,
    seed: u64,
    folder: PathBuf,
    summary: &'a Summary,
}

pub(super) fn compare(compare: &Compare, verbosity: Verbosity) -> Result<(), CliError> {
    let opened = compare.source.open()?;
    super::warn(&opened, verbosity);
    let names = opened.compared(&compare.schemes);
    let matrix = Matrix {
        seeds: compare.effort.seeds,
        tables: compare.effort.tables(false),
        ..Matrix::of(&opened, opened.schemes(&names)?)
    };
    let folder = compare.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(&opened.name));
    let threads = jobs::threads(compare.effort.jobs);
    let shown = Shown { why: compare.why, members: compare.effort.members, open: compare.open };
    self::matrix(&opened, &matrix, shown, threads, &folder, verbosity)
}

/// Parts of a comparison that are asked for.
#[derive(Clone, Copy, Default)]
pub(super) struct Shown {
    /// A test of the bottleneck.
    pub(super) why: bool,
    /// Every flow of a group in a row of its own.
    pub(super) members: bool,
    /// The report in the browser.
    pub(super) open: bool,
}

/// The comparison for the terminal.
pub(super) fn text(comparison: Comparison, members: bool) -> String {
    let comparison = if members { comparison.with_members() } else { comparison };
    comparison.to_text(output::width())
}

/// Runs everything, and leaves a folder with the runs and their report.
pub(super) fn matrix(
    opened: &Opened,
    matrix: &Matrix,
    shown: Shown,
    threads: usize,
    folder: &Path,
    verbosity: Verbosity,
) -> Result<(), CliError> {
    let progress = Progress::new(verbosity);
    let mut finished = matrix.run(opened, threads, folder, &progress)?;
    let trial = if shown.why { matrix.why(opened, &finished.comparison, threads, &progress)? } else { None };
    drop(progress);
    let report = folder.join(REPORT);
    if let Some(trial) = &trial {
        finished.comparison = finished.comparison.with_trial(trial);
        write_report(&finished.comparison, &report)?;
    }
    if shown.open {
        airbound_console::open(&report);
    }
    if verbosity.json {
        return Ok(output::json(&results(&finished, trial, folder, &report))?);
    }
    let mut text = text(finished.comparison, shown.members);
    if shown.why {
        let tried = trial.map_or_else(
            || "=> Nothing to try: the verdict names no single cause that can be taken away.\n".to_owned(),
            |trial| trial.to_text(output::width()),
        );
        text += &format!("\n{tried}");
    }
    Ok(output::say(
        verbosity,
        &format!("{text}\nRuns:   {}\nReport: {}\n", folder.display(), report.display()),
    )?)
}

fn results<'a>(
    finished: &'a Finished,
    why: Option<Trial>,
    folder: &'a Path,
    report: &'a Path,
) -> Results<'a> {
    let index = &finished.index;
    let runs = index.runs.iter().zip(&finished.summaries).map(|(entry, summary)| Outcome {
        scheme: &entry.scheme,
        seed: entry.seed,
        folder: folder.join(&entry.folder),
        summary,
    });
    Results {
        scenario: &index.scenario,
        folder,
        report,
        focus: &index.focus,
        baseline: &index.baseline,
        verdict: finished.comparison.verdict(),
        why,
        runs: runs.collect(),
    }
}
