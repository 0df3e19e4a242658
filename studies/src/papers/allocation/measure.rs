//! Figures of runs, and rows made of them.

use std::collections::BTreeMap;

use airbound_report::{Tolerance, ValidationRow};
use airbound_units::Span;

use crate::papers::aggregates::Aggregate;
use crate::papers::experiment::Measured;

pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

pub(super) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: Vec<f64> = values.iter().map(|value| (value - mean) * (value - mean)).collect();
    self::mean(&squares).map(libm::sqrt)
}

/// The value below which a share of the sample lies (nearest rank).
pub(super) fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// Goodput of all flows together, Mb/s.
pub(super) fn goodput(run: &Measured) -> f64 {
    run.outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).sum()
}

/// Mean latency over all flows, ms.
pub(super) fn delay(run: &Measured) -> Option<f64> {
    let delays: Vec<f64> = run.outcome.summary.flows.iter().filter_map(|flow| flow.latency_ms.mean).collect();
    mean(&delays)
}

/// The share of packets that were lost, over all flows.
pub(super) fn loss(run: &Measured) -> f64 {
    let flows = &run.outcome.summary.flows;
    let (sent, dropped) =
        flows.iter().fold((0, 0), |sum, flow| (sum.0 + flow.packets.sent, sum.1 + flow.packets.dropped));
    dropped as f64 / sent.max(1) as f64
}

/// Levels of all frames.
pub(super) fn levels(aggregates: &[Aggregate]) -> Vec<f64> {
    aggregates.iter().map(|aggregate| f64::from(aggregate.mpdus)).collect()
}

/// Mean levels by station and slot: (station, begin of the slot in s, mean level).
pub(super) fn slot_means(aggregates: &[Aggregate], slot: Span) -> Vec<(u16, f64, f64)> {
    let mut slots: BTreeMap<(u16, u64), (f64, f64)> = BTreeMap::new();
    for aggregate in aggregates {
        let place = aggregate.at.as_nanos() / slot.as_nanos().max(1);
        let sum = slots.entry((aggregate.station, place)).or_default();
        sum.0 += f64::from(aggregate.mpdus);
        sum.1 += 1.0;
    }
    let begin = |place: u64| place as f64 * slot.as_secs_f64();
    slots.into_iter().map(|((station, place), (sum, count))| (station, begin(place), sum / count)).collect()
}

/// Slope and intercept of the line of least squares.
pub(super) fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (x, y) = (mean(&xs)?, mean(&ys)?);
    let (sum, squares) = points
        .iter()
        .fold((0.0, 0.0), |sum, (px, py)| (sum.0 + (px - x) * (py - y), sum.1 + (px - x) * (px - x)));
    (squares > 0.0).then(|| (sum / squares, y - x * sum / squares))
}

/// A claim with a number.
pub(super) fn judged(
    claim: &str,
    metric: impl Into<String>,
    unit: &str,
    reference: f64,
    measured: Option<f64>,
    tolerance: Tolerance,
    note: impl Into<String>,
) -> ValidationRow {
    ValidationRow::judged(claim, metric, unit, Some(reference), measured, Some(tolerance), false, note)
}

/// A claim that holds or does not.
pub(super) fn holds(
    claim: &str,
    metric: impl Into<String>,
    measured: Option<bool>,
    note: impl Into<String>,
) -> ValidationRow {
    let measured = measured.map(|holds| f64::from(u8::from(holds)));
    judged(claim, metric, "holds", 1.0, measured, Tolerance::Absolute(0.0), note)
}

/// A number without a reference.
pub(super) fn told(
    claim: &str,
    metric: impl Into<String>,
    unit: &str,
    measured: Option<f64>,
    note: impl Into<String>,
) -> ValidationRow {
    ValidationRow::judged(claim, metric, unit, None, measured, None, measured.is_some(), note)
}
