//! Distributions of several runs together, as points of a line.

use std::collections::BTreeMap;

use airbound_record::Component;
use airbound_units::Span;

use super::experiment::Measured;

/// The share of samples (%) up to each value (ms), of all flows of all runs together.
pub(crate) fn shares(runs: &[&Measured], component: Component) -> Vec<(f64, f64)> {
    let mut buckets = BTreeMap::<_, u64>::new();
    let rows = runs.iter().flat_map(|run| &run.outcome.distributions);
    for row in rows.filter(|row| row.component == component) {
        *buckets.entry(row.high).or_default() += row.count;
    }
    let total: u64 = buckets.values().sum();
    let mut up_to = 0;
    let mut points = Vec::new();
    let mut shown = -1.0;
    for (high, count) in buckets {
        up_to += count;
        let share = 100.0 * up_to as f64 / total as f64;
        // Steps too small to be seen are left out.
        if share - shown > 0.2 || up_to == total {
            points.push((high.as_millis_f64(), share));
            shown = share;
        }
    }
    points
}

/// The share of samples (0 to 1) above each latency (ms). `buckets` are upper ends of ranges, ascending, with numbers of samples.
pub(crate) fn tail(buckets: impl Iterator<Item = (Span, u64)> + Clone) -> Vec<(f64, f64)> {
    let total: u64 = buckets.clone().map(|(_, count)| count).sum();
    let mut above = total;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (high, count) in buckets {
        above -= count;
        let share = above as f64 / total as f64;
        // Steps too small to be seen are left out.
        if above == 0 || points.last().is_none_or(|(_, last)| share < last * 0.97) {
            points.push((high.as_millis_f64(), share));
        }
    }
    points
}
