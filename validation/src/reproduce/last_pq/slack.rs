//! Which of several urgent flows goes first: the greatest deficit, as the paper has it, or the least slack.

use airbound_report::{Chapter, Grid};

use super::measure;
use super::setting::{LAST_PQ, LINUX};
use crate::reproduce::experiment::{Experiment, Measured, Results};
use crate::reproduce::{Part, Study, shown};
use crate::{Effort, Trial};

pub(super) struct Slack;

const CHOICES: [(&str, &str); 3] = [
    ("Linux", LINUX),
    ("greatest deficit", LAST_PQ),
    ("least slack", "{ kind = \"last-pq\", choice = \"slack\", fill = 0, delay = { hold = false } }"),
];
/// Four users, each with a demand of its own.
const DEMANDS_MS: [u32; 4] = [12, 20, 30, 50];
/// Rate of each stream, from a light to a full load of the channel.
const RATES_MBPS: [u32; 4] = [15, 20, 25, 30];

fn trial(queue: &str, rate: u32, seconds: u32, seed: u64) -> Trial {
    let mut scenario = format!(
        r#"duration = "{seconds} s"
warm-up = "3 s"
[air]
standard = "ht"
width = "40 MHz"
guard-interval = "400 ns"
[access-point]
preset = "ath9k-fq"
streams = 2
[scheme]
queue = {queue}
rate = "minstrel-ht"
[[station]]
name = "laptop"
count = 2
channel = {{ kind = "log-distance", distance = "10 m" }}
[[flow]]
name = "bulk"
kind = "tcp"
station = "laptop"
"#
    );
    for (number, demand) in DEMANDS_MS.into_iter().enumerate() {
        let metres = 5 + 3 * number;
        scenario += &format!(
            "[[station]]\nname = \"headset-{demand}\"\nchannel = {{ kind = \"log-distance\", distance = \"{metres} m\" }}\n\
             [[flow]]\nname = \"vr-{demand}\"\nkind = \"vr\"\nstation = \"headset-{demand}\"\nrate = \"{rate} Mbit/s\"\n\
             fps = 30\ndemand = \"{demand} ms\"\n"
        );
    }
    Trial { name: "last-pq four VR users".to_owned(), scenario, seed }
}

fn runs(queue: &'static str, rate: u32, effort: Effort) -> impl Iterator<Item = Experiment> {
    let seconds = effort.seconds(20, 5);
    measure::seeds(effort).map(move |seed| Experiment::plain(trial(queue, rate, seconds, seed)))
}

fn rates(effort: Effort) -> &'static [u32] {
    if effort.quick { &RATES_MBPS[1..2] } else { &RATES_MBPS }
}

impl Study for Slack {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let cases = rates(effort).iter().flat_map(|rate| CHOICES.map(|(_, queue)| (queue, *rate)));
        cases.flat_map(|(queue, rate)| runs(queue, rate, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut columns = vec!["Mb/s each".to_owned(), "urgent first".to_owned()];
        columns.extend(DEMANDS_MS.iter().map(|demand| format!("p95, {demand} ms")));
        columns.extend(["demands met".to_owned(), "FPS".to_owned(), "bulk Mb/s".to_owned()]);
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut grid = Grid::new("Four VR users of mixed demands", &names, 2);
        for rate in rates(effort) {
            for (choice, queue) in CHOICES {
                let runs: Vec<&Measured> =
                    runs(queue, *rate, effort).filter_map(|experiment| results.get(&experiment)).collect();
                if runs.is_empty() {
                    continue;
                }
                let p95 = |run: &Measured, demand: u32| measure::p95_of(run, &format!("vr-{demand}"));
                let mut cells = vec![rate.to_string(), choice.to_owned()];
                for demand in DEMANDS_MS {
                    cells.push(measure::mean(&runs, |run| p95(run, demand)).map_or(String::new(), shown));
                }
                let met = measure::mean(&runs, |run| {
                    let met =
                        |demand: &&u32| p95(run, **demand).is_some_and(|p95| p95 <= f64::from(**demand));
                    Some(DEMANDS_MS.iter().filter(met).count() as f64)
                });
                let over =
                    |run: &Measured,
                     prefix: &str,
                     value: &dyn Fn(&airbound_record::FlowSummary) -> Option<f64>| {
                        let flows =
                            run.outcome.summary.flows.iter().filter(|flow| flow.name.starts_with(prefix));
                        flows.filter_map(value).collect::<Vec<f64>>()
                    };
                let fps = measure::mean(&runs, |run| {
                    let fps = over(run, "vr-", &|flow| flow.fps);
                    Some(fps.iter().sum::<f64>() / fps.len() as f64)
                });
                let bulk = measure::mean(&runs, |run| {
                    Some(over(run, "bulk", &|flow| Some(flow.goodput_mbps)).iter().sum())
                });
                cells.extend([met, fps, bulk].map(|value| value.map_or(String::new(), shown)));
                grid.rows.push(cells.into_iter().map(Into::into).collect());
            }
        }
        grid.note = "demands met: of four, mean over seeds; p95 in ms, mean over seeds.".to_owned();
        let chapter = Chapter {
            title: "Beyond the paper: least slack".to_owned(),
            text:
                "Four headsets, the one with the loosest demand farthest away, and two laptops that download."
                    .to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}
