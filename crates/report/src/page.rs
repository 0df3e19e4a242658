//! The page of all results: one HTML file without external resources.

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use crate::chart::Chart;
use crate::error::ReportError;
use crate::figure::Figure;
use crate::grid::Grid;

/// A page of results.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// The question that the results answer, possibly empty.
    pub question: String,
    /// The runs, in a few words.
    pub subtitle: String,
    /// The answer: sentences, the most important first.
    pub sentences: Vec<String>,
    /// Its parts.
    pub chapters: Vec<Chapter>,
    /// Another thing to try, below all parts: a sentence, and the address of its guide, escaped as a URL.
    pub next: Option<(String, String)>,
}

/// A part of a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chapter {
    /// Its heading.
    pub title: String,
    /// Description of the experiment, in a few sentences.
    pub text: String,
    /// A row for each scheme, judged.
    pub scores: Option<Scorecard>,
    /// Tables; long ones are folded.
    pub tables: Vec<Grid>,
    /// Charts.
    pub charts: Vec<Chart>,
    /// Charts of which the reader chooses one at a time, before the others.
    pub picks: Vec<Pick>,
    /// Whether all tables are folded.
    pub is_folded: bool,
    /// Folded texts with their titles.
    pub texts: Vec<(String, String)>,
}

/// Charts of which one is shown at a time; without a script the others are folded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pick {
    /// Words before the choice.
    pub label: String,
    /// Names with their charts; the first is shown.
    pub options: Vec<(String, Chart)>,
}

/// Figures of each scheme, or rule, with a grade.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Scorecard {
    /// Heading of the names of the rows.
    pub of: &'static str,
    /// Heads of the columns after the name.
    pub columns: Vec<String>,
    /// The name of a row, and its figures.
    pub rows: Vec<(String, Vec<Score>)>,
    /// A note below, possibly empty.
    pub note: String,
}

/// One figure of a scorecard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Score {
    /// The figure with its unit.
    pub text: String,
    /// A second line, possibly empty.
    pub detail: String,
    /// The class of its colour.
    pub grade: Grade,
    /// Whether no other scheme is better.
    pub is_best: bool,
}

/// A figure against its demand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// There is no demand.
    #[default]
    Plain,
    /// The demand is met.
    Good,
    /// It is met most of the time.
    Fair,
    /// It is missed.
    Poor,
}

#[derive(Serialize)]
struct Shown<'a> {
    title: &'a str,
    question: &'a str,
    subtitle: &'a str,
    sentences: &'a [String],
    chapters: Vec<Section<'a>>,
    next: &'a Option<(String, String)>,
    version: &'a str,
    style: &'a str,
    script: &'a str,
}

#[derive(Serialize)]
struct Section<'a> {
    title: &'a str,
    text: &'a str,
    scores: &'a Option<Scorecard>,
    tables: Vec<Table<'a>>,
    figures: Vec<Figure>,
    picks: Vec<Picks<'a>>,
    texts: &'a [(String, String)],
}

#[derive(Serialize)]
struct Table<'a> {
    grid: &'a Grid,
    is_folded: bool,
}

#[derive(Serialize)]
struct Picks<'a> {
    label: &'a str,
    options: Vec<(&'a str, Figure)>,
}

/// Rows above which a table is folded.
const LONG: usize = 16;

impl Chapter {
    fn section(&self) -> Section<'_> {
        let picks = self.picks.iter().map(|pick| {
            let options = pick.options.iter();
            let options = options.filter_map(|(name, chart)| Some((name.as_str(), chart.figure()?)));
            Picks { label: &pick.label, options: options.collect() }
        });
        let is_folded = |grid: &Grid| self.is_folded || grid.rows.len() > LONG;
        let tables = self.tables.iter().map(|grid| Table { grid, is_folded: is_folded(grid) });
        Section {
            title: &self.title,
            text: &self.text,
            scores: &self.scores,
            tables: tables.collect(),
            figures: self.charts.iter().filter_map(Chart::figure).collect(),
            picks: picks.filter(|pick| !pick.options.is_empty()).collect(),
            texts: &self.texts,
        }
    }
}

impl Section<'_> {
    fn is_empty(&self) -> bool {
        let is_bare = self.tables.is_empty() && self.figures.is_empty() && self.picks.is_empty();
        is_bare && self.text.is_empty() && self.scores.is_none() && self.texts.is_empty()
    }
}

impl Page {
    /// The page as HTML.
    ///
    /// # Errors
    /// If it cannot be rendered, which is a defect.
    pub fn to_html(&self) -> Result<String, ReportError> {
        let mut environment = Environment::new();
        // The extension of the name enables escaping of inserted text.
        environment.add_template("report.html", include_str!("page/report.html"))?;
        let sections = self.chapters.iter().map(Chapter::section);
        let shown = Shown {
            title: &self.title,
            question: &self.question,
            subtitle: &self.subtitle,
            sentences: &self.sentences,
            chapters: sections.filter(|section| !section.is_empty()).collect(),
            next: &self.next,
            version: env!("CARGO_PKG_VERSION"),
            style: include_str!("page/style.css"),
            script: include_str!("page/script.js"),
        };
        Ok(environment.get_template("report.html")?.render(Serde(&shown))?)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_script_is_small_and_ends_nothing() {
        let script = include_str!("page/script.js");
        assert!(script.len() <= 10_000, "{}", script.len());
        assert!(!script.contains("</") && !script.contains("http") && !script.contains("fetch"));
    }
}
