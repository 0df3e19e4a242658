//! `airbound compare`: schemes side by side, each with one or more seeds, on all cores.

use std::path::{Path, PathBuf};

use airbound_record::Summary;
use airbound_report::{Alike, Answer, Attempt, Comparison, Trial};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<Vec<Attempt>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alike: Option<Vec<Alike>>,
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
    let shown = Shown {
        why: compare.why,
        members: compare.effort.members,
        open: compare.open,
        more: (!compare.full).then(|| "--full".to_owned()),
        next: None,
    };
    self::matrix(&opened, &matrix, shown, threads, &folder, verbosity)
}

/// Further runs that test what the verdict says.
struct Tried {
    /// The bottleneck, its cause taken away.
    why: Option<Trial>,
    /// Advice that was followed.
    attempts: Vec<Attempt>,
    /// Schemes that decided alike, without a queue below theirs.
    alike: Vec<Alike>,
}

/// Parts of a comparison that are asked for.
#[derive(Clone, Default)]
pub(super) struct Shown {
    /// A test of the bottleneck.
    pub(super) why: bool,
    /// Every flow of a group in a row of its own.
    pub(super) members: bool,
    /// The report in the browser.
    pub(super) open: bool,
    /// The option or command that shows all, where several schemes are to fit a screen.
    pub(super) more: Option<String>,
    /// Another thing to try, and the address of its guide.
    pub(super) next: Option<(String, String)>,
}

/// The comparison for the terminal: of several schemes a screen, which names `more` for all, else all.
pub(super) fn text(comparison: Comparison, members: bool, more: Option<&str>) -> String {
    match more {
        Some(more) if !members && comparison.schemes().nth(1).is_some() => {
            comparison.to_screen(output::width(), more)
        }
        _ if members => comparison.with_members().to_text(output::width()),
        _ => comparison.to_text(output::width()),
    }
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
    let tried = if shown.why {
        let of = &finished.comparison;
        Some(Tried {
            why: matrix.why(opened, of, threads, &progress)?,
            attempts: matrix.follow(opened, of, threads, &progress)?,
            alike: matrix.why_alike(opened, of, threads, &progress)?,
        })
    } else {
        None
    };
    drop(progress);
    let report = folder.join(REPORT);
    if let Some(tried) = &tried {
        let comparison = tried.why.iter().fold(finished.comparison, Comparison::with_trial);
        let comparison = tried.attempts.iter().fold(comparison, Comparison::with_attempt);
        finished.comparison = tried.alike.iter().fold(comparison, Comparison::with_alike);
        write_report(&finished.comparison, &report)?;
    }
    if let Some((sentence, address)) = &shown.next {
        finished.comparison = finished.comparison.with_next(sentence, address);
        write_report(&finished.comparison, &report)?;
    }
    if shown.open {
        airbound_console::open(&report);
    }
    if verbosity.json {
        return Ok(output::json(&results(&finished, tried, folder, &report))?);
    }
    let mut text = text(finished.comparison, shown.members, shown.more.as_deref());
    if let Some(tried) = &tried {
        text += "\n";
        text += &tried.why.as_ref().map_or_else(
            || "=> No cause to take away: the verdict names no single one that can be.\n".to_owned(),
            |trial| trial.to_text(output::width()),
        );
        text.extend(tried.attempts.iter().map(|attempt| attempt.to_text(output::width())));
        text.extend(tried.alike.iter().map(|alike| alike.to_text(output::width())));
    }
    Ok(output::say(
        verbosity,
        &format!("{text}\nRuns:   {}\nReport: {}\n", folder.display(), report.display()),
    )?)
}

fn results<'a>(
    finished: &'a Finished,
    tried: Option<Tried>,
    folder: &'a Path,
    report: &'a Path,
) -> Results<'a> {
    let index = &finished.index;
    let (why, attempts, alike) =
        tried.map_or((None, None, None), |tried| (tried.why, Some(tried.attempts), Some(tried.alike)));
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
        attempts,
        alike,
        runs: runs.collect(),
    }
}
