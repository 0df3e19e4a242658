//! Which of several urgent flows goes first: the greatest deficit, as the paper has it, or the least slack.

use airbound_record::FlowSummary;
use airbound_report::{Chapter, Grid};

use super::measure;
use super::setting::{LINUX, OURS};
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};
use crate::{Effort, Trial};

/// Four users with a demand of their own each, beside two downloads.
pub(super) struct Slack {
    title: &'static str,
    text: &'static str,
    demands_ms: [u32; 4],
    /// Rates of each stream in Mb/s, from a light to a full load of the channel; a quick look takes the second.
    rates_mbps: [u32; 4],
    links: Links,
}

/// Links of the headsets and laptops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    /// Headsets from 5 to 14 m, laptops at 10 m, Minstrel-HT.
    Spread,
    /// 162 Mb/s to each headset, 405 Mb/s to the laptops.
    Alike,
}

pub(super) const SPREAD: Slack = Slack {
    title: "Four VR users of mixed demands, spread out",
    text: "Four headsets, the one with the loosest demand farthest away, and two laptops that download.",
    demands_ms: [12, 20, 30, 50],
    rates_mbps: [15, 20, 25, 30],
    links: Links::Spread,
};

pub(super) const ALIKE: Slack = Slack {
    title: "Four VR users of mixed demands, links alike",
    text: "The same with four links of 162 Mb/s, as in the scenario vr-mixed-demands.",
    demands_ms: [15, 15, 40, 40],
    rates_mbps: [15, 20, 25, 28],
    links: Links::Alike,
};

const CHOICES: [(&str, &str); 3] = [
    ("Linux", LINUX),
    ("greatest deficit", OURS),
    ("least slack", "{ kind = \"last-pq\", choice = \"slack\" }"),
];

impl Slack {
    fn trial(&self, queue: &str, rate: u32, seconds: u32, seed: u64) -> Trial {
        let (control, laptop) = match self.links {
            Links::Spread => ("minstrel-ht", "channel = { kind = \"log-distance\", distance = \"10 m\" }"),
            Links::Alike => ("fixed", "rate = \"HT40 MCS23 3SS LGI\""),
        };
        let mut scenario = format!(
            r#"duration = "{seconds} s"
warm-up = "3 s"
[air]
standard = "ht"
width = "40 MHz"
guard-interval = "400 ns"
[access-point]
preset = "ath9k-fq"
streams = 3
[scheme]
queue = {queue}
rate = "{control}"
[[station]]
name = "laptop"
count = 2
{laptop}
[[flow]]
name = "bulk"
kind = "tcp"
station = "laptop"
"#
        );
        for (number, demand) in self.demands_ms.into_iter().enumerate() {
            let link = match self.links {
                Links::Spread => {
                    format!("channel = {{ kind = \"log-distance\", distance = \"{} m\" }}", 5 + 3 * number)
                }
                Links::Alike => "rate = \"HT40 MCS12 2SS LGI\"".to_owned(),
            };
            scenario += &format!(
                "[[station]]\nname = \"headset-{number}\"\nstreams = 2\n{link}\n\
                 [[flow]]\nname = \"vr-{number}\"\nkind = \"vr\"\nstation = \"headset-{number}\"\n\
                 rate = \"{rate} Mbit/s\"\nfps = 30\ndemand = \"{demand} ms\"\n"
            );
        }
        Trial::new("last-pq four VR users", scenario, seed)
    }

    fn runs(&self, queue: &'static str, rate: u32, effort: Effort) -> impl Iterator<Item = Experiment> {
        let seconds = effort.seconds(20, 5);
        measure::seeds(effort).map(move |seed| Experiment::plain(self.trial(queue, rate, seconds, seed)))
    }

    fn rates(&self, effort: Effort) -> &[u32] {
        if effort.quick { &self.rates_mbps[1..2] } else { &self.rates_mbps }
    }

    fn p95(run: &Measured, number: usize) -> Option<f64> {
        measure::p95_of(run, &format!("vr-{number}"))
    }

    /// Returns the number of demands that a run met.
    fn met(&self, run: &Measured) -> f64 {
        let demands = self.demands_ms.into_iter().map(f64::from).enumerate();
        let met =
            demands.filter(|(number, demand)| Self::p95(run, *number).is_some_and(|p95| p95 <= *demand));
        met.count() as f64
    }
}

/// Returns the values of the flows whose names begin with `prefix`.
fn of_flows<'a>(
    run: &'a Measured,
    prefix: &'a str,
    value: fn(&FlowSummary) -> Option<f64>,
) -> impl Iterator<Item = f64> + 'a {
    let flows = run.outcome.summary.flows.iter().filter(move |flow| flow.name.starts_with(prefix));
    flows.filter_map(value)
}

impl Study for Slack {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let cases = self.rates(effort).iter().flat_map(|rate| CHOICES.map(|(_, queue)| (queue, *rate)));
        cases.flat_map(|(queue, rate)| self.runs(queue, rate, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let demands = self.demands_ms.map(|demand| format!("p95, {demand} ms"));
        let mut columns = vec!["Mb/s each", "urgent first"];
        columns.extend(demands.iter().map(String::as_str));
        columns.extend(["demands met", "FPS", "bulk Mb/s"]);
        let mut grid = Grid::new(self.title, &columns, 2);
        for rate in self.rates(effort) {
            for (choice, queue) in CHOICES {
                let runs: Vec<&Measured> = self
                    .runs(queue, *rate, effort)
                    .filter_map(|experiment| results.get(&experiment))
                    .collect();
                let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
                let mut cells = vec![rate.to_string(), choice.to_owned()];
                for number in 0..self.demands_ms.len() {
                    cells.push(text(measure::mean(&runs, |run| Self::p95(run, number))));
                }
                let fps = |run: &Measured| {
                    let users = self.demands_ms.len() as f64;
                    Some(of_flows(run, "vr-", |flow| flow.fps).sum::<f64>() / users)
                };
                let bulk = |run: &Measured| Some(of_flows(run, "bulk", |flow| Some(flow.goodput_mbps)).sum());
                cells.push(text(measure::mean(&runs, |run| Some(self.met(run)))));
                cells.push(text(measure::mean(&runs, fps)));
                cells.push(text(measure::mean(&runs, bulk)));
                grid.rows.push(cells.into_iter().map(Into::into).collect());
            }
        }
        grid.note = "demands met: of four, mean over seeds; p95 in ms, mean over seeds; both choices with our defaults.".to_owned();
        let chapter = Chapter {
            title: format!("Beyond the paper: least slack. {}", self.title),
            text: self.text.to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}
