//! Sec. VI, Fig. 13: everything in VI, where priority on the channel tells nobody apart.

use airbound_report::{Bar, Grid};

use super::measure::{flows, longest_p95, mean, runs, samples, text, vr_p95};
use super::{CASE_STUDY, CLAIMS, FLOOR, LAST_PQ, LINUX, SCHEMES};
use crate::Effort;
use crate::papers::experiment::Results;
use crate::papers::{Part, Study};

/// Two VR streams with a demand of 20 ms and three TCP flows with one of 30 ms, to one phone (Fig. 13b).
pub(super) struct SeveralDemands;

/// Loads to choose from, as the paper leaves the load open, and their cases. The first judges: the others offer more than their rate
/// carries.
const LOADS: [(&str, &str); 3] = [
    ("50 Mb/s each at 300", "edca-300"),
    ("50 Mb/s each at 162", "edca-50-each"),
    ("50 Mb/s in all at 162", "edca-50-total"),
];

/// Kinds of flow, how their names begin, and the longest latency that the paper reports for LAST-PQ.
const KINDS: [(&str, &str, f64); 2] = [("VR", "vr", 17.29), ("TCP", "local", 24.48)];

fn cell(scheme: &'static str, case: &'static str) -> [&'static str; 3] {
    [scheme, case, "20 and 30 ms"]
}

impl Study for SeveralDemands {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let all = || LOADS.into_iter().flat_map(|(load, case)| KINDS.map(|kind| (load, case, kind)));
        let of = |scheme, case| runs(&CASE_STUDY, &cell(scheme, case), effort, results);
        let worst = |scheme, case, prefix: &str| mean(&of(scheme, case), |run| longest_p95(run, prefix));
        let rows = all().map(|(load, case, (flows, prefix, _))| {
            let [linux, ours] = SCHEMES.map(|scheme| worst(scheme, case, prefix));
            let lower = ours.zip(linux).is_some_and(|(ours, linux)| ours < linux);
            let row = CLAIMS.row("several-demands").with("flows", flows).with("load", load);
            let worst = samples(&of(LAST_PQ, case), |run| longest_p95(run, prefix));
            row.judging(case == LOADS[0].1).trend(lower).over(worst)
        });
        let series = SCHEMES.map(|scheme| {
            let bars = all().map(|(_, case, (_, prefix, printed))| {
                let reference = (scheme == LAST_PQ).then_some(printed);
                Some(Bar { value: worst(scheme, case, prefix)?, range: None, reference })
            });
            (scheme.to_owned(), bars.collect())
        });
        let groups = all().map(|(load, _, (flows, ..))| format!("{flows}, {load}")).collect();
        let chart = CLAIMS.bars("several-demands", &[], groups, series.to_vec());
        Part { rows: rows.collect(), chapter: CLAIMS.chapter("several-demands", Vec::new(), vec![chart]) }
    }
}

/// The load of each TCP flow at 300 Mb/s, from below the capacity of the channel to above it; and the segments of an acknowledgement, which
/// move that capacity.
pub(super) struct Loads;

impl Study for Loads {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let loads = CASE_STUDY.names("load", effort).into_iter().skip(1);
        let loads = by_variant("loads", loads, effort, results);
        let acks = by_variant("acks", CASE_STUDY.names("acks", effort).into_iter(), effort, results);
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("loads", vec![loads, acks], Vec::new()) }
    }
}

/// The longest 95th percentiles and the goodput of all flows of each kind, by the variants of an axis and by the scheme.
fn by_variant<'a>(
    table: &str,
    variants: impl Iterator<Item = &'a str>,
    effort: Effort,
    results: &Results,
) -> Grid {
    let mut grid = CLAIMS.table(table, &[]);
    for variant in variants {
        for scheme in SCHEMES {
            let cell = [scheme, LOADS[0].1, "20 and 30 ms", variant];
            let runs = runs(&CASE_STUDY, &cell, effort, results);
            let sum = |prefix: &str| {
                mean(&runs, |run| Some(flows(run, prefix).map(|flow| flow.goodput_mbps).sum()))
            };
            let worst = |prefix: &str| mean(&runs, |run| longest_p95(run, prefix));
            let values = [worst("vr"), worst("local"), sum("vr"), sum("local")].map(text);
            let cells = [variant.to_owned(), scheme.to_owned()].into_iter().chain(values);
            grid.rows.push(cells.map(Into::into).collect());
        }
    }
    grid
}

/// One VR stream among other clients, all in VI (Fig. 6b and 13a).
pub(super) struct Clients;

pub(super) const CASES: [(&str, [&str; 2]); 4] =
    [("3C", ["0F", "3C"]), ("3F3C", ["3F", "3C"]), ("4C", ["0F", "4C"]), ("3F4C", ["3F", "4C"])];

pub(super) fn among_clients(scheme: &'static str, [flows, clients]: [&'static str; 2]) -> [&'static str; 5] {
    // Fig. 6b and 13a do not say where the phone is.
    [scheme, flows, clients, "10 m", "all in VI"]
}

impl Study for Clients {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let p95 = |scheme, case| mean(&runs(&FLOOR, &among_clients(scheme, case), effort, results), vr_p95);
        let row = |scheme, name: &str, case| {
            CLAIMS.row("clients").with("scheme", scheme).with("case", name).measured(p95(scheme, case))
        };
        let mut rows: Vec<_> = CASES
            .into_iter()
            .flat_map(|(name, case)| SCHEMES.map(|scheme| row(scheme, name, case)))
            .collect();
        let linux: Option<Vec<f64>> = CASES.iter().map(|(_, case)| p95(LINUX, *case)).collect();
        // 3C below 3F3C, 4C below 3F4C, 3C below 4C.
        let grows = linux.map(|p95| p95[0] < p95[1] && p95[2] < p95[3] && p95[0] < p95[2]);
        rows.push(CLAIMS.row("clients-grow").holds(grows));
        let series = SCHEMES.map(|scheme| {
            let bar = |(_, case)| Some(Bar { value: p95(scheme, case)?, ..Bar::default() });
            (scheme.to_owned(), CASES.map(bar).to_vec())
        });
        let groups = CASES.map(|(name, _)| name.to_owned()).to_vec();
        let chart = CLAIMS.bars("clients", &[], groups, series.to_vec());
        Part { rows, chapter: CLAIMS.chapter("clients", Vec::new(), vec![chart]) }
    }
}
