//! The cells of one partition while they are run.

use std::sync::{Arc, Mutex};

use super::bootstrap::Interval;
use super::journal::Journal;
use super::key::Key;
use super::metric::{METRICS, RunResult, value_of};
use super::plan::Plan;
use super::point::{Estimate, Point};
use super::rule::Next;
use super::run::Shared;

/// A point under way: a cell under a scheme.
pub(crate) struct Open {
    pub(crate) point: usize,
    /// By number of the seed; those of the rounds so far.
    pub(crate) results: Vec<Option<RunResult>>,
    pub(crate) shared: Shared,
    pub(crate) done: Option<Point>,
}

/// The points of a partition.
pub(crate) struct Shard {
    pub(crate) points: Vec<Open>,
    /// Points that are not done.
    pub(crate) left: usize,
    /// Opened with the first result: a shard whose runs are all known needs none.
    pub(crate) journal: Option<Journal>,
}

impl Shard {
    pub(crate) fn new(points: impl Iterator<Item = usize>) -> Self {
        let points: Vec<Open> = points
            .map(|point| Open { point, results: Vec::new(), shared: Arc::new(Mutex::new(None)), done: None })
            .collect();
        Self { left: points.len(), points, journal: None }
    }
}

impl Open {
    /// Goes as far as the results allow: returns the numbers of the seeds that are to be run now, if a round begins.
    pub(crate) fn settle(
        &mut self,
        plan: &Plan,
        mut known: impl FnMut(Key) -> Option<RunResult>,
    ) -> Vec<usize> {
        let most = plan.grid.seeds.len();
        while self.done.is_none() {
            if self.results.iter().any(Option::is_none) {
                return Vec::new();
            }
            let further = if self.results.is_empty() {
                plan.grid.rule.first(most)
            } else {
                match plan.grid.rule.next(
                    &self.values(plan, plan.grid.deciding()),
                    most,
                    self.draws(plan, plan.grid.deciding()),
                ) {
                    Next::More(count) => count,
                    Next::Done { early } => {
                        self.done = Some(self.conclude(plan, early));
                        // The scenario is not needed any more.
                        self.shared = Arc::new(Mutex::new(None));
                        break;
                    }
                }
            };
            let first = self.results.len();
            self.results
                .extend((first..first + further).map(|number| known(plan.run_key(self.point, number))));
            let wanted: Vec<usize> =
                (first..self.results.len()).filter(|number| self.results[*number].is_none()).collect();
            if !wanted.is_empty() {
                return wanted;
            }
        }
        Vec::new()
    }

    fn values(&self, plan: &Plan, metric: usize) -> Vec<Option<f64>> {
        let value = |result: &RunResult| value_of(result, &plan.grid.flow, metric);
        self.results.iter().flatten().map(value).collect()
    }

    /// From where the draws of an interval come.
    fn draws(&self, plan: &Plan, metric: usize) -> u64 {
        Key::of(&format!("{} {}", plan.key(self.point), METRICS[metric].name)).bits()
    }

    fn conclude(&self, plan: &Plan, stopped_early: bool) -> Point {
        let estimate = |metric: &usize| {
            let values: Vec<f64> = self.values(plan, *metric).into_iter().flatten().collect();
            let interval = Interval::of(&values, plan.grid.rule.confidence, self.draws(plan, *metric));
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (!values.is_empty())
                .then(|| Estimate { mean, range: interval.map(|interval| (interval.low, interval.high)) })
        };
        Point {
            runs: self.results.len(),
            stopped_early,
            estimates: plan.grid.metrics.iter().map(estimate).collect(),
        }
    }
}
