//! What the protection costs the others, in the same table as the gain.

use airbound_report::{Chapter, Grid};

use super::measure;
use super::setting::{LAST_PQ, LINUX, Setting};
use crate::Effort;
use crate::reproduce::experiment::{Experiment, Measured, Results};
use crate::reproduce::{Part, Study, shown};

pub(super) struct Cost;

const CASES: [(&str, Setting); 3] = [
    ("3 flows", Setting { flows: 3, ..Setting::USUAL }),
    ("3 clients", Setting { clients: 3, ..Setting::USUAL }),
    ("5 flows, 5 clients", Setting::CROWDED),
];

fn both(setting: Setting) -> [Setting; 2] {
    [LINUX, LAST_PQ].map(|queue| Setting { queue, ..setting })
}

impl Study for Cost {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let settings = CASES.iter().flat_map(|(_, setting)| both(*setting));
        settings.flat_map(|setting| measure::runs(setting, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let columns = [
            "case",
            "flow",
            "Mb/s Linux",
            "LAST-PQ",
            "change %",
            "p95 ms Linux",
            "LAST-PQ",
            "airtime % Linux",
            "LAST-PQ",
        ];
        let mut grid = Grid::new("What it costs the others, and what it gains", &columns, 2);
        for (case, setting) in CASES {
            let [linux, ours] = both(setting).map(|setting| measure::of(setting, effort, results));
            let Some(first) = linux.first() else { continue };
            for flow in &first.outcome.summary.flows {
                let name = flow.name.as_str();
                let goodput =
                    |runs: &[&Measured]| measure::mean(runs, |run| Some(found(run, name)?.goodput_mbps));
                let p95 = |runs: &[&Measured]| measure::mean(runs, |run| measure::p95_of(run, name));
                let airtime = |runs: &[&Measured]| {
                    measure::mean(runs, |run| {
                        let stations = &run.outcome.summary.stations;
                        let station = stations.iter().find(|station| station.name == flow.station)?;
                        Some(100.0 * station.airtime_share)
                    })
                };
                let text = |value: Option<f64>| value.map_or(String::new(), shown);
                let change =
                    goodput(&ours).zip(goodput(&linux)).map(|(ours, linux)| 100.0 * (ours / linux - 1.0));
                let cells = [
                    case.to_owned(),
                    name.to_owned(),
                    text(goodput(&linux)),
                    text(goodput(&ours)),
                    text(change),
                    text(p95(&linux)),
                    text(p95(&ours)),
                    text(airtime(&linux)),
                    text(airtime(&ours)),
                ];
                grid.rows.push(cells.map(Into::into).to_vec());
            }
        }
        grid.note = "p95: from the queue to the acknowledgement. airtime: of the station that the flow goes to, all its flows \
                     together."
            .to_owned();
        let chapter = Chapter {
            title: "Beyond the paper: what the protection costs".to_owned(),
            text: "Every flow under Linux and under LAST-PQ; vr is the protected one.".to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}

fn found<'a>(run: &'a Measured, name: &str) -> Option<&'a airbound_record::FlowSummary> {
    run.outcome.summary.flows.iter().find(|flow| flow.name == name)
}
