//! Results of a point: a cell under a scheme.

use serde::Serialize;

/// A cell under a scheme, when it is done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Number of runs that it took.
    pub runs: usize,
    /// Whether its interval was narrow enough before its seeds were used up.
    pub stopped_early: bool,
    /// For each metric of the grid; `None` where no run has it.
    pub estimates: Vec<Option<Estimate>>,
}

/// A metric over the seeds of a point.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// Mean of the runs.
    pub mean: f64,
    /// The confidence interval of the mean; `None` of a single run.
    pub range: Option<(f64, f64)>,
}
