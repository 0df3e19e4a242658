//! Sec. 6.2.2, Fig. 13, and Sec. 6.3.1, Fig. 14: what happens when the channel gets worse at once.

use airbound_report::{Chapter, Chart, ChartKind, Line, Lines, Tolerance};
use airbound_sim::Snapshot;
use airbound_units::Span;

use super::measure::{judged, mean, slot_means, told};
use super::setting::{IDEAL, Load, OURS, PAPER, Sender, Setting};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

/// A station that is moved away at once, at `at` s.
fn moved(near: &str, far: &str, at: u32, more: &str) -> String {
    format!(
        "channel = {{ kind = \"log-distance\", path = [[\"0 s\", \"{near}\"], [\"{}.999 s\", \"{near}\"], [\"{at} s\", \"{far}\"]]{more} }}",
        at - 1
    )
}

/// The payload rate of a station over time, Mb/s.
fn rates(run: &Measured, station: usize) -> Vec<(f64, f64)> {
    let of = |view: &Snapshot| view.allocations.get(station).map(|one| one.rate.as_mbps_f64());
    run.views.iter().filter_map(|(at, view)| Some((*at, of(view)?))).collect()
}

fn phy_rates(run: &Measured, station: usize) -> Vec<(f64, f64)> {
    let of = |view: &Snapshot| Some(view.allocations.get(station)?.phy_rate?.as_mbps_f64());
    run.views.iter().filter_map(|(at, view)| Some((*at, of(view)?))).collect()
}

fn between(points: &[(f64, f64)], from: f64, to: f64) -> Vec<f64> {
    points.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, value)| *value).collect()
}

fn chart(y: &str, lines: Vec<Line>, caption: &str) -> Chart {
    Chart {
        kind: ChartKind::Lines(Lines {
            x: "time (s)".to_owned(),
            y: y.to_owned(),
            lines,
            ..Lines::default()
        }),
        caption: caption.to_owned(),
    }
}

/// Fig. 13.
pub(super) struct StreamDrop;

const DROP: u32 = 20;
const SLOT: Span = Span::from_millis(20);

impl StreamDrop {
    /// At 780 Mb/s (MCS 9, two streams) until the drop, then where the best rate is about half.
    fn experiment(sender: Sender) -> Experiment {
        let setting = Setting {
            rate_control: IDEAL,
            load: Load::Allocated(sender),
            warm_up: 0,
            seconds: 45,
            ..Setting::of(vec![moved("2 m", AFTER, DROP, "")])
        };
        Experiment::aggregates(setting.trial("drop", 1), setting.measured_from())
            .looking(Span::from_millis(100))
    }
}

/// Where the best rate is 351 Mb/s; MCS 9 with one stream would be 390.
const AFTER: &str = "18 m";

/// Recovery of a run from the drop; times in s.
#[derive(Debug, Clone, Copy)]
struct Recovery {
    /// From the drop until frames are no longer as large as they can be.
    at_most: f64,
    /// From then until the rate stays within 5 % of its last value.
    settled: f64,
    /// Changes of the rate until it was one that the channel carries.
    rounds: f64,
    /// The PHY rate afterwards, Mb/s.
    phy: f64,
}

fn recovery(run: &Measured) -> Option<Recovery> {
    let from = f64::from(DROP);
    // The first time after the drop at which frames, having been full, are so no longer.
    let mut full = None;
    for (_, at, level) in slot_means(&run.aggregates.sent, SLOT).into_iter().filter(|(_, at, _)| *at >= from)
    {
        if level >= 62.0 {
            full = Some(at + SLOT.as_secs_f64());
        } else if full.is_some() {
            break;
        }
    }
    let rates = rates(run, 0);
    let last = mean(&between(&rates, 40.0, 46.0))?;
    let unsettled = rates.iter().filter(|(at, rate)| *at >= from && (rate / last - 1.0).abs() > 0.05);
    let settled = unsettled.map(|(at, _)| *at).reduce(f64::max).unwrap_or(from);
    let phy = mean(&between(&phy_rates(run, 0), 40.0, 46.0))?;
    // Frames of 64 carry so much more than those of 32, by the times of this air.
    let overhead = super::setting::Air::frame_overhead(super::setting::vht(9, 2));
    let packet = 1544.0 * 8.0 / (phy * 1e6);
    let carried = 64.0 * 1470.0 * 8.0 / (overhead + 64.0 * packet) / 1e6;
    let too_fast: Vec<f64> =
        rates.iter().filter(|(at, rate)| *at >= from && *rate > carried).map(|(_, rate)| *rate).collect();
    let mut steps = too_fast;
    steps.dedup();
    let full = full.unwrap_or(from);
    Some(Recovery {
        at_most: full - from,
        settled: (settled - full).max(0.0),
        rounds: steps.len() as f64,
        phy,
    })
}

impl Study for StreamDrop {
    fn experiments(&self, _effort: Effort) -> Vec<Experiment> {
        vec![Self::experiment(PAPER), Self::experiment(OURS)]
    }

    fn part(&self, _effort: Effort, results: &Results) -> Part {
        let (Some(run), Some(ours)) =
            (results.get(&Self::experiment(PAPER)), results.get(&Self::experiment(OURS)))
        else {
            return Part::default();
        };
        let (paper, beyond) = (recovery(run), recovery(ours));
        let note = "frames (20 ms means) of 62 and more";
        let rows = vec![
            told(
                "stream-drop",
                "PHY rate after the drop",
                "Mb/s",
                paper.map(|recovery| recovery.phy),
                "the paper falls from 780 to 390 Mb/s, here the best rate of the new place is taken",
            ),
            judged(
                "stream-drop",
                "time at the largest frames",
                "s",
                2.24,
                paper.map(|recovery| recovery.at_most),
                Tolerance::Factor(1.5),
                note,
            ),
            judged(
                "stream-drop",
                "time to settle after that",
                "s",
                1.26,
                paper.map(|recovery| recovery.settled),
                Tolerance::Factor(2.0),
                "until the rate stays within 5 % of its last value",
            ),
            judged(
                "stream-drop",
                "rounds until the channel carries the rate",
                "",
                4.0,
                paper.map(|recovery| recovery.rounds),
                Tolerance::Absolute(2.0),
                "changes of the rate every 500 ms; each takes off 32 Mb/s",
            ),
            judged(
                "stream-drop",
                "time at the largest frames, with the model",
                "s",
                2.24,
                beyond.map(|recovery| recovery.at_most),
                Tolerance::AtMost,
                "beyond the paper: a PHY rate that changed sets the rate by the model",
            ),
            told(
                "stream-drop",
                "time to settle after that, with the model",
                "s",
                beyond.map(|recovery| recovery.settled),
                "beyond the paper",
            ),
        ];
        let level = |run: &Measured| {
            slot_means(&run.aggregates.sent, Span::from_millis(100))
                .into_iter()
                .map(|(_, at, level)| (at, level))
                .collect::<Vec<_>>()
        };
        let charts = vec![
            chart(
                "packets a frame",
                vec![Line::whole("paper's control", level(run)), Line::whole("with the model", level(ours))],
                "Fig. 13: aggregation level, means of 100 ms.",
            ),
            chart(
                "send rate (Mb/s)",
                vec![
                    Line::whole("paper's control", rates(run, 0)),
                    Line::whole("with the model", rates(ours, 0)),
                ],
                "Fig. 13: send rate.",
            ),
        ];
        let text = "One station whose PHY rate falls at 20 s.";
        Part {
            rows,
            chapter: Chapter {
                title: "A sudden drop".to_owned(),
                text: text.to_owned(),
                tables: Vec::new(),
                charts,
            },
        }
    }
}

/// Fig. 14.
pub(super) struct Tracking;

impl Tracking {
    const fn at(effort: Effort) -> u32 {
        if effort.quick { 60 } else { 140 }
    }

    fn experiment(effort: Effort) -> Experiment {
        let at = Self::at(effort);
        let office = ", shadowing = \"1 dB\", shadowing-coherence = \"10 s\"";
        let sender = Sender { interval_ms: 1000, ..PAPER };
        let setting = Setting {
            rate_control: IDEAL,
            load: Load::Allocated(sender),
            warm_up: 0,
            seconds: at + 60,
            ..Setting::of(vec![moved("3 m", "10 m", at, office), moved("9 m", "20 m", at, office)])
        };
        Experiment::watching(setting.trial("tracking", 1), 0).looking(Span::from_millis(500))
    }
}

impl Study for Tracking {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        vec![Self::experiment(effort)]
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let Some(run) = results.get(&Self::experiment(effort)) else { return Part::default() };
        let at = f64::from(Self::at(effort));
        let (first, second) = (rates(run, 0), rates(run, 1));
        let (phy_first, phy_second) = (phy_rates(run, 0), phy_rates(run, 1));
        let ratio = |a: &[(f64, f64)], b: &[(f64, f64)]| -> Vec<(f64, f64)> {
            a.iter().zip(b).filter(|((at, _), _)| *at > 25.0).map(|((at, a), (_, b))| (*at, a / b)).collect()
        };
        let off: Vec<f64> = ratio(&first, &second)
            .iter()
            .zip(ratio(&phy_first, &phy_second))
            .map(|((_, rates), (_, phys))| (rates / phys - 1.0).abs())
            .collect();
        let of_first = |view: &Snapshot| view.allocations.first().and_then(|one| one.level);
        let level: Vec<(f64, f64)> =
            run.views.iter().filter_map(|(at, view)| Some((*at, of_first(view)?))).collect();
        let settled: Vec<f64> = [between(&level, 25.0, at), between(&level, at + 15.0, at + 60.0)].concat();
        let delays = run.watched.percentiles(Span::from_millis(500), 50.0);
        let usual = mean(&between(&delays, 25.0, at));
        let high = usual.map(|usual| {
            delays
                .iter()
                .filter(|(when, ms)| *when >= at && *ms > 3.0 * usual)
                .map(|(when, _)| when + 0.5 - at)
                .fold(0.0, f64::max)
        });
        let after = mean(&between(&delays, at + 30.0, at + 60.0));
        let fell = mean(&between(&first, at - 10.0, at)).zip(mean(&between(&first, at + 40.0, at + 60.0)));
        let rows = vec![
            judged(
                "tracking",
                "rates in proportion to PHY rates, mean difference",
                "",
                0.05,
                mean(&off),
                Tolerance::AtMost,
                "station 1 over station 2, from 25 s on; a change shows one interval later",
            ),
            judged(
                "tracking",
                "mean level of station 1, the 15 s after the drop left out",
                "packets",
                32.0,
                mean(&settled),
                Tolerance::Relative(0.1),
                "N_eps",
            ),
            judged(
                "tracking",
                "how long the delay is above three times its usual value",
                "s",
                10.0,
                high,
                Tolerance::AtMost,
                "medians of 500 ms; \"a short spike\"",
            ),
            judged(
                "tracking",
                "delay long after the drop over that before",
                "",
                2.5,
                after.zip(usual).map(|(after, usual)| after / usual),
                Tolerance::AtMost,
                "frames of 32 take longer at lower rates",
            ),
            judged(
                "tracking",
                "rate of station 1 after the drop over that before",
                "",
                0.9,
                fell.map(|(before, after)| after / before),
                Tolerance::AtMost,
                "send rates adapt",
            ),
        ];
        let charts = vec![
            chart(
                "Mb/s",
                vec![
                    Line::whole("rate 1", first),
                    Line::whole("rate 2", second),
                    Line::whole("PHY 1", phy_first),
                    Line::whole("PHY 2", phy_second),
                ],
                "Fig. 14b: send rates and PHY rates.",
            ),
            chart(
                "packets a frame",
                vec![Line::whole("station 1", level)],
                "Fig. 14a: aggregation level of station 1, as reported.",
            ),
            chart(
                "delay (ms)",
                vec![Line::whole("station 1", delays)],
                "Fig. 14a: median delay of station 1 in windows of 500 ms.",
            ),
        ];
        let text = "Two stations, shadowing that wanders over seconds, both moved away at once; Δ = 1 s.";
        Part {
            rows,
            chapter: Chapter {
                title: "Tracking".to_owned(),
                text: text.to_owned(),
                tables: Vec::new(),
                charts,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_a_step() {
        assert!(moved("2 m", "9 m", 20, "").contains("[\"19.999 s\", \"2 m\"], [\"20 s\", \"9 m\"]"));
    }
}
