//! Charts of a reproduction as data, and the page that contains them.

use crate::error::ReportError;
use crate::figures::Figure;
use crate::grid::Grid;
use crate::page::{Section, page};
use crate::plot::{self, Frame};

/// A named line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Its points, from left to right; `None` interrupts the line.
    pub points: Vec<Option<(f64, f64)>>,
}

impl Line {
    /// A line without gaps.
    pub fn whole(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), points: points.into_iter().map(Some).collect() }
    }
}

/// Lines over a common axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lines {
    /// Quantity on the horizontal axis, with its unit.
    pub x: String,
    /// Quantity on the vertical axis, with its unit.
    pub y: String,
    /// Whether the horizontal axis is logarithmic.
    pub logarithmic: bool,
    /// The upper end of the vertical axis; `None` follows the data.
    pub top: Option<f64>,
    /// The lines; at most seven are drawn, since more cannot be distinguished.
    pub lines: Vec<Line>,
    /// Dashed horizontal lines: a demand, a limit.
    pub levels: Vec<(String, f64)>,
    /// Reference values, drawn as diamonds.
    pub marks: Vec<(String, (f64, f64))>,
    /// The band around each line, in the order of the lines; empty for none.
    pub bands: Vec<Band>,
}

/// A shaded range around a line, such as a confidence interval: (x, low, high), from left to right.
pub type Band = Vec<(f64, f64, f64)>;

/// The share of samples above each latency, both axes logarithmic.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tails {
    /// Kind of the samples, such as "packets".
    pub samples: String,
    /// Points are (latency in ms, share of the samples above it, 0 to 1), by ascending latency; at most seven lines are drawn.
    pub lines: Vec<Line>,
}

/// One bar: a value, its range over seeds, and a reference value.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bar {
    /// Its height.
    pub value: f64,
    /// Lowest and highest over seeds.
    pub range: Option<(f64, f64)>,
    /// The value of a reference, drawn as a diamond.
    pub reference: Option<f64>,
}

/// Groups of bars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bars {
    /// Quantity of the height, with its unit.
    pub y: String,
    /// Names of the groups, such as settings.
    pub groups: Vec<String>,
    /// The name of each scheme, and its bar in each group.
    pub series: Vec<(String, Vec<Option<Bar>>)>,
}

/// Panels of coloured cells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matrix {
    /// Setting of the columns.
    pub across: String,
    /// Setting of the rows.
    pub down: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Names of the rows, from the top.
    pub rows: Vec<String>,
    /// Each panel's title and values, row by row.
    pub panels: Vec<(String, Vec<Vec<Option<f64>>>)>,
    /// The value of a white cell.
    pub best: f64,
    /// The value of the darkest cell; below `best` if larger values are better.
    pub worst: f64,
}

/// A chart with the sentence below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Kind of the chart, with its data.
    pub kind: ChartKind,
    /// The caption, with the figure of the paper that it redraws.
    pub caption: String,
}

/// Kind of a chart, with its data.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChartKind {
    /// See [`Lines`].
    Lines(Lines),
    /// See [`Tails`].
    Tails(Tails),
    /// See [`Bars`].
    Bars(Bars),
    /// See [`Matrix`].
    Matrix(Matrix),
}

impl Chart {
    fn figure(&self) -> Result<Option<Figure>, ReportError> {
        let svg = match &self.kind {
            ChartKind::Lines(chart) => {
                let frame = Frame {
                    x: chart.x.clone(),
                    y: chart.y.clone(),
                    logarithmic: chart.logarithmic,
                    top: chart.top,
                    levels: chart.levels.clone(),
                    marks: chart.marks.clone(),
                    bands: chart.bands.clone(),
                };
                plot::lines(&drawn(&chart.lines), &frame)?
            }
            ChartKind::Tails(chart) => plot::exceedance(&chart.samples, &drawn(&chart.lines))?,
            ChartKind::Bars(chart) => {
                let upright = |bar: &Bar| plot::UprightBar {
                    value: bar.value,
                    range: bar.range,
                    reference: bar.reference,
                };
                let series: Vec<plot::Series> = chart
                    .series
                    .iter()
                    .map(|(name, bars)| {
                        (name.clone(), bars.iter().map(|bar| bar.as_ref().map(upright)).collect())
                    })
                    .collect();
                plot::grouped_bars(&chart.y, &chart.groups, &series)?
            }
            ChartKind::Matrix(chart) => {
                let panels: Vec<plot::Panel> = chart.panels.clone();
                let scale = plot::Scale { best: chart.best, worst: chart.worst };
                plot::matrix((&chart.across, &chart.down), &chart.columns, &chart.rows, &panels, scale)?
            }
        };
        Ok(svg.map(|svg| Figure { svg, caption: self.caption.clone() }))
    }
}

/// The lines that are drawn.
fn drawn(lines: &[Line]) -> Vec<plot::Line> {
    let line = |line: &Line| plot::Line { name: line.name.clone(), points: line.points.clone() };
    lines.iter().take(plot::MOST_LINES).map(line).collect()
}

/// A part of a reproduction, for one or a few figures of the paper.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chapter {
    /// Its heading.
    pub title: String,
    /// Description of the experiment, in a few sentences.
    pub text: String,
    /// Tables.
    pub tables: Vec<Grid>,
    /// Charts.
    pub charts: Vec<Chart>,
}

impl Chapter {
    fn section(&self) -> Result<Section, ReportError> {
        let figures: Result<Vec<Option<Figure>>, ReportError> =
            self.charts.iter().map(Chart::figure).collect();
        Ok(Section {
            title: self.title.clone(),
            text: self.text.clone(),
            tables: self.tables.clone(),
            figures: figures?.into_iter().flatten().collect(),
            ..Section::default()
        })
    }
}

/// Chapters as one self-contained HTML page; `folded` are titled texts at its end.
///
/// # Errors
/// If a chart or the page cannot be rendered, which are defects.
pub fn chapters_html(
    title: &str,
    subtitle: &str,
    chapters: &[Chapter],
    folded: &[(String, String)],
) -> Result<String, ReportError> {
    let mut sections =
        chapters.iter().map(Chapter::section).collect::<Result<Vec<Section>, ReportError>>()?;
    if let Some(last) = sections.last_mut() {
        last.folded = folded.to_vec();
    }
    page(title, subtitle, &sections)
}

/// A reproduction as one HTML page: the verdicts, each table under its title, the chapters, and the reasons.
///
/// # Errors
/// If a chart or the page cannot be rendered, which are defects.
pub fn reproduction_html(
    title: &str,
    subtitle: &str,
    verdicts: &[Grid],
    chapters: &[Chapter],
    reasons: &Grid,
) -> Result<String, ReportError> {
    let table = |table: &Grid| Section {
        title: table.title.clone(),
        tables: vec![Grid { title: String::new(), ..table.clone() }],
        ..Section::default()
    };
    let mut sections: Vec<Section> = verdicts.iter().map(table).collect();
    for chapter in chapters {
        sections.push(chapter.section()?);
    }
    sections.push(table(reasons));
    page(title, subtitle, &sections)
}
