//! Papers done again: every claim beside what this simulator measures, with the paper's figures redrawn.
//!
//! A paper is a list of *studies*, one for each experiment of its evaluation. A study names the runs that it needs and then
//! makes rows and a chapter of what they brought. All runs of a paper go through one pool, each once however many studies ask
//! for it.

mod aggregates;
mod allocation;
mod claims;
mod digest;
mod distribution;
mod experiment;
mod grid;
mod last_pq;
mod law;
mod plum;
mod trace;
mod wqm;

use airbound_report::{Chapter, Grid, ValidationRow, Verdict, reproduction_html};

pub(crate) use last_pq::case_study_rows;
pub use plum::{TraceSetError, TraceSets};

use experiment::{Experiment, Results};

use crate::{Effort, TrialError};

/// A paper that can be reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Paper {
    /// Showail and Shihada, "Battling Latency in Modern Wireless Networks", IEEE Access 2018.
    Wqm,
    /// Shen and Meng, "Law: Towards Consistent Low Latency in 802.11 Home Networks", NSDI 2026.
    Law,
    /// Lu et al., "Practical Latency-aware Scheduling for Low-latency Elephant VR Flows in Wi-Fi Networks", PerCom 2024.
    LastPq,
    /// Gringoli and Leith, "Low Delay Rate Allocation in WLANs Using Aggregation".
    Allocation,
    /// Chen et al., "Bidirectional Bandwidth Coordination under Half-Duplex Bottlenecks for Video Streaming".
    Plum,
}

/// A number with three significant digits, as tables show it.
fn shown(value: f64) -> String {
    airbound_report::number(value)
}

/// Results of a study.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    /// Its claims.
    pub(crate) rows: Vec<ValidationRow>,
    /// Its text, tables and charts.
    pub(crate) chapter: Chapter,
}

/// One experiment of a paper.
pub(crate) trait Study: Sync {
    /// The runs that it needs: those that [`Study::part`] asks for.
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let none = Results::default();
        self.part(effort, &none);
        none.missing()
    }

    /// Returns the claims and the chapter that follow from the runs. Without [`Study::experiments`], it asks for the same runs
    /// whether they were made or not.
    fn part(&self, effort: Effort, results: &Results) -> Part;
}

/// A paper reproduced.
#[derive(Debug, Clone)]
pub struct Reproduction {
    /// Which paper.
    pub paper: Paper,
    /// Every claim, and what else is worth a row.
    pub rows: Vec<ValidationRow>,
    /// The figures and tables.
    pub chapters: Vec<Chapter>,
    /// Simulations that were run.
    pub runs: usize,
}

impl Paper {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Wqm, Self::LastPq, Self::Law, Self::Allocation, Self::Plum];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wqm => "wqm",
            Self::LastPq => "last-pq",
            Self::Plum => "plum",
            Self::Law => "law",
            Self::Allocation => "low-delay-rate-allocation",
        }
    }

    /// The paper of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|paper| paper.name() == name)
    }

    /// Returns the heading of the report.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Wqm => &wqm::CLAIMS.title,
            Self::LastPq => &last_pq::CLAIMS.title,
            Self::Plum => &plum::CLAIMS.title,
            Self::Law => &law::CLAIMS.title,
            Self::Allocation => &allocation::CLAIMS.title,
        }
    }

    fn studies(self) -> Vec<Box<dyn Study>> {
        match self {
            Self::Wqm => wqm::studies(),
            Self::LastPq => last_pq::studies(),
            // Its experiments are sessions, see `plum::reproduce`.
            Self::Plum => Vec::new(),
            Self::Law => law::studies(),
            Self::Allocation => allocation::studies(),
        }
    }

    /// Why a claim comes out as it does, for those that do not match.
    fn reason(self, claim: &str) -> Option<&'static str> {
        match self {
            Self::Wqm => wqm::CLAIMS.reason(claim),
            Self::LastPq => last_pq::CLAIMS.reason(claim),
            Self::Plum => plum::CLAIMS.reason(claim),
            Self::Law => law::CLAIMS.reason(claim),
            Self::Allocation => allocation::CLAIMS.reason(claim),
        }
    }

    /// Runs everything. `progress` is told how many of how many runs are done.
    ///
    /// # Errors
    /// [`TrialError`] if a scenario of this crate cannot be run, which is a defect.
    pub fn reproduce(
        self,
        effort: Effort,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Reproduction, TrialError> {
        if self == Self::Plum {
            let traces = TraceSets::load(None)
                .map_err(|error| TrialError { name: self.name().to_owned(), reason: error.to_string() })?;
            return self.reproduce_with(&traces, effort, progress);
        }
        let studies = self.studies();
        let wanted = studies.iter().flat_map(|study| study.experiments(effort));
        let results = Results::of(wanted, effort.jobs, progress)?;
        let (mut rows, mut chapters) = (Vec::new(), Vec::new());
        for study in &studies {
            let part = study.part(effort, &results);
            rows.extend(part.rows);
            // A study of numbers alone shows nothing else.
            if !part.chapter.title.is_empty() {
                chapters.push(part.chapter);
            }
        }
        debug_assert_eq!(results.missing(), [], "a study asked for a run only after all were made");
        let rows = by_claim(rows);
        Ok(Reproduction { paper: self, rows, chapters, runs: results.len() })
    }
}

impl Paper {
    /// The same with measured traces of the reader's, for the papers that use some; the others do without.
    ///
    /// # Errors
    /// As [`Paper::reproduce`].
    pub fn reproduce_with(
        self,
        traces: &TraceSets,
        effort: Effort,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Reproduction, TrialError> {
        match self {
            Self::Plum => plum::reproduce(effort, traces, progress),
            _ => self.reproduce(effort, progress),
        }
    }
}

/// Puts the rows of each claim together, in the order in which claims first come.
fn by_claim(rows: Vec<ValidationRow>) -> Vec<ValidationRow> {
    let mut claims: Vec<(String, Vec<ValidationRow>)> = Vec::new();
    for row in rows {
        match claims.iter_mut().find(|(id, _)| *id == row.id) {
            Some((_, rows)) => rows.push(row),
            None => claims.push((row.id.clone(), vec![row])),
        }
    }
    claims.into_iter().flat_map(|(_, rows)| rows).collect()
}

impl Reproduction {
    /// One line for each claim: what it comes to, and why where it does not match.
    #[must_use]
    pub fn conclusion(&self) -> Grid {
        let mut grid = Grid::new("What matches, what differs, and why", &["claim", "comes to", "why"], 3);
        let mut claims: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !claims.contains(&row.id.as_str()) {
                claims.push(&row.id);
            }
        }
        for claim in claims {
            let judged = || self.rows.iter().filter(|row| row.id == claim && row.tolerance.is_some());
            let count = |verdict| judged().filter(|row| row.verdict == verdict).count();
            let counts = [
                (count(Verdict::Match), "match"),
                (count(Verdict::Trend), "trend only"),
                (count(Verdict::Differs), "differ"),
                (count(Verdict::NotRun), "not run"),
            ];
            let said: Vec<String> = counts
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, word)| format!("{count} {word}"))
                .collect();
            let all_match = judged().all(|row| row.verdict == Verdict::Match);
            let why =
                if all_match { "" } else { self.paper.reason(claim).unwrap_or("see the notes of its rows") };
            let said = if said.is_empty() { "informs only".to_owned() } else { said.join(", ") };
            grid.rows.push(vec![claim.into(), said.into(), why.into()]);
        }
        grid
    }

    /// The report as a page that stands alone.
    ///
    /// # Errors
    /// If a chart cannot be drawn, which is a defect.
    pub fn to_html(&self) -> Result<String, airbound_report::ReportError> {
        let subtitle = format!("reproduction, {} simulations", self.runs);
        reproduction_html(self.paper.title(), &subtitle, &self.rows, &self.chapters, &self.conclusion())
    }
}
