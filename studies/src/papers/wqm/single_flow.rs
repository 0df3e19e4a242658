//! Sec. V-C1: one flow over one to three hops, with and without aggregation, over longer distances, and for a short time.

use airbound_report::{Tolerance, ValidationRow};

use super::compare::{Comparison, Table};
use super::setting::{CODEL, FIFO, PIE, SCHEMES, Setting, WQM};
use crate::reproduce::Study;

/// A value that was measured on the authors' hardware: the same order of magnitude counts.
const SAME_ORDER: Tolerance = Tolerance::Factor(2.0);
/// A factor between two schemes in the same run.
const NEAR: Tolerance = Tolerance::Factor(1.5);

fn hops(setting: Setting) -> Vec<(String, Setting)> {
    (1..=3)
        .map(|hops| (format!("{hops} hop{}", if hops == 1 { "" } else { "s" }), Setting { hops, ..setting }))
        .collect()
}

pub(super) fn studies() -> Vec<Box<dyn Study>> {
    vec![
        Box::new(Comparison {
            claim: "hops",
            title: "One flow over one to three hops",
            text: "A bulk TCP flow from the access point over relays that stand in a row, 10 m apart, and all \
                   contend in one channel. Every node runs the scheme.",
            figures: "Fig. 7 and 8",
            groups: hops(Setting::USUAL),
            printed: &[(2, "PIE", 261.3), (2, "WQM", 49.47)],
            rows: hop_rows,
        }),
        Box::new(Comparison {
            claim: "no-aggregation",
            title: "The same without aggregation",
            text: "A-MPDU switched off on every node, as for a receiver that cannot take aggregates.",
            figures: "Fig. 9 and 10",
            groups: hops(Setting { aggregation: false, ..Setting::USUAL }),
            printed: &[],
            rows: no_aggregation_rows,
        }),
        Box::new(Comparison {
            claim: "distance",
            title: "One hop of 10, 20 and 30 m",
            text: "Minstrel-HT lowers the rate with the distance. Once while people move slowly, as in all experiments here, and \
                   once with a channel at rest.",
            figures: "Fig. 11 and 12",
            groups: [("", true), (" at rest", false)]
                .into_iter()
                .flat_map(|(word, fading)| {
                    [10, 20, 30].map(move |distance_m| {
                        (format!("{distance_m} m{word}"), Setting { distance_m, fading, ..Setting::USUAL })
                    })
                })
                .collect(),
            printed: &[],
            rows: distance_rows,
        }),
        Box::new(Comparison {
            claim: "short-flows",
            title: "Short flows",
            text: "One hop; the flow lasts 5, 10 or 15 s from its first segment.",
            figures: "Fig. 13 and 14",
            groups: [5, 10, 15]
                .into_iter()
                .map(|seconds| (format!("{seconds} s"), Setting { seconds, ..Setting::USUAL }))
                .collect(),
            printed: &[],
            rows: short_rows,
        }),
    ]
}

fn hop_rows(table: &Table) -> Vec<ValidationRow> {
    let mut rows = Vec::new();
    for group in 0..table.len() {
        rows.push(table.factor_row(group, FIFO, 5.0, Tolerance::AtLeast));
        rows.push(table.factor_row(group, PIE, 5.0, Tolerance::AtLeast));
        rows.push(table.factor_row(group, CODEL, 2.0, NEAR));
        rows.push(table.goodput_row(group, 5.0));
    }
    for (scheme, reference) in [(PIE, 261.3), (WQM, 49.47)] {
        let rtt = table.of(2, scheme).map(super::measure::Figures::rtt);
        let metric = format!("RTT of {}, 3 hops", scheme.name);
        let note = "measured on the authors' testbed; a factor of 2 counts as near";
        rows.push(ValidationRow::judged(
            "hops",
            metric,
            "ms",
            Some(reference),
            rtt,
            Some(SAME_ORDER),
            false,
            note,
        ));
    }
    rows
}

fn no_aggregation_rows(table: &Table) -> Vec<ValidationRow> {
    let mut rows = Vec::new();
    let largest = (0..table.len()).filter_map(|group| table.factor(group, FIFO)).reduce(f64::max);
    rows.push(ValidationRow::judged(
        "no-aggregation",
        "largest RTT of FIFO 1000 over WQM",
        "",
        Some(7.0),
        largest,
        Some(NEAR),
        largest.is_some_and(|factor| factor > 1.0),
        "\"up to 7 x\"",
    ));
    for group in 0..table.len() {
        rows.extend(table.as_good_rows(group));
        rows.push(table.goodput_row(group, 5.0));
    }
    let worst = SCHEMES
        .iter()
        .flat_map(|scheme| {
            (0..table.len()).filter_map(|group| Some(table.of(group, *scheme)?.rtt_p99_ms.mean))
        })
        .reduce(f64::max);
    let note =
        "the p99 of the worst setting; the paper reads \"about 2 s\" without and 500 ms with aggregation";
    rows.push(ValidationRow::judged(
        "no-aggregation",
        "worst delay without aggregation",
        "ms",
        Some(2000.0),
        worst,
        Some(SAME_ORDER),
        false,
        note,
    ));
    rows
}

fn distance_rows(table: &Table) -> Vec<ValidationRow> {
    let mut rows = Vec::new();
    for group in 0..table.len() {
        for scheme in [FIFO, CODEL, PIE] {
            rows.push(table.factor_row(group, scheme, 1.0, Tolerance::AtLeast));
        }
        rows.push(table.goodput_row(group, 7.0));
    }
    for (groups, what) in [(0..3, ""), (3..6, ", channel at rest")] {
        let drops: Option<Vec<f64>> = groups.map(|group| table.goodput_drop(group)).collect();
        let shrinks =
            drops.map(|drops| if drops.windows(2).all(|pair| pair[1] <= pair[0]) { 1.0 } else { 0.0 });
        rows.push(ValidationRow::judged(
            "distance",
            format!("the goodput gap shrinks with distance{what}"),
            "holds",
            Some(1.0),
            shrinks,
            Some(Tolerance::Absolute(0.0)),
            false,
            "Fig. 12",
        ));
    }
    rows
}

fn short_rows(table: &Table) -> Vec<ValidationRow> {
    let mut rows = Vec::new();
    for group in 0..table.len() {
        let rtt = table.of(group, WQM).map(|figures| figures.rtt_p99_ms.mean);
        let metric = format!("RTT p99 of WQM, {}", table.name(group));
        rows.push(ValidationRow::judged(
            "short-flows",
            metric,
            "ms",
            Some(150.0),
            rtt,
            Some(Tolerance::AtMost),
            false,
            "\"bounded to 150 ms\"",
        ));
        rows.push(table.goodput_row(group, 8.0));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::setting::Flows;
    use super::*;

    #[test]
    fn hops_grow_by_one() {
        let groups = hops(Setting::USUAL);
        assert_eq!(groups.iter().map(|(_, setting)| setting.hops).collect::<Vec<_>>(), vec![1, 2, 3]);
        assert!(groups.iter().all(|(_, setting)| setting.flows == Flows::ToTheEnd(1)));
    }
}
