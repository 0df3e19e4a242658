//! Precision, recall and latency over random households.

use airbound_record::{Direction, FlowSummary};
use airbound_report::{Chapter, Grid, Tolerance, ValidationRow};
use airbound_scenario::{Overrides, Scenario};

use super::mix;
use super::ways::{AUTO, WAYS, Way};
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};
use crate::{Effort, Trial};

pub(in super::super) struct Households;

/// Least precision and recall of a classifier that acts by itself: a wrong choice takes from everyone else, one that is missed costs only
/// what Linux costs.
const LEAST_PRECISION: f64 = 0.95;
const LEAST_RECALL: f64 = 0.8;
/// From the first packet of a stream.
const VERDICT_S: f64 = 2.0;

fn seeds(effort: Effort) -> impl Iterator<Item = u64> {
    mix::JUDGED.take(if effort.quick { 6 } else { usize::MAX })
}

fn scenario(way: Way, seed: u64, effort: Effort) -> String {
    mix::scenario(seed, way.queue, way.demand, effort.seconds(20, 9))
}

fn experiment(way: Way, seed: u64, effort: Effort) -> Experiment {
    let scenario = scenario(way, seed, effort);
    Experiment::plain(Trial::new(format!("household {seed}, {}", way.name), scenario, seed))
}

/// A low-latency stream: the truth, which the classifier does not see.
fn is_stream(flow: &FlowSummary) -> bool {
    flow.kind == "vr"
}

/// Returns the kind of a flow: its name without its number.
fn kind(flow: &FlowSummary) -> &str {
    flow.name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-')
}

/// A flow of a household that the access point sends, and when it began.
struct Case<'a> {
    flow: &'a FlowSummary,
    start_s: f64,
}

impl Case<'_> {
    fn seconds_to_verdict(&self) -> Option<f64> {
        Some(self.flow.found.as_ref()?.at_s - self.start_s)
    }
}

/// The flows whose data the access point sends; those of stations never pass its queue.
fn cases<'a>(run: &'a Measured, scenario: &str) -> Vec<Case<'a>> {
    let starts = Scenario::parse(scenario, "household", &Overrides::default()).map(|scenario| scenario.flows);
    let starts = starts.unwrap_or_default();
    let start = |name: &str| {
        let found = starts.iter().find(|flow| flow.name == name);
        found.map_or(0.0, |flow| flow.start.as_secs_f64())
    };
    let flows = run.outcome.summary.flows.iter().filter(|flow| flow.direction == Direction::Downlink);
    flows.map(|flow| Case { flow, start_s: start(&flow.name) }).collect()
}

/// The median; `None` of nothing.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle).copied()?;
    if values.len() % 2 == 1 { Some(upper) } else { Some((values[middle - 1] + upper) / 2.0) }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Study for Households {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        seeds(effort).flat_map(|seed| WAYS.map(|way| experiment(way, seed, effort))).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let all: Vec<Case<'_>> = seeds(effort)
            .filter_map(|seed| Some((results.get(&experiment(AUTO, seed, effort))?, seed)))
            .flat_map(|(run, seed)| cases(run, &scenario(AUTO, seed, effort)))
            .collect();
        let verdicts = verdicts(&all);
        let worth = worth(effort, results);
        let chapter = Chapter {
            title: "Beyond the paper: streams that nobody named".to_owned(),
            text: format!(
                "{} random households with streams of 8 to 60 Mb/s among downloads, uploads, films, calls and web pages; the seeds are \
                 none of those on which the classifier was developed.",
                seeds(effort).count()
            ),
            tables: vec![verdicts, misses(&all), worth],
            charts: Vec::new(),
        };
        Part { rows: rows(&all), chapter }
    }
}

fn rows(all: &[Case<'_>]) -> Vec<ValidationRow> {
    let found = all.iter().filter(|case| case.flow.found.is_some()).count();
    let streams = all.iter().filter(|case| is_stream(case.flow)).count();
    let right = all.iter().filter(|case| is_stream(case.flow) && case.flow.found.is_some()).count();
    let times = all.iter().filter(|case| is_stream(case.flow)).filter_map(Case::seconds_to_verdict);
    let row = |metric: &str, unit: &str, reference, measured, tolerance, note: &str| {
        ValidationRow::judged(
            "auto-protect",
            metric,
            unit,
            Some(reference),
            measured,
            Some(tolerance),
            false,
            note,
        )
    };
    vec![
        row(
            "precision",
            "",
            LEAST_PRECISION,
            share(right, found),
            Tolerance::AtLeast,
            &format!("our own aim; {right} of {found} flows that were found are streams"),
        ),
        row(
            "recall",
            "",
            LEAST_RECALL,
            share(right, streams),
            Tolerance::AtLeast,
            &format!(
                "our own aim; {right} of {streams} streams; what is starved from its first frame on shows no rhythm"
            ),
        ),
        row(
            "median time to the verdict",
            "s",
            VERDICT_S,
            median(times.collect()),
            Tolerance::AtMost,
            "our own aim; from the start of the stream",
        ),
    ]
}

/// Tabulates the flows that are found, by kind.
fn verdicts(all: &[Case<'_>]) -> Grid {
    let columns = ["kind", "flows", "found", "share %", "median s to the verdict"];
    let mut grid = Grid::new("Who is taken for a low-latency elephant", &columns, 1);
    let mut kinds: Vec<&str> = all.iter().map(|case| kind(case.flow)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for name in kinds {
        let of_kind: Vec<&Case<'_>> = all.iter().filter(|case| kind(case.flow) == name).collect();
        let times: Vec<f64> = of_kind.iter().filter_map(|case| case.seconds_to_verdict()).collect();
        let cells = [
            name.to_owned(),
            of_kind.len().to_string(),
            times.len().to_string(),
            share(times.len(), of_kind.len()).map_or(String::new(), |share| shown(100.0 * share)),
            median(times).map_or(String::new(), shown),
        ];
        grid.rows.push(cells.map(Into::into).to_vec());
    }
    grid.note = "Only flows whose data the access point sends. stream: the truth; whoever else is found is a mistake.".to_owned();
    grid
}

/// The mistakes, one by one.
fn misses(all: &[Case<'_>]) -> Grid {
    let columns = ["flow", "mistake", "offered Mb/s", "got Mb/s", "FPS", "reason"];
    let mut grid = Grid::new("The mistakes", &columns, 2);
    for Case { flow, .. } in all.iter().filter(|case| is_stream(case.flow) != case.flow.found.is_some()) {
        let cells = [
            flow.name.clone(),
            if is_stream(flow) { "missed" } else { "found" }.to_owned(),
            shown(flow.offered_mbps),
            shown(flow.goodput_mbps),
            flow.fps.map_or(String::new(), shown),
            flow.found.as_ref().map_or(String::new(), |found| found.because.clone()),
        ];
        grid.rows.push(cells.map(Into::into).to_vec());
    }
    grid
}

/// Tabulates the benefit to the streams and the cost to the other flows.
fn worth(effort: Effort, results: &Results) -> Grid {
    let columns =
        ["queue", "streams", "within 20 ms %", "median p95 ms", "FPS %", "others Mb/s", "calls p95 ms"];
    let mut grid = Grid::new("What it is worth", &columns, 1);
    for way in WAYS {
        let runs: Vec<&Measured> =
            seeds(effort).filter_map(|seed| results.get(&experiment(way, seed, effort))).collect();
        let (mut p95s, mut calls, mut fps, mut others) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
        for (run, seed) in runs.iter().zip(seeds(effort)) {
            let text = scenario(way, seed, effort);
            let written = Scenario::parse(&text, "household", &Overrides::default());
            let written = written.map(|scenario| scenario.flows).unwrap_or_default();
            for (flow, wifi) in run.outcome.summary.flows.iter().zip(&run.outcome.wifi_latency) {
                if is_stream(flow) {
                    p95s.extend(wifi.p95);
                    let traffic =
                        written.iter().find(|known| known.name == flow.name).map(|known| &known.traffic);
                    if let (Some(got), Some(airbound_scenario::Traffic::Vr(stream))) = (flow.fps, traffic) {
                        fps.push(100.0 * got / stream.fps);
                    }
                } else {
                    others += flow.goodput_mbps / runs.len() as f64;
                    if flow.kind == "voip" {
                        calls.extend(wifi.p95);
                    }
                }
            }
        }
        let within = p95s.iter().filter(|p95| **p95 <= 20.0).count();
        let cells = [
            way.name.to_owned(),
            p95s.len().to_string(),
            share(within, p95s.len()).map_or(String::new(), |share| shown(100.0 * share)),
            median(p95s).map_or(String::new(), shown),
            mean(&fps).map_or(String::new(), shown),
            shown(others),
            median(calls).map_or(String::new(), shown),
        ];
        grid.rows.push(cells.map(Into::into).to_vec());
    }
    grid.note = "p95 from the queue to the acknowledgement, the time before the verdict included. FPS: of the stream's frame rate, mean. \
                 others: goodput of all other flows, mean of the households, some of which want more than their air carries."
        .to_owned();
    grid
}

/// The mean; `None` of nothing.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    /// One household, run: the stream is found, its reasons are there, and nobody else is.
    #[test]
    fn a_stream_is_found_for_its_rhythm() {
        let effort = Effort { quick: true, ..Effort::default() };
        let seed = 11;
        let run = experiment(AUTO, seed, effort);
        let results = Results::of([run.clone()].into_iter(), effort.jobs, &|_, _| ()).expect("it runs");
        let measured = results.get(&run).expect("it was asked for");
        let cases = cases(measured, &scenario(AUTO, seed, effort));
        for case in &cases {
            assert_eq!(case.flow.found.is_some(), is_stream(case.flow), "{:?}", case.flow);
        }
        let found = cases.iter().find_map(|case| case.flow.found.as_ref()).expect("there is a stream");
        assert!(found.because.contains("in a rhythm of"), "{}", found.because);
    }
}
