//! Why: the cause of a bottleneck taken away, and the same runs again.

use airbound_record::Summary;
use airbound_report::{Alike, Bottleneck, Cause, Comparison, Figure, Trial};
use airbound_scenario::{ChannelSpec, Direction, Scenario};
use airbound_units::Span;

use crate::error::RunsError;
use crate::matrix::Matrix;
use crate::opened::{Named, Opened};
use crate::watch::Watch;

impl Matrix {
    /// Tests whether the queue below that of the schemes is why some of them decided alike: takes it away
    /// (`access-point.path.driver-queue = 0`), and runs the first two of each finding again with the first seed.
    ///
    /// # Errors
    /// A run fails, or [`RunsError::Interrupted`] once `watch` says so.
    pub fn why_alike(
        &self,
        opened: &Opened,
        comparison: &Comparison,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<Alike>, RunsError> {
        if opened.scenario.access_point.path.driver_queue == Some(0) {
            return Ok(Vec::new());
        }
        let mut changed = opened.clone();
        changed.scenario.access_point.path.driver_queue = Some(0);
        let mut found = Vec::new();
        for schemes in comparison.verdict().alike() {
            let named = self.schemes.iter().filter(|named| schemes.contains(&named.label)).take(2);
            let pair: Vec<(&Named, u64)> = named.map(|named| (named, changed.scenario.seed)).collect();
            let summaries = changed.summaries(&pair, threads, watch)?;
            if let ([(one, _), (other, _)], [first, second]) = (pair.as_slice(), summaries.as_slice()) {
                found.push(Alike::of([&one.label, &other.label], [first, second]));
            }
        }
        Ok(found)
    }

    /// Tests the bottleneck of the verdict on `comparison`: takes its cause away and runs its scheme again with the same seeds. `None`
    /// without a bottleneck, or with one that has several causes.
    ///
    /// # Errors
    /// A run fails, or [`RunsError::Interrupted`] once `watch` says so.
    pub fn why(
        &self,
        opened: &Opened,
        comparison: &Comparison,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Option<Trial>, RunsError> {
        let Some(bottleneck) = comparison.verdict().bottleneck else { return Ok(None) };
        let Some(named) = self.schemes.iter().find(|named| named.label == bottleneck.scheme) else {
            return Ok(None);
        };
        let mut scenario = opened.scenario.clone();
        let Some(change) = take_away(bottleneck.cause, &bottleneck.members, &mut scenario) else {
            return Ok(None);
        };
        let changed = Opened { name: opened.name.clone(), scenario };
        let runs: Vec<(&Named, u64)> = opened.seeds(self.seeds)?.map(|seed| (named, seed)).collect();
        let after = changed.summaries(&runs, threads, watch)?;
        let after = after.iter().map(|summary| figure(&bottleneck, summary)).collect();
        let before = comparison.summaries_of(&bottleneck.scheme).map(|summary| figure(&bottleneck, summary));
        let (Some(before), Some(after)) = (median(before.collect()), median(after)) else { return Ok(None) };
        Ok(Some(Trial::of(&bottleneck, &change, before, after)))
    }
}

/// The figure that the bottleneck is about.
fn figure(bottleneck: &Bottleneck, summary: &Summary) -> Option<f64> {
    let flows = summary.flows.iter().filter(|flow| bottleneck.members.contains(&flow.name));
    let values = flows.map(|flow| match bottleneck.figure {
        Figure::Goodput => Some(flow.goodput_mbps),
        Figure::MeanLatency => flow.latency_ms.mean,
    });
    median(values.collect())
}

fn median(values: Vec<Option<f64>>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().flatten().collect();
    values.sort_by(f64::total_cmp);
    let (lower, upper) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some(f64::midpoint(*lower, *upper))
}

/// Takes the cause of the bottleneck of `flows` out of the scenario, and names the change; `None` where there is none to take away.
fn take_away(cause: Cause, flows: &[String], scenario: &mut Scenario) -> Option<String> {
    /// Factor by which the wire is faster.
    const FASTER: f64 = 10.0;
    match cause {
        Cause::Wire => {
            let rate = scenario.wire.rate?.mul_f64(FASTER);
            scenario.wire.rate = Some(rate);
            Some(format!("a wire of {rate}"))
        }
        Cause::Distance => {
            let own = scenario.flows.iter_mut().filter(|known| flows.contains(&known.name));
            own.for_each(|own| own.wire.delay = Span::ZERO);
            Some("no delay of its wire".to_owned())
        }
        Cause::Queue | Cause::StationQueue | Cause::Air => {
            let count = scenario.flows.len();
            scenario.flows.retain(|known| flows.contains(&known.name));
            if scenario.flows.len() < count {
                return Some("no other flow".to_owned());
            }
            // The air of others is what makes it wait.
            let others = !scenario.neighbours.is_empty() || !scenario.interferences.is_empty();
            scenario.neighbours.clear();
            scenario.interferences.clear();
            others.then(|| "no neighbours and interference".to_owned())
        }
        Cause::Contention => {
            scenario.neighbours.clear();
            scenario.interferences.clear();
            scenario.flows.retain(|known| flows.contains(&known.name) || known.direction == Direction::Down);
            Some("no neighbours, interference and other uploads".to_owned())
        }
        Cause::Rate | Cause::Retries | Cause::Reordering => {
            perfect(scenario);
            Some("a perfect channel".to_owned())
        }
        Cause::Sender => {
            scenario.wire.rate = scenario.wire.rate.map(|rate| rate.mul_f64(FASTER));
            perfect(scenario);
            scenario.flows.retain(|known| flows.contains(&known.name));
            Some("a faster wire, a perfect channel and no other flow".to_owned())
        }
        Cause::Several => None,
    }
}

/// Stations lose nothing but by collisions.
fn perfect(scenario: &mut Scenario) {
    scenario.interferences.clear();
    for station in &mut scenario.stations {
        station.channel = ChannelSpec::Ideal;
    }
}

#[cfg(test)]
mod tests {
    use airbound_scenario::Overrides;

    use super::*;

    fn changed(cause: Cause, flow: &str) -> (Option<String>, Scenario) {
        let mut scenario = Opened::by_name("my-flat", &Overrides::none()).expect("a scenario").scenario;
        (take_away(cause, &[flow.to_owned()], &mut scenario), scenario)
    }

    #[test]
    fn the_cause_is_taken_away_and_the_rest_stays() {
        let (none, whole) = changed(Cause::Several, "game");
        assert_eq!(none, None);
        let (change, faster) = changed(Cause::Wire, "game");
        assert_eq!(change.as_deref(), Some("a wire of 2.5 Gbit/s"));
        assert_eq!(Scenario { wire: whole.wire.clone(), ..faster }, whole);
        let (_, alone) = changed(Cause::Queue, "game");
        assert_eq!(alone.flows.len(), 1);
        assert_eq!(Scenario { flows: whole.flows.clone(), ..alone }, whole);
        let mut neighbours =
            Opened::by_name("two-neighbours", &Overrides::none()).expect("a scenario").scenario;
        let flow = ["game".to_owned()];
        let change = take_away(Cause::Queue, &flow, &mut neighbours);
        assert_eq!(change.as_deref(), Some("no neighbours and interference"));
        assert_eq!((neighbours.flows.len(), neighbours.neighbours.len()), (1, 0));
        assert_eq!(take_away(Cause::Queue, &flow, &mut neighbours), None);
        let (_, quiet) = changed(Cause::Contention, "game");
        let left: Vec<&str> = quiet.flows.iter().map(|flow| flow.name.as_str()).collect();
        assert_eq!(left, ["game", "call", "film", "download"]);
        assert!(quiet.neighbours.is_empty());
        let (_, perfect) = changed(Cause::Retries, "game");
        assert!(perfect.stations.iter().all(|station| station.channel == ChannelSpec::Ideal));
        let (_, near) = changed(Cause::Distance, "game");
        assert_eq!(near.flows[0].wire.delay, Span::ZERO);
        assert!(near.flows[1].wire.delay > Span::ZERO);
    }

    #[test]
    fn every_change_can_be_run() {
        let causes =
            [Cause::Wire, Cause::Distance, Cause::Queue, Cause::Contention, Cause::Retries, Cause::Sender];
        for cause in causes {
            let (_, scenario) = changed(cause, "game");
            let opened = Opened { name: "changed".to_owned(), scenario };
            let named = opened.scheme(Some("linux")).expect("a scheme");
            opened.build(&named, 1).unwrap_or_else(|error| panic!("{cause:?}: {error}"));
        }
    }
}
