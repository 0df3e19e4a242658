//! The answer that a person would give, computed from the JSON of summaries alone.

use std::collections::BTreeMap;

use serde_json::Value;

/// The right answer for one network.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Truth {
    /// The scheme to take.
    pub(super) scheme: String,
    /// Whether it keeps all demands.
    pub(super) is_kept: bool,
}

/// Sums over the seeds of one flow under one scheme.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    goodput: f64,
    latency: f64,
    lost: f64,
    seeds: f64,
    demand: Option<f64>,
}

/// Figures of a scheme: each flow's sums.
#[derive(Default)]
pub(super) struct Tally(BTreeMap<String, Sums>);

impl Tally {
    /// Adds a run. `rates` are those of streams whose sender may skip frames, Mb/s.
    pub(super) fn add(&mut self, summary: &Value, rates: &BTreeMap<String, f64>) {
        for flow in summary["flows"].as_array().into_iter().flatten() {
            let name = flow["name"].as_str().unwrap_or_default().to_owned();
            let goodput = flow["goodput_mbps"].as_f64().unwrap_or(0.0);
            let skipped = rates.get(&name).map_or(0.0, |rate| 1.0 - goodput / rate);
            let sums = self.0.entry(name).or_default();
            sums.seeds += 1.0;
            sums.goodput += goodput;
            sums.lost += flow["loss_rate"].as_f64().unwrap_or(0.0).max(skipped);
            sums.demand = flow["demand"]["latency_ms"].as_f64().or(sums.demand);
            sums.latency +=
                match (flow["demand"]["latency_ms"].as_f64(), flow["demand"]["measured_ms"].as_f64()) {
                    (Some(_), None) => f64::INFINITY,
                    (_, measured) => measured.unwrap_or(0.0),
                };
        }
    }

    /// Distance of the worst demand from being kept: 1 at its edge.
    fn strain(&self) -> f64 {
        let strains = self.0.values().filter_map(|sums| {
            Some((sums.latency / sums.seeds / sums.demand?).max(sums.lost / sums.seeds / 0.05))
        });
        strains.fold(0.0, f64::max)
    }

    /// The largest share of goodput that any flow loses against `base`; of a network with one demand, any other flow.
    fn toll(&self, base: &Self) -> f64 {
        let demanding = self.0.values().filter(|sums| sums.demand.is_some()).count();
        let counts = |sums: &Sums| demanding > 1 || sums.demand.is_none();
        let losses = self.0.iter().filter(|(_, sums)| counts(sums)).filter_map(|(name, sums)| {
            let before = base.0.get(name)?;
            (before.goodput > 0.0)
                .then_some(1.0 - (sums.goodput / sums.seeds) / (before.goodput / before.seeds))
        });
        losses.fold(0.0, f64::max)
    }
}

/// The scheme to take of those with their tallies, the default first.
pub(super) fn truth(tallies: &[(String, Tally)]) -> Option<Truth> {
    let (_, base) = tallies.first()?;
    let judged: Vec<(&str, f64, f64)> =
        tallies.iter().map(|(name, tally)| (name.as_str(), tally.strain(), tally.toll(base))).collect();
    let keepers: Vec<_> = judged.iter().filter(|(_, strain, _)| *strain <= 1.0).collect();
    let is_kept = !keepers.is_empty();
    // What misses by a tenth more than the nearest is as near, so that costs decide there, too.
    let least = judged.iter().map(|(_, strain, _)| *strain).fold(f64::INFINITY, f64::min);
    let near: Vec<_> =
        if is_kept { keepers } else { judged.iter().filter(|one| one.1 <= 1.1 * least).collect() };
    let cheapest = near.iter().map(|(.., toll)| *toll).fold(f64::INFINITY, f64::min);
    let fair: Vec<_> = near.into_iter().filter(|(.., toll)| *toll <= cheapest + 0.05).collect();
    let default = judged.first().filter(|first| fair.iter().any(|one| one.0 == first.0));
    let nearest = fair.into_iter().min_by(|one, other| one.1.total_cmp(&other.1));
    let (scheme, ..) = default.or(nearest)?;
    Some(Truth { scheme: (*scheme).to_owned(), is_kept })
}
