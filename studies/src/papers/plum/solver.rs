//! Time of one allocation (Fig. 15b).

use std::time::Instant;

use airbound_report::{Chapter, Grid, Tolerance, ValidationRow};
use airbound_senders::conference::{Problem, Qoe, User};
use airbound_units::BitRate;

use crate::Effort;
use crate::papers::{Part, shown};

/// Capacities from 5 to 60 Mb/s.
fn problem(users: u64, qoe: Qoe) -> Problem {
    let capacity = |index: u64| BitRate::from_kbps(5_000 + index * 7_919 % 55_000);
    Problem {
        users: (0..users).map(|index| User { capacity: capacity(index), weight: 1.0 }).collect(),
        qoe,
        rho: 0.5,
        max_bitrate: BitRate::from_mbps(30),
        source_cap: BitRate::from_kbps(30_000 / users.min(25)),
        least_up: BitRate::from_mbps(1),
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
    let mut grid =
        Grid::new("Time of one allocation, ms", &["QoE", "20 clients", "200 clients", "1000 clients"], 1);
    let mut rows = Vec::new();
    let times = effort.seconds(50, 5);
    for qoe in Qoe::ALL {
        let [few, many, most] = [20, 200, 1000].map(|users| {
            let skipped = !qoe.is_concave() && users > 200;
            if skipped {
                None
            } else {
                milliseconds(&problem(users, qoe), if qoe.is_concave() { times } else { 3 })
            }
        });
        let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
        grid.rows.push([qoe.name().to_owned(), text(few), text(many), text(most)].map(Into::into).to_vec());
        let mut row = |clients: u32, limit: f64, measured, note: &str| {
            rows.push(ValidationRow::judged(
                "solver-time",
                format!("one allocation, {clients} clients, {}", qoe.name()),
                "ms",
                Some(limit),
                measured,
                Some(Tolerance::AtMost),
                false,
                note,
            ));
        };
        row(20, 100.0, few, "Fig. 15b");
        row(200, 1000.0, many, "Sec. IV-E");
        if qoe.is_concave() {
            row(200, 5.0, many, "our own goal");
            row(1000, 50.0, most, "our own goal");
        }
    }
    grid.note = "The shortest of several on this machine, which does other work at the same time.".to_owned();
    let chapter = Chapter {
        title: "Time of the optimiser".to_owned(),
        text:
            "A barrier method with a dual bound for the three concave QoE functions; the convex square climbs from several starts."
                .to_owned(),
        tables: vec![grid],
        charts: Vec::new(),
    };
    Part { rows, chapter }
}
