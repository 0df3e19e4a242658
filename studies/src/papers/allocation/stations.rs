//! Sec. 6.2.2, Fig. 11: one to twenty stations near the access point.

use airbound_record::Fate;
use airbound_report::{Bar, Line};
use airbound_units::Span;

use super::air::{limit, vht};
use super::measure::{
    cell, delay, deviation, goodput, levels, line, loss, mean, number, quantile, ratio, slot_means,
};
use super::{CLAIMS, RUNS};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

pub(super) struct Stations;

/// As the reports of the prototype: two a second (Δ = 500 ms).
const SENT_REPORTS: f64 = 2.0;
/// The paper counts ten.
const COUNTED_REPORTS: f64 = 10.0;

/// The runs with as many stations.
fn runs(name: &str, effort: Effort) -> impl Iterator<Item = Experiment> {
    RUNS.trials(&["stations", name], effort).into_iter().map(|trial| Experiment::aggregates(trial, None))
}

/// Numbers of stations of which the least delay is judged.
const FROM_COLD: [&str; 3] = ["n = 1", "n = 10", "n = 20"];

/// A start from cold, while levels are low: the packets of the first flow.
fn from_cold(count: &str, effort: Effort) -> Experiment {
    Experiment::tracing(RUNS.trial(&["from cold", count], 1, effort), 0)
}

/// The least delay of a packet over the WLAN, us.
fn least_delay(run: &Measured) -> Option<f64> {
    let packets = run.trace.as_ref()?.packets.iter().filter(|packet| packet.fate == Fate::Delivered);
    packets.map(|packet| 1000.0 * (packet.delivered - packet.enqueued).as_millis_f64()).reduce(f64::min)
}

/// Figures of the runs with as many stations.
struct Point {
    /// Such as "n = 5".
    name: &'static str,
    count: usize,
    goodput: Option<f64>,
    offered: Option<f64>,
    /// ms.
    delay: Option<f64>,
    /// Of the least fair run.
    jain: f64,
    /// Of the run that lost most.
    loss: f64,
    levels: Vec<f64>,
    slots: Vec<f64>,
}

impl Point {
    fn of(name: &'static str, runs: &[&Measured]) -> Self {
        let over = |value: &dyn Fn(&Measured) -> Option<f64>| {
            mean(&runs.iter().filter_map(|run| value(run)).collect::<Vec<_>>())
        };
        let slots = |run| slot_means(run, Span::from_millis(500)).map(|(_, level)| level);
        Self {
            name,
            count: number(name) as usize,
            goodput: over(&|run| Some(goodput(run))),
            offered: over(&|run| Some(run.outcome.summary.flows.iter().map(|flow| flow.offered_mbps).sum())),
            delay: over(&delay),
            jain: runs.iter().filter_map(|run| run.outcome.summary.jain.goodput).fold(1.0, f64::min),
            loss: runs.iter().map(|run| loss(run)).fold(0.0, f64::max),
            levels: runs.iter().flat_map(|run| levels(&run.aggregates.sent)).collect(),
            slots: runs.iter().copied().flat_map(slots).collect(),
        }
    }

    /// The paper's limit with so many reports a second, Mb/s.
    fn limit(&self, reports: f64) -> f64 {
        limit(vht(9, 2), self.count, reports)
    }

    fn over_limit(&self, reports: f64) -> Option<f64> {
        ratio(self.goodput, Some(self.limit(reports)))
    }
}

impl Study for Stations {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let point = |name| {
            Point::of(name, &runs(name, effort).filter_map(|run| results.get(&run)).collect::<Vec<_>>())
        };
        let points: Vec<Point> = RUNS.names("count", effort).into_iter().map(point).collect();
        let over = |value: &dyn Fn(&Point) -> Option<f64>| -> Vec<(f64, f64)> {
            points.iter().filter_map(|point| Some((point.count as f64, value(point)?))).collect()
        };
        let worst = |value: &dyn Fn(&Point) -> Option<f64>, pick: fn(f64, f64) -> f64| {
            points.iter().filter_map(value).reduce(pick)
        };
        let mut goodput_table = CLAIMS.table("stations", &[]);
        for point in &points {
            let values = [point.goodput, Some(point.limit(SENT_REPORTS)), Some(point.limit(COUNTED_REPORTS))];
            let values = values.into_iter().chain([point.delay]).map(cell);
            let row = [point.count.to_string()].into_iter().chain(values);
            goodput_table.rows.push(row.map(Into::into).collect());
        }
        let sent = |point: &Point| point.over_limit(SENT_REPORTS);
        let counted = |point: &Point| point.over_limit(COUNTED_REPORTS);
        let delays = over(&|point| Some(point.delay? * 1000.0));
        let fit = line(&delays);
        let furthest = fit.map(|(slope, base)| {
            delays.iter().map(|(n, delay)| (delay - base - slope * n).abs()).fold(0.0, f64::max)
        });
        let over_limit = |extreme, value| CLAIMS.row("over-limit").with("extreme", extreme).measured(value);
        let over_printed = |extreme, value| CLAIMS.row("over-printed").with("extreme", extreme).told(value);
        let mut rows = vec![
            over_limit("least", worst(&sent, f64::min)),
            over_limit("largest", worst(&sent, f64::max)),
            over_printed("least", worst(&counted, f64::min)),
            over_printed("largest", worst(&counted, f64::max)),
            CLAIMS.row("fairness").measured(worst(&|point| Some(point.jain), f64::min)),
            CLAIMS.row("stations-loss").measured(worst(&|point| Some(point.loss), f64::max)),
            CLAIMS.row("delay-slope").measured(fit.map(|(slope, _)| slope)),
            CLAIMS.row("delay-linear").measured(ratio(furthest, fit.map(|(slope, _)| slope * 19.0))),
        ];
        rows.extend(FROM_COLD.map(|count| {
            let least = results.get(&from_cold(count, effort)).and_then(least_delay);
            CLAIMS.row("least-delay").with("n", count).measured(least)
        }));
        for point in points.iter().filter(|point| [1, 5, 10, 20].contains(&point.count)) {
            let row = |key| CLAIMS.row(key).with("n", point.name);
            let quartile = |rank, share| {
                row("regulated-quartile").with("rank", rank).measured(quantile(&point.levels, share))
            };
            rows.extend([
                row("regulated-mean").measured(mean(&point.levels)),
                row("regulated-slots").measured(deviation(&point.slots)),
                quartile("25th", 0.25),
                quartile("75th", 0.75),
            ]);
        }
        let bars = |(name, share): (&str, f64)| {
            let bar = |point: &Point| {
                Some(Bar { value: quantile(&point.levels, share)?, range: None, reference: Some(32.0) })
            };
            (name.to_owned(), points.iter().map(bar).collect())
        };
        let series = [("25th percentile", 0.25), ("median", 0.5), ("75th percentile", 0.75)].map(bars);
        let groups = points.iter().map(|point| point.count.to_string()).collect();
        let goodputs = vec![
            Line::whole("limit", over(&|point| Some(point.limit(COUNTED_REPORTS)))),
            Line::whole("configured", over(&|point| point.offered)),
            Line::whole("measured", over(&|point| point.goodput)),
        ];
        let delays = vec![Line::whole("mean", over(&|point| point.delay))];
        let charts = vec![
            CLAIMS.lines("stations-goodput", &[], goodputs),
            CLAIMS.lines("stations-delay", &[], delays),
            CLAIMS.bars("stations-level", &[], groups, series.to_vec()),
        ];
        Part { rows, chapter: CLAIMS.chapter("stations", vec![goodput_table], charts) }
    }
}
