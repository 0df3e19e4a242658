//! Beyond the paper: a demand held over seconds, what the protection costs, and which of several urgent flows goes first.

use airbound_units::Span;

use super::measure::{flow, flows, fps, largest, mean, p95, runs, text, vr_p95};
use super::{CLAIMS, FLOOR, LAST_PQ, LEAD_S, LINUX, OURS, USERS};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

/// A demand held over seconds, where the channel varies.
pub(super) struct Held;

/// Names of the schemes in the table, and their variants.
const HELD: [(&str, &str); 4] = [(LINUX, LINUX), ("LAST-PQ, paper", LAST_PQ), ("held", "held"), (OURS, OURS)];

const HELD_CASES: [(&str, [&str; 4]); 4] = [
    ("36 m, 5F5C", ["5F", "5C", "36 m", "at rest"]),
    ("25 m, 3F3C, 15 ms", ["3F", "3C", "25 m", "15 ms"]),
    ("carried, 10 m, 3F3C", ["3F", "3C", "10 m", "carried about"]),
    ("carried, 12 m, 3F3C", ["3F", "3C", "12 m", "carried about"]),
];

fn watched(case: [&str; 4], scheme: &str, effort: Effort) -> impl Iterator<Item = Experiment> {
    let [flows, clients, place, also] = case;
    let trials = FLOOR.trials(&[scheme, flows, clients, place, also, "20 s, 5 s when quick"], effort);
    trials.into_iter().map(|trial| Experiment::watching(trial, 0))
}

/// The share of seconds in which the 95th percentile kept the demand, %.
fn seconds_met(run: &Measured) -> Option<f64> {
    let demand = run.outcome.summary.flows.first()?.demand.as_ref()?.latency_ms;
    let windows = run.watched.percentiles(Span::from_secs(1), 95.0);
    let measured: Vec<f64> =
        windows.into_iter().filter(|(at, _)| *at >= LEAD_S).map(|(_, p95)| p95).collect();
    let met = measured.iter().filter(|p95| **p95 <= demand).count();
    (!measured.is_empty()).then(|| 100.0 * met as f64 / measured.len() as f64)
}

impl Study for Held {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("held", &[]);
        for (name, case) in HELD_CASES {
            for (scheme, variant) in HELD {
                let runs: Vec<&Measured> =
                    watched(case, variant, effort).filter_map(|run| results.get(&run)).collect();
                let others = |run: &Measured| {
                    Some(run.outcome.summary.flows.iter().skip(1).map(|flow| flow.goodput_mbps).sum())
                };
                let values = [
                    mean(&runs, vr_p95),
                    largest(&runs, vr_p95),
                    mean(&runs, seconds_met),
                    mean(&runs, fps),
                    mean(&runs, others),
                ];
                let cells = [name.to_owned(), scheme.to_owned()].into_iter().chain(values.map(text));
                grid.rows.push(cells.map(Into::into).collect());
            }
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("held", vec![grid], Vec::new()) }
    }
}

/// Cost of the protection to the other flows, in the same table as the gain.
pub(super) struct Cost;

const COSTS: [(&str, [&str; 2]); 3] = [("3F", ["3F", "0C"]), ("3C", ["0F", "3C"]), ("5F5C", ["5F", "5C"])];

/// A case under each scheme, with a call.
fn costs([flows, clients]: [&'static str; 2]) -> [[&'static str; 4]; 3] {
    [LINUX, LAST_PQ, OURS].map(|scheme| [scheme, flows, clients, "call"])
}

/// The share of airtime of a flow's station, %.
fn airtime(run: &Measured, name: &str) -> Option<f64> {
    let wanted = &flow(run, name)?.station;
    let station = run.outcome.summary.stations.iter().find(|station| station.name == *wanted)?;
    Some(100.0 * station.airtime_share)
}

impl Study for Cost {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("cost", &[]);
        let goodput = |run: &Measured, name: &str| Some(flow(run, name)?.goodput_mbps);
        let values: [fn(&Measured, &str) -> Option<f64>; 3] = [goodput, p95, airtime];
        for (case, cell) in COSTS {
            let runs = costs(cell).map(|cell| runs(&FLOOR, &cell, effort, results));
            let Some(first) = runs[0].first() else { continue };
            for flow in &first.outcome.summary.flows {
                let values = values.iter().flat_map(|value| {
                    runs.each_ref().map(|runs| text(mean(runs, |run| value(run, &flow.name))))
                });
                let cells = [case.to_owned(), flow.name.clone()].into_iter().chain(values);
                grid.rows.push(cells.map(Into::into).collect());
            }
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("cost", vec![grid], Vec::new()) }
    }
}

/// The most congested case above a driver's queue, which holds what mac80211's airtime queue limit admits.
pub(super) struct Below;

const BELOW: [(&str, &str); 6] = [
    ("ath9k", LINUX),
    ("ath9k", OURS),
    ("mac80211", LINUX),
    ("mac80211", "nothing bounded"),
    ("mac80211", "short AQL"),
    ("mac80211", OURS),
];

impl Study for Below {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("below", &[]);
        let of = |path, scheme| runs(&FLOOR, &[path, scheme, "5F", "5C"], effort, results);
        for (path, scheme) in BELOW {
            let runs = of(path, scheme);
            let others = |run: &Measured| {
                Some(run.outcome.summary.flows.iter().skip(1).map(|flow| flow.goodput_mbps).sum())
            };
            let values = [mean(&runs, vr_p95), largest(&runs, vr_p95), mean(&runs, fps), mean(&runs, others)];
            let cells = [path.to_owned(), scheme.to_owned()].into_iter().chain(values.map(text));
            grid.rows.push(cells.map(Into::into).collect());
        }
        let p95 = mean(&of("mac80211", OURS), vr_p95);
        let rows = vec![CLAIMS.row("below").measured(p95)];
        Part { rows, chapter: CLAIMS.chapter("below", vec![grid], Vec::new()) }
    }
}

/// Four users with a demand of their own each, beside two downloads: the greatest deficit first, as the paper has it, or the least
/// slack.
pub(super) struct Slack {
    /// The variant, and the key of chapter and table.
    links: &'static str,
    /// Rates of each stream in Mb/s, from a light to a full load of the channel; a quick look takes the second.
    rates: [&'static str; 4],
}

pub(super) const SPREAD: Slack = Slack { links: "spread", rates: ["15", "20", "25", "30"] };
pub(super) const ALIKE: Slack = Slack { links: "alike", rates: ["15", "20", "25", "28"] };

impl Slack {
    /// Calls `with` for each rate and choice, and their cell.
    fn cells<T>(&self, effort: Effort, mut with: impl FnMut([&str; 2], &[&str]) -> T) -> Vec<T> {
        let rates = if effort.quick { &self.rates[1..2] } else { &self.rates };
        let choices = USERS.names("choice", effort);
        let cells = rates.iter().flat_map(|rate| choices.iter().map(move |choice| [*rate, *choice]));
        cells
            .map(|[rate, choice]| with([rate, choice], &[self.links, choice, &format!("{rate} Mbit/s")]))
            .collect()
    }
}

/// Demands that a run met.
fn demands_met(run: &Measured) -> Option<f64> {
    let met = flows(run, "vr-").filter(|flow| {
        let demand = flow.demand.as_ref().map(|demand| demand.latency_ms);
        p95(run, &flow.name).zip(demand).is_some_and(|(p95, demand)| p95 <= demand)
    });
    Some(met.count() as f64)
}

impl Study for Slack {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table(self.links, &[]);
        grid.rows = self.cells(effort, |names, cell| {
            let runs = runs(&USERS, cell, effort, results);
            let fps = |run: &Measured| Some(flows(run, "vr-").filter_map(|flow| flow.fps).sum::<f64>() / 4.0);
            let bulk = |run: &Measured| Some(flows(run, "bulk").map(|flow| flow.goodput_mbps).sum());
            let latencies = ["vr-0", "vr-1", "vr-2", "vr-3"].map(|name| mean(&runs, |run| p95(run, name)));
            let others = [mean(&runs, demands_met), mean(&runs, fps), mean(&runs, bulk)];
            let values = latencies.into_iter().chain(others).map(text);
            names.map(str::to_owned).into_iter().chain(values).map(Into::into).collect()
        });
        Part { rows: Vec::new(), chapter: CLAIMS.chapter(self.links, vec![grid], Vec::new()) }
    }
}
