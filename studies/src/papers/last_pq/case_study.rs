//! Sec. I and III: what Linux does to a VR stream. The rung `papers` of `airbound validate` has the same rows.
//!
//! The first of the choices that the paper leaves open judges; the others are printed beside it.

use airbound_report::Grid;

use super::measure::{flows, longest_p95, mean, p95, runs, samples, text};
use super::{CASE_STUDY, CLAIMS};
use crate::Effort;
use crate::papers::experiment::{Measured, Results};
use crate::papers::row::ClaimRow;
use crate::papers::{Part, Study};

pub(super) struct CaseStudy;

impl Study for CaseStudy {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut variants = by_variant(effort, results).into_iter();
        let (_, rows) = variants.next().unwrap_or_default();
        let grid = side_by_side(&rows, &variants.collect::<Vec<_>>());
        let charts = ["case-study-p95", "case-study-fps", "case-study-goodput"]
            .map(|key| CLAIMS.bars_of_rows(key, "Linux, ours", &rows));
        Part { chapter: CLAIMS.chapter("case-study", vec![grid], charts.to_vec()), rows }
    }
}

/// The rows of each variant with what its metrics have at their end, the one that judges first.
pub(super) fn by_variant(effort: Effort, results: &Results) -> Vec<(String, Vec<ClaimRow>)> {
    let variants = CASE_STUDY.names("assumed", effort).into_iter().enumerate();
    let rows = variants.map(|(number, assumed)| {
        let judges = number == 0;
        let suffix = if judges { String::new() } else { format!(" ({assumed})") };
        let all = |case: &str, metric: &str| {
            samples(&runs(&CASE_STUDY, &[assumed, case], effort, results), |run| value(run, metric))
        };
        let value = |case: &str, metric: &str| {
            mean(&runs(&CASE_STUDY, &[assumed, case], effort, results), |run| value(run, metric))
        };
        let each = |key| {
            CLAIMS.each(key, |row, case| {
                let row = row.with("assumed", &suffix).judging(judges);
                row.over(all(&case["case"], &case["metric"]))
            })
        };
        let mut rows = ["printed", "within-ten", "repeated", "not-reported"].map(each).concat();
        let [three, four] = ["clients-3", "clients-4"].map(|case| all(case, "VR p95"));
        let row = CLAIMS.row("four-over-three").with("assumed", &suffix).judging(judges);
        rows.push(row.over(three.iter().zip(&four).map(|(three, four)| four / three)));
        if judges {
            rows.extend(in_words(&value));
        }
        (suffix, rows)
    });
    rows.collect()
}

/// A value of a run, by its name in a row.
fn value(run: &Measured, metric: &str) -> Option<f64> {
    let first = || flows(run, "vr").next();
    match metric {
        "VR p95" | "first VR p95" => p95(run, &first()?.name),
        "VR p99" => {
            let place = run.outcome.summary.flows.iter().position(|flow| flow.name == "vr")?;
            run.outcome.wifi_latency.get(place)?.p99
        }
        "second VR p95" => p95(run, "vr-2"),
        "VoIP p95" => p95(run, "voip"),
        "TCP p95" => longest_p95(run, "local"),
        "VR FPS" => first()?.fps,
        "VR goodput" => Some(first()?.goodput_mbps),
        "Jain index of airtime" => run.outcome.summary.jain.airtime,
        _ => None,
    }
}

/// Returns the rows of the claims that the paper makes in words. `value` gives a value of a case.
fn in_words(value: &dyn Fn(&str, &str) -> Option<f64>) -> Vec<ClaimRow> {
    let p95 = |case: &str| value(case, "VR p95");
    let tcp = |case: &str| value(case, "TCP p95");
    let grows = |values: &[Option<f64>]| values.windows(2).all(|pair| pair[0].is_some() && pair[0] < pair[1]);
    let all = |cases: &[&str], metric: &str, holds: fn(f64) -> bool| {
        cases.iter().all(|case| value(case, metric).is_some_and(holds))
    };
    let single = ["flows-0", "flows-1", "flows-3"];
    let several = ["clients-3", "clients-3-flows-3", "clients-4"];
    let heaviest = ["fig1-congested", "clients-3-flows-3"];
    let holds = |key: &str| match key {
        "resolution" => grows(&["alone-low", "alone-high", "alone-ultra"].map(p95)),
        "flows" => grows(&single.map(p95)),
        "calls" => all(&single, "VoIP p95", |p95| p95 < 10.0),
        "flows-and-clients" => grows(&["clients-3", "clients-3-flows-3"].map(p95)),
        "misses" => all(&several, "VR p95", |p95| p95 > 20.0),
        "fair" => all(&several, "Jain index of airtime", |jain| jain > 0.9),
        "collapses" => {
            all(&heaviest, "VR FPS", |fps| fps < 20.0) && all(&heaviest, "VR goodput", |mbps| mbps < 30.0)
        }
        "misses-in-vi" => all(&["edca-50-each", "edca-50-total", "edca-300"], "VR p95", |p95| p95 > 20.0),
        "tcp-300" => {
            grows(&[tcp("edca-300"), p95("edca-300")]) && tcp("edca-300").is_some_and(|p95| p95 < 20.0)
        }
        _ => grows(&[tcp("edca-50-total"), p95("edca-50-total")]),
    };
    let mut rows = CLAIMS.each("in-words", |row, case| row.holds(holds(&case["key"])));

    rows.extend(CLAIMS.each("call", |row, case| {
        let p95 = value(&case["case"], "VoIP p95");
        row.trend(p95.is_some_and(|p95| p95 < 10.0)).measured(p95)
    }));
    rows
}

/// Tabulates the choices that the paper leaves open, beside the one made: one row for each printed value.
fn side_by_side(main: &[ClaimRow], variants: &[(String, Vec<ClaimRow>)]) -> Grid {
    let mut grid = CLAIMS.table("case-study", &[]);
    for row in main.iter().filter(|row| row.reference.is_some() && row.unit != "holds") {
        let mut cells =
            vec![format!("{} ({})", row.metric, row.unit), text(row.reference), text(row.measured)];
        cells.extend(variants.iter().map(|(suffix, rows)| {
            let same = rows.iter().find(|other| other.metric == format!("{}{suffix}", row.metric));
            text(same.and_then(|row| row.measured))
        }));
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    grid
}
