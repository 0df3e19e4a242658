//! The cost of a scheme: goodput that other flows lose against the default.

use airbound_record::{FlowSummary, Summary};
use serde::Serialize;

use super::keep::mean;
use super::rules::{COST, DELAYS};
use super::{listed, percent};
use crate::comparison::{Comparison, SchemeRuns, is_transfer, relative_change};
use crate::grid::number;
use crate::groups::Group;

/// Names in one list.
const MOST_NAMES: usize = 4;
/// Rise of a p95 that matters to anybody, ms.
const FELT_MS: f64 = 5.0;

/// Goodput that a flow, or a group of them, loses under a scheme; or the utility of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// The flow or the group, or "the session".
    pub flow: String,
    /// Share of the goodput under the default that is lost, by the means over the seeds; of an adaptive sender with a demand, and of a
    /// session, share of the most under a scheme that keeps the demands.
    pub lost: f64,
}

impl Cost {
    /// The flow with its loss: "download 12 %".
    pub(crate) fn text(&self) -> String {
        format!("{} {}", self.flow, percent(self.lost))
    }

    /// Whether it is large enough to be named.
    pub(super) fn is_named(&self) -> bool {
        100.0 * self.lost >= COST.threshold
    }
}

/// Losses of flows other than `own` under a scheme, the largest loss first; nothing without a default, and under it.
pub(crate) fn costs(comparison: &Comparison, scheme: &SchemeRuns, own: Option<&Group>) -> Vec<Cost> {
    let Some(base) = comparison.base().filter(|base| base.name != scheme.name) else { return Vec::new() };
    let goodput = |scheme: &SchemeRuns, group: &Group| {
        let of = |summary: &Summary| carried(comparison, summary, group);
        mean(&scheme.summaries().filter_map(of).collect::<Vec<_>>())
    };
    let others = comparison.flows.all().iter().filter(|group| !own.is_some_and(|own| group.is(own)));
    let cost = |group: &Group| {
        let before = goodput(base, group);
        let lost = 1.0 - goodput(scheme, group) / before;
        (before > 0.0 && lost > 0.0).then(|| Cost { flow: group.name.clone(), lost })
    };
    let mut costs: Vec<Cost> = others.filter_map(cost).collect();
    costs.sort_by(|one, other| other.lost.total_cmp(&one.lost));
    costs
}

/// Goodput of a group, Mb/s; of datagrams of emulated programs, which send something else each time, the share of what was sent.
fn carried(comparison: &Comparison, summary: &Summary, group: &Group) -> Option<f64> {
    let goodput = comparison.goodput_of(summary, group)?;
    let Some(emulation) = &summary.emulation else { return Some(goodput) };
    let of_tcp = |name: &str| {
        emulation.flows.iter().any(|program| program.name == name && program.first.starts_with("tcp"))
    };
    if comparison.flows_of(summary, group).any(|flow| is_transfer(flow) || of_tcp(&flow.name)) {
        return Some(goodput);
    }
    let sent: f64 = comparison.flows_of(summary, group).map(|flow| flow.offered_mbps).sum();
    (sent > 0.0).then(|| goodput / sent)
}

/// The largest loss; zero without one.
pub(crate) fn largest(costs: &[Cost]) -> f64 {
    costs.first().map_or(0.0, |cost| cost.lost)
}

/// The groups other than `own` whose p95 a scheme raises, with both values; a rise is one under every seed.
pub(super) fn later(comparison: &Comparison, scheme: &SchemeRuns, own: Option<&Group>) -> Vec<String> {
    let Some(base) = comparison.base().filter(|base| base.name != scheme.name) else { return Vec::new() };
    let others = comparison.flows.all().iter().filter(|group| !own.is_some_and(|own| group.is(own)));
    let of = |group: &Group| {
        let p95 = |summary: &Summary| {
            let of = |flow: &FlowSummary| if is_transfer(flow) { None } else { flow.latency_ms.p95 };
            comparison.middle_of(summary, group, &of)
        };
        relative_change(scheme, base, p95).filter(|change| change.low >= DELAYS.threshold)?;
        let (from, to) = (super::median(base, p95)?, super::median(scheme, p95)?);
        (to - from >= FELT_MS).then(|| format!("{} from {} to {} ms", group.name, number(from), number(to)))
    };
    others.filter_map(of).collect()
}

/// The costs that are named, as words behind a semicolon; empty without any.
pub(super) fn words(comparison: &Comparison, scheme: &SchemeRuns, costs: &[Cost], own: &Group) -> String {
    let named: Vec<String> = costs.iter().filter(|cost| cost.is_named()).map(Cost::text).collect();
    let later = later(comparison, scheme, Some(own));
    let mut text = String::new();
    if !named.is_empty() {
        let base = comparison.base().map_or("", |base| &base.name);
        text += &format!("; it costs {} of the goodput under {base}", listed(&named, MOST_NAMES));
    }
    if !later.is_empty() {
        text += &format!("; it raises the p95 of {}", listed(&later, MOST_NAMES));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::test_runs::{Made, compared};

    #[test]
    fn datagrams_of_emulated_programs_are_judged_by_what_each_run_sent() {
        // The second program ran for less long: 5 of its 5.2 Mb/s arrived.
        let lost = |emulated: bool| {
            let linux = Made::new("linux", 1).call(20.0).vr(9.0, 1.0).stream("film", 9.0);
            let pie = Made::new("pie", 1).call(5.0).vr(9.0, 1.0).stream("film", 9.0);
            let pie = pie.offer("film", 1.3).goodput("film", 1.25);
            let all = vec![linux, pie];
            let all = if emulated { all.into_iter().map(Made::emulated).collect() } else { all };
            let choice = compared(all, "vr", "linux").verdict().choice.expect("a choice");
            choice.schemes[1].costs.first().map_or(0.0, |cost| cost.lost)
        };
        assert!((lost(false) - 0.6875).abs() < 1e-9);
        assert!(lost(true) < 0.05);
    }
}
