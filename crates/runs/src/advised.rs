//! Advice followed: the changes that the verdict suggests, and the same runs again.

use airbound_report::{Attempt, Change, Comparison};
use airbound_scenario::{ChannelSpec, Position, Scenario, Shaper, Slot, Traffic};
use airbound_units::{ByteCount, Metre};

use crate::error::RunsError;
use crate::matrix::Matrix;
use crate::opened::{Named, Opened};
use crate::watch::Watch;

impl Matrix {
    /// Follows each piece of advice of the verdict on `comparison` by itself: runs its scheme with the change and the same seeds.
    ///
    /// # Errors
    /// A run fails, or [`RunsError::Interrupted`] once `watch` says so.
    pub fn follow(
        &self,
        opened: &Opened,
        comparison: &Comparison,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<Attempt>, RunsError> {
        let seeds = opened.seeds(self.seeds)?;
        let mut attempts = Vec::new();
        for advice in comparison.verdict().advice {
            let Some(named) = self.schemes.iter().find(|named| named.label == advice.scheme) else {
                continue;
            };
            let mut scenario = opened.scenario.clone();
            apply(&advice.change, &mut scenario);
            let changed = Opened { name: opened.name.clone(), scenario };
            let runs: Vec<(&Named, u64)> = seeds.clone().map(|seed| (named, seed)).collect();
            let summaries = changed.summaries(&runs, threads, watch)?;
            attempts.extend(Attempt::of(comparison, &advice, summaries));
        }
        Ok(attempts)
    }
}

/// Changes the site.
fn apply(change: &Change, scenario: &mut Scenario) {
    match change {
        Change::Shaper { rate } => {
            let (burst, queue) = (ByteCount::new(1500), Slot::plain("fq-codel"));
            scenario.access_point.shaper = Some(Shaper { rate: *rate, burst, queue });
        }
        Change::Limits { limits } => {
            for limit in limits {
                for flow in scenario.flows.iter_mut().filter(|flow| limit.flows.contains(&flow.name)) {
                    if let Traffic::Tcp(bulk) = &mut flow.traffic {
                        bulk.limit = Some(limit.rate);
                    }
                }
            }
        }
        Change::FairUplink => scenario.uplink.queue = Some(Slot::plain("linux")),
        Change::OtherChannel => {
            scenario.neighbours.clear();
            scenario.interferences.clear();
        }
        Change::Nearer { stations, distance_m, .. } => {
            for station in scenario.stations.iter_mut().filter(|station| stations.contains(&station.name)) {
                if let ChannelSpec::LogDistance(model) = &mut station.channel {
                    model.position = Position::Distance(Metre::new(*distance_m));
                }
            }
        }
        Change::ShorterAbsences { station, length } => {
            let own = scenario.stations.iter_mut().find(|known| known.name == *station);
            if let Some(away) = own.and_then(|own| own.away.as_mut()) {
                away.length = *length;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use airbound_report::Limit;
    use airbound_scenario::Overrides;
    use airbound_units::{BitRate, Span};

    use super::*;

    fn changed(name: &str, change: &Change, sets: &[(&str, &str)]) -> (Scenario, Scenario) {
        let open = |sets: &[(&str, &str)]| {
            Opened::by_name(name, &Overrides::from_pairs(sets)).expect("a scenario").scenario
        };
        let mut scenario = open(&[]);
        apply(change, &mut scenario);
        (scenario, open(sets))
    }

    /// A scenario, a change of it, and the arguments that make it.
    type Case = (&'static str, Change, &'static [(&'static str, &'static str)]);

    #[test]
    fn each_change_is_the_one_that_its_arguments_make() {
        let flows = vec!["download".to_owned()];
        let limit = Limit { entry: "download".to_owned(), flows, rate: BitRate::from_mbps(145) };
        let laptops = (1..=30).map(|number| format!("laptop-{number}")).collect();
        let cases: [Case; 5] = [
            (
                "my-flat",
                Change::Shaper { rate: BitRate::from_mbps(240) },
                &[("access-point.shaper", "{ rate = \"240 Mbit/s\", queue = \"fq-codel\" }")],
            ),
            ("my-flat", Change::Limits { limits: vec![limit] }, &[("flow.download.limit", "145 Mbit/s")]),
            ("call-backup", Change::FairUplink, &[("uplink.queue", "linux")]),
            (
                "class-of-thirty",
                Change::Nearer { entry: "laptop".to_owned(), stations: laptops, distance_m: 6.0 },
                &[("station.laptop.channel.distance", "6 m")],
            ),
            (
                "phone-scan",
                Change::ShorterAbsences { station: "phone".to_owned(), length: Span::from_millis(22) },
                &[("station.phone.away.length", "22 ms")],
            ),
        ];
        for (name, change, sets) in cases {
            let (applied, set) = changed(name, &change, sets);
            assert_eq!(applied, set, "{change:?}");
        }
        let (quiet, whole) = changed("two-neighbours", &Change::OtherChannel, &[]);
        assert!(quiet.neighbours.is_empty() && !whole.neighbours.is_empty());
        assert_eq!(Scenario { neighbours: whole.neighbours.clone(), ..quiet }, whole);
    }
}
