//! Beyond the paper: weights, window-based senders, a VR room in which Plum chooses the bitrates and LAST-PQ keeps the latency, and Sec.
//! VI's remote desktop.

use std::sync::LazyLock;

use airbound_record::{Direction, FlowSummary, LatencyStats};

use super::{CLAIMS, cells};
use crate::papers::Part;
use crate::papers::grid::Grid;
use crate::trial::run_all;
use crate::{Effort, Trial, TrialError};

static RUNS: LazyLock<[Grid; 3]> = LazyLock::new(|| {
    let shipped = airbound_scenario::shipped().iter().map(|shipped| (shipped.name, shipped.text));
    let files: Vec<(&str, &str)> =
        shipped.chain([("presenter.toml", include_str!("presenter.toml"))]).collect();
    [include_str!("beyond-pipes.toml"), include_str!("beyond-room.toml"), include_str!("beyond-desktop.toml")]
        .map(|text| Grid::read("plum beyond", text, &files))
});

fn mean(flows: &[&FlowSummary]) -> f64 {
    flows.iter().map(|flow| flow.goodput_mbps).sum::<f64>() / flows.len().max(1) as f64
}

fn largest(flows: &[&FlowSummary], figure: fn(LatencyStats) -> Option<f64>) -> Option<f64> {
    flows.iter().filter_map(|flow| figure(flow.frame_latency_ms?)).reduce(f64::max)
}

/// The conferences with their names.
pub(super) fn trials(effort: Effort) -> impl Iterator<Item = (&'static str, Trial)> {
    RUNS.iter().flat_map(move |grid| {
        grid.names("session", effort).into_iter().map(move |name| (name, grid.trial(&[name], 1, effort)))
    })
}

pub(super) fn part(effort: Effort) -> Result<Part, TrialError> {
    let (names, trials): (Vec<&str>, Vec<Trial>) = trials(effort).unzip();
    let mut table = CLAIMS.table("beyond", &[]);
    for (name, outcome) in names.into_iter().zip(run_all(&trials, effort.jobs)?) {
        let (setting, scheme) = name.split_once(" | ").unwrap_or((name, ""));
        // Each client has two flows of frames: what it receives, and what it sends.
        let flows = outcome.summary.flows.iter().filter(|flow| flow.frame_latency_ms.is_some());
        let (down, up): (Vec<_>, Vec<_>) = flows.partition(|flow| flow.direction == Direction::Downlink);
        // In the VR room the headsets are the first three.
        let first = if setting.starts_with("VR") { 3 } else { 1 };
        let (down, others) = down.split_at(first);
        let up = &up[..first];
        let means = [mean(down), mean(up), mean(others)].map(Some);
        let latencies =
            [largest(down, |view| view.p95), largest(down, |view| view.p99), largest(up, |up| up.p95)];
        table.rows.push(cells(&[setting, scheme], means.into_iter().chain(latencies)));
    }
    Ok(Part { rows: Vec::new(), chapter: CLAIMS.chapter("beyond", vec![table], Vec::new()) })
}
