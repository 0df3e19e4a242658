//! The testbed (Sec. IV-E, Fig. 16b and d) in the simulator: a desktop on Wi-Fi beside a laptop's upload, four servers on wires.
//!
//! The gain follows from three numbers: w, what each server sends; u, what the desktop sends; d, what it receives. The mean of the five
//! is (4 (3 w + u) + d) / 5, and each server's sum is 3 w + u, so that no server gains more than a third.

use std::sync::LazyLock;

use airbound_record::Direction;
use airbound_report::Grid as Table;
use airbound_sim::Outcome;

use super::{CLAIMS, cells, gain};
use crate::papers::Part;
use crate::papers::grid::Grid;
use crate::trial::run_all;
use crate::{Effort, TrialError};

static RUNS: LazyLock<Grid> = LazyLock::new(|| {
    Grid::read(
        "plum testbed",
        include_str!("testbed.toml"),
        &[("testbed-scene.toml", include_str!("testbed-scene.toml"))],
    )
});

/// Goodputs of the participants, Mb/s.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    up: f64,
    down: f64,
    mean: f64,
    median: f64,
}

/// The mean of several runs.
fn seen(outcomes: &[Outcome]) -> Seen {
    let count = outcomes.len().max(1) as f64;
    let mut sum = Seen::default();
    for outcome in outcomes {
        let sessions = || outcome.summary.flows.iter().filter(|flow| flow.frame_latency_ms.is_some());
        let of = |direction| sessions().filter(move |flow| flow.direction == direction);
        let mut down: Vec<f64> = of(Direction::Downlink).map(|flow| flow.goodput_mbps).collect();
        sum.up += of(Direction::Uplink).next().map_or(0.0, |flow| flow.goodput_mbps) / count;
        sum.down += down.first().copied().unwrap_or(0.0) / count;
        sum.mean += down.iter().sum::<f64>() / down.len().max(1) as f64 / count;
        down.sort_unstable_by(f64::total_cmp);
        sum.median += down.get(down.len() / 2).copied().unwrap_or(0.0) / count;
    }
    sum
}

/// Cells of the table: largest bitrate of a camera, air, policy; the judged pair first.
fn settings(effort: Effort) -> Vec<[&'static str; 3]> {
    let (slow, fast): (Vec<_>, Vec<_>) = RUNS
        .names("b-air", effort)
        .into_iter()
        .partition(|air| air.starts_with("MCS 1") || air.starts_with("MCS 2"));
    let pairs = |air: &[&'static str], camera, policy| -> Vec<[&'static str; 3]> {
        air.iter().map(|air| [camera, *air, policy]).collect()
    };
    let mut all = pairs(&slow, "3", "rho 0, 3");
    all.extend(pairs(&fast, "30", "rho 0, 30"));
    all.extend(pairs(&fast, "10", "rho 0, 10"));
    // The slowest link of these, where the floor decides.
    all.extend(fast.last().map(|air| ["30", *air, "rho 0 without a floor, 30"]));
    all.extend(fast.first().map(|air| ["30", *air, "rho 0.5, 30"]));
    all
}

pub(super) fn part(effort: Effort) -> Result<Part, TrialError> {
    let mut table: Table = CLAIMS.table("testbed", &[]);
    let mut judged = None;
    for [camera, air, policy] in settings(effort) {
        let runs = |session: &str| -> Result<Seen, TrialError> {
            Ok(seen(&run_all(&RUNS.trials(&[camera, air, session], effort), effort.jobs)?))
        };
        let (plain, plum) = (runs("Vanilla")?, runs(policy)?);
        judged.get_or_insert((plain, plum));
        let (rate, aggregates) = air.split_once(" | ").unwrap_or((air, ""));
        let rho = policy.split(',').next().unwrap_or(policy);
        let gains = [gain(plum.mean, plain.mean), gain(plum.median, plain.median)];
        let values = [plain.up, plain.down, plain.mean, plum.up, plum.down, plum.mean];
        table.rows.push(cells(&[camera, rate, aggregates, rho], values.into_iter().chain(gains)));
    }
    let gains =
        judged.map(|(plain, plum)| [gain(plum.mean, plain.mean), gain(plum.median, plain.median), plum.down]);
    let value = |place: usize| gains.map(|gains| gains[place]);
    let grows = gains.is_some_and(|[mean, median, _]| mean > 0.0 && median > 0.0);
    let rows = vec![
        CLAIMS.row("testbed-goodput").trend(grows).measured(value(0)),
        CLAIMS.row("testbed-median").trend(grows).measured(value(1)),
        CLAIMS.row("testbed-least").measured(value(2)),
    ];
    Ok(Part { rows, chapter: CLAIMS.chapter("testbed", vec![table], Vec::new()) })
}
