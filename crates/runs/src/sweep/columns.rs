//! Names of the columns that every sweep has.

use super::metric::METRICS;

/// The columns before those of the parameters.
pub(super) const BEFORE: [(&str, &str); 4] = [
    ("run", "what the run is known by: a hash of the resolved scenario, scheme, seed and version"),
    ("cell", "number of the cell, from 0"),
    ("scheme", "the scheme, as the grid names it"),
    ("seed", "seed of the run"),
];
/// Those after them.
pub(super) const AFTER: [(&str, &str); 5] = [
    ("flow", "name of the flow"),
    ("group", "the entry of the scenario that it comes from"),
    ("kind", "kind of traffic"),
    ("station", "its station"),
    ("direction", "downlink or uplink"),
];

/// Whether the name is that of a column that every sweep has.
pub(super) fn is_own_column(name: &str) -> bool {
    let listed = BEFORE.iter().chain(&AFTER).map(|(name, _)| *name);
    let listed =
        listed.chain(METRICS.iter().map(|metric| metric.name)).chain(["batch", "runs", "stopped_early"]);
    listed.into_iter().any(|own| own == name)
}
