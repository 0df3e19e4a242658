//! Rates over time: a channel that gets worse at once (Sec. 6.2.2, Fig. 13, and Sec. 6.3.1, Fig. 14), and, beyond the paper, from
//! cold to the target in less than a second.

use airbound_report::Line;
use airbound_sim::Snapshot;
use airbound_units::Span;

use super::air::{BITS, frame_overhead, vht};
use super::measure::{cell, mean, ratio, slot_means};
use super::{CLAIMS, OURS, PAPER, RUNS};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

/// A value of a run's controller over time.
fn over_time(run: &Measured, value: impl Fn(&Snapshot) -> Option<f64>) -> Vec<(f64, f64)> {
    run.views.iter().filter_map(|(at, view)| Some((*at, value(view)?))).collect()
}

/// The payload rate of a station over time, Mb/s.
fn rates(run: &Measured, station: usize) -> Vec<(f64, f64)> {
    over_time(run, |view| Some(view.allocations.get(station)?.rate.as_mbps_f64()))
}

fn phy_rates(run: &Measured, station: usize) -> Vec<(f64, f64)> {
    over_time(run, |view| Some(view.allocations.get(station)?.phy_rate?.as_mbps_f64()))
}

fn between(points: &[(f64, f64)], from: f64, to: f64) -> Vec<f64> {
    points.iter().filter(|(at, _)| (from..to).contains(at)).map(|(_, value)| *value).collect()
}

/// Fig. 13.
pub(super) struct StreamDrop;

/// Time of the drop in s.
const DROP: f64 = 20.0;
const SLOT: Span = Span::from_millis(20);

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

impl Recovery {
    fn of(run: &Measured) -> Option<Self> {
        // The first time after the drop at which frames, having been full, are so no longer.
        let mut full = None;
        for (at, level) in slot_means(run, SLOT).filter(|(at, _)| *at >= DROP) {
            if level >= 62.0 {
                full = Some(at + SLOT.as_secs_f64());
            } else if full.is_some() {
                break;
            }
        }
        let full = full.unwrap_or(DROP);
        let rates = rates(run, 0);
        let last = mean(&between(&rates, 40.0, 46.0))?;
        let since = || rates.iter().filter(|(at, _)| *at >= DROP);
        let unsettled = since().filter(|(_, rate)| (rate / last - 1.0).abs() > 0.05);
        let settled = unsettled.map(|(at, _)| *at).reduce(f64::max).unwrap_or(DROP);
        let phy = mean(&between(&phy_rates(run, 0), 40.0, 46.0))?;
        // Frames of 64 carry so much more than those of 32, by the times of this air.
        let packet = 1544.0 * 8.0 / (phy * 1e6);
        let carried = 64.0 * BITS / (frame_overhead(vht(9, 2)) + 64.0 * packet) / 1e6;
        let mut too_fast: Vec<f64> = since().map(|(_, rate)| *rate).filter(|rate| *rate > carried).collect();
        too_fast.dedup();
        Some(Self {
            at_most: full - DROP,
            settled: (settled - full).max(0.0),
            rounds: too_fast.len() as f64,
            phy,
        })
    }
}

/// To half of the PHY rate, as when one of two streams vanishes; and to the rate that was compared before.
const DROPS: [&str; 2] = ["drop to a half", "drop, 780 to 351 Mb/s"];
/// Gains of the table, in Mb/s per packet. The third judges; the fourth is the upper end of what Fig. 15 allows.
const GAINS: [&str; 5] = ["K = 0.75", "K = 1.0", "K = 1.25", "K = 1.5", "K = 2.0"];
const GAIN: &str = "K = 1.25";

impl StreamDrop {
    fn experiment(drop: &str, gain: &str, sender: &str, effort: Effort) -> Experiment {
        let trial = RUNS.trial(&[drop, gain, sender], 1, effort);
        Experiment::aggregates(trial, None).looking(Span::from_millis(100))
    }
}

impl Study for StreamDrop {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let run = |drop, gain, sender| results.get(&Self::experiment(drop, gain, sender, effort));
        let mut grid = CLAIMS.table("drop", &[]);
        for (drop, gain) in DROPS.into_iter().flat_map(|drop| GAINS.map(|gain| (drop, gain))) {
            let recovery = run(drop, gain, PAPER).and_then(Recovery::of);
            let values: [fn(Recovery) -> f64; 4] =
                [|one| one.phy, |one| one.rounds, |one| one.at_most, |one| one.settled];
            let values = values.map(|value| cell(recovery.map(value)));
            let row = [drop.to_owned(), gain.to_owned()].into_iter().chain(values);
            grid.rows.push(row.map(Into::into).collect());
        }
        let of = |gain, sender| run(DROPS[0], gain, sender);
        let (Some(paper), Some(ours)) = (of(GAIN, PAPER), of(GAIN, OURS)) else { return Part::default() };
        let Some(larger) = of("K = 1.5", PAPER) else { return Part::default() };
        let named = [("K = 1.25 Mb/s", paper), ("K = 1.5 Mb/s", larger), ("with the model", ours)];
        let levels = named.map(|(name, run)| Line::whole(name, slot_means(run, Span::from_millis(100))));
        let send_rates = named.map(|(name, run)| Line::whole(name, rates(run, 0)));
        let [paper, larger, ours] = [paper, larger, ours].map(Recovery::of);
        let full = |control, recovery: Option<Recovery>| {
            CLAIMS.row("drop-full").with("control", control).measured(recovery.map(|one| one.at_most))
        };
        let rounds = |control, recovery: Option<Recovery>| {
            CLAIMS.row("drop-rounds").with("control", control).measured(recovery.map(|one| one.rounds))
        };
        let settled = |control, recovery: Option<Recovery>| {
            CLAIMS.row("drop-settled").with("control", control).measured(recovery.map(|one| one.settled))
        };
        let (fast, modelled) = (", K = 1.5 Mb/s", ", with the model");
        let rows = vec![
            rounds("", paper),
            full("", paper),
            settled("", paper),
            rounds(fast, larger),
            full(fast, larger),
            settled(fast, larger),
            full(modelled, ours),
            settled(modelled, ours),
        ];
        let charts = vec![
            CLAIMS.lines("drop-level", &[], levels.to_vec()),
            CLAIMS.lines("drop-rate", &[], send_rates.to_vec()),
        ];
        Part { rows, chapter: CLAIMS.chapter("drop", vec![grid], charts) }
    }
}

/// Fig. 14.
pub(super) struct Tracking;

impl Tracking {
    fn experiment(effort: Effort) -> Experiment {
        Experiment::watching(RUNS.trial(&["tracking"], 1, effort), 0).looking(Span::from_millis(500))
    }
}

impl Study for Tracking {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let Some(run) = results.get(&Self::experiment(effort)) else { return Part::default() };
        // The stations move a minute before the end.
        let at = run.outcome.summary.duration_s - 60.0;
        let [first, second] = [0, 1].map(|station| rates(run, station));
        let [phy_first, phy_second] = [0, 1].map(|station| phy_rates(run, station));
        let quotients = |a: &[(f64, f64)], b: &[(f64, f64)]| -> Vec<f64> {
            a.iter().zip(b).filter(|((at, _), _)| *at > 25.0).map(|((_, a), (_, b))| a / b).collect()
        };
        let off: Vec<f64> = quotients(&first, &second)
            .iter()
            .zip(quotients(&phy_first, &phy_second))
            .map(|(rates, phys)| (rates / phys - 1.0).abs())
            .collect();
        let level = over_time(run, |view| view.allocations.first()?.level);
        let settled: Vec<f64> = [between(&level, 25.0, at), between(&level, at + 15.0, at + 60.0)].concat();
        let delays = run.watched.percentiles(Span::from_millis(500), 50.0);
        let usual = mean(&between(&delays, 25.0, at));
        let spike = usual.map(|usual| {
            let high = delays.iter().filter(|(when, ms)| *when >= at && *ms > 3.0 * usual);
            high.map(|(when, _)| when + 0.5 - at).fold(0.0, f64::max)
        });
        let after = mean(&between(&delays, at + 30.0, at + 60.0));
        let slower =
            ratio(mean(&between(&first, at + 40.0, at + 60.0)), mean(&between(&first, at - 10.0, at)));
        let rows = vec![
            CLAIMS.row("proportion").measured(mean(&off)),
            CLAIMS.row("tracking-level").measured(mean(&settled)),
            CLAIMS.row("spike").measured(spike),
            CLAIMS.row("delay-after").measured(ratio(after, usual)),
            CLAIMS.row("rate-after").measured(slower),
        ];
        let all = [("rate 1", first), ("rate 2", second), ("PHY 1", phy_first), ("PHY 2", phy_second)];
        let charts = vec![
            CLAIMS.lines("tracking-rate", &[], all.map(|(name, points)| Line::whole(name, points)).to_vec()),
            CLAIMS.lines("tracking-level", &[], vec![Line::whole("station 1", level)]),
            CLAIMS.lines("tracking-delay", &[], vec![Line::whole("station 1", delays)]),
        ];
        Part { rows, chapter: CLAIMS.chapter("tracking", Vec::new(), charts) }
    }
}

/// From cold to the target.
pub(super) struct Starts;

const COUNTS: [&str; 3] = ["n = 1", "n = 4", "n = 12"];

/// The send rate of all stations over time, Mb/s.
fn total(run: &Measured) -> Vec<(f64, f64)> {
    over_time(run, |view| Some(view.allocations.iter().map(|one| one.rate.as_mbps_f64()).sum()))
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

impl Starts {
    fn experiment(count: &str, sender: &str, effort: Effort) -> Experiment {
        Experiment::plain(RUNS.trial(&["start", count, sender], 1, effort)).looking(Span::from_millis(50))
    }
}

impl Study for Starts {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let (mut rows, mut lines) = (Vec::new(), Vec::new());
        for count in COUNTS {
            let of = |sender| results.get(&Self::experiment(count, sender, effort));
            let (paper, ours) = (of(PAPER).and_then(reached), of(OURS).and_then(reached));
            let row = |key| CLAIMS.row(key).with("n", count);
            rows.extend([
                row("start-by-feedback").told(paper.map(|(time, _)| time)),
                row("start").measured(ours.map(|(time, _)| time)),
                row("overshoot").measured(ours.map(|(_, overshoot)| overshoot)),
            ]);
            for (name, sender) in [("paper's control", PAPER), ("by the model", OURS)] {
                lines.extend(of(sender).map(|run| Line::whole(format!("{name}, {count}"), total(run))));
            }
        }
        let chart = CLAIMS.lines("start", &[], lines);
        Part { rows, chapter: CLAIMS.chapter("start", Vec::new(), vec![chart]) }
    }
}
