//! Cost of the protection to the other flows, in the same table as the gain.

use airbound_report::{Chapter, Grid};

use super::measure;
use super::setting::{LAST_PQ, LINUX, OURS, Setting};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct Cost;

const CASES: [(&str, Setting); 3] = [
    ("3F", Setting { flows: 3, call: true, ..Setting::USUAL }),
    ("3C", Setting { clients: 3, call: true, ..Setting::USUAL }),
    ("5F5C", Setting { call: true, ..Setting::CROWDED }),
];

fn schemes(setting: Setting) -> [Setting; 3] {
    [LINUX, LAST_PQ, OURS].map(|queue| Setting { queue, ..setting })
}

impl Study for Cost {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let settings = CASES.iter().flat_map(|(_, setting)| schemes(*setting));
        settings.flat_map(|setting| measure::runs(setting, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let columns = ["case", "flow", "Mb/s L", "P", "O", "p95 ms L", "P", "O", "airtime % L", "P", "O"];
        let mut grid = Grid::new("What it costs the others, and what it gains", &columns, 2);
        for (case, setting) in CASES {
            let runs = schemes(setting).map(|setting| measure::of(setting, effort, results));
            let Some(first) = runs[0].first() else { continue };
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
                let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
                let mut cells = vec![case.to_owned(), name.to_owned()];
                cells.extend(runs.iter().map(|runs| text(goodput(runs))));
                cells.extend(runs.iter().map(|runs| text(p95(runs))));
                cells.extend(runs.iter().map(|runs| text(airtime(runs))));
                grid.rows.push(cells.into_iter().map(Into::into).collect());
            }
        }
        grid.note = "L: Linux; P: LAST-PQ as in the paper; O: with our defaults, which hold the demand over seconds, let four packets ride along, and cut others' aggregates no shorter than 1.5 ms. nF: n \
                     bulk flows (local) at the VR phone; nC: n other clients with one each (other); a call goes to the VR \
                     phone. p95: from the queue to the acknowledgement. airtime: of the flow's station, all its flows \
                     together."
            .to_owned();
        let chapter = Chapter {
            title: "Beyond the paper: what the protection costs".to_owned(),
            text: "Every flow under Linux and under LAST-PQ; vr is the protected one. What is served before its turn is charged \
                   to flow and station: a station whose stream needs more than the station's fair share pays with its \
                   other flows first."
                .to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}

fn found<'a>(run: &'a Measured, name: &str) -> Option<&'a airbound_record::FlowSummary> {
    run.outcome.summary.flows.iter().find(|flow| flow.name == name)
}
