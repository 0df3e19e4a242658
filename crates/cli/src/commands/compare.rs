//! `airbound compare`: schemes side by side, each with one or more seeds, on all cores.

use std::path::{Path, PathBuf};

use airbound_record::{Encoding, Summary, Tables};
use airbound_report::Comparison;
use serde::Serialize;

use crate::args::{Compare, Voice};
use crate::error::CliError;
use crate::progress::Progress;
use crate::results::{Entry, Index, REPORT, Staging, write_report};
use crate::session::{self, Named, Opened, Session};
use crate::{jobs, output};

/// What is run: every scheme with every seed.
pub(super) struct Matrix {
    pub(super) schemes: Vec<Named>,
    pub(super) seeds: u32,
    pub(super) tables: Tables,
    pub(super) baseline: Option<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Results<'a> {
    scenario: &'a str,
    folder: &'a Path,
    report: &'a Path,
    focus: &'a Option<String>,
    baseline: &'a Option<String>,
    runs: Vec<Outcome<'a>>,
}

#[derive(Serialize)]
struct Outcome<'a> {
    scheme: &'a str,
    seed: u64,
    folder: PathBuf,
    summary: &'a Summary,
}

pub(super) fn compare(compare: &Compare, voice: Voice) -> Result<(), CliError> {
    let opened = session::open(&compare.source)?;
    let names = if compare.schemes.is_empty() { &opened.scenario.schemes } else { &compare.schemes };
    let schemes = schemes(&opened, names)?;
    let matrix = Matrix {
        baseline: baseline(&opened, &schemes),
        schemes,
        seeds: compare.effort.seeds,
        tables: super::run::tables(compare.effort.logs_packets(false)),
    };
    let folder = compare.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(&opened.name));
    self::matrix(&opened, &matrix, jobs::threads(compare.effort.jobs), &folder, voice)
}

/// The schemes of these names, each once.
pub(super) fn schemes(opened: &Opened, names: &[String]) -> Result<Vec<Named>, CliError> {
    let mut schemes: Vec<Named> = Vec::new();
    for name in names.iter().map(|name| name.trim()) {
        if schemes.iter().any(|known| known.label == name) {
            return Err(CliError::Input(format!("--schemes names {name} twice")));
        }
        schemes.push(opened.scheme(Some(name))?);
    }
    Ok(schemes)
}

/// The scheme against which costs are counted: the scenario's own if it is among them, else the first.
pub(super) fn baseline(opened: &Opened, schemes: &[Named]) -> Option<String> {
    let own = schemes.iter().find(|named| named.scheme == opened.scenario.scheme);
    own.or(schemes.first()).map(|named| named.label.clone())
}

/// A name of a scheme as a part of a file name.
pub(super) fn file_name(label: &str) -> String {
    label.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Runs everything, and leaves a folder with the runs and their report.
pub(super) fn matrix(
    opened: &Opened,
    matrix: &Matrix,
    threads: usize,
    folder: &Path,
    voice: Voice,
) -> Result<(), CliError> {
    let first = opened.scenario.seed;
    let entries: Vec<(&Named, Entry)> = matrix
        .schemes
        .iter()
        .flat_map(|named| {
            (0..u64::from(matrix.seeds)).map(move |number| {
                let seed = first.saturating_add(number);
                let folder = format!("{}-seed{seed}", file_name(&named.label));
                (named, Entry { folder, scheme: named.label.clone(), seed })
            })
        })
        .collect();
    // What is wrong with a scheme is said before anything is written.
    for named in &matrix.schemes {
        session::check(opened, &named.scheme, false)?;
    }
    let staging = Staging::begin(folder)?;
    let progress = Progress::new(voice, opened.length() * entries.len() as u64);
    let encoding = if entries.len() < threads { Encoding::Thread } else { Encoding::Inline };
    let summaries = jobs::all(threads, entries.len(), |number| {
        let (named, entry) = &entries[number];
        let session = Session { named: (*named).clone(), seed: entry.seed, tables: matrix.tables, encoding };
        let (record, summary) = session.run(opened, &staging.path().join(&entry.folder), None, &progress)?;
        let loaded = airbound_report::Run::load(&record)?;
        Ok::<_, CliError>((entry.scheme.clone(), loaded, summary))
    });
    drop(progress);
    let (runs, summaries): (Vec<_>, Vec<Summary>) =
        summaries?.into_iter().map(|(label, loaded, summary)| ((label, loaded), summary)).unzip();
    let focus = opened.focus();
    let comparison = Comparison::new(runs, focus.as_deref(), matrix.baseline.as_deref())?;
    write_report(&comparison, &staging.path().join(REPORT))?;
    let index = Index {
        scenario: opened.name.clone(),
        focus,
        baseline: matrix.baseline.clone(),
        runs: entries.into_iter().map(|(_, entry)| entry).collect(),
    };
    staging.finish(&index)?;
    let report = folder.join(REPORT);
    if voice.json {
        return output::json(&results(&index, &summaries, folder, &report));
    }
    let text = comparison.to_text(output::width());
    output::say(voice, &format!("{text}\nRuns:   {}\nReport: {}\n", folder.display(), report.display()))
}

fn results<'a>(
    index: &'a Index,
    summaries: &'a [Summary],
    folder: &'a Path,
    report: &'a Path,
) -> Results<'a> {
    let runs = index.runs.iter().zip(summaries).map(|(entry, summary)| Outcome {
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
        runs: runs.collect(),
    }
}
