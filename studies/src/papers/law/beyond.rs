//! Beyond the paper: aggregation, several stations, LAST-PQ inside, and the two pieces of future work.

use airbound_record::FlowSummary;
use airbound_report::{Chapter, Grid};

use super::measure;
use super::network::{Flow, Network, Station};
use super::setting::{LAW, Layer, MINSTREL, Setting, Traffic, VIDEO};
use super::video::Video;
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

fn text(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), shown)
}

fn percent(value: Option<f64>) -> String {
    text(value.map(|share| 100.0 * share))
}

/// Effect of aggregation, which the prototype lacks.
pub(super) struct Aggregation;

const AGGREGATING: &str = "preset = \"openwifi\"\nstreams = 1\npath = { max-ampdu-mpdus = 32 }\n";
const AGGREGATION: [Layer; 4] =
    [LAW, LAW.over("Law, A-MPDU", AGGREGATING), MINSTREL, MINSTREL.over("Minstrel, A-MPDU", AGGREGATING)];

fn aggregation(layer: Layer, traffic: Traffic) -> Setting {
    Setting { seconds: 300, ..Setting::new(layer, traffic) }
}

impl Study for Aggregation {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let settings = AGGREGATION
            .into_iter()
            .flat_map(|layer| [Traffic::Udp, VIDEO].map(|traffic| aggregation(layer, traffic)));
        settings.flat_map(|setting| measure::runs_of(setting, 2, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let columns = [
            "scheme",
            "UDP p50 ms",
            "p99 ms",
            "p99.9 ms",
            "lost %",
            "MPDUs",
            "video p99 ms",
            "p99.9 ms",
            "> 100 ms %",
            "Mb/s",
        ];
        let mut grid = Grid::new("The same with A-MPDU", &columns, 1);
        for layer in AGGREGATION {
            let udp = aggregation(layer, Traffic::Udp);
            let digest = measure::digest_of(udp, 2, effort, results);
            let runs = |setting| measure::of_seeds(setting, 2, effort, results);
            let mpdus = measure::mean(&runs(udp), |run| run.outcome.summary.stations.first()?.mean_ampdu);
            let video = Video::of(&runs(aggregation(layer, VIDEO)));
            let cells = [
                layer.name.to_owned(),
                text(digest.quantile(0.5)),
                text(digest.quantile(0.99)),
                text(digest.quantile(0.999)),
                percent(digest.loss_rate()),
                text(mpdus),
                text(video.frames.quantile(0.99)),
                text(video.frames.quantile(0.999)),
                percent(video.miss_rate),
                text(video.bitrate_mbps),
            ];
            grid.rows.push(cells.into_iter().map(Into::into).collect());
        }
        grid.note = "Office; 32 MPDUs at most. Under Law an aggregate takes at most (Limit_h - 0.5 ms) / tries on the air.".to_owned();
        let chapter = Chapter {
            title: "Beyond the paper: aggregation".to_owned(),
            text: "The PSDU is then the unit of Limit_h and of the averages of TX time, the MPDU that of Limit_q and of loss.".to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}

/// Runs of networks that differ in their link layer, and a row for each flow of each.
struct Comparison {
    networks: Vec<(&'static str, Network)>,
    seeds: u64,
}

impl Comparison {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let each = |(_, network): &(&str, Network)| network.runs(self.seeds, effort).collect::<Vec<_>>();
        self.networks.iter().flat_map(each).collect()
    }

    fn grid(&self, title: &str, effort: Effort, results: &Results) -> Grid {
        let columns = ["flow", "link layer", "Mb/s", "lost %", "p50 ms", "p95 ms", "p99 ms", "p99.9 ms"];
        let mut grid = Grid::new(title, &columns, 2);
        let runs: Vec<(&str, Vec<&Measured>)> = self
            .networks
            .iter()
            .map(|(name, network)| {
                (*name, network.runs(self.seeds, effort).filter_map(|run| results.get(&run)).collect())
            })
            .collect();
        let flows = runs.iter().flat_map(|(_, runs)| runs.first()).map(|run| &run.outcome.summary.flows);
        let mut names: Vec<&str> = Vec::new();
        for flow in flows.flatten() {
            if !names.contains(&flow.name.as_str()) {
                names.push(&flow.name);
            }
        }
        for name in names {
            for (layer, runs) in &runs {
                let of = |value: &dyn Fn(&FlowSummary) -> Option<f64>| {
                    measure::mean(runs, |run| {
                        value(run.outcome.summary.flows.iter().find(|flow| flow.name == name)?)
                    })
                };
                if of(&|flow| Some(flow.goodput_mbps)).is_none() {
                    continue;
                }
                let cells = [
                    name.to_owned(),
                    (*layer).to_owned(),
                    text(of(&|flow| Some(flow.goodput_mbps))),
                    percent(of(&|flow| flow.loss_rate)),
                    text(of(&|flow| flow.latency_ms.p50)),
                    text(of(&|flow| flow.latency_ms.p95)),
                    text(of(&|flow| flow.latency_ms.p99)),
                    text(of(&|flow| flow.latency_ms.p999)),
                ];
                grid.rows.push(cells.into_iter().map(Into::into).collect());
            }
        }
        grid
    }
}

/// A good station behind a bad one.
pub(super) struct Stations;

/// One PHY rate a station from the fastest to one that hardly hears the access point; each is sent 3 Mb/s.
const UNEQUAL: [Station; 4] = [
    Station { name: "good", snr_db: 30 },
    Station { name: "fair", snr_db: 20 },
    Station { name: "poor", snr_db: 13 },
    Station { name: "bad", snr_db: 6 },
];
const TO_EACH: [Flow; 4] = [
    Flow::Udp { name: "to-good", station: "good", mbps: 3.0, demand: None },
    Flow::Udp { name: "to-fair", station: "fair", mbps: 3.0, demand: None },
    Flow::Udp { name: "to-poor", station: "poor", mbps: 3.0, demand: None },
    Flow::Udp { name: "to-bad", station: "bad", mbps: 3.0, demand: None },
];

impl Stations {
    fn comparison() -> Comparison {
        let network = |layer| Network { layer, stations: &UNEQUAL, flows: &TO_EACH, seconds: 60 };
        Comparison {
            networks: vec![
                ("Law, one fifo", network(LAW.with_queue("fifo", "{ kind = \"law\", inside = \"fifo\" }"))),
                (
                    "Law, airtime deficits",
                    network(LAW.with_queue("airtime", "{ kind = \"law\", inside = \"fq-codel-airtime\" }")),
                ),
                ("Minstrel, three layers", network(MINSTREL)),
            ],
            seeds: 2,
        }
    }
}

impl Study for Stations {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        Self::comparison().experiments(effort)
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = Self::comparison().grid("Four stations, 3 Mb/s each", effort, results);
        grid.note = "Mean SNR 30, 20, 13 and 6 dB with fading; nobody else on the channel. Latency of delivered packets.".to_owned();
        let chapter = Chapter {
            title: "Beyond the paper: several stations".to_owned(),
            text: "The paper has one receiver. In one queue a good station waits behind a bad one and loses with it; airtime deficits \
                   inside the bound give each its share of the air."
                .to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}

/// Demands decide who goes first, the bound decides when to give up.
pub(super) struct Together;

const ROOM: [Station; 3] = [
    Station { name: "headset", snr_db: 22 },
    Station { name: "laptop", snr_db: 28 },
    Station { name: "phone", snr_db: 16 },
];
const ROOM_FLOWS: [Flow; 3] = [
    Flow::Udp { name: "headset", station: "headset", mbps: 8.0, demand: Some("20 ms") },
    Flow::Tcp { name: "download", station: "laptop", congestion: "cubic" },
    Flow::Udp { name: "call", station: "phone", mbps: 1.5, demand: None },
];

impl Together {
    fn comparison() -> Comparison {
        let network = |layer: Layer| Network {
            layer: layer.over(layer.name, AGGREGATING),
            stations: &ROOM,
            flows: &ROOM_FLOWS,
            seconds: 60,
        };
        Comparison {
            networks: vec![
                ("Linux", network(MINSTREL)),
                ("LAST-PQ", network(MINSTREL.with_queue("LAST-PQ", "\"last-pq\""))),
                ("Law", network(LAW)),
                ("Law and LAST-PQ", network(LAW.with_queue("both", "\"law-last-pq\""))),
            ],
            seeds: 2,
        }
    }
}

impl Study for Together {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        Self::comparison().experiments(effort)
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid =
            Self::comparison().grid("A headset with a demand of 20 ms, a download, a call", effort, results);
        grid.note = "Mean SNR of headset, laptop and phone 22, 28 and 16 dB with fading; A-MPDU of at most 32. The demand is one on the \
                     95th percentile."
            .to_owned();
        let chapter = Chapter {
            title: "Beyond the paper: Law and LAST-PQ together".to_owned(),
            text: "Scheme law-last-pq: LAST-PQ's queue inside Law's bound.".to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}

/// The paper's future work: active queue management inside, and loss-sensitive flows sent the classic way.
pub(super) struct Later;

const DOWNLOAD: Flow = Flow::Tcp { name: "download", station: "laptop", congestion: "cubic" };
const BESIDE_VIDEO: [Flow; 2] = [Flow::Video { name: "video", station: "laptop" }, DOWNLOAD];
const ALONE: [Flow; 1] = [DOWNLOAD];
const LAPTOP: [Station; 1] = [Station { name: "laptop", snr_db: 24 }];

impl Later {
    fn comparison() -> Comparison {
        let network = |layer, flows| Network { layer, stations: &LAPTOP, flows, seconds: 60 };
        let classic = LAW.with_queue("classic", "{ kind = \"law\", classic = \"auto\" }");
        let codel = LAW.with_queue("codel", "{ kind = \"law\", inside = \"codel\" }");
        Comparison {
            networks: vec![
                ("Minstrel, alone", network(MINSTREL, &ALONE as &'static [Flow])),
                ("Law, alone", network(LAW, &ALONE)),
                ("Minstrel", network(MINSTREL, &BESIDE_VIDEO)),
                ("Law, everything", network(LAW, &BESIDE_VIDEO)),
                ("Law, the rest classic", network(classic, &BESIDE_VIDEO)),
                ("Law, CoDel inside", network(codel, &BESIDE_VIDEO)),
            ],
            seeds: 3,
        }
    }
}

impl Study for Later {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        Self::comparison().experiments(effort)
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = Self::comparison().grid("A CUBIC download beside a video", effort, results);
        grid.note = "24 dB with fading, server 10 ms away. Latency from end to end. classic: flows that behave as bulk transfers are \
                     found by their behaviour and sent through the stock queues."
            .to_owned();
        let chapter = Chapter {
            title: "Beyond the paper: its future work".to_owned(),
            text: "CoDel inside the single queue as one more reason to drop, and loss-sensitive flows told apart by their behaviour \
                   (Sec. 5, appendix A)."
                .to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}
