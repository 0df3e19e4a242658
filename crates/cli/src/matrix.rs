//! Schemes side by side: every one with every seed, on several threads, in one folder.

use std::path::Path;

use airbound_record::{Encoding, Summary, Tables};
use airbound_report::Comparison;

use crate::error::CliError;
use crate::jobs;
use crate::request::{self, Named, Opened, RunRequest, Watch};
use crate::results::{Entry, Index, REPORT, Staging, write_report};

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
    /// Returns the number of runs.
    #[must_use]
    pub fn size(&self) -> usize {
        self.schemes.len() * self.seeds as usize
    }

    /// Runs everything, and leaves a folder with the runs and their report.
    ///
    /// # Errors
    /// A scheme is wrong, the system refuses something, or [`CliError::Interrupted`] once `watch` says so; then an earlier
    /// comparison in the folder stays.
    pub fn run(
        &self,
        opened: &Opened,
        threads: usize,
        folder: &Path,
        watch: &dyn Watch,
    ) -> Result<Finished, CliError> {
        let first = opened.scenario.seed;
        let entries: Vec<(&Named, Entry)> = self
            .schemes
            .iter()
            .flat_map(|named| {
                (0..u64::from(self.seeds)).map(move |number| {
                    let seed = first.saturating_add(number);
                    let folder = format!("{}-seed{seed}", file_name(&named.label));
                    (named, Entry { folder, scheme: named.label.clone(), seed })
                })
            })
            .collect();
        // What is wrong with a scheme is said before anything is written.
        for named in &self.schemes {
            request::check(opened, named, false)?;
        }
        let staging = Staging::begin(folder)?;
        let encoding = if entries.len() < threads { Encoding::Thread } else { Encoding::Inline };
        let done = jobs::all(threads, entries.len(), |number| {
            let (named, entry) = &entries[number];
            let session =
                RunRequest { named: (*named).clone(), seed: entry.seed, tables: self.tables, encoding };
            let (record, summary) = session.run(opened, &staging.path().join(&entry.folder), None, watch)?;
            let loaded = airbound_report::Run::load(&record)?;
            Ok::<_, CliError>((entry.scheme.clone(), loaded, summary))
        });
        let (runs, summaries): (Vec<_>, Vec<Summary>) =
            done?.into_iter().map(|(label, loaded, summary)| ((label, loaded), summary)).unzip();
        let focus = opened.focus();
        let comparison = Comparison::new(runs, focus.as_deref(), self.baseline.as_deref())?;
        write_report(&comparison, &staging.path().join(REPORT))?;
        let index = Index {
            scenario: opened.name.clone(),
            focus,
            baseline: self.baseline.clone(),
            runs: entries.into_iter().map(|(_, entry)| entry).collect(),
        };
        staging.finish(&index)?;
        Ok(Finished { index, summaries, comparison })
    }
}

/// The scheme against which costs are counted: the scenario's own if it is among them, else the first.
#[must_use]
pub fn baseline(opened: &Opened, schemes: &[Named]) -> Option<String> {
    let own = schemes.iter().find(|named| named.scheme == opened.scenario.scheme);
    own.or(schemes.first()).map(|named| named.label.clone())
}

/// A name of a scheme as a part of a file name.
pub(crate) fn file_name(label: &str) -> String {
    label.chars().filter(|c| !c.is_whitespace()).collect()
}
