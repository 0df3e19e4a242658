//! Sec. 4.1, Fig. 8: frame rate and level over the send rate, beside the model of Fig. 7.

use airbound_report::{Chapter, Chart, ChartKind, Line, Lines, Tolerance};
use airbound_senders::allocation::Downlink;

use super::measure::{holds, judged, levels, mean, told};
use super::setting::{Air, FAST, Load, PAYLOAD, Setting, fixed, vht};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

pub(super) struct Loads;

const MOST: f64 = 64.0;

impl Loads {
    /// Near the PHY rates of footnote 6: 526.5 Mb/s, and with a second station at 780 Mb/s.
    fn setting(stations: usize, kbps: u64) -> Setting {
        let rates = [fixed("VHT80 MCS6 2SS LGI"), fixed("VHT80 MCS9 2SS LGI")];
        let all = Setting::of(rates.into_iter().take(stations).collect());
        Setting { load: Load::Constant(kbps), warm_up: 1, seconds: 4, ..all }
    }

    fn downlink(stations: usize) -> Option<Downlink> {
        let rates = [vht(6, 2), vht(9, 2)];
        let airtimes = rates.iter().take(stations).map(|rate| Air::packet(*rate)).collect();
        Downlink::new(Air::frame_overhead(rates[0]), airtimes)
    }

    /// Rates to each station in kb/s, up to 1.1 times what the model carries with the largest frames.
    fn sweep(stations: usize, effort: Effort) -> Vec<u64> {
        let Some(downlink) = Self::downlink(stations) else { return Vec::new() };
        let w: f64 = downlink.packet_airtime().iter().sum();
        let capacity = 1.0 / (downlink.round_overhead() / MOST + w) * (PAYLOAD * 8) as f64 / 1e3;
        let steps = if effort.quick { 12 } else { 40 };
        (1..=steps).map(|step| (capacity * 1.1 * f64::from(step) / f64::from(steps)) as u64).collect()
    }

    fn experiment(stations: usize, kbps: u64, effort: Effort) -> Experiment {
        let setting = Self::setting(stations, kbps);
        let setting = Setting { seconds: effort.seconds(4, 1), ..setting };
        Experiment::aggregates(setting.trial("load", 1), setting.measured_from())
    }
}

/// A station that loses MPDUs at 780 Mb/s, with 450 Mb/s to it (assumption 2 of Sec. 7).
fn lossy(snr: &str, effort: Effort) -> Experiment {
    let keys = format!("rate = \"{FAST}\"\nchannel = {{ kind = \"fixed\", snr = \"{snr} dB\" }}");
    let load = Load::Constant(LOSSY_KBPS);
    let setting = Setting { load, warm_up: 1, seconds: effort.seconds(10, 3), ..Setting::of(vec![keys]) };
    Experiment::aggregates(setting.trial("lossy", 1), setting.measured_from())
}

const LOSSY_KBPS: u64 = 450_000;
/// From hardly any loss to some 15 %.
const SNRS: [&str; 3] = ["31", "30", "29.5"];

/// The share of MPDUs that are sent again, the mean level over the model's without, and with retransmissions.
fn beside_models(run: &Measured) -> Option<(f64, f64, f64)> {
    let repeated = run.outcome.summary.stations.first()?.retry_rate?;
    let downlink = Downlink::new(Air::frame_overhead(vht(9, 2)), vec![Air::packet(vht(9, 2))])?;
    let rate = [LOSSY_KBPS as f64 * 1e3 / (PAYLOAD * 8) as f64];
    let without = downlink.levels(&rate)?.first().copied()?;
    // Levels count MPDUs, repeated ones included.
    let with = downlink.with_retransmissions(&[repeated])?.levels(&rate)?.first()? / (1.0 - repeated);
    let level = mean(&levels(&run.aggregates.sent))?;
    Some((repeated, level / without, level / with))
}

/// Frames per second to station 1 and its mean level.
fn seen(run: &Measured) -> Option<(f64, f64)> {
    let own: Vec<_> =
        run.aggregates.sent.iter().copied().filter(|aggregate| aggregate.station == 1).collect();
    Some((own.len() as f64 / run.outcome.summary.duration_s, mean(&levels(&own))?))
}

impl Study for Loads {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        [1, 2]
            .into_iter()
            .flat_map(|n| {
                Self::sweep(n, effort).into_iter().map(move |kbps| Self::experiment(n, kbps, effort))
            })
            .chain(SNRS.iter().map(|snr| lossy(snr, effort)))
            .collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut rows = Vec::new();
        let (mut frame_rates, mut mean_levels) = (Vec::new(), Vec::new());
        for stations in [1, 2] {
            let Some(downlink) = Self::downlink(stations) else { continue };
            let points: Vec<(f64, f64, f64)> = Self::sweep(stations, effort)
                .into_iter()
                .filter_map(|kbps| {
                    let (frames, level) = seen(results.get(&Self::experiment(stations, kbps, effort))?)?;
                    Some((kbps as f64 / 1e3, frames, level))
                })
                .collect();
            let model = |mbps: f64| {
                let rate = mbps * 1e6 / (PAYLOAD * 8) as f64;
                let level = downlink.projected_levels(&vec![rate; stations], MOST)[0];
                (rate / level, level)
            };
            // The frame rate rises to its largest value at X1, and falls to its least value behind that at X2.
            let top = points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
            let behind = |top: (f64, f64, f64)| {
                points.iter().copied().filter(|point| point.0 > top.0).min_by(|a, b| a.1.total_cmp(&b.1))
            };
            let bottom = top.and_then(behind);
            let name = format!("{stations} station{}", if stations == 1 { "" } else { "s" });
            let early: Vec<f64> = points
                .iter()
                .take_while(|point| top.is_some_and(|top| point.0 < 0.8 * top.0))
                .map(|(mbps, frames, _)| frames / (mbps * 1e6 / (PAYLOAD * 8) as f64))
                .collect();
            if !effort.quick || !early.is_empty() {
                rows.push(judged(
                    "model-against-measurement",
                    format!("frames a packet below X1, {name}"),
                    "",
                    1.0,
                    mean(&early),
                    Tolerance::Relative(0.05),
                    "linear: one packet a frame",
                ));
            }
            rows.push(holds(
                "model-against-measurement",
                format!("the frame rate falls between X1 and X2, {name}"),
                top.zip(bottom).map(|(top, bottom)| bottom.1 < 0.6 * top.1),
                "Fig. 8",
            ));
            let full = points.iter().find(|point| point.2 > 0.97 * MOST);
            let capacity = 1.0
                / (downlink.round_overhead() / MOST + downlink.packet_airtime().iter().sum::<f64>())
                * (PAYLOAD * 8) as f64
                / 1e6;
            rows.push(judged(
                "model-against-measurement",
                format!("X2, where frames are full, {name}"),
                "Mb/s",
                capacity,
                full.map(|point| point.0),
                Tolerance::Relative(if effort.quick { 0.12 } else { 0.05 }),
                "by the model with this air's times; the sweep's step limits it",
            ));
            // Above X2 a queue that overflows has frames as fast as they go; it rises with the rate only until then.
            let far: Vec<f64> = points
                .iter()
                .filter(|(mbps, ..)| *mbps < 0.9 * capacity && *mbps > 0.2 * capacity)
                .map(|(mbps, _, level)| level / model(*mbps).1)
                .collect();
            rows.push(judged(
                "model-against-measurement",
                format!("level over the model's between 20 and 90 % of X2, {name}"),
                "",
                1.0,
                mean(&far),
                Tolerance::Relative(0.25),
                "mean of the ratio; \"the numerical values match up only approximately\"",
            ));
            frame_rates.push(Line::whole(
                format!("{name}, measured"),
                points.iter().map(|(x, frames, _)| (*x, *frames)),
            ));
            frame_rates
                .push(Line::whole(format!("{name}, model"), points.iter().map(|(x, ..)| (*x, model(*x).0))));
            mean_levels.push(Line::whole(
                format!("{name}, measured"),
                points.iter().map(|(x, _, level)| (*x, *level)),
            ));
            mean_levels
                .push(Line::whole(format!("{name}, model"), points.iter().map(|(x, ..)| (*x, model(*x).1))));
        }
        for snr in SNRS {
            let beside = results.get(&lossy(snr, effort)).and_then(beside_models);
            let share =
                beside.map_or("none".to_owned(), |(repeated, ..)| format!("{:.1} %", 100.0 * repeated));
            rows.push(judged(
                "retransmissions",
                format!("level over the model's with retransmissions, {snr} dB"),
                "",
                1.0,
                beside.map(|(.., with)| with),
                Tolerance::Relative(0.1),
                format!("450 Mb/s at 780 Mb/s, {share} of the MPDUs sent again; w / (1 - p)"),
            ));
            rows.push(told(
                "retransmissions",
                format!("level over the model's without, {snr} dB"),
                "",
                beside.map(|(_, without, _)| without),
                "equation 14 as printed",
            ));
        }
        let chart = |y: &str, lines: Vec<Line>, caption: &str| Chart {
            kind: ChartKind::Lines(Lines {
                x: "send rate to each station (Mb/s)".to_owned(),
                y: y.to_owned(),
                lines,
                ..Lines::default()
            }),
            caption: caption.to_owned(),
        };
        let charts = vec![
            chart("frames/s to station 1", frame_rates, "Fig. 8a: frame rate over the send rate."),
            chart("packets a frame", mean_levels, "Fig. 8b: aggregation level over the send rate."),
        ];
        let text = "Constant rates, the same to each station: one at 526.5 Mb/s, two at 526.5 and 780 Mb/s (footnote 6: 513 and 850 Mb/s).";
        Part {
            rows,
            chapter: Chapter {
                title: "The model beside measurements".to_owned(),
                text: text.to_owned(),
                tables: Vec::new(),
                charts,
            },
        }
    }
}
