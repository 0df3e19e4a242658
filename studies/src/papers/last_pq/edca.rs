//! Sec. VI, Fig. 13: everything in VI, where priority on the channel tells nobody apart.

use airbound_report::{Bar, Bars, Chapter, Chart, ChartKind, Tolerance, ValidationRow};

use super::measure;
use super::setting::{Categories, LAST_PQ, LINUX, Place, Setting};
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};
use crate::{Effort, Trial};

const SCHEMES: [(&str, &str); 2] = [("Linux", LINUX), ("LAST-PQ", LAST_PQ)];

/// Two VR streams with a demand of 20 ms and three TCP flows with one of 30 ms, to one phone (Fig. 13b).
pub(super) struct TwoStreams;

/// A load: its name, the rate of each TCP flow in kb/s, the phone's PHY rate.
type Load = (&'static str, u32, &'static str);

/// Loads to choose from, as the paper leaves the load open: 2 x 45 and 3 x 50 Mb/s are more than the 162 Mb/s that Sec. III prints for a
/// phone. Either the load was less, or the rate higher: 300 Mb/s are the most for two streams.
const LOADS: [Load; 3] = [
    ("50 Mb/s each at 300", 50_000, "HT40 MCS15 2SS SGI"),
    ("50 Mb/s each at 162", 50_000, "HT40 MCS12 2SS LGI"),
    ("50 Mb/s in all at 162", 16_667, "HT40 MCS12 2SS LGI"),
];

fn two_streams(queue: &str, (_, tcp_kbps, rate): Load, seconds: u32, seed: u64) -> Trial {
    let scenario = format!(
        r#"duration = "{seconds} s"
warm-up = "3 s"
[air]
standard = "ht"
width = "40 MHz"
[access-point]
preset = "ath9k-fq"
streams = 3
[scheme]
queue = {queue}
rate = "fixed"
[[station]]
name = "phone"
streams = 2
rate = "{rate}"
[[flow]]
name = "vr"
count = 2
kind = "vr"
station = "phone"
category = "vi"
rate = "45 Mbit/s"
fps = 30
stagger = "11 ms"
demand = "20 ms"
[[flow]]
name = "tcp"
count = 3
kind = "tcp"
station = "phone"
category = "vi"
limit = "{tcp_kbps} kbit/s"
start = "200 ms"
stagger = "50 ms"
demand = "30 ms"
"#
    );
    Trial::new("last-pq two streams in VI", scenario, seed)
}

fn runs(queue: &'static str, load: Load, effort: Effort) -> impl Iterator<Item = Experiment> {
    let seconds = effort.seconds(20, 6);
    measure::seeds(effort).map(move |seed| Experiment::plain(two_streams(queue, load, seconds, seed)))
}

/// The worst of the flows whose names begin so, mean over seeds.
fn worst(runs: &[&Measured], prefix: &str) -> Option<f64> {
    measure::mean(runs, |run| {
        let names = run.outcome.summary.flows.iter().map(|flow| flow.name.as_str());
        let p95 = names.filter(|name| name.starts_with(prefix)).filter_map(|name| measure::p95_of(run, name));
        p95.reduce(f64::max)
    })
}

impl Study for TwoStreams {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let loads = LOADS.iter().flat_map(|load| SCHEMES.map(|(_, queue)| (queue, *load)));
        loads.flat_map(|(queue, load)| runs(queue, load, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let of = |queue, load| -> Vec<&Measured> {
            runs(queue, load, effort).filter_map(|experiment| results.get(&experiment)).collect()
        };
        let mut rows = Vec::new();
        for load in LOADS {
            for (flows, prefix, demand) in [("VR", "vr", 20.0), ("TCP", "tcp", 30.0)] {
                let measured = worst(&of(LAST_PQ, load), prefix);
                let metric = format!("worst p95 of the {flows} flows under LAST-PQ, TCP {}", load.0);
                let note = if flows == "VR" {
                    "the paper has 16.18 and 17.29"
                } else {
                    "the paper has 23.86 to 24.48"
                };
                let trend =
                    measured.zip(worst(&of(LINUX, load), prefix)).is_some_and(|(ours, linux)| ours < linux);
                rows.push(ValidationRow::judged(
                    "edca-last-pq",
                    metric,
                    "ms",
                    Some(demand),
                    measured,
                    Some(Tolerance::AtMost),
                    trend,
                    format!("the demand; {note}"),
                ));
            }
        }
        let series = SCHEMES.map(|(name, queue)| {
            let bars = LOADS.iter().flat_map(|load| {
                let runs = of(queue, *load);
                [("vr", 17.29), ("tcp", 24.48)].map(|(prefix, reported)| {
                    let reference = (name == "LAST-PQ").then_some(reported);
                    Some(Bar { value: worst(&runs, prefix)?, range: None, reference })
                })
            });
            (name.to_owned(), bars.collect())
        });
        let groups =
            LOADS.iter().flat_map(|(load, ..)| ["VR", "TCP"].map(|flows| format!("{flows}, {load}")));
        let kind = ChartKind::Bars(Bars {
            y: "worst p95 (ms)".to_owned(),
            groups: groups.collect(),
            series: series.to_vec(),
        });
        let caption =
            "Fig. 13b: worst 95th percentile of the flows of a kind; diamonds: the paper.".to_owned();
        let chapter = Chapter {
            title: "Several demands in VI".to_owned(),
            text: "Two VR streams (demand 20 ms) and three TCP flows (30 ms) to one phone, all in VI."
                .to_owned(),
            tables: Vec::new(),
            charts: vec![Chart { kind, caption }],
        };
        Part { rows, chapter }
    }
}

/// One VR stream among other clients, all in VI (Fig. 6b and 13a).
pub(super) struct Clients;

const CASES: [(u32, u32); 4] = [(0, 3), (3, 3), (0, 4), (3, 4)];

fn setting(queue: &'static str, (flows, clients): (u32, u32)) -> Setting {
    Setting { queue, flows, clients, place: Place::At(10), categories: Categories::AllVi, ..Setting::USUAL }
}

impl Study for Clients {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let settings = CASES.iter().flat_map(|case| SCHEMES.map(|(_, queue)| setting(queue, *case)));
        settings.flat_map(|setting| measure::runs(setting, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let name = |(flows, clients): (u32, u32)| match flows {
            0 => format!("{clients}C"),
            _ => format!("{flows}F{clients}C"),
        };
        let p95 = |queue, case| measure::vr(setting(queue, case), effort, results).map(|vr| vr.p95);
        let mut rows = Vec::new();
        for case in CASES {
            for (scheme, queue, tolerance, note) in [
                ("Linux", LINUX, Tolerance::AtLeast, "misses the demand of 20 ms"),
                ("LAST-PQ", LAST_PQ, Tolerance::AtMost, "meets it"),
            ] {
                rows.push(ValidationRow::judged(
                    "edca-multi-client",
                    format!("VR p95 of {scheme} in VI, {}", name(case)),
                    "ms",
                    Some(20.0),
                    p95(queue, case),
                    Some(tolerance),
                    false,
                    note,
                ));
            }
        }
        let linux: Option<Vec<f64>> = CASES.iter().map(|case| p95(LINUX, *case)).collect();
        // 3C below 3F3C, 4C below 3F4C, 3C below 4C.
        let grows = linux.map(|p95| p95[0] < p95[1] && p95[2] < p95[3] && p95[0] < p95[2]);
        rows.push(ValidationRow::judged(
            "edca-multi-client",
            "VR p95 of Linux grows with clients and flows",
            "holds",
            Some(1.0),
            grows.map(|grows| if grows { 1.0 } else { 0.0 }),
            Some(Tolerance::Absolute(0.0)),
            false,
            "Fig. 6b",
        ));
        let series = SCHEMES.map(|(scheme, queue)| {
            let bar = |case: &(u32, u32)| Some(Bar { value: p95(queue, *case)?, ..Bar::default() });
            (scheme.to_owned(), CASES.iter().map(bar).collect())
        });
        let kind = ChartKind::Bars(Bars {
            y: "VR p95 (ms)".to_owned(),
            groups: CASES.map(name).to_vec(),
            series: series.to_vec(),
        });
        let chapter = Chapter {
            title: "Other clients in VI".to_owned(),
            text: "The phone at 10 m, three and four other clients, with and without three flows at the phone, all in VI."
                .to_owned(),
            tables: Vec::new(),
            charts: vec![Chart { kind, caption: "Fig. 6b and 13a: 95th percentile of the VR latency.".to_owned() }],
        };
        Part { rows, chapter }
    }
}
