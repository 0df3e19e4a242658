//! Claims as data: what a paper states, how far ours may lie from it, and the words of its page.
//!
//! `claims.toml` of a paper holds `[[headlines]]` (the statements by which readers know it), `[rows.KEY]` (one judged quantity, or
//! one for each of several cases), `[reasons]` (why a claim differs), and the words of `[chapters.KEY]`, `[tables.KEY]` and
//! `[charts.KEY]`. The analysis names a key and gives the measured
//! value. `{name}` in a text stands for what [`Row::with`] gives it.

use std::collections::BTreeMap;

use airbound_report::{Bar, Bars, Chapter, Chart, ChartKind, Grid, Line, Lines, Matrix, Tails, Tolerance};
use serde::Deserialize;

use super::headlines::Headline;
use super::row::{ClaimRow, Origin};

mod judge;

pub(crate) use judge::Row;

/// The claims of a paper.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claims {
    /// Heading of the page.
    pub(crate) title: String,
    /// The statements by which readers know the paper, in its order.
    #[serde(default)]
    pub(crate) headlines: Vec<Headline>,
    #[serde(default)]
    rows: BTreeMap<String, RowText>,
    /// Why a claim does not hold in every row, by the claim's identity.
    #[serde(default)]
    reasons: BTreeMap<String, Reason>,
    #[serde(default)]
    chapters: BTreeMap<String, ChapterText>,
    #[serde(default)]
    tables: BTreeMap<String, TableText>,
    #[serde(default)]
    charts: BTreeMap<String, ChartText>,
}

/// Why a claim does not hold in every row.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Reason {
    Text(String),
    /// The reason of another claim.
    Same {
        #[serde(rename = "as")]
        claim: String,
    },
}

/// One judged quantity.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowText {
    /// Identity of the claim, as in the list of claims.
    claim: String,
    metric: String,
    #[serde(default)]
    unit: String,
    reference: Option<f64>,
    tolerance: Option<Tolerance>,
    /// The direction that the paper claims, for a value outside the tolerance.
    trend: Option<Trend>,
    /// The side on which a value outside the tolerance is better than the paper's.
    better: Option<Better>,
    /// The least and the greatest value of the paper's baseline: a better value is `beyond` where ours lies between them too.
    baseline: Option<(f64, f64)>,
    /// The headline that the row is part of.
    headline: Option<String>,
    #[serde(default)]
    origin: Origin,
    #[serde(default)]
    note: String,
    /// Cases that differ in what they name: the first whose `when` holds is taken.
    #[serde(default)]
    cases: Vec<Case>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Better {
    Above,
    Below,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Trend {
    Above(f64),
    Below(f64),
}

impl Trend {
    fn holds(self, measured: f64) -> bool {
        match self {
            Self::Above(limit) => measured > limit,
            Self::Below(limit) => measured < limit,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Values of placeholders.
    when: BTreeMap<String, String>,
    reference: Option<f64>,
    tolerance: Option<Tolerance>,
    baseline: Option<(f64, f64)>,
    headline: Option<String>,
    origin: Option<Origin>,
    note: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChapterText {
    title: String,
    text: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableText {
    title: String,
    columns: Vec<String>,
    /// The first columns that hold text and not numbers.
    #[serde(default)]
    texts: usize,
    #[serde(default)]
    note: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChartText {
    #[serde(default)]
    x: String,
    #[serde(default)]
    y: String,
    #[serde(default)]
    logarithmic: bool,
    top: Option<f64>,
    /// Horizontal lines.
    #[serde(default)]
    levels: Vec<Level>,
    /// Kind of the samples of a chart of tails.
    #[serde(default)]
    samples: String,
    /// Bars of rows: the metric of each, and the name below it.
    #[serde(default)]
    bars: Vec<(String, String)>,
    /// Of a matrix: the value of a white cell and that of a dark one.
    shades: Option<(f64, f64)>,
    caption: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Level {
    name: String,
    value: f64,
}

/// Replaces `{name}` by its value.
fn filled(text: &str, values: &[(&str, String)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

impl Claims {
    /// Reads the claims of a paper.
    ///
    /// # Panics
    /// If the file is wrong, which is a defect of this crate: its files are compiled in, and a test reads all of them.
    pub(crate) fn read(paper: &str, text: &str) -> Self {
        toml::from_str(text).unwrap_or_else(|error| panic!("the claims of {paper} are wrong: {error}"))
    }

    fn find<'a, T>(all: &'a BTreeMap<String, T>, key: &str) -> &'a T {
        all.get(key).unwrap_or_else(|| panic!("claims.toml has no {key}"))
    }

    /// Begins a row.
    ///
    /// # Panics
    /// If there is none of this key, which is a defect of this crate.
    pub(crate) fn row(&self, key: &str) -> Row<'_> {
        Row::of(Self::find(&self.rows, key), None, Vec::new())
    }

    /// Returns a row for each case, in the order of the file. `judge` takes the row, whose placeholders are filled, and their values.
    ///
    /// # Panics
    /// As [`Claims::row`].
    pub(crate) fn each<'a>(
        &'a self,
        key: &str,
        judge: impl Fn(Row<'a>, &'a BTreeMap<String, String>) -> ClaimRow,
    ) -> Vec<ClaimRow> {
        let text = Self::find(&self.rows, key);
        let row = |case: &'a Case| {
            let values = case.when.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
            judge(Row::of(text, Some(case), values), &case.when)
        };
        text.cases.iter().map(row).collect()
    }

    /// Returns names of headlines that rows give and that there are not.
    #[cfg(test)]
    pub(crate) fn unknown_headlines(&self) -> Vec<&str> {
        let named = self
            .rows
            .values()
            .flat_map(|row| row.cases.iter().map(|case| &case.headline).chain([&row.headline]));
        let known = |name: &&str| self.headlines.iter().any(|headline| headline.key == *name);
        named.flatten().map(String::as_str).filter(|name| !known(name)).collect()
    }

    /// Why a claim does not hold in every row.
    pub(crate) fn reason(&self, claim: &str) -> Option<&str> {
        match self.reasons.get(claim)? {
            Reason::Text(text) => Some(text),
            Reason::Same { claim } => self.reason(claim),
        }
    }

    /// Returns a chapter with its heading and its text.
    ///
    /// # Panics
    /// As [`Claims::row`].
    pub(crate) fn chapter(&self, key: &str, tables: Vec<Grid>, charts: Vec<Chart>) -> Chapter {
        self.filled_chapter(key, &[], tables, charts)
    }

    /// Returns a chapter; `values` fill its heading and its text.
    ///
    /// # Panics
    /// As [`Claims::row`].
    pub(crate) fn filled_chapter(
        &self,
        key: &str,
        values: &[(&str, String)],
        tables: Vec<Grid>,
        charts: Vec<Chart>,
    ) -> Chapter {
        let ChapterText { title, text } = Self::find(&self.chapters, key);
        Chapter {
            title: filled(title, values),
            text: filled(text, values),
            tables,
            charts,
            ..Chapter::default()
        }
    }

    /// Returns a table without rows; `values` fill its title and its note.
    ///
    /// # Panics
    /// As [`Claims::row`].
    pub(crate) fn table(&self, key: &str, values: &[(&str, String)]) -> Grid {
        let TableText { title, columns, texts, note } = Self::find(&self.tables, key);
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut grid = Grid::new(filled(title, values), &columns, *texts);
        grid.note = filled(note, values);
        grid
    }

    /// Returns a chart of lines; `values` fill its caption.
    ///
    /// # Panics
    /// As [`Claims::row`].
    pub(crate) fn lines(&self, key: &str, values: &[(&str, String)], lines: Vec<Line>) -> Chart {
        self.plot(key, values, Lines { lines, ..Lines::default() })
    }

    /// Returns a chart of lines with marks or bands; its axes and levels are the file's.
    ///
    /// # Panics
    /// As [`Claims::row`].
    pub(crate) fn plot(&self, key: &str, values: &[(&str, String)], lines: Lines) -> Chart {
        let ChartText { x, y, logarithmic, top, levels, caption, .. } = Self::find(&self.charts, key);
        let kind = ChartKind::Lines(Lines {
            x: x.clone(),
            y: y.clone(),
            logarithmic: *logarithmic,
            top: *top,
            levels: levels.iter().map(|level| (level.name.clone(), level.value)).collect(),
            ..lines
        });
        Chart { kind, caption: filled(caption, values) }
    }

    /// Returns a chart of the share of samples above each latency; `values` fill its caption.
    ///
    /// # Panics
    /// As [`Claims::row`].
    pub(crate) fn tails(&self, key: &str, values: &[(&str, String)], lines: Vec<Line>) -> Chart {
        let ChartText { samples, caption, .. } = Self::find(&self.charts, key);
        let kind = ChartKind::Tails(Tails { samples: samples.clone(), lines, demand: None });
        Chart { kind, caption: filled(caption, values) }
    }

    /// Returns a chart of bars in groups; `values` fill its caption.
    ///
    /// # Panics
    /// As [`Claims::row`].
    pub(crate) fn bars(
        &self,
        key: &str,
        values: &[(&str, String)],
        groups: Vec<String>,
        series: Vec<(String, Vec<Option<Bar>>)>,
    ) -> Chart {
        let ChartText { y, caption, .. } = Self::find(&self.charts, key);
        Chart {
            kind: ChartKind::Bars(Bars { y: y.clone(), groups, series }),
            caption: filled(caption, values),
        }
    }

    /// Returns a chart of the bars that the file lists: the measured value of a row beside its reference.
    ///
    /// # Panics
    /// As [`Claims::row`].
    pub(crate) fn bars_of_rows(&self, key: &str, series: &str, rows: &[ClaimRow]) -> Chart {
        let bar = |metric: &str| {
            let row = rows.iter().find(|row| row.metric == metric)?;
            Some(Bar { value: row.measured?, range: None, reference: row.reference })
        };
        let (bars, groups) = Self::find(&self.charts, key)
            .bars
            .iter()
            .map(|(metric, name)| (bar(metric), name.clone()))
            .unzip();
        self.bars(key, &[], groups, vec![(series.to_owned(), bars)])
    }

    /// Returns a chart of matrices of the same rows and columns, each with its title; `values` fill its caption.
    ///
    /// # Panics
    /// As [`Claims::row`].
    pub(crate) fn matrix(
        &self,
        key: &str,
        values: &[(&str, String)],
        (columns, rows): (Vec<String>, Vec<String>),
        panels: Vec<(String, Vec<Vec<Option<f64>>>)>,
    ) -> Chart {
        let ChartText { x, y, shades, caption, .. } = Self::find(&self.charts, key);
        let (best, worst) = shades.unwrap_or_else(|| panic!("the chart {key} of claims.toml has no shades"));
        let (across, down) = (x.clone(), y.clone());
        Chart {
            kind: ChartKind::Matrix(Matrix {
                across,
                down,
                columns,
                rows,
                panels,
                best,
                worst,
                shades: Vec::new(),
            }),
            caption: filled(caption, values),
        }
    }
}

#[cfg(test)]
mod tests {
    use airbound_report::Verdict;

    use super::*;

    pub(super) const TEXT: &str = r#"
title = "A paper"
[rows.rtt]
claim = "hops"
metric = "RTT of {scheme}"
unit = "ms"
reference = 10
tolerance = { relative = 0.1 }
trend = { below = 14 }
note = "Fig. 1"
cases = [{ when = { scheme = "PIE" }, reference = 261.3, tolerance = "at_most" }]
[rows.change]
claim = "hops"
metric = "change of {rival}"
tolerance = { range = [-83.2, -75.3] }
trend = { below = 0 }
better = "below"
baseline = [186, 274]
headline = "tail"
cases = [{ when = { rival = "LLRA" }, origin = "ours" }]
[reasons]
hops = "{because}"
more-hops = { as = "hops" }
[chapters.hops]
title = "Hops: {place}"
text = "One."
[charts.rtt]
samples = "packets"
caption = "RTT, {place}"
bars = [["RTT of PIE", "P"], ["RTT of WQM", "W"]]
[charts.matrix]
x = "clients"
shades = [45.0, 0.0]
caption = "a matrix"
"#;

    #[test]
    fn a_case_takes_the_place_of_the_row() {
        let claims = Claims::read("test", TEXT);
        let usual = claims.row("rtt").with("scheme", "WQM").measured(11.5);
        assert_eq!((usual.metric.as_str(), usual.within()), ("RTT of WQM", Some(false)));
        let case = claims.row("rtt").with("scheme", "PIE").measured(11.5);
        assert_eq!((case.reference, case.within()), (Some(261.3), Some(true)));
        assert_eq!(claims.row("rtt").reference(11.0).measured(11.5).within(), Some(true));
        assert_eq!(claims.row("rtt").holds(None).measured, None);
        assert_eq!(claims.row("rtt").told(11.5).verdict, Verdict::Informs);
        assert_eq!(claims.row("rtt").judging(false).measured(11.5).within(), None);
    }

    #[test]
    fn each_case_makes_a_row() {
        let claims = Claims::read("test", TEXT);
        let rows = claims.each("rtt", |row, case| row.measured((case["scheme"] == "PIE").then_some(300.0)));
        let rows: Vec<_> = rows.iter().map(|row| (row.metric.as_str(), row.within())).collect();
        assert_eq!(rows, [("RTT of PIE", Some(false))]);
    }

    #[test]
    fn charts_take_their_bars_and_shades_from_the_file() {
        let claims = Claims::read("test", TEXT);
        let rows = [claims.row("rtt").with("scheme", "PIE").measured(11.5)];
        let ChartKind::Bars(bars) = claims.bars_of_rows("rtt", "ours", &rows).kind else { panic!("bars") };
        let ours = Bar { value: 11.5, range: None, reference: Some(261.3) };
        assert_eq!(bars.groups, ["P", "W"]);
        assert_eq!(bars.series, [("ours".to_owned(), vec![Some(ours), None])]);
        let chart = claims.matrix("matrix", &[], (Vec::new(), Vec::new()), Vec::new());
        let ChartKind::Matrix(matrix) = chart.kind else { panic!("a matrix") };
        assert_eq!((matrix.across.as_str(), matrix.best, matrix.worst), ("clients", 45.0, 0.0));
    }

    #[test]
    fn words_are_filled_in() {
        let claims = Claims::read("test", TEXT);
        let values = [("place", "office".to_owned())];
        assert_eq!(claims.reason("more-hops"), Some("{because}"));
        assert_eq!(claims.filled_chapter("hops", &values, Vec::new(), Vec::new()).title, "Hops: office");
        assert_eq!(claims.tails("rtt", &values, Vec::new()).caption, "RTT, office");
    }
}
