//! Figures of the runs of a cell, over seeds.

use airbound_record::FlowSummary;

use crate::Effort;
pub(super) use crate::papers::experiment::mean;
use crate::papers::experiment::{Measured, Results};
use crate::papers::grid::Grid;
pub(super) use crate::papers::text;

/// A figure of a run.
pub(super) type Value = fn(&Measured) -> Option<f64>;

/// Returns the runs of a cell that were made.
pub(super) fn runs<'a>(
    grid: &Grid,
    cell: &[&str],
    effort: Effort,
    results: &'a Results,
) -> Vec<&'a Measured> {
    grid.experiments(cell, effort).iter().filter_map(|run| results.get(run)).collect()
}

/// The values of the runs that have one.
pub(super) fn samples(runs: &[&Measured], value: impl Fn(&Measured) -> Option<f64>) -> Vec<f64> {
    runs.iter().filter_map(|run| value(run)).collect()
}

/// The largest of the runs.
pub(super) fn largest(runs: &[&Measured], value: Value) -> Option<f64> {
    runs.iter().filter_map(|run| value(run)).reduce(f64::max)
}

/// Returns the flow of this name.
pub(super) fn flow<'a>(run: &'a Measured, name: &str) -> Option<&'a FlowSummary> {
    run.outcome.summary.flows.iter().find(|flow| flow.name == name)
}

/// The flows whose names begin so.
pub(super) fn flows<'a>(run: &'a Measured, prefix: &'a str) -> impl Iterator<Item = &'a FlowSummary> {
    run.outcome.summary.flows.iter().filter(move |flow| flow.name.starts_with(prefix))
}

/// The 95th percentile of a flow's latency from the queue to the acknowledgement, ms.
pub(super) fn p95(run: &Measured, flow: &str) -> Option<f64> {
    let place = run.outcome.summary.flows.iter().position(|known| known.name == flow)?;
    run.outcome.wifi_latency.get(place)?.p95
}

/// The longest [`p95`] of the flows whose names begin so.
pub(super) fn longest_p95(run: &Measured, prefix: &str) -> Option<f64> {
    flows(run, prefix).filter_map(|flow| p95(run, &flow.name)).reduce(f64::max)
}

/// [`p95`] of the VR stream.
pub(super) fn vr_p95(run: &Measured) -> Option<f64> {
    p95(run, "vr")
}

/// Whole frames of the VR stream in a second.
pub(super) fn fps(run: &Measured) -> Option<f64> {
    run.outcome.summary.flows.first()?.fps
}

/// Goodput of the VR stream, Mb/s.
pub(super) fn goodput(run: &Measured) -> Option<f64> {
    Some(run.outcome.summary.flows.first()?.goodput_mbps)
}
