//! Sec. 3.2, Fig. 5: rate, delay and loss over the target.

use airbound_report::{Chapter, Chart, ChartKind, Line, Lines, Tolerance};

use super::measure::{delay, goodput, holds, judged, line, loss};
use super::setting::{FAST, PAPER, Sender, Setting};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

pub(super) struct Knee;

/// The access point's queue: the delay at the limit is that of a full one.
const QUEUE: u32 = 1000;

impl Knee {
    fn targets(effort: Effort) -> &'static [u32] {
        if effort.quick {
            &[10, 20, 30, 40, 56, 64]
        } else {
            &[5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 58, 60, 62, 63, 64]
        }
    }

    /// K = 1, Δ = 1000 ms, as the figure; each point of the figure is 250 s.
    fn experiment(effort: Effort, target: u32) -> Experiment {
        let sender = Sender { target, interval_ms: 1000, ..PAPER };
        let setting = Setting {
            warm_up: 45,
            seconds: effort.seconds(250, 15),
            queue: QUEUE,
            ..Setting::alike(1, FAST).under(sender)
        };
        Experiment::plain(setting.trial("knee", 1))
    }
}

impl Study for Knee {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        Self::targets(effort).iter().map(|target| Self::experiment(effort, *target)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let runs: Vec<(f64, &Measured)> = Self::targets(effort)
            .iter()
            .filter_map(|target| Some((f64::from(*target), results.get(&Self::experiment(effort, *target))?)))
            .collect();
        let over = |value: &dyn Fn(&Measured) -> Option<f64>| -> Vec<(f64, f64)> {
            runs.iter().filter_map(|(target, run)| Some((*target, value(run)?))).collect()
        };
        let (rates, delays, losses) =
            (over(&|run| Some(goodput(run))), over(&delay), over(&|run| Some(loss(run))));
        let at = |points: &[(f64, f64)], target: f64| {
            points.iter().find(|(at, _)| *at == target).map(|(_, value)| *value)
        };
        let most = |points: &[(f64, f64)], up_to: f64| {
            points.iter().filter(|(target, _)| *target <= up_to).map(|(_, value)| *value).reduce(f64::max)
        };
        let least = losses.iter().any(|(target, loss)| *target >= 60.0 && *loss > 0.0);
        let fastest = most(&rates, 64.0);
        let share = |target: f64| at(&rates, target).zip(fastest).map(|(rate, most)| rate / most);
        let linear: Vec<(f64, f64)> =
            rates.iter().copied().filter(|(target, _)| (10.0..=40.0).contains(target)).collect();
        let bend = line(&linear).map(|(slope, base)| {
            linear.iter().map(|(x, y)| (y / (base + slope * x) - 1.0).abs()).fold(0.0, f64::max)
        });
        let rows = vec![
            judged(
                "delay-knee",
                "largest loss up to a target of 40",
                "",
                0.0,
                most(&losses, 40.0),
                Tolerance::Absolute(0.0),
                "Fig. 5: no queue overflow below about 40",
            ),
            judged(
                "delay-knee",
                "largest mean delay up to a target of 40",
                "ms",
                5.0,
                most(&delays, 40.0),
                Tolerance::AtMost,
                "\"consistently low\"",
            ),
            judged(
                "delay-knee",
                "delay at 64 over that at 40",
                "",
                3.0,
                at(&delays, 64.0).zip(at(&delays, 40.0)).map(|(high, low)| high / low),
                Tolerance::AtLeast,
                "Fig. 5: delay rises rapidly near N_max",
            ),
            holds(
                "delay-knee",
                "packets are lost at a target near 64",
                (!losses.is_empty()).then_some(least),
                "Fig. 5: loss rises rapidly near N_max",
            ),
            judged(
                "delay-knee",
                "rate at 30 over the maximum",
                "",
                0.8,
                share(30.0),
                Tolerance::Absolute(0.1),
                "\"around 80 % of the maximum\" at 30 or 40",
            ),
            judged(
                "delay-knee",
                "rate at 40 over the maximum",
                "",
                0.8,
                share(40.0),
                Tolerance::Absolute(0.1),
                "the same",
            ),
            judged(
                "delay-knee",
                "furthest from a straight line from 10 to 40",
                "",
                0.1,
                bend,
                Tolerance::AtMost,
                "\"roughly linearly with N_eps\"",
            ),
        ];
        let chart = |y: &str, points: Vec<(f64, f64)>, caption: &str| Chart {
            kind: ChartKind::Lines(Lines {
                x: "target N_eps (packets)".to_owned(),
                y: y.to_owned(),
                lines: vec![Line::whole("one station", points)],
                ..Lines::default()
            }),
            caption: caption.to_owned(),
        };
        let charts = vec![
            chart("goodput (Mb/s)", rates.clone(), "Fig. 5: rate over the target."),
            chart("delay (ms)", delays.clone(), "Fig. 5: mean delay over the target."),
            chart(
                "loss (%)",
                losses.iter().map(|(x, y)| (*x, 100.0 * y)).collect(),
                "Fig. 5: packets lost over the target.",
            ),
        ];
        let text = "One station at 780 Mb/s, K = 1, Δ = 1 s, frames of at most 64, a queue of 1000 packets; each point is 250 s (quick: 15 s).";
        Part {
            rows,
            chapter: Chapter {
                title: "The knee".to_owned(),
                text: text.to_owned(),
                tables: Vec::new(),
                charts,
            },
        }
    }
}
