//! The half-duplex channel on the simulated air (Figs. 5 and 16a), Fig. 4's estimates from traces alone, and the testbed.

use std::sync::LazyLock;

use airbound_sim::Outcome;

use super::traces::{Set, TraceSets, second_of};
use super::{CLAIMS, cells, gain};
use crate::papers::Part;
use crate::papers::grid::Grid;
use crate::trial::run_all;
use crate::{Effort, Trial, TrialError};

static RUNS: LazyLock<Grid> = LazyLock::new(|| {
    Grid::read(
        "plum channel",
        include_str!("channel.toml"),
        &[("two-stations.toml", include_str!("two-stations.toml"))],
    )
});

fn goodput(outcome: &Outcome, flow: &str) -> f64 {
    outcome.summary.flows.iter().find(|found| found.name == flow).map_or(0.0, |flow| flow.goodput_mbps)
}

pub(super) fn trials(effort: Effort) -> impl Iterator<Item = Trial> {
    RUNS.names("flows", effort).into_iter().map(move |name| RUNS.trial(&[name], 1, effort))
}

pub(super) fn part(traces: &TraceSets, effort: Effort) -> Result<Part, TrialError> {
    let mut trials: Vec<Trial> = trials(effort).collect();
    let halved = trials.pop();
    let mut outcomes = run_all(&trials, effort.jobs)?;
    if let Some(halved) = halved {
        let limit = goodput(&outcomes[2], "c2-down") / 2.0;
        outcomes.push(halved.set("flow.c2-down.limit", format!("\"{limit:.3} Mbit/s\"")).run()?);
    }
    let mut table = CLAIMS.table("channel", &[]);
    for (name, outcome) in RUNS.names("flows", effort).into_iter().zip(&outcomes) {
        let flows = ["c2-up", "c2-down", "c1-up", "c1-down"].map(|flow| goodput(outcome, flow));
        table.rows.push(cells(&[name], flows));
    }
    let up = |place: usize| goodput(&outcomes[place], "c2-up");
    let sum = |place: usize, flows: [&str; 2]| {
        flows.map(|flow| goodput(&outcomes[place], flow)).iter().sum::<f64>()
    };
    let (c1, c2) = (["c1-up", "c1-down"], ["c2-up", "c2-down"]);
    // By the order of the grid: all, without C2's downlink, C2 alone, its uplink alone, its downlink halved.
    let mut rows = vec![
        CLAIMS.row("uplink-alone").measured(up(3) / sum(2, c2)),
        CLAIMS.row("uplink-beside-another").trend(up(1) > up(0)).measured(up(1) / sum(0, c2)),
        CLAIMS.row("other-station").measured(sum(1, c1) / sum(0, c1)),
        CLAIMS.row("yield").trend(up(4) > 1.25 * up(2)).measured(up(4) / up(2)),
    ];
    let mut split = CLAIMS.table("uneven-split", &[]);
    for users in [20, 64] {
        let found = gain(median(traces, 0.8, users, effort), median(traces, 0.5, users, effort));
        split.rows.push(cells(&[&users.to_string()], [found]));
        rows.push(CLAIMS.row("uneven-split").with("users", users).trend(found > 0.0).measured(found));
    }
    let testbed = ["testbed-goodput", "testbed-median", "testbed-least"];
    rows.extend(testbed.map(|key| CLAIMS.row(key).measured(None)));
    Ok(Part { rows, chapter: CLAIMS.chapter("channel", vec![table, split], Vec::new()) })
}

/// The median over seconds and traces of the mean bitrate of all users when one of them splits its bandwidth so: the others receive its
/// uplink and are received in its downlink.
fn median(traces: &TraceSets, up: f64, users: u32, effort: Effort) -> f64 {
    let users = f64::from(users);
    let average = |bandwidth: f64| (bandwidth * (1.0 - up) + (users - 1.0) * bandwidth * up) / users;
    let step = if effort.quick { 20 } else { 4 };
    let mut all = Vec::new();
    for trace in (0..32).map(|client| traces.pick(Set::Game, 1, client)) {
        all.extend((0..200).step_by(step).map(|second| average(second_of(&trace, second))));
    }
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
