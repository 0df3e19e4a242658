//! Beyond the paper: the optimum of problem P, the distributed form, and theorem 1 as printed, on the same air.

use airbound_report::{Chapter, Grid, Tolerance};
use airbound_senders::allocation::{Downlink, Optimum, Regulated, Utility};

use super::measure::{delay, goodput, judged, loss, told};
use super::setting::{Air, OURS, PAPER, Sender, Setting, fixed, vht};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct Shares;

/// MCS and streams of the stations.
const NETWORKS: [(&str, &[(u8, u8)]); 3] = [
    ("780 and 526.5 Mb/s", &[(9, 2), (6, 2)]),
    ("780, 390, 117 Mb/s", &[(9, 2), (9, 1), (1, 2)]),
    ("eight from 780 to 58.5 Mb/s", &[(9, 2), (9, 2), (7, 2), (4, 2), (9, 1), (4, 1), (1, 1), (1, 1)]),
];

const DISTRIBUTED: Sender = Sender { form: "distributed", ..OURS };
const WAYS: [(&str, Sender); 5] = [
    ("theorem 1, w_max (printed)", Sender { share: "printed", ..PAPER }),
    ("theorem 1, w_min", PAPER),
    ("optimum of P", Sender { start: "feedback", ..OURS }),
    ("optimum of P, fast start", OURS),
    ("optimum of P, distributed", DISTRIBUTED),
];

fn experiment(stations: &[(u8, u8)], sender: Sender, effort: Effort) -> Experiment {
    let keys = stations.iter().map(|(mcs, streams)| fixed(&format!("VHT80 MCS{mcs} {streams}SS LGI")));
    let setting =
        Setting { warm_up: 40, seconds: effort.seconds(40, 10), ..Setting::of(keys.collect()).under(sender) };
    Experiment::plain(setting.trial("shares", 1))
}

/// The sum of the logarithms of the rates.
fn utility(run: &Measured) -> f64 {
    let rates: Vec<f64> = run.outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).collect();
    Utility::Proportional.of(&rates)
}

fn largest_level(run: &Measured) -> Option<f64> {
    run.outcome.summary.stations.iter().filter_map(|station| station.mean_ampdu).reduce(f64::max)
}

impl Study for Shares {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        NETWORKS
            .iter()
            .flat_map(|(_, stations)| WAYS.iter().map(|(_, sender)| experiment(stations, *sender, effort)))
            .collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let columns = [
            "network",
            "allocation",
            "goodput Mb/s",
            "least Mb/s",
            "sum of logs",
            "largest level",
            "delay ms",
            "lost %",
        ];
        let mut grid = Grid::new("Allocations on the same air", &columns, 2);
        let mut rows = Vec::new();
        for (network, stations) in NETWORKS {
            let run = |sender| results.get(&experiment(stations, sender, effort));
            for (way, sender) in WAYS {
                let Some(run) = run(sender) else { continue };
                let least = run
                    .outcome
                    .summary
                    .flows
                    .iter()
                    .map(|flow| flow.goodput_mbps)
                    .fold(f64::INFINITY, f64::min);
                grid.rows.push(vec![
                    network.into(),
                    way.into(),
                    shown(goodput(run)).into(),
                    shown(least).into(),
                    format!("{:.3}", utility(run)).into(),
                    largest_level(run).map_or(String::new(), shown).into(),
                    delay(run).map_or(String::new(), shown).into(),
                    shown(100.0 * loss(run)).into(),
                ]);
            }
            let gain = |sender| Some(utility(run(sender)?) - utility(run(PAPER)?));
            let overhead = Air::frame_overhead(vht(9, 2));
            let airtimes = stations.iter().map(|(mcs, streams)| Air::packet(vht(*mcs, *streams))).collect();
            let predicted = Downlink::new(overhead, airtimes).and_then(|downlink| {
                let best = Optimum::of(&downlink, 32.0, Utility::Proportional)?;
                let equal = downlink.equal_airtime(32.0, Regulated::Fastest);
                Some(Utility::Proportional.of(&best.rates) - Utility::Proportional.of(&equal))
            });
            if let Some(predicted) = predicted {
                let metric = format!("utility of the optimum over theorem 1 (w_min), {network}");
                let note = "sum of logarithms, measured beside the model";
                rows.push(judged(
                    "theorem-1",
                    metric,
                    "",
                    predicted,
                    gain(OURS),
                    Tolerance::Absolute(0.1),
                    note,
                ));
            }
            let metric = format!("utility of the distributed form over theorem 1 (w_min), {network}");
            rows.push(told(
                "theorem-1",
                metric,
                "",
                gain(DISTRIBUTED),
                "assumption 4: each station decides by its own reports",
            ));
            let level = run(OURS).and_then(largest_level);
            let metric = format!("largest mean level under the optimum, {network}");
            rows.push(judged(
                "theorem-1",
                metric,
                "packets",
                33.0,
                level,
                Tolerance::AtMost,
                "the constraint N_i <= 32 and its scatter",
            ));
        }
        let text = "Stations of different PHY rates. The optimum holds the fast stations at one rate and at the target, and gives each slower one the payload airtime 1/n.";
        Part {
            rows,
            chapter: Chapter {
                title: "Who gets what".to_owned(),
                text: text.to_owned(),
                tables: vec![grid],
                charts: Vec::new(),
            },
        }
    }
}
