//! Plum (Chen et al.): every claim of Sec. II and IV. The trace-driven figures over the paper's links, and beside them with the loop closed over
//! half-duplex ones; what no scheme of the paper's does is a row of ours.
//!
//! `conferences.toml` holds the conferences, `channel.toml` and `beyond.toml` runs of scenarios, `claims.toml` what the paper states.

mod beyond;
mod channel;
mod conferences;
mod downlink;
mod eight;
mod fluid;
mod links;
mod mobility;
mod pooled;
mod saturated;
mod scene;
mod solver;
mod testbed;
mod traces;
mod variants;

use std::sync::LazyLock;

use airbound_report::{Cell, Line};

pub use traces::{TraceSetError, TraceSets};

use conferences::Conferences;

use super::claims::Claims;
use super::{Paper, Part, Reproduction, by_claim, shown};
use crate::{Effort, TrialError};

pub(super) static CLAIMS: LazyLock<Claims> =
    LazyLock::new(|| Claims::read("plum", include_str!("claims.toml")));

const VANILLA: &str = "Vanilla";
const LAST_N: &str = "LastN";
const BASELINES: [&str; 3] = [VANILLA, LAST_N, "TACK"];
/// As the paper sets it: linear, rho 0.5.
const PLUM: &str = "Plum";
/// The mean alone counts.
const MEAN: &str = "Plum, rho 0";
/// The baselines, then Plum.
const SCHEMES: [&str; 5] = [VANILLA, LAST_N, "TACK", PLUM, MEAN];
/// Plum with each QoE function.
const QOES: [&str; 4] = [PLUM, "Plum, logarithmic", "Plum, concave-square", "Plum, convex-square"];

/// Seconds of a session that are left out.
const WARM_UP: usize = 5;

/// Runs every session that a claim asks for, and judges the results.
pub(super) fn reproduce(
    effort: Effort,
    traces: &TraceSets,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Reproduction, TrialError> {
    let conferences = Conferences::run(traces, effort, progress)?;
    let [bounds, closed_loop] = downlink::closed_loop(&conferences, traces, effort);
    let parts = [
        downlink::paper(&conferences, traces, effort),
        eight::distribution(&conferences),
        eight::shared(&conferences),
        mobility::part(&conferences, effort)?,
        channel::part(effort)?,
        testbed::part(effort)?,
        bounds,
        closed_loop,
        variants::part(&conferences),
        eight::rho(&conferences),
        solver::part(effort),
        beyond::part(effort)?,
    ];
    let (mut rows, mut chapters) = (Vec::new(), Vec::new());
    for Part { rows: found, chapter } in parts {
        rows.extend(found);
        chapters.push(chapter);
    }
    let (rows, runs) = (by_claim(rows), conferences.len());
    Ok(Reproduction { paper: Paper::Plum, rows, chapters, runs, in_place: None })
}

/// By how many per cent one value exceeds another.
fn gain(value: f64, over: f64) -> f64 {
    100.0 * (value / over.max(1e-9) - 1.0)
}

/// The largest of the values.
fn best_of(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// The value below which the share `part` of ordered samples lies.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    sorted.get((part * sorted.len().saturating_sub(1) as f64) as usize).copied().unwrap_or(0.0)
}

/// The distribution of ordered samples, in per cent.
fn cumulative(name: &str, sorted: &[f64]) -> Line {
    let percent = (0..=100).map(f64::from);
    Line::whole(name, percent.map(|percent| (quantile(sorted, percent / 100.0), percent)))
}

/// A row of a table: texts, then numbers.
fn cells<V: Into<Option<f64>>>(texts: &[&str], values: impl IntoIterator<Item = V>) -> Vec<Cell> {
    let values = values.into_iter().map(|value| value.into().map_or_else(|| "–".to_owned(), shown).into());
    texts.iter().map(|text| (*text).into()).chain(values).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_conferences_and_runs_can_be_read() {
        assert!(!CLAIMS.title.is_empty());
        for effort in [Effort::default(), Effort { quick: true, ..Effort::default() }] {
            let cells = conferences::PLAN.cells(effort);
            assert!(cells.keys().all(|(_, scheme)| conferences::PLAN.schemes.contains_key(*scheme)));
            let trials = beyond::trials(effort).map(|(_, trial)| trial).chain(channel::trials(effort));
            trials.for_each(|trial| assert_eq!(trial.read().map(|_| ()), Ok(()), "{}", trial.name));
        }
    }
}
