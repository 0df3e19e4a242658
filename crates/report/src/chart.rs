//! Charts as data.

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
    /// Points are (latency in ms, share of the samples above it, 0 to 1), by ascending latency; at most seven lines are drawn. A line
    /// that ends above zero has a floor: the share of samples that never arrive.
    pub lines: Vec<Line>,
    /// A demand, drawn where a line is to pass below: its name, the latency in ms and the share that may be above it.
    pub demand: Option<(String, f64, f64)>,
}

/// Small multiples: one line each, over the same axes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Panels {
    /// Quantity on the vertical axis, with its unit; time in seconds is on the horizontal one.
    pub y: String,
    /// The lines, each with the band around it, which may be empty.
    pub panels: Vec<(Line, Band)>,
    /// A dashed horizontal line in each of them: a demand; empty for none.
    pub levels: Vec<Option<f64>>,
}

/// Mean latencies divided into the six stages, as bars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Split {
    /// Name of each bar, and the mean time in each stage, ms.
    pub bars: Vec<(String, [f64; 6])>,
}

/// Rows of dots: a row for each group of flows, a dot for each scheme.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dots {
    /// Quantity on the axis, with its unit.
    pub x: String,
    /// Whether the axis is logarithmic; otherwise it contains zero.
    pub logarithmic: bool,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// The name of each scheme, and its dot in each row.
    pub series: Vec<(String, Vec<Option<Bar>>)>,
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
    /// The shade of each cell of each panel, 0 (white) to 1 (darkest), instead of that between `best` and `worst`; empty for none.
    pub shades: Vec<Vec<Vec<f64>>>,
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
    /// See [`Panels`].
    Panels(Panels),
    /// See [`Split`].
    Split(Split),
    /// See [`Dots`].
    Dots(Dots),
}
