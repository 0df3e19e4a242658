//! Sec. 6.1.1, 6.3.2 and 6.3.3, Fig. 15 and 16: gain and interval.

use airbound_report::{Chapter, Chart, ChartKind, Line, Lines, Tolerance};
use airbound_senders::allocation::{Downlink, Regulated};
use airbound_units::Span;

use super::measure::{deviation, holds, judged, mean, slot_means, told};
use super::setting::{Air, FAST, IDEAL, PAPER, PAYLOAD, Sender, Setting, vht};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct Gains;

/// K₀ in Mb/s per packet at Δ = 500 ms.
const GAINS: [f64; 5] = [0.5, 1.0, 2.0, 5.0, 10.0];
/// Δ in ms at K₀ = 1.
const INTERVALS: [u32; 4] = [250, 500, 1000, 2000];
/// Δ in ms of Fig. 16b.
const WIDE: [u32; 7] = [250, 500, 1000, 1500, 2000, 3000, 4000];
const WIDE_QUICK: [u32; 4] = [250, 1000, 1500, 4000];

fn seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    if effort.quick { 1..=1 } else { 1..=10 }
}

/// A station alone, from cold (Fig. 15).
fn cold(sender: Sender, seed: u64) -> Experiment {
    let setting = Setting { warm_up: 0, seconds: 60, ..Setting::alike(1, FAST).under(sender) };
    Experiment::aggregates(setting.trial("gains", seed), setting.measured_from())
}

/// Coherence times of an office's shadowing, in s. The paper's channel is not described.
const PACES: [u32; 3] = [2, 6, 20];

/// A station in an office: shadowing that wanders, and a neighbour's traffic (Fig. 16).
fn office(sender: Sender, pace: u32, seed: u64, effort: Effort) -> Experiment {
    let station = format!(
        "channel = {{ kind = \"log-distance\", distance = \"7 m\", shadowing = \"2 dB\", shadowing-coherence = \"{pace} s\" }}"
    );
    let neighbour = "[[neighbour]]\nname = \"office\"\ntransmitters = 2\nload = \"5 Mbit/s\"\nrate = \"OFDM 24 Mbit/s\"\n";
    let setting = Setting {
        rate_control: IDEAL,
        warm_up: 30,
        seconds: effort.seconds(90, 40),
        extra: neighbour.to_owned(),
        ..Setting::of(vec![station]).under(sender)
    };
    Experiment::aggregates(setting.trial("office", seed), setting.measured_from())
}

fn office_seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    if effort.quick { 1..=1 } else { 1..=3 }
}

fn wide(effort: Effort) -> &'static [u32] {
    if effort.quick { &WIDE_QUICK } else { &WIDE }
}

fn slot_of(interval_ms: u32) -> Sender {
    Sender { interval_ms, ..PAPER }
}

/// When the mean level of a slot came to the target within a tenth for the first time, s.
fn converged(run: &Measured, slot: Span) -> Option<f64> {
    slot_means(&run.aggregates.sent, slot)
        .into_iter()
        .find(|(_, _, level)| *level > 28.8)
        .map(|(_, at, _)| at + slot.as_secs_f64())
}

/// Returns the standard deviation of the slot means from `from` (in s) on, when the loop has settled.
fn scatter(run: &Measured, slot: Span, from: f64) -> Option<f64> {
    let means: Vec<f64> = slot_means(&run.aggregates.sent, slot)
        .into_iter()
        .filter(|(_, at, _)| *at >= from)
        .map(|(.., level)| level)
        .collect();
    deviation(&means)
}

fn millis(interval: u32) -> Span {
    Span::from_millis(u64::from(interval))
}

/// Whether values fall from each to the next.
fn falls(values: &[(f64, f64)]) -> bool {
    values.len() > 1 && values.windows(2).all(|pair| pair[1].1 < pair[0].1)
}

impl Study for Gains {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let mut all = Vec::new();
        for seed in seeds(effort) {
            all.extend(GAINS.map(|gain| cold(Sender { gain, ..PAPER }, seed)));
            all.extend(INTERVALS.map(|interval_ms| cold(Sender { interval_ms, ..PAPER }, seed)));
        }
        for seed in office_seeds(effort) {
            all.extend(GAINS.map(|gain| office(Sender { gain, ..PAPER }, PACES[1], seed, effort)));
            for pace in PACES {
                all.extend(
                    wide(effort).iter().map(|interval| office(slot_of(*interval), pace, seed, effort)),
                );
            }
        }
        all
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let over = |seeds: std::ops::RangeInclusive<u64>,
                    experiment: &dyn Fn(u64) -> Experiment,
                    value: &dyn Fn(&Measured) -> Option<f64>| {
            let values: Vec<f64> = seeds.filter_map(|seed| value(results.get(&experiment(seed))?)).collect();
            mean(&values)
        };
        let slot = millis(500);
        let mut by_gain = Vec::new();
        let mut settled = Vec::new();
        let mut noise_by_gain = Vec::new();
        for gain in GAINS {
            let sender = Sender { gain, ..PAPER };
            by_gain.extend(
                over(seeds(effort), &|seed| cold(sender, seed), &|run| converged(run, slot))
                    .map(|time| (gain, time)),
            );
            settled.extend(
                over(seeds(effort), &|seed| cold(sender, seed), &|run| scatter(run, slot, 40.0))
                    .map(|noise| (gain, noise)),
            );
            noise_by_gain.extend(
                over(office_seeds(effort), &|seed| office(sender, PACES[1], seed, effort), &|run| {
                    scatter(run, slot, 0.0)
                })
                .map(|noise| (gain, noise)),
            );
        }
        let mut by_interval = Vec::new();
        for interval_ms in INTERVALS {
            let sender = Sender { interval_ms, ..PAPER };
            let time = over(seeds(effort), &|seed| cold(sender, seed), &|run| converged(run, millis(250)));
            by_interval.extend(time.map(|time| (f64::from(interval_ms), time)));
        }
        let noise: Vec<(u32, Vec<(f64, f64)>)> = PACES
            .into_iter()
            .map(|pace| {
                let at = |interval: &u32| {
                    let run = |seed| office(slot_of(*interval), pace, seed, effort);
                    let value = over(office_seeds(effort), &run, &|run| scatter(run, millis(*interval), 0.0));
                    value.map(|value| (f64::from(*interval), value))
                };
                (pace, wide(effort).iter().filter_map(at).collect())
            })
            .collect();
        // The theory, at the values of Sec. 6.1.1 and at those of this air.
        let stated = Downlink::new(200e-6, vec![12_000.0 / 100e6]);
        let printed = stated.as_ref().and_then(|downlink| downlink.critical_gain(&[8000.0]));
        let here = Downlink::new(Air::frame_overhead(vht(9, 2)), vec![Air::packet(vht(9, 2))]);
        let critical = here
            .and_then(|downlink| downlink.critical_gain(&downlink.equal_airtime(32.0, Regulated::Fastest)));
        let critical = critical.map(|gain| gain * (PAYLOAD * 8) as f64 / 1e6);
        let at =
            |points: &[(f64, f64)], x: f64| points.iter().find(|(at, _)| *at == x).map(|(_, value)| *value);
        let factor = at(&settled, 10.0).zip(at(&settled, 1.0)).map(|(high, low)| high / low);
        let largest = by_gain.iter().copied().take(4).collect::<Vec<_>>();
        let mut rows = vec![
            judged(
                "stability",
                "critical K0 at the stated values, in packets/s per packet",
                "packets/s",
                12.0,
                printed,
                Tolerance::Factor(1.5),
                "equation 35 with T = 200 us, 100 Mb/s, x = 8000 packets/s gives 16; T above 200 us gives more",
            ),
            told(
                "stability",
                "critical K0 at 780 Mb/s, in Mb/s per packet",
                "Mb/s",
                critical,
                "the same condition on this air: K0 = 10 is at its edge, as in the testbed",
            ),
            holds(
                "stability",
                "convergence is faster with a larger gain, 0.5 to 5",
                Some(falls(&largest)),
                format!(
                    "Fig. 15a: {} s",
                    largest.iter().map(|(_, time)| shown(*time)).collect::<Vec<_>>().join(", ")
                ),
            ),
            holds(
                "stability",
                "convergence is faster with a shorter interval",
                Some(falls(&by_interval.iter().rev().copied().collect::<Vec<_>>())),
                format!(
                    "Fig. 15b: {} s",
                    by_interval.iter().map(|(_, time)| shown(*time)).collect::<Vec<_>>().join(", ")
                ),
            ),
            judged(
                "stability",
                "scatter of slot means at K0 = 10 over that at 1",
                "",
                3.0,
                factor,
                Tolerance::AtLeast,
                "\"large, sustained oscillations\" at K0 = 10",
            ),
            holds(
                "noise-rejection",
                "a gain of 5 scatters more than one of 1",
                at(&noise_by_gain, 5.0).zip(at(&noise_by_gain, 1.0)).map(|(high, low)| high > low),
                "Fig. 16a",
            ),
        ];
        for (pace, points) in &noise {
            let best = points.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
            rows.push(judged(
                "noise-rejection",
                format!("interval of least scatter, shadowing that wanders over {pace} s"),
                "ms",
                1625.0,
                best.map(|(interval, _)| interval),
                Tolerance::Absolute(375.0),
                "Fig. 16b: 1250-2000 ms; the paper does not describe its channel",
            ));
            let ends = points.first().zip(points.last()).zip(best);
            rows.push(holds(
                "noise-rejection",
                format!("the scatter is larger at both ends, shadowing that wanders over {pace} s"),
                ends.map(|((first, last), least)| first.1 > least.1 && last.1 > least.1),
                "Fig. 16b: \"too small or too large\"",
            ));
        }
        let drawn = |x: &str, y: &str, lines: Vec<Line>, caption: &str| Chart {
            kind: ChartKind::Lines(Lines {
                x: x.to_owned(),
                y: y.to_owned(),
                logarithmic: true,
                lines,
                ..Lines::default()
            }),
            caption: caption.to_owned(),
        };
        let chart = |x: &str, y: &str, points: Vec<(f64, f64)>, caption: &str| {
            drawn(x, y, vec![Line::whole("mean over seeds", points)], caption)
        };
        let paces =
            noise.into_iter().map(|(pace, points)| Line::whole(format!("shadowing over {pace} s"), points));
        let (gain, interval) = ("gain K0 (Mb/s per packet)", "interval (ms)");
        let charts = vec![
            chart(
                gain,
                "time to the target (s)",
                by_gain,
                "Fig. 15a: from cold to within a tenth of the target.",
            ),
            chart(
                interval,
                "time to the target (s)",
                by_interval,
                "Fig. 15b: the same over the interval, K0 = 1.",
            ),
            chart(
                gain,
                "deviation of slot means",
                noise_by_gain,
                "Fig. 16a: scatter of the level in an office.",
            ),
            drawn(
                interval,
                "deviation of slot means",
                paces.collect(),
                "Fig. 16b: the same over the interval, K0 = 1.",
            ),
        ];
        let text = "One station. Fig. 15 at 780 Mb/s from cold; Fig. 16 with wandering shadowing and a neighbour's traffic; 10 seeds (quick: one).";
        Part {
            rows,
            chapter: Chapter {
                title: "Gain and interval".to_owned(),
                text: text.to_owned(),
                tables: Vec::new(),
                charts,
            },
        }
    }
}
