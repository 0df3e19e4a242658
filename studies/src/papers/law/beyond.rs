//! Beyond the paper: aggregation, several stations, LAST-PQ inside, and the two pieces of future work.

use airbound_record::FlowSummary;

use super::measure::{Runs, add, mean, percent};
use super::{CLAIMS, LAW, MINSTREL, NETWORKS};
use crate::papers::Part;
use crate::papers::experiment::{Experiment, Measured};

/// Effect of aggregation, which the prototype lacks.
pub(super) fn aggregation(runs: Runs<'_>) -> Part {
    let mut grid = CLAIMS.table("aggregation", &[]);
    for scheme in [LAW, MINSTREL] {
        for (path, name) in [("openwifi", scheme.to_owned()), ("A-MPDU", format!("{scheme}, A-MPDU"))] {
            let cell = |traffic| [scheme, path, "office", traffic, "200 s, 1 seed"];
            let udp = runs.digest(&cell("UDP"));
            let mpdus = mean(&runs.of(&cell("UDP")), |run| run.outcome.summary.stations.first()?.mean_ampdu);
            let [_, p99, p999, late, _, bitrate] = runs.video(&cell("video")).columns();
            let quantiles = [0.5, 0.99, 0.999].map(|share| udp.quantile(share));
            let others = [percent(udp.loss_rate()), mpdus, p99, p999, late, bitrate];
            add(&mut grid, &[&name], quantiles.into_iter().chain(others));
        }
    }
    Part { rows: Vec::new(), chapter: CLAIMS.chapter("aggregation", vec![grid], Vec::new()) }
}

/// A good station behind a bad one.
pub(super) fn stations(runs: Runs<'_>) -> Part {
    let layers = ["Law, one fifo", "Law, airtime deficits", "Minstrel, three layers"];
    networks(runs, "stations", "four stations", &layers)
}

/// Demands decide who goes first, the bound decides when to give up.
pub(super) fn together(runs: Runs<'_>) -> Part {
    networks(runs, "together", "room", &["Linux", "LAST-PQ", "Law", "Law and LAST-PQ"])
}

/// The paper's future work: active queue management inside, and loss-sensitive flows sent the classic way.
pub(super) fn later(runs: Runs<'_>) -> Part {
    let layers = [
        "Minstrel, alone",
        "Law, alone",
        "Minstrel",
        "Law, everything",
        "Law, the rest classic",
        "Law, CoDel inside",
    ];
    networks(runs, "later", "video and download", &layers)
}

/// A row for each flow of a case under each link layer that has it.
fn networks(runs: Runs<'_>, key: &str, case: &str, layers: &[&str]) -> Part {
    let of_layer = |layer| runs.made(NETWORKS.trials(&[case, layer], runs.effort), Experiment::plain);
    let of_layers: Vec<(&str, Vec<&Measured>)> =
        layers.iter().map(|layer| (*layer, of_layer(layer))).collect();
    let mut names: Vec<&str> = Vec::new();
    for flow in
        of_layers.iter().filter_map(|(_, runs)| runs.first()).flat_map(|run| &run.outcome.summary.flows)
    {
        if !names.contains(&flow.name.as_str()) {
            names.push(&flow.name);
        }
    }
    let mut grid = CLAIMS.table(key, &[]);
    for name in names {
        for (layer, runs) in &of_layers {
            let of = |value: &dyn Fn(&FlowSummary) -> Option<f64>| {
                mean(runs, |run| value(run.outcome.summary.flows.iter().find(|flow| flow.name == name)?))
            };
            let Some(goodput) = of(&|flow| Some(flow.goodput_mbps)) else { continue };
            let columns = [
                Some(goodput),
                percent(of(&|flow| flow.loss_rate)),
                of(&|flow| flow.latency_ms.p50),
                of(&|flow| flow.latency_ms.p95),
                of(&|flow| flow.latency_ms.p99),
                of(&|flow| flow.latency_ms.p999),
            ];
            add(&mut grid, &[name, layer], columns);
        }
    }
    Part { rows: Vec::new(), chapter: CLAIMS.chapter(key, vec![grid], Vec::new()) }
}
