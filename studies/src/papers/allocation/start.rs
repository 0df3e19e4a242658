//! Beyond the paper: from cold to the target in less than a second.

use airbound_report::{Chapter, Chart, ChartKind, Line, Lines, Tolerance};
use airbound_units::Span;

use super::measure::{judged, mean, told};
use super::setting::{FAST, OURS, PAPER, Sender, Setting};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

pub(super) struct Starts;

const COUNTS: [usize; 3] = [1, 4, 12];

fn experiment(count: usize, sender: Sender) -> Experiment {
    let setting = Setting {
        warm_up: 0,
        seconds: 30,
        wire: "delay = \"5 ms\"".to_owned(),
        ..Setting::alike(count, FAST).under(sender)
    };
    Experiment::plain(setting.trial("start", 1)).looking(Span::from_millis(50))
}

/// The send rate of all stations over time, Mb/s.
fn total(run: &Measured) -> Vec<(f64, f64)> {
    let sum = |view: &airbound_sim::Snapshot| view.allocations.iter().map(|one| one.rate.as_mbps_f64()).sum();
    run.views.iter().map(|(at, view)| (*at, sum(view))).collect()
}

/// When the rate came within a tenth of its last value to stay within a fifth; and its largest value over the last.
fn reached(run: &Measured) -> Option<(f64, f64)> {
    let rates = total(run);
    let tail: Vec<f64> = rates.iter().filter(|(at, _)| *at > 25.0).map(|(_, rate)| *rate).collect();
    let last = mean(&tail)?;
    let left =
        rates.iter().filter(|(_, rate)| (rate / last - 1.0).abs() > 0.2).map(|(at, _)| *at).reduce(f64::max);
    let near =
        rates.iter().find(|(at, rate)| *at >= left.unwrap_or(0.0) && (rate / last - 1.0).abs() <= 0.1)?;
    Some((near.0, rates.iter().map(|(_, rate)| rate / last).fold(0.0, f64::max)))
}

impl Study for Starts {
    fn experiments(&self, _effort: Effort) -> Vec<Experiment> {
        COUNTS.into_iter().flat_map(|count| [PAPER, OURS].map(|sender| experiment(count, sender))).collect()
    }

    fn part(&self, _effort: Effort, results: &Results) -> Part {
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        for count in COUNTS {
            let of = |sender| results.get(&experiment(count, sender));
            let (paper, ours) = (of(PAPER).and_then(reached), of(OURS).and_then(reached));
            rows.push(told(
                "fast-start",
                format!("time to the target, paper's control, n = {count}"),
                "s",
                paper.map(|paper| paper.0),
                "by feedback alone; total rate within a tenth of its last value",
            ));
            rows.push(judged(
                "fast-start",
                format!("time to the target, n = {count}"),
                "s",
                1.0,
                ours.map(|ours| ours.0),
                Tolerance::AtMost,
                "by the model; 5 ms of wired delay each way",
            ));
            rows.push(judged(
                "fast-start",
                format!("largest rate over the settled one, n = {count}"),
                "",
                1.2,
                ours.map(|ours| ours.1),
                Tolerance::AtMost,
                "overshoot",
            ));
            for (name, sender) in [("paper's control", PAPER), ("by the model", OURS)] {
                lines.extend(of(sender).map(|run| Line::whole(format!("{name}, n = {count}"), total(run))));
            }
        }
        let kind = ChartKind::Lines(Lines {
            x: "time (s)".to_owned(),
            y: "send rate of all stations (Mb/s)".to_owned(),
            lines,
            ..Lines::default()
        });
        let charts = vec![Chart { kind, caption: "From cold to the target.".to_owned() }];
        let text = "All stations begin at once at 1 Mb/s.";
        Part {
            rows,
            chapter: Chapter {
                title: "A fast start".to_owned(),
                text: text.to_owned(),
                tables: Vec::new(),
                charts,
            },
        }
    }
}
