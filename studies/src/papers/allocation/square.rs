//! Sec. 6.2.2, Fig. 12: eight stations at random in a square of 40 m, Minstrel-HT, one spatial stream.

use std::collections::BTreeMap;

use airbound_report::{Bar, Bars, Chapter, Chart, ChartKind, Grid, Line, Lines, Tolerance};
use airbound_units::BitRate;

use super::measure::{delay, goodput, judged, loss, mean, quantile, told};
use super::setting::{Air, KERNEL, NS3, OURS, PAPER, Sender, Setting, vht};
use crate::Effort;
use crate::papers::aggregates::Aggregate;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct Square;

const STATIONS: usize = 8;
/// The share of packets with one MCS from which on a station counts as stable. The paper counts frames; here a rate that is tried
/// gets frames of a single packet, as in mac80211, and many of them.
const STABLE: f64 = 0.85;

/// Numbers from 0 to 1 for the places of the stations, one sequence for each draw.
struct Draws(u64);

impl Draws {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl Square {
    const fn draws(effort: Effort) -> u64 {
        if effort.quick { 6 } else { 120 }
    }

    /// Draws that are run again under the kernel's Minstrel-HT.
    const fn repeated(effort: Effort) -> u64 {
        if effort.quick { 4 } else { 40 }
    }

    fn experiment(effort: Effort, draw: u64) -> Experiment {
        Self::setting(effort, Self::places(draw), draw, (NS3, STEADY))
    }

    /// The same draw under the kernel's Minstrel-HT.
    fn sampled(effort: Effort, draw: u64, sender: Sender) -> Experiment {
        Self::setting(effort, Self::places(draw), draw, (KERNEL, sender))
    }

    fn places(draw: u64) -> Vec<String> {
        let mut draws = Draws(draw.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..8).for_each(|_| {
            draws.unit();
        });
        let place = |_| {
            let (x, y) = (40.0 * draws.unit() - 20.0, 40.0 * draws.unit() - 20.0);
            let distance = libm::sqrt(x * x + y * y).max(1.0);
            format!("channel = {{ kind = \"log-distance\", distance = \"{distance:.3} m\" }}")
        };
        (0..STATIONS).map(place).collect()
    }

    /// All stations at one place under Minstrel-HT.
    fn alike(effort: Effort, place: &Place) -> Experiment {
        let keys = format!("channel = {{ kind = \"log-distance\", distance = \"{}\" }}", place.distance);
        Self::setting(effort, vec![keys; STATIONS], 1, (NS3, STEADY))
    }

    /// All stations at one rate: where a rate control has settled for good.
    fn settled(effort: Effort, place: &Place) -> Experiment {
        let setting =
            Setting { streams: 1, seconds: effort.seconds(10, 5), ..Setting::alike(STATIONS, place.rate) };
        Experiment::plain(setting.trial("settled", 1))
    }

    /// The same with a gain that is stable at any rate.
    fn steady(effort: Effort, place: &Place) -> Experiment {
        let setting =
            Setting { streams: 1, seconds: effort.seconds(10, 5), ..Setting::alike(STATIONS, place.rate) };
        Experiment::plain(setting.under(STEADY).trial("steady", 1))
    }

    fn setting(
        effort: Effort,
        stations: Vec<String>,
        seed: u64,
        (rate_control, sender): (&'static str, Sender),
    ) -> Experiment {
        let setting = Setting {
            rate_control,
            hardware_tries: 10,
            streams: 1,
            warm_up: 15,
            seconds: effort.seconds(10, 5),
            ..Setting::of(stations).under(sender)
        };
        Experiment::aggregates(setting.trial("square", seed), setting.measured_from())
    }
}

/// A place where one rate is best.
struct Place {
    distance: &'static str,
    rate: &'static str,
    mcs: u8,
    /// The goodput that the paper reports there, Mb/s.
    goodput: f64,
}

const PLACES: [Place; 2] = [
    Place { distance: "3 m", rate: "VHT80 MCS9 1SS LGI", mcs: 9, goodput: 300.0 },
    Place { distance: "19 m", rate: "VHT80 MCS4 1SS LGI", mcs: 4, goodput: 150.0 },
];

const STEADY: Sender = Sender { steady: true, ..PAPER };

/// The rate that most of a station's packets have, and their share.
fn usual_rate(aggregates: &[Aggregate], station: u16) -> Option<(BitRate, f64)> {
    let mut counts: BTreeMap<BitRate, u32> = BTreeMap::new();
    let own = aggregates.iter().filter(|aggregate| aggregate.station == station);
    own.for_each(|aggregate| *counts.entry(aggregate.rate).or_default() += u32::from(aggregate.mpdus));
    let total: u32 = counts.values().sum();
    let (rate, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Some((rate, f64::from(count) / f64::from(total)))
}

/// Of each station its usual rate, and the share of packets that have it.
type Rates = Vec<(u16, BitRate, f64)>;

fn rates(run: &Measured) -> Rates {
    (1..=STATIONS as u16)
        .filter_map(|station| {
            usual_rate(&run.aggregates.sent, station).map(|(rate, share)| (station, rate, share))
        })
        .collect()
}

fn mcs_of(rate: BitRate) -> Option<u8> {
    (0..=9).find(|mcs| vht(*mcs, 1).bit_rate() == rate)
}

impl Study for Square {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let drawn = (1..=Self::draws(effort)).map(|draw| Self::experiment(effort, draw));
        let places = PLACES.iter().flat_map(|place| {
            [Self::settled(effort, place), Self::steady(effort, place), Self::alike(effort, place)]
        });
        let repeated = (1..=Self::repeated(effort))
            .flat_map(|draw| [STEADY, OURS].map(|sender| Self::sampled(effort, draw, sender)));
        drawn.chain(places).chain(repeated).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let all: Vec<&Measured> = (1..=Self::draws(effort))
            .filter_map(|draw| results.get(&Self::experiment(effort, draw)))
            .collect();
        let stable: Vec<(&Measured, Rates)> = all
            .iter()
            .map(|run| (*run, rates(run)))
            .filter(|(_, rates)| rates.len() == STATIONS && rates.iter().all(|(.., share)| *share > STABLE))
            .collect();
        let mut rows = Vec::new();
        for place in &PLACES {
            let mcs = place.mcs;
            rows.push(judged(
                "random-square",
                format!("goodput with MCS {mcs} everywhere"),
                "Mb/s",
                place.goodput,
                results.get(&Self::settled(effort, place)).map(goodput),
                Tolerance::Relative(0.05),
                "eight stations at this rate and no other",
            ));
            rows.push(judged(
                "random-square",
                format!("goodput with MCS {mcs} everywhere, steady"),
                "Mb/s",
                place.goodput,
                results.get(&Self::steady(effort, place)).map(goodput),
                Tolerance::Relative(0.05),
                "beyond the paper: the gain kept below half of the critical one",
            ));
            rows.push(told(
                "random-square",
                format!("goodput at {} under Minstrel-HT", place.distance),
                "Mb/s",
                results.get(&Self::alike(effort, place)).map(goodput),
                "most packets at the same rate; frames that try others take airtime",
            ));
        }
        rows.push(judged(
            "random-square",
            "limit at MCS 9, one stream",
            "Mb/s",
            307.0,
            Some(Air::limit(vht(9, 1), 1, 0.0)),
            Tolerance::Relative(0.02),
            "frames of 32 without collisions: the paper's theoretical maximum",
        ));
        rows.push(told(
            "random-square",
            "share of draws with a stable rate everywhere",
            "%",
            Some(100.0 * stable.len() as f64 / all.len().max(1) as f64),
            "more than 85 % of the packets with one MCS; the paper leaves the others out too",
        ));
        // The level beside 32 R / R_max, by MCS.
        let mut by_mcs: BTreeMap<u8, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for (run, rates) in &stable {
            let fastest = rates.iter().map(|(_, rate, _)| rate.as_bps()).max().unwrap_or(1) as f64;
            for (station, rate, _) in rates {
                let Some(mcs) = mcs_of(*rate) else { continue };
                let own: Vec<f64> = run
                    .aggregates
                    .sent
                    .iter()
                    .filter(|one| one.station == *station && one.rate == *rate)
                    .map(|one| f64::from(one.mpdus))
                    .collect();
                let (levels, expected) = by_mcs.entry(mcs).or_default();
                levels.extend(mean(&own));
                expected.push(32.0 * rate.as_bps() as f64 / fastest);
            }
        }
        let columns = ["MCS", "stations", "mean level", "25th", "75th", "32 R / R_max"];
        let mut grid = Grid::new("Level by MCS over the stations of stable runs", &columns, 1);
        for (mcs, (levels, expected)) in &by_mcs {
            let cell = |value: Option<f64>| value.map_or(String::new(), shown).into();
            grid.rows.push(vec![
                format!("MCS {mcs}").into(),
                levels.len().to_string().into(),
                cell(mean(levels)),
                cell(quantile(levels, 0.25)),
                cell(quantile(levels, 0.75)),
                cell(mean(expected)),
            ]);
        }
        let off = by_mcs
            .values()
            .filter_map(|(levels, expected)| Some((mean(levels)? / mean(expected)? - 1.0).abs()))
            .reduce(f64::max);
        rows.push(judged(
            "random-square",
            "level by MCS beside the prediction, furthest",
            "",
            0.1,
            off,
            Tolerance::AtMost,
            "32 R / R_max (corollary 2), relative; \"perfectly match\"",
        ));
        let losses: Vec<f64> = stable.iter().map(|(run, _)| 100.0 * loss(run)).collect();
        let delays: Vec<f64> = stable.iter().filter_map(|(run, _)| delay(run)).collect();
        let goodputs: Vec<f64> = stable.iter().map(|(run, _)| goodput(run)).collect();
        rows.push(judged(
            "random-square",
            "90th percentile of loss",
            "%",
            0.1,
            quantile(&losses, 0.9),
            Tolerance::AtMost,
            "\"negligible\"",
        ));
        rows.push(judged(
            "random-square",
            "largest mean delay of a run",
            "ms",
            20.0,
            quantile(&delays, 1.0),
            Tolerance::AtMost,
            "\"slightly higher than in the previous scenario\": 8 slower stations take some 10 ms a round",
        ));
        for (name, sender) in [("paper's shares", STEADY), ("ours", OURS)] {
            let runs: Vec<&Measured> = (1..=Self::repeated(effort))
                .filter_map(|draw| results.get(&Self::sampled(effort, draw, sender)))
                .collect();
            let of = |figure: fn(&Measured) -> f64| runs.iter().map(|run| figure(run)).collect::<Vec<_>>();
            let delays: Vec<f64> = runs.iter().filter_map(|run| delay(run)).collect();
            for (metric, unit, value) in [
                ("90th percentile of loss", "%", quantile(&of(loss), 0.9).map(|loss| 100.0 * loss)),
                ("mean goodput", "Mb/s", mean(&of(goodput))),
                ("90th percentile of a run's mean delay", "ms", quantile(&delays, 0.9)),
            ] {
                rows.push(told(
                    "random-square",
                    format!("{metric}, every draw, the kernel's Minstrel-HT, {name}"),
                    unit,
                    value,
                    "60 samples a second, each in a frame of its own: of some stations half of all turns",
                ));
            }
        }
        let distribution = |values: &[f64]| -> Vec<(f64, f64)> {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            let count = sorted.len() as f64;
            sorted
                .into_iter()
                .zip(1..)
                .map(|(value, rank)| (value, 100.0 * f64::from(rank) / count))
                .collect()
        };
        let ecdf = |x: &str, values: &[f64], caption: &str| Chart {
            kind: ChartKind::Lines(Lines {
                x: x.to_owned(),
                y: "share of runs (%)".to_owned(),
                top: Some(100.0),
                lines: vec![Line::whole("stable runs", distribution(values))],
                ..Lines::default()
            }),
            caption: caption.to_owned(),
        };
        let bars = by_mcs.values().map(|(levels, expected)| {
            Some(Bar {
                value: quantile(levels, 0.5)?,
                range: Some((quantile(levels, 0.25)?, quantile(levels, 0.75)?)),
                reference: mean(expected),
            })
        });
        let charts = vec![
            Chart {
                kind: ChartKind::Bars(Bars {
                    y: "packets a frame".to_owned(),
                    groups: by_mcs.keys().map(|mcs| format!("MCS {mcs}")).collect(),
                    series: vec![("level".to_owned(), bars.collect())],
                }),
                caption: "Fig. 12: level by MCS: median and quartiles over stations; the diamond is what the proportional-fair allocation has.".to_owned(),
            },
            ecdf("loss (%)", &losses, "Fig. 12: packets lost."),
            ecdf("goodput (Mb/s)", &goodputs, "Fig. 12: goodput of all stations together."),
            ecdf("mean delay (ms)", &delays, "Fig. 12: mean delay."),
        ];
        let text = "Eight stations at random in a square of 40 m around the access point, log-distance channel and Minstrel-HT as ns-3's, one stream, the gain kept below half of the critical one; 120 draws (quick: 6).";
        Part {
            rows,
            chapter: Chapter {
                title: "A square of 40 m".to_owned(),
                text: text.to_owned(),
                tables: vec![grid],
                charts,
            },
        }
    }
}
