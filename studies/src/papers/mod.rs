//! Papers done again: every claim beside what this simulator measures, with the paper's figures redrawn.
//!
//! A paper is a list of *studies*, one for each experiment of its evaluation. A study asks for runs and makes rows and a chapter
//! of what they brought. All runs of a paper go through one pool, each once however many studies ask for it.

pub(crate) mod aggregates;
mod allocation;
mod claims;
mod digest;
mod distribution;
mod experiment;
mod grid;
pub mod headlines;
mod in_place;
mod last_pq;
mod law;
mod plum;
pub mod row;
mod trace;
mod wqm;

use airbound_report::{Chapter, Grid, Page, Verdict, validation_grid};

use std::collections::BTreeSet;

pub use in_place::InPlace;
pub(crate) use last_pq::case_study_rows;
pub use plum::{TraceSetError, TraceSets};

use claims::Claims;
use experiment::{Experiment, Results};
use headlines::Judged;
use row::{ClaimRow, Origin};

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

/// The same, and a dash where nothing was measured.
fn text(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), shown)
}

/// The same, and nothing where nothing was measured.
fn or_empty(value: Option<f64>) -> String {
    value.map_or(String::new(), shown)
}

/// Results of a study.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    /// Its claims.
    pub(crate) rows: Vec<ClaimRow>,
    /// Its text, tables and charts.
    pub(crate) chapter: Chapter,
}

/// One experiment of a paper.
pub(crate) trait Study: Sync {
    /// Returns the claims and the chapter that follow from the runs that it asks for; it is called until all of them are made.
    fn part(&self, effort: Effort, results: &Results) -> Part;
}

/// A paper reproduced.
#[derive(Debug, Clone)]
pub struct Reproduction {
    /// Which paper.
    pub paper: Paper,
    /// Every claim, and what else is worth a row.
    pub rows: Vec<ClaimRow>,
    /// The figures and tables.
    pub chapters: Vec<Chapter>,
    /// Simulations that were run.
    pub runs: usize,
    /// Queue that took the place of the paper's system, of which the rows tell then, without reasons.
    pub in_place: Option<InPlace>,
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

    fn claims(self) -> &'static Claims {
        match self {
            Self::Wqm => &wqm::CLAIMS,
            Self::LastPq => &last_pq::CLAIMS,
            Self::Plum => &plum::CLAIMS,
            Self::Law => &law::CLAIMS,
            Self::Allocation => &allocation::CLAIMS,
        }
    }

    /// Returns the heading of the report.
    #[must_use]
    pub fn title(self) -> &'static str {
        &self.claims().title
    }

    /// Rows whose verdict was the same in ten quick reproductions with ten seeds, as "claim | metric" (`scripts/steady.py`).
    fn steady(self) -> impl Iterator<Item = &'static str> {
        let text = match self {
            Self::Wqm => include_str!("../../data/steady/wqm.txt"),
            Self::LastPq => include_str!("../../data/steady/last-pq.txt"),
            Self::Plum => include_str!("../../data/steady/plum.txt"),
            Self::Law => include_str!("../../data/steady/law.txt"),
            Self::Allocation => include_str!("../../data/steady/low-delay-rate-allocation.txt"),
        };
        text.lines().filter(|line| !line.starts_with('#'))
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

    /// Runs everything, with the system itself or what is `in_place` of it. `traces` are measured ones for the papers that use some;
    /// `progress` is told how many of how many runs are done.
    ///
    /// # Errors
    /// [`TrialError`] if a scenario of this crate cannot be run, which is a defect.
    pub fn reproduce(
        self,
        traces: &TraceSets,
        in_place: Option<&InPlace>,
        effort: Effort,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Reproduction, TrialError> {
        if self == Self::Plum {
            return plum::reproduce(effort, traces, progress);
        }
        let studies = self.studies();
        let parts = |results: &Results| -> Vec<Part> {
            studies.iter().map(|study| study.part(effort, results)).collect()
        };
        let run = |experiment: &Experiment| match in_place {
            None => experiment.run(),
            Some(ours) => {
                Experiment { trial: ours.apply(self, &experiment.trial)?, ..experiment.clone() }.run()
            }
        };
        let (parts, runs) = Results::ask(effort.jobs.get(), progress, parts, run)?;
        let (mut rows, mut chapters) = (Vec::new(), Vec::new());
        for part in parts {
            rows.extend(part.rows);
            // A study of numbers alone shows nothing else.
            if !part.chapter.title.is_empty() {
                chapters.push(part.chapter);
            }
        }
        let rows = by_claim(rows);
        Ok(Reproduction { paper: self, rows, chapters, runs, in_place: in_place.cloned() })
    }
}

/// Puts the rows of each claim together, in the order in which claims first come.
fn by_claim(rows: Vec<ClaimRow>) -> Vec<ClaimRow> {
    let mut claims: Vec<(String, Vec<ClaimRow>)> = Vec::new();
    for row in rows {
        match claims.iter_mut().find(|(id, _)| *id == row.id) {
            Some((_, rows)) => rows.push(row),
            None => claims.push((row.id.clone(), vec![row])),
        }
    }
    claims.into_iter().flat_map(|(_, rows)| rows).collect()
}

impl Reproduction {
    /// Returns the heading of the report: the paper's, and what took the place of its system.
    #[must_use]
    pub fn title(&self) -> String {
        let paper = self.paper.title();
        let named = |ours: &InPlace| format!("{paper}, with {} in the place of its system", ours.name());
        self.in_place.as_ref().map_or(paper.to_owned(), named)
    }

    /// Returns the paper's headlines with their verdicts.
    #[must_use]
    pub fn headlines(&self) -> Vec<Judged<'static>> {
        let headlines = &self.paper.claims().headlines;
        headlines.iter().map(|headline| Judged::new(headline, &self.rows)).collect()
    }

    /// Returns the tables of verdicts: the headlines, their rows, the paper's other rows, and our own.
    #[must_use]
    pub fn verdicts(&self) -> Vec<Grid> {
        let part = |title: &str, wanted: fn(&ClaimRow) -> bool| {
            let rows = self.rows.iter().filter(|row| wanted(row)).map(|row| row.row.clone());
            validation_grid(title, &rows.collect::<Vec<_>>())
        };
        let parts = [
            part("The headlines, row by row", |row| row.headline.is_some()),
            part("The paper's other rows", |row| row.headline.is_none() && row.origin == Origin::Paper),
            part("Our own rows", |row| row.headline.is_none() && row.origin == Origin::Ours),
        ];
        let parts = parts.into_iter().filter(|grid| !grid.rows.is_empty());
        let mut headlines = headlines::grid(&self.headlines());
        if self.in_place.is_some() {
            headlines.note.clear();
        }
        [headlines].into_iter().chain(parts).collect()
    }

    /// Returns the rows that were measured and not reached: those that make the command fail. Of quick runs only the ones whose
    /// verdict does not depend on the seed.
    #[must_use]
    pub fn failed(&self, effort: Effort) -> Vec<&ClaimRow> {
        let steady: BTreeSet<&str> = self.paper.steady().collect();
        let counts = |row: &ClaimRow| !effort.quick || steady.contains(identity(row).as_str());
        self.rows
            .iter()
            .filter(|row| matches!(row.verdict, Verdict::Trend | Verdict::Missed) && counts(row))
            .collect()
    }

    /// One line for each claim: its verdicts, and why those that are not reached differ.
    #[must_use]
    pub fn conclusion(&self) -> Grid {
        let mut grid = Grid::new("What holds, what does not, and why", &["claim", "comes to", "why"], 3);
        let mut claims: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !claims.contains(&row.id.as_str()) {
                claims.push(&row.id);
            }
        }
        for claim in claims {
            let rows = self.rows.iter().filter(|row| row.id == claim && row.verdict != Verdict::Informs);
            let verdicts: Vec<Verdict> = rows.map(|row| row.verdict).collect();
            let told = self.in_place.is_some() || verdicts.iter().all(|verdict| verdict.is_reached());
            let why = if told {
                ""
            } else {
                self.paper.claims().reason(claim).unwrap_or("see the notes of its rows")
            };
            let said =
                if verdicts.is_empty() { "informs only".to_owned() } else { Verdict::counts(&verdicts) };
            grid.rows.push(vec![claim.into(), said.into(), why.into()]);
        }
        grid
    }

    /// The report as a page that stands alone.
    ///
    /// # Errors
    /// If a chart cannot be drawn, which is a defect.
    pub fn to_html(&self, effort: Effort) -> Result<String, airbound_report::ReportError> {
        let length = if effort.quick {
            "QUICK: shorter runs and fewer seeds than the verdicts need"
        } else {
            "full length"
        };
        let chapter = |grid: Grid| {
            let title = grid.title.clone();
            Chapter { title, tables: vec![Grid { title: String::new(), ..grid }], ..Chapter::default() }
        };
        // The headlines and the reasons first, what was measured next, and all rows last.
        let mut verdicts = self.verdicts().into_iter();
        let headlines = verdicts.next().map(chapter);
        let rows = Chapter { title: "All rows".to_owned(), tables: verdicts.collect(), ..Chapter::default() };
        let judged: Vec<Verdict> = self.rows.iter().map(|row| row.verdict).collect();
        let rows_in_all = format!("All {} rows: {}.", judged.len(), Verdict::counts(&judged));
        let first = headlines.iter().map(|chapter| format!("{}.", chapter.title));
        let sentences = first.chain([rows_in_all]).collect();
        let chapters = headlines.into_iter().chain([chapter(self.conclusion())]);
        let chapters = chapters.chain(self.chapters.iter().cloned()).chain([rows]);
        let page = Page {
            title: self.title(),
            subtitle: format!("reproduction, {} simulations, {length}", self.runs),
            sentences,
            chapters: chapters.collect(),
            ..Page::default()
        };
        page.to_html()
    }
}

/// A row's name in the lists of steady rows.
fn identity(row: &ClaimRow) -> String {
    format!("{} | {}", row.id, row.metric)
}

#[cfg(test)]
mod tests {
    use airbound_report::ValidationRow;

    use super::*;

    /// Asking for the runs also looks up the words of all parts.
    #[test]
    fn every_run_is_a_scenario() {
        for (paper, quick) in Paper::ALL.into_iter().flat_map(|paper| [(paper, false), (paper, true)]) {
            let effort = Effort { quick, ..Effort::default() };
            let mut none = Results::default();
            paper.studies().iter().for_each(|study| drop(study.part(effort, &none)));
            let runs = none.take_missing();
            assert!(!runs.is_empty() || paper == Paper::Plum, "{}", paper.name());
            for run in runs {
                let scenario = run.trial.read();
                assert!(scenario.is_ok(), "{:?}: {:?}", run.trial.sets, scenario.err());
            }
        }
    }

    #[test]
    fn headlines_have_names_of_their_own() {
        for paper in Paper::ALL {
            let keys: Vec<&str> =
                paper.claims().headlines.iter().map(|headline| headline.key.as_str()).collect();
            assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "{keys:?}");
            assert_eq!(paper.claims().unknown_headlines(), Vec::<&str>::new(), "{}", paper.name());
        }
    }

    #[test]
    fn a_quick_run_fails_on_steady_rows_alone() {
        let steady = Paper::Wqm.steady().next().unwrap_or("hops | none");
        let (claim, metric) = steady.split_once(" | ").expect("a claim and a metric");
        let row = |metric: &str| {
            let tolerance = Some(airbound_report::Tolerance::AtMost);
            let row = ValidationRow::judged(claim, metric, "", Some(1.0), Some(2.0), tolerance, "");
            ClaimRow { row, headline: None, origin: Origin::Paper }
        };
        let rows = vec![row("of one seed"), row(metric)];
        let reproduction =
            Reproduction { paper: Paper::Wqm, rows, chapters: Vec::new(), runs: 0, in_place: None };
        assert_eq!(reproduction.failed(Effort::default()).len(), 2);
        let quick = reproduction.failed(Effort { quick: true, ..Effort::default() });
        assert!(quick.iter().all(|row| row.metric == metric), "{quick:?}");
    }
}
