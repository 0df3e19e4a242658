//! Why a scheme with a short queue costs transfers their goodput: its aggregates are short, and the air stays idle.

use airbound_record::Summary;

use super::Finding;
use super::cost::{Cost, costs};
use super::health::finding;
use super::keep::mean;
use super::rules::SHORT_AGGREGATES;
use crate::comparison::{Comparison, SchemeRuns, is_transfer};
use crate::grid::number;

/// A remark for each scheme with a named cost, shorter aggregates than the default's, and more idle air.
pub(super) fn short_aggregates(comparison: &Comparison) -> Vec<Finding> {
    let Some(base) = comparison.base() else { return Vec::new() };
    let Some(long) = mpdus(base) else { return Vec::new() };
    let remark = |scheme: &SchemeRuns| {
        let is_transfer = |cost: &Cost| {
            let group = comparison.flows.all().iter().find(|group| group.name == cost.flow);
            group.and_then(|group| comparison.example(group)).is_some_and(is_transfer)
        };
        let cost = costs(comparison, scheme, None).into_iter().find(is_transfer).filter(Cost::is_named)?;
        let short = mpdus(scheme)?;
        let (busy, full) = (busy(scheme), busy(base));
        (100.0 * short < SHORT_AGGREGATES.threshold * long && busy < full).then(|| {
            let sentence = format!(
                "Under {} aggregates hold {} packets, under {} {}, and the air is {:.0} % busy in place of {:.0} %: its queue is too \
                 short for more, which costs {}.",
                scheme.name,
                number(short),
                base.name,
                number(long),
                100.0 * busy,
                100.0 * full,
                cost.text()
            );
            finding(SHORT_AGGREGATES, std::slice::from_ref(&scheme.name), sentence)
        })
    };
    comparison.schemes.iter().filter_map(remark).collect()
}

/// Mean size of the aggregates of all stations, by airtime, mean over the seeds.
fn mpdus(scheme: &SchemeRuns) -> Option<f64> {
    let of = |summary: &Summary| {
        let known = || summary.stations.iter().filter_map(|one| Some((one.airtime_share, one.mean_ampdu?)));
        let airtime: f64 = known().map(|(airtime, _)| airtime).sum();
        (airtime > 0.0).then(|| known().map(|(airtime, size)| airtime * size).sum::<f64>() / airtime)
    };
    let values: Vec<f64> = scheme.summaries().filter_map(of).collect();
    (!values.is_empty()).then(|| mean(&values))
}

fn busy(scheme: &SchemeRuns) -> f64 {
    mean(&scheme.summaries().map(|summary| summary.air.busy_share).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::super::test_runs::{Made, compared};
    use super::*;

    fn said(mpdus: f64, busy: f64, download: f64) -> Vec<String> {
        let linux = Made::new("linux", 1).call(10.0).download(100.0).air(0.9, 0.1);
        let wqm = Made::new("wqm", 1).call(4.0).download(download).air(busy, 0.1);
        let all = vec![
            linux.station("phone", 0.4, 30.0, 0.1, 100.0).station("tv", 0.2, 6.0, 0.1, 100.0),
            wqm.station("phone", 0.4, mpdus, 0.1, 100.0).station("tv", 0.2, 6.0, 0.1, 100.0),
        ];
        let findings = short_aggregates(&compared(all, "call", "linux"));
        findings.into_iter().map(|finding| finding.sentence).collect()
    }

    #[test]
    fn a_short_queue_is_named_as_the_reason_of_a_cost() {
        assert_eq!(
            said(9.0, 0.75, 63.0),
            [
                "Under wqm aggregates hold 8.00 packets, under linux 22.0, and the air is 75 % busy in place of 90 %: its queue is too \
              short for more, which costs download 37 %."
            ]
        );
        assert!(said(9.0, 0.9, 63.0).is_empty(), "the air is as busy");
        assert!(said(9.0, 0.75, 91.0).is_empty(), "it costs little");
        assert!(said(20.0, 0.75, 63.0).is_empty(), "aggregates are long");
    }
}
