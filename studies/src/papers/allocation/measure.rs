//! Figures of runs, and of points.

use std::collections::BTreeMap;

use airbound_units::Span;

use crate::papers::aggregates::Aggregate;
use crate::papers::experiment::Measured;
use crate::papers::shown;

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

/// Goodput of each flow, Mb/s.
pub(super) fn goodputs(run: &Measured) -> impl Iterator<Item = f64> {
    run.outcome.summary.flows.iter().map(|flow| flow.goodput_mbps)
}

/// Goodput of all flows together, Mb/s.
pub(super) fn goodput(run: &Measured) -> f64 {
    goodputs(run).sum()
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

/// The mean level of the frames to the stations that `wanted` picks.
pub(super) fn mean_level(run: &Measured, wanted: impl Fn(&Aggregate) -> bool) -> Option<f64> {
    let own: Vec<Aggregate> = run.aggregates.sent.iter().copied().filter(wanted).collect();
    mean(&levels(&own))
}

/// Mean levels by station and slot, as (begin of the slot in s, mean level), station by station.
pub(super) fn slot_means(run: &Measured, slot: Span) -> impl Iterator<Item = (f64, f64)> {
    let mut slots: BTreeMap<(u16, u64), (f64, f64)> = BTreeMap::new();
    for aggregate in &run.aggregates.sent {
        let place = aggregate.at.as_nanos() / slot.as_nanos().max(1);
        let sum = slots.entry((aggregate.station, place)).or_default();
        sum.0 += f64::from(aggregate.mpdus);
        sum.1 += 1.0;
    }
    let begin = move |place: u64| place as f64 * slot.as_secs_f64();
    slots.into_iter().map(move |((_, place), (sum, count))| (begin(place), sum / count))
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

/// The value of the point at `x`.
pub(super) fn at(points: &[(f64, f64)], x: f64) -> Option<f64> {
    points.iter().find(|(at, _)| *at == x).map(|(_, value)| *value)
}

/// The number in a variant's name, such as 40 of "N_eps = 40".
pub(super) fn number(name: &str) -> f64 {
    name.split(' ').find_map(|word| word.parse().ok()).unwrap_or(f64::NAN)
}

/// The quotient of two values that were measured.
pub(super) fn ratio(value: Option<f64>, by: Option<f64>) -> Option<f64> {
    Some(value? / by?)
}

/// A value in a table: empty where nothing was measured.
pub(super) fn cell(value: Option<f64>) -> String {
    value.map_or(String::new(), shown)
}
