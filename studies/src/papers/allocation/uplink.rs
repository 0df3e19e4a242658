//! Beyond the paper: clients that send too (assumption 1 of Sec. 7), with their uplinks counted and without.

use std::fmt::Write as _;

use airbound_report::{Chapter, Grid, Tolerance};

use super::measure::{goodput, judged, levels, loss, mean, told};
use super::setting::{Air, FAST, OURS, PAYLOAD, Setting, vht};
use crate::Effort;
use crate::papers::aggregates::Aggregate;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct Uplinks;

/// Traffic that the clients send.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Up {
    Nothing,
    /// A transfer without end under CUBIC, as clients do that know nothing of the proxy.
    Tcp,
    /// As much as the allocator, which counts downlinks only, would give a downlink.
    Constant,
    /// Shaped by the client at the rate that the proxy grants.
    Counted,
}

const WAYS: [(&str, Up); 4] = [
    ("downlinks alone", Up::Nothing),
    ("not counted: CUBIC", Up::Tcp),
    ("not counted: a downlink's rate", Up::Constant),
    ("counted", Up::Counted),
];

fn counts(effort: Effort) -> &'static [usize] {
    if effort.quick { &[1, 4, 12] } else { &[1, 2, 4, 8, 12, 20] }
}

fn experiment(count: usize, up: Up, effort: Effort) -> Experiment {
    let keys = match up {
        Up::Nothing => None,
        Up::Tcp => Some("kind = \"tcp\"".to_owned()),
        Up::Constant => {
            let share = Air::limit(vht(9, 2), count, 2.0) / count as f64;
            Some(format!("kind = \"cbr\"\nsize = \"{PAYLOAD} B\"\nrate = \"{share:.1} Mbit/s\""))
        }
        Up::Counted => Some(format!("kind = \"paced\"\nsize = \"{PAYLOAD} B\"")),
    };
    let mut extra = String::new();
    for number in 0..count {
        if let Some(keys) = &keys {
            let _ = writeln!(
                extra,
                "[[flow]]\nname = \"u{number}\"\nstation = \"s{number}\"\ndirection = \"up\"\n{keys}"
            );
        }
    }
    let setting =
        Setting { seconds: effort.seconds(20, 10), extra, ..Setting::alike(count, FAST).under(OURS) };
    Experiment::aggregates(setting.trial("uplink", 1), setting.measured_from())
}

/// One direction of a run.
struct Way {
    goodput: f64,
    delay: Option<f64>,
    /// The largest 99th percentile of any flow, ms.
    tail: Option<f64>,
    level: Option<f64>,
}

/// Returns the figures of the flows whose names begin with `initial`, and the mean level of `frames`.
fn way(run: &Measured, initial: char, frames: &[Aggregate]) -> Way {
    let flows = || run.outcome.summary.flows.iter().filter(|flow| flow.name.starts_with(initial));
    let delays: Vec<f64> = flows().filter_map(|flow| flow.latency_ms.mean).collect();
    Way {
        goodput: flows().map(|flow| flow.goodput_mbps).sum(),
        delay: mean(&delays),
        tail: flows().filter_map(|flow| flow.latency_ms.p99).reduce(f64::max),
        level: mean(&levels(frames)),
    }
}

fn both(run: &Measured) -> (Way, Way) {
    (way(run, 'f', &run.aggregates.sent), way(run, 'u', &run.aggregates.uplink))
}

impl Study for Uplinks {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let ways = |count: &usize| WAYS.map(|(_, up)| experiment(*count, up, effort));
        counts(effort).iter().flat_map(ways).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let columns = [
            "clients",
            "uplinks",
            "level down",
            "level up",
            "delay down ms",
            "delay up ms",
            "p99 down ms",
            "p99 up ms",
            "goodput down Mb/s",
            "goodput up Mb/s",
            "Jain",
            "lost %",
        ];
        let mut grid = Grid::new("One flow down and one up for each client", &columns, 2);
        let mut rows = Vec::new();
        for &count in counts(effort) {
            let run = |up| results.get(&experiment(count, up, effort));
            for (name, up) in WAYS {
                let Some(run) = run(up) else { continue };
                let (down, above) = both(run);
                let sends = up != Up::Nothing;
                let cell = |value: Option<f64>| value.map_or(String::new(), shown);
                let of_up = |value: Option<f64>| cell(value.filter(|_| sends));
                grid.rows.push(vec![
                    count.to_string().into(),
                    name.into(),
                    cell(down.level).into(),
                    of_up(above.level).into(),
                    cell(down.delay).into(),
                    of_up(above.delay).into(),
                    cell(down.tail).into(),
                    of_up(above.tail).into(),
                    shown(down.goodput).into(),
                    of_up(Some(above.goodput)).into(),
                    cell(run.outcome.summary.jain.goodput).into(),
                    shown(100.0 * loss(run)).into(),
                ]);
            }
            let counted = run(Up::Counted);
            let largest = counted.map(both).and_then(|(down, up)| Some(down.level?.max(up.level?)));
            rows.push(judged(
                "uplink",
                format!("largest mean level of both directions, n = {count}"),
                "packets",
                33.0,
                largest,
                Tolerance::AtMost,
                "the constraint N_i <= 32 and its scatter",
            ));
            rows.push(judged(
                "uplink",
                format!("fairness index of all flows, n = {count}"),
                "",
                1.0,
                counted.and_then(|run| run.outcome.summary.jain.goodput),
                Tolerance::Absolute(0.005),
                "Jain, both directions",
            ));
            rows.push(judged(
                "uplink",
                format!("share of packets lost, n = {count}"),
                "",
                0.0,
                counted.map(loss),
                Tolerance::Absolute(0.0),
                "",
            ));
            let alike = Air::limit(vht(9, 2), 2 * count, 1.0);
            rows.push(told(
                "uplink",
                format!("goodput of both directions over the limit of {} downlinks, n = {count}", 2 * count),
                "",
                counted.map(|run| goodput(run) / alike),
                "what is short of 1: collisions, whose frames are lost",
            ));
            let ratio = |up| {
                let delay = |run| both(run).0.delay;
                Some(run(up).and_then(delay)? / counted.and_then(delay)?)
            };
            rows.push(judged(
                "uplink",
                format!("downlink delay below CUBIC uplinks over that with uplinks counted, n = {count}"),
                "",
                2.0,
                ratio(Up::Tcp),
                Tolerance::AtLeast,
                "what counting saves the downlink",
            ));
        }
        // The 99th percentile for each client: the same for all n if it grows in proportion.
        let tails = counts(effort).iter().filter(|count| **count >= 4).filter_map(|&count| {
            let (down, up) = both(results.get(&experiment(count, Up::Counted, effort))?);
            Some(down.tail?.max(up.tail?) / count as f64)
        });
        let (least, most) =
            tails.fold((f64::MAX, 0.0_f64), |(least, most), tail| (least.min(tail), most.max(tail)));
        rows.push(judged(
            "uplink",
            "99th percentile of delay over n, largest over least from n = 4 on",
            "",
            2.0,
            (most > 0.0).then(|| most / least),
            Tolerance::AtMost,
            format!("about linear: {} ms for each client at most, in either direction", shown(most)),
        ));
        let text = "Each client receives and sends. Where its uplink is not counted the proxy allocates downlinks only. Where it is, the client shapes to the rate that the proxy grants, lets out what it holds with each frame of its downlink, and reports its queue and the level of its own frames. Delays include the time in the client's shaper.";
        Part {
            rows,
            chapter: Chapter {
                title: "Clients that send too".to_owned(),
                text: text.to_owned(),
                tables: vec![grid],
                charts: Vec::new(),
            },
        }
    }
}
