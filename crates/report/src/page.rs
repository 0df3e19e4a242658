//! `report.html`: a self-contained page.

use std::path::Path;

use minijinja::Environment;
use minijinja::value::Serde;
use serde::Serialize;

use crate::comparison::Comparison;
use crate::error::ReportError;
use crate::figures::Figure;
use crate::grid::{Column, Grid, NOTHING, number};
use crate::run::Run;
use crate::validate::{ValidationRow, validation_grid};

#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    subtitle: &'a str,
    sections: &'a [Section],
    version: &'a str,
}

#[derive(Default, Serialize)]
pub(crate) struct Section {
    pub(crate) title: String,
    /// Text before tables and figures, possibly empty.
    pub(crate) text: String,
    /// Sentences before tables and figures.
    pub(crate) sentences: Vec<String>,
    pub(crate) tables: Vec<Grid>,
    pub(crate) figures: Vec<Figure>,
    /// Folded texts with their titles.
    pub(crate) folded: Vec<(String, String)>,
}

impl Comparison {
    /// The report as one HTML page without scripts and external resources.
    ///
    /// # Errors
    /// If a plot cannot be drawn, which is a defect.
    pub fn to_html(&self) -> Result<String, ReportError> {
        let mut sections = Vec::new();
        let sentences: Vec<String> = self.verdict().sentences().map(str::to_owned).collect();
        if !sentences.is_empty() {
            sections.push(Section { title: "Verdict".to_owned(), sentences, ..Section::default() });
        }
        sections.push(Section {
            title: "Result".to_owned(),
            tables: std::iter::once(self.headline())
                .chain(self.networks())
                .chain(self.videos())
                .chain(self.users())
                .chain(self.demands())
                .chain(self.costs())
                .collect(),
            ..Section::default()
        });
        for (title, figures) in [
            ("Latency distributions", self.distributions()?),
            ("Where the time went", self.splits()?),
            ("Over time", self.time_series()?),
        ] {
            if !figures.is_empty() {
                sections.push(Section { title: title.to_owned(), figures, ..Section::default() });
            }
        }
        sections.push(Section {
            title: "Details".to_owned(),
            tables: vec![self.flows(), self.packets(), self.stations(), self.air()],
            ..Section::default()
        });
        sections.push(self.provenance());
        let kind = if self.schemes.len() > 1 { "schemes compared" } else { "one scheme" };
        let name = self.scenario();
        let [title, question] = ["title", "description"].map(|key| self.said(key));
        let lead = question.map_or_else(String::new, |question| format!("{question} "));
        let subtitle = format!("{lead}{name}, {kind}: {}", self.scheme_names());
        page(title.as_deref().unwrap_or(&name), &subtitle, &sections)
    }

    /// A text at the top of the resolved scenario that all runs share: `title = "…"`.
    fn said(&self, key: &str) -> Option<String> {
        let mut runs = self.schemes.iter().flat_map(|scheme| &scheme.runs);
        let of = |run: &Run| -> Option<String> {
            let top = run.scenario.lines().take_while(|line| !line.starts_with('['));
            let value = top.filter_map(|line| line.split_once(" = ")).find(|(found, _)| *found == key)?.1;
            // A basic string of TOML in one line is one of JSON, a literal string stands as it is.
            let literal = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
            literal.map_or_else(|| serde_json::from_str(value).ok(), |literal| Some(literal.to_owned()))
        };
        let first = of(runs.next()?)?;
        runs.all(|run| of(run).as_ref() == Some(&first)).then_some(first)
    }

    /// Writes the report.
    ///
    /// # Errors
    /// If it cannot be rendered or written.
    pub fn write_html(&self, path: &Path) -> Result<(), ReportError> {
        let html = self.to_html()?;
        std::fs::write(path, html).map_err(|source| ReportError::Write { path: path.to_owned(), source })
    }

    fn scheme_names(&self) -> String {
        self.schemes.iter().map(|scheme| scheme.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The section on the runs: slots, seeds, versions, speed, and the scenarios.
    fn provenance(&self) -> Section {
        let columns = [
            "scheme",
            "queue",
            "rate",
            "sender",
            "session",
            "seed",
            "version",
            "measured s",
            "run took s",
            "simulated s per s",
        ];
        let mut grid = Grid::new("Runs", &columns, 5);
        if let Some(Column { numeric, .. }) = grid.columns.get_mut(6) {
            *numeric = false;
        }
        let mut scenarios: Vec<(String, String)> = Vec::new();
        for (scheme, run) in
            self.schemes.iter().flat_map(|scheme| scheme.runs.iter().map(move |r| (scheme, r)))
        {
            let summary = &run.summary;
            let optional = |text: &Option<String>| text.clone().unwrap_or(NOTHING.to_owned());
            let speed = |value: Option<f64>| value.map_or(NOTHING.to_owned(), number);
            let cells = vec![
                scheme.name.clone(),
                summary.scheme.queue.clone(),
                summary.scheme.rate.clone(),
                optional(&summary.scheme.sender),
                optional(&summary.scheme.session),
                summary.seed.to_string(),
                summary.airbound.clone(),
                number(summary.duration_s),
                speed(run.performance.map(|performance| performance.wall_s)),
                speed(run.performance.map(|performance| performance.simulated_s_per_wall_s)),
            ];
            grid.rows.push(cells.into_iter().map(Into::into).collect());
            let title = format!("Resolved scenario of {}", scheme.name);
            if !run.scenario.is_empty() && !scenarios.iter().any(|(known, _)| *known == title) {
                scenarios.push((title, run.scenario.clone()));
            }
        }
        Section {
            title: "What was run".to_owned(),
            tables: vec![grid],
            folded: scenarios,
            ..Section::default()
        }
    }
}

/// A validation as one HTML page.
///
/// # Errors
/// If the page cannot be rendered, which is a defect.
pub fn validation_html(title: &str, rows: &[ValidationRow]) -> Result<String, ReportError> {
    let table = validation_grid("", rows);
    let section =
        Section { title: "Ours beside the reference".to_owned(), tables: vec![table], ..Section::default() };
    page(title, "validation", &[section])
}

pub(crate) fn page(title: &str, subtitle: &str, sections: &[Section]) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    // The extension of the name enables escaping of inserted text.
    environment.add_template("report.html", include_str!("report.html"))?;
    let page = Page { title, subtitle, sections, version: env!("CARGO_PKG_VERSION") };
    Ok(environment.get_template("report.html")?.render(Serde(&page))?)
}
