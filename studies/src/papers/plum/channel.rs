//! The half-duplex channel on the simulated air (Figs. 5 and 16a), and Fig. 4's estimate.

use std::sync::LazyLock;

use airbound_report::Grid as Table;
use airbound_sim::Outcome;

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

/// Users of the paper's best operating point.
const EIGHT: u32 = 8;
/// Most MPDUs of a station's aggregate; those of the access point have up to 64.
const AGGREGATES: [u32; 4] = [64, 32, 16, 8];

fn goodput(outcome: &Outcome, flow: &str) -> f64 {
    outcome.summary.flows.iter().find(|found| found.name == flow).map_or(0.0, |flow| flow.goodput_mbps)
}

pub(super) fn trials(effort: Effort) -> impl Iterator<Item = Trial> {
    RUNS.names("flows", effort).into_iter().map(move |name| RUNS.trial(&[name], 1, effort))
}

pub(super) fn part(effort: Effort) -> Result<Part, TrialError> {
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
    ];
    let (yields, split) = (yields(effort)?, uneven_split(EIGHT));
    let judged = yields.iter().find(|(name, mpdus, _)| *name == PAIRS[2].0 && *mpdus == AGGREGATES[0]);
    let times = judged.map(|(.., found)| found.times());
    rows.push(CLAIMS.row("yield").trend(times.is_some_and(|times| times > 1.25)).measured(times));
    rows.push(CLAIMS.row("uneven-split").trend(split > 0.0).measured(split));
    Ok(Part { rows, chapter: CLAIMS.chapter("channel", vec![table, table_of_yields(&yields)], Vec::new()) })
}

/// Flows of Fig. 16a: their cell, and the key that holds the downlink.
const PAIRS: [(&str, &str, &str); 5] = [
    ("TCP", "C2 alone, both", "flow.c2-down.limit"),
    ("datagrams", "datagrams", "flow.c2-down.rate"),
    ("datagrams beside Laptop 1", JUDGED, "flow.c2-down.rate"),
    ("Salsify beside Laptop 1", "Salsify, Laptop 1", "flow.c2-down.rate"),
    ("the same over 37 Mb/s", "Salsify, Laptop 1, 37 Mb/s", "flow.c2-down.rate"),
];
/// The testbed of Sec. IV-E: datagrams at more than the channel carries beside Laptop 1's flow.
const JUDGED: &str = "datagrams, Laptop 1";

/// A pair of flows before and after its downlink is halved.
#[derive(Clone, Copy)]
struct Yield {
    up: f64,
    down: f64,
    up_after: f64,
}

impl Yield {
    fn times(self) -> f64 {
        self.up_after / self.up.max(1e-3)
    }
}

/// Yielding for all pairs of flows and aggregates of the station, in the order of the table.
fn yields(effort: Effort) -> Result<Vec<(&'static str, u32, Yield)>, TrialError> {
    let cells = || PAIRS.into_iter().flat_map(|pair| AGGREGATES.map(|mpdus| (pair, mpdus)));
    let both = |cell: &str, mpdus: u32| {
        RUNS.trial(&[cell], 1, effort).set("uplink.path.max-ampdu-mpdus", mpdus.to_string())
    };
    let flows = |outcome: &Outcome| ["c2-up", "c2-down"].map(|flow| goodput(outcome, flow));
    let before: Vec<Trial> = cells().map(|((_, cell, _), mpdus)| both(cell, mpdus)).collect();
    let before: Vec<[f64; 2]> = run_all(&before, effort.jobs)?.iter().map(flows).collect();
    let halved = cells().zip(&before).map(|(((_, cell, key), mpdus), [_, down])| {
        both(cell, mpdus).set(key, format!("\"{:.3} Mbit/s\"", down / 2.0))
    });
    let after = run_all(&halved.collect::<Vec<_>>(), effort.jobs)?;
    let found = cells().zip(before).zip(&after).map(|((((name, ..), mpdus), [up, down]), after)| {
        (name, mpdus, Yield { up, down, up_after: flows(after)[0] })
    });
    Ok(found.collect())
}

/// Yielding by the kind of the flows and by the station's aggregates: where these are shorter than the access point's, the downlink has more
/// before.
fn table_of_yields(found: &[(&str, u32, Yield)]) -> Table {
    let mut table = CLAIMS.table("yields", &[]);
    for (name, mpdus, found) in found {
        let ratio = found.down / found.up.max(1e-3);
        let values = [found.up, found.down, ratio, found.up_after, found.times()];
        table.rows.push(cells(&[name, &mpdus.to_string()], values));
    }
    table
}

/// By how many per cent the mean bitrate of all users rises when one of them sends 0.8 of its bandwidth in place of a half. As in the public
/// code's estimate (`theory-improve.py`) its own view is divided among the sources, and the others receive what it sends. Every user's
/// bitrate is a multiple of the bandwidth, so that no trace matters and the median rises as much.
fn uneven_split(users: u32) -> f64 {
    let others = f64::from(users - 1);
    let mean = |up: f64| (1.0 - up) / others + others * up;
    gain(mean(0.8), mean(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_s_estimate_is_that_of_nine_users() {
        assert!((uneven_split(9) - 58.1).abs() < 0.1, "{}", uneven_split(9));
        assert!((uneven_split(8) - 57.6).abs() < 0.1 && uneven_split(1000) < 60.0);
    }
}
