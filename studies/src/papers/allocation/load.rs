//! Sec. 4.1, Fig. 8: frame rate and level over the send rate, beside the model of Fig. 7.

use airbound_report::Line;
use airbound_senders::allocation::Downlink;

use super::air::{BITS, downlink_of};
use super::measure::{mean, mean_level};
use super::{CLAIMS, RUNS};
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};
use crate::{Effort, Trial};

pub(super) struct Loads;

const MOST: f64 = 64.0;
const STATIONS: [&str; 2] = ["1 station", "2 stations"];

fn trial(stations: &str, effort: Effort) -> Trial {
    RUNS.trial(&[&format!("load, {stations}")], 1, effort)
}

/// The rate to each station that the model carries with the largest frames, in bit/s.
fn capacity(downlink: &Downlink) -> f64 {
    1.0 / (downlink.round_overhead() / MOST + downlink.packet_airtime().iter().sum::<f64>()) * BITS
}

/// Rates to each station in kb/s, up to 1.1 times what the model carries, and the run of each.
fn sweep(stations: &str, effort: Effort) -> Vec<(u64, Experiment)> {
    let trial = trial(stations, effort);
    let Some(downlink) = downlink_of(&trial) else { return Vec::new() };
    let most = capacity(&downlink) / 1e3;
    let steps = if effort.quick { 12 } else { 40 };
    let rates = (1..=steps).map(|step| (most * 1.1 * f64::from(step) / f64::from(steps)) as u64);
    let run = |kbps| trial.clone().set("flow.down.rate", format!("\"{kbps} kbit/s\""));
    rates.map(|kbps| (kbps, Experiment::aggregates(run(kbps), None))).collect()
}

/// A station that loses MPDUs, with 450 Mb/s to it.
fn losing(snr: &str, effort: Effort) -> Experiment {
    Experiment::aggregates(RUNS.trial(&["losses", snr], 1, effort), None)
}

/// The share of MPDUs that are sent again, and the mean level over the model's without and with retransmissions.
fn beside_models(run: &Measured, downlink: Downlink) -> Option<(f64, f64, f64)> {
    let repeated = run.outcome.summary.stations.first()?.retry_rate?;
    let rate = [450e6 / BITS];
    let without = downlink.levels(&rate)?.first().copied()?;
    // Levels count MPDUs, repeated ones included.
    let with = downlink.with_retransmissions(&[repeated])?.levels(&rate)?.first()? / (1.0 - repeated);
    let level = mean_level(run, |_| true)?;
    Some((repeated, level / without, level / with))
}

/// One point of Fig. 8.
#[derive(Debug, Clone, Copy)]
struct Point {
    mbps: f64,
    /// Frames per second to station 1.
    frames: f64,
    /// Its mean level.
    level: f64,
}

impl Point {
    fn of(kbps: u64, run: &Measured) -> Option<Self> {
        let frames = run.aggregates.sent.iter().filter(|one| one.station == 1).count();
        let frames = frames as f64 / run.outcome.summary.duration_s;
        Some(Self { mbps: kbps as f64 / 1e3, frames, level: mean_level(run, |one| one.station == 1)? })
    }

    /// Packets per second.
    fn packets(self) -> f64 {
        self.mbps * 1e6 / BITS
    }
}

impl Study for Loads {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut rows = Vec::new();
        let (mut frame_rates, mut mean_levels) = (Vec::new(), Vec::new());
        for stations in STATIONS {
            let Some(downlink) = downlink_of(&trial(stations, effort)) else { continue };
            let runs = sweep(stations, effort);
            let points: Vec<Point> =
                runs.iter().filter_map(|(kbps, run)| Point::of(*kbps, results.get(run)?)).collect();
            let model = |point: &Point| {
                downlink.projected_levels(&vec![point.packets(); downlink.stations()], MOST)[0]
            };
            // The frame rate rises to its largest value at X1, and falls to its least value behind that at X2.
            let top = points.iter().max_by(|a, b| a.frames.total_cmp(&b.frames));
            let behind = |top: &Point| {
                let behind = points.iter().filter(|point| point.mbps > top.mbps);
                behind
                    .min_by(|a, b| a.frames.total_cmp(&b.frames))
                    .map(|bottom| bottom.frames < 0.6 * top.frames)
            };
            let early: Vec<f64> = points
                .iter()
                .take_while(|point| top.is_some_and(|top| point.mbps < 0.8 * top.mbps))
                .map(|point| point.frames / point.packets())
                .collect();
            // Above X2 a queue that overflows has frames as fast as they go; it rises with the rate only until then.
            let capacity = capacity(&downlink) / 1e6;
            let far: Vec<f64> = points
                .iter()
                .filter(|point| point.mbps < 0.9 * capacity && point.mbps > 0.2 * capacity)
                .map(|point| point.level / model(point))
                .collect();
            let full = points.iter().find(|point| point.level > 0.97 * MOST).map(|point| point.mbps);
            let row = |key| CLAIMS.row(key).with("stations", stations);
            if !effort.quick || !early.is_empty() {
                rows.push(row("single").measured(mean(&early)));
            }
            let length = if effort.quick { "quick" } else { "full" };
            rows.extend([
                row("falls").holds(top.and_then(behind)),
                row("full").with("length", length).reference(capacity).measured(full),
                row("level-of-model").measured(mean(&far)),
            ]);
            let line = |name: &str, value: &dyn Fn(&Point) -> f64| {
                Line::whole(
                    format!("{stations}, {name}"),
                    points.iter().map(|point| (point.mbps, value(point))),
                )
            };
            frame_rates.push(line("measured", &|point| point.frames));
            frame_rates.push(line("model", &|point| point.packets() / model(point)));
            mean_levels.push(line("measured", &|point| point.level));
            mean_levels.push(line("model", &model));
        }
        for snr in RUNS.names("snr", effort) {
            let run = losing(snr, effort);
            let beside =
                results.get(&run).and_then(|measured| beside_models(measured, downlink_of(&run.trial)?));
            let share =
                beside.map_or("none".to_owned(), |(repeated, ..)| format!("{:.1} %", 100.0 * repeated));
            let with = CLAIMS.row("with-retransmissions").with("snr", snr).with("share", share);
            rows.push(with.measured(beside.map(|(.., with)| with)));
            let without = CLAIMS.row("without-retransmissions").with("snr", snr);
            rows.push(without.told(beside.map(|(_, without, _)| without)));
        }
        let charts = [("load-frames", frame_rates), ("load-level", mean_levels)]
            .map(|(key, lines)| CLAIMS.lines(key, &[], lines));
        Part { rows, chapter: CLAIMS.chapter("load", Vec::new(), charts.to_vec()) }
    }
}
