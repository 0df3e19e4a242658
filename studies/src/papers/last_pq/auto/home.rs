//! The shipped household, `mixed-home`: its three streams under each way to run it.

use airbound_report::{Chapter, Grid};
use airbound_scenario::shipped;

use super::super::measure;
use super::ways::{WAYS, Way};
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};
use crate::{Effort, Trial};

pub(in super::super) struct Home;

const STREAMS: [&str; 3] = ["headset", "cloud-game", "remote-desktop"];

/// The scenario with demands on all streams, or on none: as shipped it has one, for who wants to see both at once.
fn scenario(way: Way) -> String {
    let shipped =
        shipped().iter().find(|scenario| scenario.name == "mixed-home").map_or("", |found| found.text);
    let unnamed = shipped.replace("demand = \"20 ms\"\n", "");
    let demand = way.demand.map_or(String::new(), |demand| format!("\ndemand = {demand}"));
    let named = unnamed.replace("kind = \"vr\"", &format!("kind = \"vr\"{demand}"));
    format!("{named}\n[scheme]\nqueue = {}\n", way.queue)
}

fn runs(way: Way, effort: Effort) -> impl Iterator<Item = Experiment> {
    let trial = move |seed| Trial::new(format!("mixed-home, {}", way.name), scenario(way), seed);
    measure::seeds(effort).map(move |seed| Experiment::plain(trial(seed)))
}

impl Study for Home {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        WAYS.into_iter().flat_map(|way| runs(way, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let columns = ["queue", "stream", "p95 ms", "FPS", "Mb/s", "others Mb/s", "reason"];
        let mut grid = Grid::new("The streams of mixed-home", &columns, 2);
        for way in WAYS {
            let runs: Vec<&Measured> =
                runs(way, effort).filter_map(|experiment| results.get(&experiment)).collect();
            let others = measure::mean(&runs, |run| {
                let others = run.outcome.summary.flows.iter().filter(|flow| flow.kind != "vr");
                Some(others.map(|flow| flow.goodput_mbps).sum())
            });
            for name in STREAMS {
                let found =
                    |run: &Measured| run.outcome.summary.flows.iter().find(|flow| flow.name == name).cloned();
                let reason = runs.first().and_then(|run| found(run)?.found);
                let text = |value: Option<f64>| value.map_or(String::new(), shown);
                let cells = [
                    way.name.to_owned(),
                    name.to_owned(),
                    text(measure::mean(&runs, |run| measure::p95_of(run, name))),
                    text(measure::mean(&runs, |run| found(run)?.fps)),
                    text(measure::mean(&runs, |run| Some(found(run)?.goodput_mbps))),
                    text(others),
                    reason.map_or(String::new(), |found| found.because),
                ];
                grid.rows.push(cells.map(Into::into).to_vec());
            }
        }
        grid.note = "p95 from the queue to the acknowledgement; means over seeds. reason: of the first seed."
            .to_owned();
        let chapter = Chapter {
            title: "Beyond the paper: a mixed household".to_owned(),
            text: "The shipped scenario mixed-home; named: all three streams have a demand; auto: none has."
                .to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}

#[cfg(test)]
mod tests {
    use airbound_scenario::{Overrides, Scenario};

    use super::*;

    #[test]
    fn the_household_has_its_streams_and_their_demands() {
        for way in WAYS {
            let read =
                Scenario::parse(&scenario(way), "mixed-home", &Overrides::default()).expect("a scenario");
            for name in STREAMS {
                let flow = read.flows.iter().find(|flow| flow.name == name).expect("shipped");
                assert_eq!(flow.demand.is_some(), way.demand.is_some(), "{}: {name}", way.name);
            }
        }
    }
}
