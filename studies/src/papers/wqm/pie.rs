//! PIE of the testbed's kernel: why it holds its target without aggregation, and not with it.

use super::measure::{Figures, figures};
use super::{CLAIMS, CODEL, FIFO, PIE, PIE_TODAY, WQM};
use crate::Effort;
use crate::papers::experiment::Results;
use crate::papers::{Part, Study, or_empty};

/// The departure rate that PIE of Linux 3.17 estimates.
pub(super) struct Estimate;

const LENGTH: &str = "40 s";

/// PIE with parts of it changed, one at a time.
const VARIANTS: [&str; 11] = [
    PIE,
    "PIE, dequeue 0",
    "PIE, dequeue 0.1 us",
    "PIE, dequeue 5 us",
    "PIE, dequeue 20 us",
    "PIE, dequeue 50 us",
    "PIE, average of times",
    "PIE, time stamps, 20 ms",
    PIE_TODAY,
    CODEL,
    FIFO,
];

/// Settings in which they are compared: the row of nodes and the transmit path.
const SETTINGS: [[&str; 2]; 3] = [["1 hop", "ath9k"], ["3 hops", "ath9k"], ["1 hop", "single frames"]];

/// Limits on the subframes of an A-MPDU at 65 Mb/s: a cycle of 10 kB is seven packets of 1500 B.
const SUBFRAMES: [&str; 10] = [
    "single frames",
    "at most 2 subframes",
    "at most 4 subframes",
    "at most 6 subframes",
    "at most 7 subframes",
    "at most 8 subframes",
    "at most 10 subframes",
    "at most 14 subframes",
    "at most 21 subframes",
    "ath9k",
];

impl Study for Estimate {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let of = |row, path, scheme| figures(&[row, path, LENGTH, scheme], effort, results);
        let rtt = |row, path, scheme| of(row, path, scheme).map(|figures| figures.rtt());
        let mut variants = CLAIMS.table("pie-variants", &[]);
        for scheme in VARIANTS {
            let cells = SETTINGS.map(|[row, path]| {
                let quotient = rtt(row, path, scheme).zip(rtt(row, path, WQM)).map(|(rtt, wqm)| rtt / wqm);
                [rtt(row, path, scheme), quotient].map(or_empty)
            });
            let row = [scheme.to_owned()].into_iter().chain(cells.into_iter().flatten());
            variants.rows.push(row.map(Into::into).collect());
        }
        let mut subframes = CLAIMS.table("pie-subframes", &[]);
        for path in SUBFRAMES {
            let length = of("65 Mb/s", path, FIFO).map(|Figures { ampdu, .. }| ampdu.mean);
            let columns = [FIFO, CODEL, PIE, "PIE, dequeue 0", PIE_TODAY, WQM];
            let rtts = columns.map(|scheme| rtt("65 Mb/s", path, scheme));
            let values = [length].into_iter().chain(rtts);
            let name = if path == "ath9k" { "at most 32 subframes" } else { path };
            let row = [name.to_owned()].into_iter().chain(values.map(or_empty));
            subframes.rows.push(row.map(Into::into).collect());
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("pie", vec![variants, subframes], Vec::new()) }
    }
}
