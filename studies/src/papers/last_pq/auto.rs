//! Streams that nobody named: how many of them `protect = "auto"` finds, whom it takes for one, and what that is worth.

use std::sync::LazyLock;

use airbound_record::{Direction, FlowSummary};
use airbound_report::Grid;
use airbound_scenario::{Scenario, Traffic, shipped};

use super::measure::{flow, mean, p95, runs, text};
use super::{CLAIMS, households};
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::grid;
use crate::papers::{Part, Study, or_empty, shown};
use crate::{Effort, Trial};

/// The ways to run a household: no flow is protected; the scenario names the streams; the queue has to find them.
const WAYS: [&str; 3] = ["Linux", "LAST-PQ, named", AUTO];
const AUTO: &str = "LAST-PQ, auto";

/// The shipped household, `mixed-home`: its three streams under each way to run it.
pub(super) struct Home;

const STREAMS: [&str; 3] = ["headset", "cloud-game", "remote-desktop"];

static HOME: LazyLock<grid::Grid> = LazyLock::new(|| {
    let shipped = shipped().iter().find(|scenario| scenario.name == "mixed-home");
    // As shipped one stream has a demand, for who wants to see both at once.
    let unnamed = shipped.map_or("", |found| found.text).replace("demand = \"20 ms\"\n", "");
    grid::Grid::read("mixed-home", include_str!("home-runs.toml"), &[("mixed-home", &unnamed)])
});

impl Study for Home {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("home", &[]);
        for way in WAYS {
            let runs = runs(&HOME, &[way], effort, results);
            let others = mean(&runs, |run| {
                let others =
                    run.outcome.summary.flows.iter().filter(|flow| !STREAMS.contains(&flow.name.as_str()));
                Some(others.map(|flow| flow.goodput_mbps).sum())
            });
            for name in STREAMS {
                let reason = runs.first().and_then(|run| flow(run, name)?.found.as_ref());
                let cells = [
                    way.to_owned(),
                    name.to_owned(),
                    text(mean(&runs, |run| p95(run, name))),
                    text(mean(&runs, |run| flow(run, name)?.fps)),
                    text(mean(&runs, |run| Some(flow(run, name)?.goodput_mbps))),
                    text(others),
                    reason.map_or(String::new(), |found| found.because.clone()),
                ];
                grid.rows.push(cells.map(Into::into).to_vec());
            }
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("home", vec![grid], Vec::new()) }
    }
}

/// Precision, recall and latency over random households.
pub(super) struct Households;

fn seeds(effort: Effort) -> impl Iterator<Item = u64> {
    households::JUDGED.take(if effort.quick { 6 } else { usize::MAX })
}

fn experiment(way: &str, seed: u64, effort: Effort) -> Experiment {
    let (queue, demand) = match way {
        "LAST-PQ, named" => ("last-pq", Some("20 ms")),
        AUTO => ("last-pq-auto", None),
        _ => ("linux", None),
    };
    let trial = Trial::new(format!("household {seed}, {way}"), households::scenario(seed, demand), seed);
    let sets = [("scheme.queue", queue.to_owned()), ("duration", format!("{} s", effort.seconds(20, 9)))];
    let sets = sets.map(|(key, value)| (key.to_owned(), format!("\"{value}\""))).to_vec();
    Experiment::plain(Trial { sets, ..trial })
}

/// The runs of a way that were made, each with its scenario.
fn households<'a>(
    way: &'a str,
    effort: Effort,
    results: &'a Results,
) -> impl Iterator<Item = (&'a Measured, Scenario)> {
    seeds(effort).filter_map(move |seed| {
        let experiment = experiment(way, seed, effort);
        Some((results.get(&experiment)?, experiment.trial.read().ok()?))
    })
}

/// A low-latency stream: the truth, which the classifier does not see.
fn is_stream(flow: &FlowSummary) -> bool {
    kind(flow) == "stream"
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
fn cases<'a>(run: &'a Measured, scenario: &Scenario) -> Vec<Case<'a>> {
    let flows = run.outcome.summary.flows.iter().zip(&scenario.flows);
    flows
        .filter(|(flow, _)| flow.direction == Direction::Downlink)
        .map(|(flow, written)| Case { flow, start_s: written.start.as_secs_f64() })
        .collect()
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
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let all: Vec<Case<'_>> =
            households(AUTO, effort, results).flat_map(|(run, scenario)| cases(run, &scenario)).collect();
        let found = all.iter().filter(|case| case.flow.found.is_some()).count();
        let streams = all.iter().filter(|case| is_stream(case.flow)).count();
        let of_streams =
            || all.iter().filter(|case| is_stream(case.flow)).filter_map(Case::seconds_to_verdict);
        let right = of_streams().count();
        let rows = CLAIMS.each("auto", |row, case| {
            let row = row.with("right", right).with("found", found).with("streams", streams);
            row.measured(match case["key"].as_str() {
                "precision" => share(right, found),
                "recall" => share(right, streams),
                _ => median(of_streams().collect()),
            })
        });
        let tables = vec![verdicts(&all), mistakes(&all), worth(effort, results)];
        let count = [("count", seeds(effort).count().to_string())];
        let chapter = CLAIMS.filled_chapter("households", &count, tables, Vec::new());
        Part { rows, chapter }
    }
}

/// Tabulates the flows that are found, by kind.
fn verdicts(all: &[Case<'_>]) -> Grid {
    let mut grid = CLAIMS.table("verdicts", &[]);
    let mut kinds: Vec<&str> = all.iter().map(|case| kind(case.flow)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for name in kinds {
        let of_kind = || all.iter().filter(|case| kind(case.flow) == name);
        let times: Vec<f64> = of_kind().filter_map(Case::seconds_to_verdict).collect();
        let flows = of_kind().count();
        let cells = [
            name.to_owned(),
            flows.to_string(),
            times.len().to_string(),
            or_empty(share(times.len(), flows).map(|share| 100.0 * share)),
            or_empty(median(times)),
        ];
        grid.rows.push(cells.map(Into::into).to_vec());
    }
    grid
}

/// The mistakes, one by one.
fn mistakes(all: &[Case<'_>]) -> Grid {
    let mut grid = CLAIMS.table("mistakes", &[]);
    for Case { flow, .. } in all.iter().filter(|case| is_stream(case.flow) != case.flow.found.is_some()) {
        let cells = [
            flow.name.clone(),
            if is_stream(flow) { "missed" } else { "found" }.to_owned(),
            shown(flow.offered_mbps),
            shown(flow.goodput_mbps),
            or_empty(flow.fps),
            flow.found.as_ref().map_or(String::new(), |found| found.because.clone()),
        ];
        grid.rows.push(cells.map(Into::into).to_vec());
    }
    grid
}

/// Tabulates the benefit to the streams and the cost to the other flows.
fn worth(effort: Effort, results: &Results) -> Grid {
    let mut grid = CLAIMS.table("worth", &[]);
    for way in WAYS {
        let runs: Vec<(&Measured, Scenario)> = households(way, effort, results).collect();
        let (mut p95s, mut calls, mut fps, mut others) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
        for (run, scenario) in &runs {
            let flows = run.outcome.summary.flows.iter().zip(&run.outcome.wifi_latency);
            for ((flow, wifi), written) in flows.zip(&scenario.flows) {
                if let Traffic::Vr(stream) = &written.traffic {
                    p95s.extend(wifi.p95);
                    fps.extend(flow.fps.map(|got| 100.0 * got / stream.fps));
                } else {
                    others += flow.goodput_mbps / runs.len() as f64;
                    calls.extend(wifi.p95.filter(|_| kind(flow) == "call"));
                }
            }
        }
        let within = p95s.iter().filter(|p95| **p95 <= 20.0).count();
        let cells = [
            way.to_owned(),
            p95s.len().to_string(),
            or_empty(share(within, p95s.len()).map(|share| 100.0 * share)),
            or_empty(median(p95s)),
            or_empty((!fps.is_empty()).then(|| fps.iter().sum::<f64>() / fps.len() as f64)),
            shown(others),
            or_empty(median(calls)),
        ];
        grid.rows.push(cells.map(Into::into).to_vec());
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_household_has_its_streams_and_their_demands() {
        for way in WAYS {
            let read = HOME.trial(&[way], 1, Effort::default()).read().expect("a scenario");
            for name in STREAMS {
                let flow = read.flows.iter().find(|flow| flow.name == name).expect("shipped");
                assert_eq!(flow.demand.is_some(), way == "LAST-PQ, named", "{way}: {name}");
            }
        }
    }

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
        let run = experiment(AUTO, 11, effort);
        let measured = run.run().expect("it runs");
        let cases = cases(&measured, &run.trial.read().expect("a scenario"));
        for case in &cases {
            assert_eq!(case.flow.found.is_some(), is_stream(case.flow), "{:?}", case.flow);
        }
        let found = cases.iter().find_map(|case| case.flow.found.as_ref()).expect("there is a stream");
        assert!(found.because.contains("in a rhythm of"), "{}", found.because);
    }
}
