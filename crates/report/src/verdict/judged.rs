//! Each scheme against the demands of the network, and the choice that follows.

use serde::Serialize;

use super::cost::{self, Cost, costs};
use super::keep::{DemandResult, Keeping, demands, is_playable};
use super::listed;
use crate::comparison::{Comparison, SchemeRuns};
use crate::groups::Group;

/// Names in one list.
const MOST_NAMES: usize = 4;

/// The choice of a scheme for the network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// The scheme; `None` if only one was run.
    pub scheme: Option<String>,
    /// Whether it keeps all demands; `None` without a demand.
    pub keeping: Option<Keeping>,
    /// Figure by which schemes were compared: "demand", "utility", "missed frames", "goodput" or "p95".
    pub by: &'static str,
    /// Each scheme, in the order of the runs.
    pub schemes: Vec<Judged>,
    /// The answer in at most 20 words.
    pub sentence: String,
    /// Further lines: by how much, at what cost, and what restricts the answer.
    pub lines: Vec<String>,
}

/// A scheme against the demands of the network.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The scheme.
    pub scheme: String,
    /// Whether it keeps all demands: the worst of them; `None` without a demand.
    pub keeping: Option<Keeping>,
    /// The result of each demand, that of the flow in focus first.
    pub demands: Vec<DemandResult>,
    /// Losses of other flows against the default, of adaptive senders with a demand, and of a session's utility, the largest first.
    pub costs: Vec<Cost>,
    /// Whether at most half of the frames of what is judged are late or lost.
    pub is_playable: bool,
}

impl Judged {
    pub(super) fn of(comparison: &Comparison, scheme: &SchemeRuns) -> Self {
        let demands = demands(comparison, scheme);
        Self {
            scheme: scheme.name.clone(),
            keeping: demands.iter().map(|demand| demand.keeping).max(),
            demands,
            costs: costs(comparison, scheme, spared(comparison)),
            is_playable: is_playable(comparison, scheme),
        }
    }

    /// Whether the means over the seeds keep all demands.
    pub(super) fn keeps_all(&self) -> bool {
        self.demands.iter().all(DemandResult::is_within)
    }

    /// The demand that is furthest from being kept; `None` without demands.
    pub(crate) fn worst(&self) -> Option<&DemandResult> {
        self.demands.iter().reduce(|worst, other| if other.excess > worst.excess { other } else { worst })
    }

    pub(super) fn excess(&self) -> f64 {
        self.worst().map_or(0.0, |worst| worst.excess)
    }

    /// The largest loss if it is one that is named.
    pub(super) fn named_cost(&self) -> Option<&Cost> {
        self.costs.first().filter(|cost| cost.is_named())
    }
}

/// The group that no cost is counted of, unless its sender gives up bitrate: the only one with a demand, or without demands that in
/// focus.
pub(super) fn spared(comparison: &Comparison) -> Option<&Group> {
    let mut demanding = comparison.demanding();
    match (demanding.next(), demanding.next()) {
        (Some(only), None) => Some(only),
        (Some(_), Some(_)) => None,
        (None, _) => comparison.focus(),
    }
}

/// Each cost of the choice where there are several, and what is later under it.
pub(super) fn named(comparison: &Comparison, chosen: &Judged) -> Vec<String> {
    let mut lines = Vec::new();
    let costs: Vec<String> = chosen.costs.iter().filter(|cost| cost.is_named()).map(Cost::text).collect();
    if costs.len() > 1 {
        lines.push(format!("Its costs: {}.", listed(&costs, 2 * MOST_NAMES)));
    }
    let scheme = comparison.schemes.iter().find(|scheme| scheme.name == chosen.scheme);
    let later = scheme.map(|scheme| cost::later(comparison, scheme, spared(comparison))).unwrap_or_default();
    if !later.is_empty() {
        lines.push(format!("It raises the p95 of {}.", listed(&later, MOST_NAMES)));
    }
    lines
}

/// A choice without words.
pub(super) fn empty(keeping: Option<Keeping>, by: &'static str) -> Choice {
    Choice { scheme: None, keeping, by, schemes: Vec::new(), sentence: String::new(), lines: Vec::new() }
}
