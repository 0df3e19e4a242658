//! Time of one allocation (Fig. 15b).

use std::time::Instant;

use airbound_senders::conference::{Problem, Qoe, User};
use airbound_units::BitRate;

use super::{CLAIMS, cells};
use crate::Effort;
use crate::papers::Part;

/// Capacities from 5 to 60 Mb/s.
fn problem(users: u64, qoe: Qoe) -> Problem {
    let capacity = |index: u64| BitRate::from_kbps(5_000 + index * 7_919 % 55_000);
    Problem {
        users: (0..users)
            .map(|index| User { capacity: capacity(index), weight: 1.0, least_down: BitRate::ZERO })
            .collect(),
        qoe,
        rho: 0.5,
        max_bitrate: BitRate::from_mbps(30),
        source_cap: BitRate::from_kbps(30_000 / users.min(25)),
        least_up: BitRate::from_mbps(1),
        least_down: BitRate::ZERO,
    }
}

/// The shortest of several solutions in milliseconds: what the machine does besides is not the solver's.
fn milliseconds(problem: &Problem, times: u32) -> Option<f64> {
    let once = || {
        let begin = Instant::now();
        problem.solve().ok()?;
        Some(begin.elapsed().as_secs_f64() * 1e3)
    };
    (0..times).filter_map(|_| once()).min_by(f64::total_cmp)
}

pub(super) fn part(effort: Effort) -> Part {
    let mut table = CLAIMS.table("solver", &[]);
    let mut rows = Vec::new();
    for qoe in Qoe::ALL {
        let times = if qoe.is_concave() { effort.seconds(50, 5) } else { 3 };
        let time = |users| milliseconds(&problem(users, qoe), times);
        let [few, many] = [20, 200].map(time);
        let most = qoe.is_concave().then(|| time(1000)).flatten();
        table.rows.push(cells(&[qoe.name()], [few, many, most]));
        if qoe.is_concave() {
            let row = |clients| CLAIMS.row("solver-goal").with("clients", clients).with("qoe", qoe.name());
            rows.extend([row(200).measured(many), row(1000).measured(most)]);
        }
    }
    Part { rows, chapter: CLAIMS.chapter("solver", vec![table], Vec::new()) }
}
