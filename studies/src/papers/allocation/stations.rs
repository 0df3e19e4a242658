//! Sec. 6.2.2, Fig. 11: one to twenty stations near the access point.

use airbound_report::{Bar, Bars, Chapter, Chart, ChartKind, Line, Lines, Tolerance};
use airbound_units::Span;

use super::measure::{
    delay, deviation, goodput, judged, levels, line, loss, mean, quantile, slot_means, told,
};
use super::setting::{Air, FAST, Setting, vht};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

pub(super) struct Stations;

/// As the reports of the prototype: two a second (Δ = 500 ms).
const SENT_REPORTS: f64 = 2.0;
/// From cold the rate climbs for 8 s; then what is missing to the target shrinks by a fifth a round (K times the slope of lemma 2).
/// From 15 to 20 s levels are 0.6 packets below the target on average, from 20 s on 0.1.
const WARM_UP: u32 = 20;
/// The paper counts ten.
const COUNTED_REPORTS: f64 = 10.0;

impl Stations {
    fn counts(effort: Effort) -> Vec<usize> {
        if effort.quick { vec![1, 5, 10, 20] } else { (1..=20).collect() }
    }

    fn experiments_of(effort: Effort, count: usize) -> Vec<Experiment> {
        let setting =
            Setting { warm_up: WARM_UP, seconds: effort.seconds(10, 5), ..Setting::alike(count, FAST) };
        let seeds = if effort.quick { 1..=1 } else { 1..=12 };
        seeds
            .map(|seed| Experiment::aggregates(setting.trial("stations", seed), setting.measured_from()))
            .collect()
    }
}

struct Point {
    count: usize,
    goodput: Vec<f64>,
    offered: Vec<f64>,
    delay: Vec<f64>,
    jain: f64,
    loss: f64,
    levels: Vec<f64>,
    slots: Vec<f64>,
}

fn point(count: usize, runs: &[&Measured]) -> Point {
    let offered = |run: &&Measured| run.outcome.summary.flows.iter().map(|flow| flow.offered_mbps).sum();
    let slot = Span::from_millis(500);
    Point {
        count,
        goodput: runs.iter().map(|run| goodput(run)).collect(),
        offered: runs.iter().map(offered).collect(),
        delay: runs.iter().filter_map(|run| delay(run)).collect(),
        jain: runs.iter().filter_map(|run| run.outcome.summary.jain.goodput).fold(1.0, f64::min),
        loss: runs.iter().map(|run| loss(run)).fold(0.0, f64::max),
        levels: runs.iter().flat_map(|run| levels(&run.aggregates.sent)).collect(),
        slots: runs
            .iter()
            .flat_map(|run| slot_means(&run.aggregates.sent, slot).into_iter().map(|(_, _, level)| level))
            .collect(),
    }
}

impl Study for Stations {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        Self::counts(effort).into_iter().flat_map(|count| Self::experiments_of(effort, count)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let rate = vht(9, 2);
        let mut points = Vec::new();
        for count in Self::counts(effort) {
            let runs: Vec<&Measured> = Self::experiments_of(effort, count)
                .iter()
                .filter_map(|experiment| results.get(experiment))
                .collect();
            points.push(point(count, &runs));
        }
        let mut rows = Vec::new();
        for point in &points {
            let n = point.count;
            rows.push(judged(
                "mcs9-nss2-goodput",
                format!("goodput, n = {n}"),
                "Mb/s",
                Air::limit(rate, n, SENT_REPORTS),
                mean(&point.goodput),
                Tolerance::Relative(0.01),
                "the limit of Fig. 11 (frames of 32, 10 beacons/s, no collisions) with the 2 reports/s that are sent",
            ));
        }
        let over_counted =
            |point: &Point| Some(mean(&point.goodput)? / Air::limit(rate, point.count, COUNTED_REPORTS));
        rows.push(judged(
            "mcs9-nss2-goodput",
            "least goodput over the limit as printed",
            "",
            0.99,
            points.iter().filter_map(over_counted).reduce(f64::min),
            Tolerance::AtLeast,
            "with the 10 reports/s that the paper counts",
        ));
        rows.push(told(
            "mcs9-nss2-goodput",
            "largest goodput over the limit as printed",
            "",
            points.iter().filter_map(over_counted).reduce(f64::max),
            "above 1: the runs send 2 reports/s, so that with 10 it is no limit",
        ));
        let worst =
            |value: &dyn Fn(&Point) -> f64, pick: fn(f64, f64) -> f64| points.iter().map(value).reduce(pick);
        let shortfall = |point: &Point| {
            let limit = Air::limit(rate, point.count, SENT_REPORTS);
            100.0 * (mean(&point.goodput).unwrap_or(0.0) / limit - 1.0)
        };
        rows.push(told(
            "mcs9-nss2-goodput",
            "furthest below the limit with 2 reports/s, as sent",
            "%",
            worst(&shortfall, f64::min),
            "the paper's limit counts 10 reports a second, its runs send 2",
        ));
        rows.push(judged(
            "mcs9-nss2-goodput",
            "least fairness index",
            "",
            1.0,
            worst(&|point| point.jain, f64::min),
            Tolerance::Absolute(0.005),
            "Jain, of every run",
        ));
        rows.push(judged(
            "mcs9-nss2-goodput",
            "largest share of packets lost",
            "",
            0.0,
            worst(&|point| point.loss, f64::max),
            Tolerance::Absolute(0.0),
            "\"we did not observe losses\"",
        ));
        let delays: Vec<(f64, f64)> = points
            .iter()
            .filter_map(|point| Some((point.count as f64, mean(&point.delay)? * 1000.0)))
            .collect();
        let fit = line(&delays);
        rows.push(judged(
            "mcs9-nss2-delay",
            "delay for each further station",
            "us",
            350.0,
            fit.map(|(slope, _)| slope),
            Tolerance::Relative(0.15),
            "least squares over n; half a frame's cycle of 719 us is 360 us",
        ));
        let furthest = fit.map(|(slope, base)| {
            delays.iter().map(|(n, delay)| (delay - base - slope * n).abs()).fold(0.0, f64::max)
        });
        let span = fit.map(|(slope, _)| slope * 19.0);
        rows.push(judged(
            "mcs9-nss2-delay",
            "furthest from a straight line, of the rise over 19 stations",
            "",
            0.1,
            furthest.zip(span).map(|(off, span)| off / span),
            Tolerance::AtMost,
            "\"almost linearly\"",
        ));
        for point in &points {
            let n = point.count;
            if ![1, 5, 10, 20].contains(&n) {
                continue;
            }
            let note = "all stations, all runs, 500 ms";
            rows.push(judged(
                "aggregation-regulated",
                format!("mean level, n = {n}"),
                "packets",
                32.0,
                mean(&point.levels),
                Tolerance::Absolute(1.0),
                "every frame",
            ));
            rows.push(judged(
                "aggregation-regulated",
                format!("deviation of slot means, n = {n}"),
                "packets",
                2.0,
                deviation(&point.slots),
                Tolerance::AtMost,
                note,
            ));
            let note = "every frame; contention alone scatters by some 2.8 at n = 1";
            rows.push(judged(
                "aggregation-regulated",
                format!("25th percentile of levels, n = {n}"),
                "packets",
                30.0,
                quantile(&point.levels, 0.25),
                Tolerance::AtLeast,
                note,
            ));
            rows.push(judged(
                "aggregation-regulated",
                format!("75th percentile of levels, n = {n}"),
                "packets",
                34.0,
                quantile(&point.levels, 0.75),
                Tolerance::AtMost,
                note,
            ));
        }
        let over = |value: &dyn Fn(&Point) -> Option<f64>| -> Vec<(f64, f64)> {
            points.iter().filter_map(|point| Some((point.count as f64, value(point)?))).collect()
        };
        let chart = |y: &str, lines: Vec<Line>, caption: &str| Chart {
            kind: ChartKind::Lines(Lines {
                x: "stations".to_owned(),
                y: y.to_owned(),
                lines,
                ..Lines::default()
            }),
            caption: caption.to_owned(),
        };
        let bars = |share: f64| {
            points
                .iter()
                .map(|point| {
                    Some(Bar { value: quantile(&point.levels, share)?, range: None, reference: Some(32.0) })
                })
                .collect()
        };
        let charts = vec![
            chart(
                "goodput (Mb/s)",
                vec![
                    Line::whole("limit", over(&|point| Some(Air::limit(rate, point.count, COUNTED_REPORTS)))),
                    Line::whole("configured", over(&|point| mean(&point.offered))),
                    Line::whole("measured", over(&|point| mean(&point.goodput))),
                ],
                "Fig. 11, top: goodput of all stations together.",
            ),
            chart("delay (ms)", vec![Line::whole("mean", over(&|point| mean(&point.delay)))], "Fig. 11, top: mean delay."),
            Chart {
                kind: ChartKind::Bars(Bars {
                    y: "packets a frame".to_owned(),
                    groups: points.iter().map(|point| point.count.to_string()).collect(),
                    series: vec![
                        ("25th percentile".to_owned(), bars(0.25)),
                        ("median".to_owned(), bars(0.5)),
                        ("75th percentile".to_owned(), bars(0.75)),
                    ],
                }),
                caption: "Fig. 11, bottom: aggregation level of all frames, by number of stations; the diamond is N_eps.".to_owned(),
            },
        ];
        let text = "Stations 2 m away at MCS 9 with two streams, 12 seeds (quick: one), the paper's controller (K = 1/n, 500 ms), measured for 10 s after a start of 20 s.";
        Part {
            rows,
            chapter: Chapter {
                title: "Many stations".to_owned(),
                text: text.to_owned(),
                tables: Vec::new(),
                charts,
            },
        }
    }
}
