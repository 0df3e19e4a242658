//! Beyond the paper: a demand held over seconds, where the channel varies.

use airbound_report::{Chapter, Grid};
use airbound_units::{Instant, Span};

use super::measure;
use super::setting::{LAST_PQ, LEAD_S, LINUX, OURS, Place, S6_M, Setting};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct Held;

const SCHEMES: [(&str, &str); 4] = [
    ("Linux", LINUX),
    ("LAST-PQ, paper", LAST_PQ),
    ("held", "{ kind = \"last-pq\", fill = 0, least-aggregate = \"0 ms\" }"),
    ("our defaults", OURS),
];

const CASES: [(&str, Setting); 4] = [
    ("S6, 5F5C", Setting::CROWDED),
    (
        "S6, 3F3C, 15 ms",
        Setting { flows: 3, clients: 3, demand: "\"15 ms\"", place: Place::At(S6_M), ..Setting::USUAL },
    ),
    ("carried, 10 m, 3F3C", Setting { flows: 3, clients: 3, place: Place::Around(10), ..Setting::USUAL }),
    ("carried, 12 m, 3F3C", Setting { flows: 3, clients: 3, place: Place::Around(12), ..Setting::USUAL }),
];

fn runs(setting: Setting, effort: Effort) -> impl Iterator<Item = Experiment> {
    let setting = Setting { seconds: effort.seconds(20, 5), ..setting };
    measure::seeds(effort).map(move |seed| Experiment::watching(setting.trial(seed), 0))
}

/// The share of seconds in which the 95th percentile kept the demand, %.
fn seconds_met(run: &Measured) -> Option<f64> {
    let demand = run.outcome.summary.flows.first()?.demand.as_ref()?.latency_ms;
    let from = (Instant::ZERO + Span::from_secs(u64::from(LEAD_S))).as_secs_f64();
    let windows = run.watched.percentiles(Span::from_secs(1), 95.0);
    let measured: Vec<f64> = windows.into_iter().filter(|(at, _)| *at >= from).map(|(_, p95)| p95).collect();
    let met = measured.iter().filter(|p95| **p95 <= demand).count();
    (!measured.is_empty()).then(|| 100.0 * met as f64 / measured.len() as f64)
}

impl Study for Held {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let settings =
            CASES.iter().flat_map(|(_, setting)| SCHEMES.map(|(_, queue)| Setting { queue, ..*setting }));
        settings.flat_map(|setting| runs(setting, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let columns = ["case", "scheme", "VR p95 ms", "worst seed", "seconds met %", "FPS", "others Mb/s"];
        let mut grid = Grid::new("A demand held over seconds", &columns, 2);
        for (case, setting) in CASES {
            for (scheme, queue) in SCHEMES {
                let setting = Setting { queue, ..setting };
                let runs: Vec<&Measured> =
                    runs(setting, effort).filter_map(|experiment| results.get(&experiment)).collect();
                let p95 = |run: &Measured| measure::p95_of(run, "vr");
                let fps = |run: &Measured| run.outcome.summary.flows.first()?.fps;
                let others = |run: &Measured| {
                    Some(run.outcome.summary.flows.iter().skip(1).map(|flow| flow.goodput_mbps).sum())
                };
                let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
                let cells = [
                    case.to_owned(),
                    scheme.to_owned(),
                    text(measure::mean(&runs, p95)),
                    text(runs.iter().filter_map(|run| p95(run)).reduce(f64::max)),
                    text(measure::mean(&runs, seconds_met)),
                    text(measure::mean(&runs, fps)),
                    text(measure::mean(&runs, others)),
                ];
                grid.rows.push(cells.map(Into::into).to_vec());
            }
        }
        grid.note = "nF: n bulk flows at the VR phone; nC: n other clients with one each; the demand is 20 ms where nothing else \
                     is said. held: delay.hold, a ceiling of the permitted latency that learns from every packet whether \
                     the demand was met; our defaults: that, fill = 4, least-aggregate = 1.5 ms."
            .to_owned();
        let chapter = Chapter {
            title: "Beyond the paper: a demand held over seconds".to_owned(),
            text: "The paper's controller keeps windows of 20 ms near the demand; where latency varies, the percentile over \
                   seconds can lie above it."
                .to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}
