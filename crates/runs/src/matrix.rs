//! Schemes side by side: every one with every seed, on several threads, in one folder.

use std::path::Path;

use airbound_record::{Summary, Tables};
use airbound_report::Comparison;

use crate::error::RunsError;
use crate::facts::facts;
use crate::folder::{Entry, Index, REPORT, Staging, write_report};
use crate::jobs;
use crate::opened::{Named, Opened};
use crate::request::{RunRequest, encoding};
use crate::watch::{Meter, Watch};

/// Runs of a comparison: every scheme with every seed.
#[derive(Debug, Clone)]
pub struct Matrix {
    /// The schemes, each under another label.
    pub schemes: Vec<Named>,
    /// Number of seeds, counted up from that of the scenario.
    pub seeds: u32,
    /// The tables that each run leaves.
    pub tables: Tables,
    /// The scheme against which costs are counted, by its label.
    pub baseline: Option<String>,
}

/// A comparison that is on disk.
pub struct Finished {
    /// Index in its folder.
    pub index: Index,
    /// The summaries, in the order of the index.
    pub summaries: Vec<Summary>,
    /// The runs as a report needs them.
    pub comparison: Comparison,
}

impl Matrix {
    /// One run of each scheme, with small tables. Costs are counted against the scenario's own scheme if it is among them, else against
    /// the first.
    #[must_use]
    pub fn of(opened: &Opened, schemes: Vec<Named>) -> Self {
        let own = schemes.iter().find(|named| named.scheme == opened.scenario.scheme);
        let baseline = own.or(schemes.first()).map(|named| named.label.clone());
        Self { schemes, seeds: 1, tables: Tables::SMALL, baseline }
    }

    /// Runs everything on up to `threads` threads, and leaves a folder with the runs and their report.
    ///
    /// # Errors
    /// A scheme is wrong, the system refuses something, or [`RunsError::Interrupted`] once `watch` says so; then an earlier
    /// comparison in the folder stays.
    pub fn run(
        &self,
        opened: &Opened,
        threads: usize,
        folder: &Path,
        watch: &dyn Watch,
    ) -> Result<Finished, RunsError> {
        let seeds = opened.seeds(self.seeds)?;
        let cells: Vec<(&Named, Entry)> =
            self.schemes.iter().flat_map(|named| cells(named, seeds.clone())).collect();
        // The first run of each scheme is built before any is simulated: a scheme may be wrong. A built run stays in its thread.
        let first: Vec<usize> = (0..cells.len()).step_by(self.seeds.max(1) as usize).collect();
        let staging = Staging::begin(folder)?;
        let encoding = encoding(cells.len(), threads);
        let meter = Meter::new(watch, opened.length() * cells.len() as u64);
        let build = |(named, entry): &(&Named, Entry)| opened.build(named, entry.seed);
        let done = jobs::begun(threads, &cells, &first, build, |(named, entry), built| {
            let request =
                RunRequest { named: (*named).clone(), seed: entry.seed, tables: self.tables, encoding };
            let folder = staging.path().join(&entry.folder);
            let (record, summary) = request.metered(opened, built, &folder, None, &meter)?;
            let loaded = airbound_report::Run::load(&record)?;
            Ok(((entry.scheme.clone(), loaded), summary))
        })?;
        let (runs, summaries): (Vec<_>, Vec<Summary>) = done.into_iter().unzip();
        let focus = opened.focus();
        let comparison = Comparison::new(runs, focus.as_deref(), self.baseline.as_deref())?
            .with_facts(facts(&opened.scenario));
        write_report(&comparison, &staging.path().join(REPORT))?;
        let index = Index {
            scenario: opened.name.clone(),
            focus,
            baseline: self.baseline.clone(),
            runs: cells.into_iter().map(|(_, entry)| entry).collect(),
        };
        staging.finish(&index)?;
        Ok(Finished { index, summaries, comparison })
    }
}

/// The runs of a scheme.
fn cells(named: &Named, seeds: std::ops::Range<u64>) -> impl Iterator<Item = (&Named, Entry)> {
    seeds.map(move |seed| {
        let folder = format!("{}-seed{seed}", named.file_name());
        (named, Entry { folder, scheme: named.label.clone(), seed })
    })
}
