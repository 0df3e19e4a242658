//! Sec. V-C2: several flows over one hop, with and without aggregation, and the parking lot.

use airbound_report::{Tolerance, ValidationRow};

use super::compare::{Comparison, Table};
use super::measure::Figures;
use super::setting::{CODEL, FIFO, Flows, PIE, Rate, Scheme, Setting, WQM};
use crate::reproduce::Study;

const NEAR: Tolerance = Tolerance::Factor(1.5);

fn flows(setting: Setting) -> Vec<(String, Setting)> {
    [1, 3, 5]
        .into_iter()
        .map(|count| {
            let name = format!("{count} flow{}", if count == 1 { "" } else { "s" });
            (name, Setting { flows: Flows::ToTheEnd(count), ..setting })
        })
        .collect()
}

pub(super) fn studies() -> Vec<Box<dyn Study>> {
    vec![
        Box::new(Comparison {
            claim: "multi-flow",
            title: "Several flows over one hop",
            text: "One, three and five bulk TCP flows between the same two nodes.",
            figures: "Fig. 15 and 16",
            groups: flows(Setting::USUAL),
            printed: &[],
            rows: flow_rows,
        }),
        Box::new(Comparison {
            claim: "multi-flow-no-aggregation",
            title: "Several flows without aggregation",
            text: "The same with A-MPDU switched off.",
            figures: "Fig. 17 and 18",
            groups: flows(Setting { aggregation: false, ..Setting::USUAL }),
            printed: &[],
            rows: no_aggregation_rows,
        }),
        Box::new(Comparison {
            claim: "parking-lot",
            title: "The parking lot",
            text: "Three flows from the same source, to the first, second and third node of a row (Fig. 19), at fixed \
                   rates and with Minstrel.",
            figures: "Fig. 20",
            groups: Rate::ALL
                .into_iter()
                .map(|rate| {
                    let setting = Setting { hops: 3, flows: Flows::ParkingLot, rate, ..Setting::USUAL };
                    (rate.name().to_owned(), setting)
                })
                .collect(),
            printed: &[],
            rows: parking_rows,
        }),
    ]
}

fn flow_rows(table: &Table) -> Vec<ValidationRow> {
    let mut rows = Vec::new();
    for group in 0..table.len() {
        rows.push(table.factor_row(group, FIFO, 5.0, Tolerance::AtLeast));
        rows.push(table.factor_row(group, PIE, 5.0, Tolerance::AtLeast));
        rows.push(table.factor_row(group, CODEL, 2.0, NEAR));
        rows.push(table.goodput_row(group, 13.0));
    }
    for (scheme, reference) in [(FIFO, 0.7), (WQM, 0.99)] {
        let jain = table.of(1, scheme).map(|figures| figures.jain.mean);
        let metric = format!("Jain index of goodput, {}, 3 flows", scheme.name);
        let tolerance = Some(Tolerance::Absolute(0.1));
        rows.push(ValidationRow::judged(
            "multi-flow",
            metric,
            "",
            Some(reference),
            jain,
            tolerance,
            false,
            "over the whole run",
        ));
    }
    rows
}

fn no_aggregation_rows(table: &Table) -> Vec<ValidationRow> {
    let mut rows = Vec::new();
    for group in 0..table.len() {
        rows.push(table.factor_row(group, FIFO, 7.0, NEAR));
        rows.extend(table.as_good_rows(group));
        rows.push(table.goodput_row(group, 5.0));
    }
    rows
}

fn parking_rows(table: &Table) -> Vec<ValidationRow> {
    let claim = "parking-lot";
    let mut rows = Vec::new();
    // The paper's factor per flow, read as the mean over the rates.
    for (flow, reference) in [8.0, 6.0, 4.0].into_iter().enumerate() {
        let factor = |group: usize| {
            let of = |scheme: Scheme| table.of(group, scheme)?.rtt_ms.get(flow).map(|value| value.mean);
            Some(of(FIFO)? / of(WQM)?)
        };
        let factors: Vec<f64> = (0..table.len()).filter_map(factor).collect();
        let mean = (!factors.is_empty()).then(|| factors.iter().sum::<f64>() / factors.len() as f64);
        let metric = format!(
            "RTT of FIFO 1000 over WQM, the flow over {} hop{}",
            flow + 1,
            if flow == 0 { "" } else { "s" }
        );
        let holds = mean.is_some_and(|factor| factor > 1.0);
        let note = "mean over the rates";
        rows.push(ValidationRow::judged(claim, metric, "", Some(reference), mean, Some(NEAR), holds, note));
    }
    let minstrel = table.len().saturating_sub(1);
    rows.push(table.factor_row(minstrel, CODEL, 2.0, NEAR));
    let worst = (0..table.len()).filter_map(|group| table.factor(group, PIE)).reduce(f64::max);
    rows.push(ValidationRow::judged(
        claim,
        "largest RTT of PIE over WQM",
        "",
        Some(7.0),
        worst,
        Some(NEAR),
        worst.is_some_and(|factor| factor > 1.0),
        "\"in the worst case\"",
    ));
    let goodput = |scheme: Scheme| table.of(minstrel, scheme).map(|figures: &Figures| figures.goodput.mean);
    let gain = goodput(WQM).zip(goodput(CODEL)).map(|(ours, theirs)| ours / theirs);
    rows.push(ValidationRow::judged(
        "parking-lot-goodput",
        "total goodput of WQM over CoDel, Minstrel",
        "",
        Some(1.0),
        gain,
        Some(Tolerance::AtLeast),
        false,
        "\"while improving goodput\"",
    ));
    rows
}
