//! Changes of the site that the numbers suggest for the latency of the flow in focus. Runs with them are what proves them ([`Attempt`](super::Attempt)).

use airbound_record::{Direction, FlowSummary, Summary};
use airbound_units::{BitRate, Span};
use serde::Serialize;

use super::bottleneck::{Subject, subject};
use super::health::{of_station, offer};
use super::measure::Measure;
use super::rules::{HALVED, Rule, SHAPER, SHORTER, SLOW_STATION, STAGE, WIRE_FULL, WORTH};
use super::{Cause, listed, median, percent};
use crate::comparison::{Comparison, SchemeRuns, is_transfer};
use crate::grid::number;
use crate::groups::Group;

/// Names in one list.
const MOST_NAMES: usize = 4;

/// A limit of the flows of one entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// Name of the entry.
    pub entry: String,
    /// Its flows.
    #[serde(skip)]
    pub flows: Vec<String>,
    /// Highest rate of each.
    pub rate: BitRate,
}

/// A change of the site.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Change {
    /// A shaper with a fair queue in front of the access point's queue.
    Shaper {
        /// Its rate, below that of the wire.
        rate: BitRate,
    },
    /// Limits of transfers.
    Limits {
        /// One for each entry of the scenario.
        limits: Vec<Limit>,
    },
    /// A fair queue on the stations that send.
    FairUplink,
    /// A channel without neighbours and interference.
    OtherChannel,
    /// Stations nearer to the next node on their path.
    Nearer {
        /// Name of their entry.
        entry: String,
        /// The stations.
        #[serde(skip)]
        stations: Vec<String>,
        /// The distance, m.
        distance_m: f64,
    },
    /// Shorter absences of a station's radio.
    ShorterAbsences {
        /// The station.
        station: String,
        /// Length of an absence.
        length: Span,
    },
}

/// A change that may lower the latency of the flow in focus, or raise the goodput of a transfer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// The change.
    pub change: Change,
    /// Scheme that it is for.
    pub scheme: String,
    /// Figure that it is judged by: "p95" of the latency, "p99" for absences, "goodput" of a transfer.
    pub figure: &'static str,
    /// Name of the rule.
    pub rule: &'static str,
    /// Arguments of `--set`, where the change can be written as such.
    pub sets: Vec<String>,
    /// The sentence.
    pub sentence: String,
}

/// The advice for the flow in focus under `scheme`; none where its latency is short beyond the wire's delay, and for a transfer that
/// something else than the air bounds.
pub(super) fn advice(comparison: &Comparison, scheme: &SchemeRuns) -> Vec<Advice> {
    let Some(subject) = subject(comparison, scheme) else { return Vec::new() };
    let advised: Vec<(Rule, Change)> = if subject.is_transfer() {
        slow_nearer(&subject).into_iter().collect()
    } else {
        match shorter_absences(&subject) {
            Some(shorter) => vec![shorter],
            None => beyond_the_wire(&subject),
        }
    };
    advised.into_iter().map(|(rule, change)| change.advice(&subject, rule)).collect()
}

/// The changes that the largest stage suggests, the wire's delay aside.
fn beyond_the_wire(subject: &Subject<'_>) -> Vec<(Rule, Change)> {
    let Some(parts) = subject.parts() else { return Vec::new() };
    let mut beyond = parts.into_iter().filter(|(cause, _)| *cause != Cause::Distance);
    let Some((cause, most)) = beyond.next() else { return Vec::new() };
    let total = most + beyond.map(|(_, part)| part).sum::<f64>();
    if total < WORTH.threshold {
        return Vec::new();
    }
    let holds = 100.0 * most >= STAGE.threshold * total;
    match cause {
        Cause::Wire if holds => shaper(subject).into_iter().chain(below_the_wire(subject)).collect(),
        Cause::StationQueue if holds => {
            fair_uplink(subject).into_iter().chain(halved(subject, true)).collect()
        }
        Cause::Wire | Cause::StationQueue => Vec::new(),
        _ if is_others(subject) => vec![(HALVED, Change::OtherChannel)],
        _ => halved(subject, false).or_else(|| nearer(subject)).into_iter().collect(),
    }
}

fn shaper(subject: &Subject<'_>) -> Option<(Rule, Change)> {
    let facts = &subject.comparison.facts;
    let wire =
        facts.wire.filter(|_| !facts.site.is_shaped && subject.flow.direction == Direction::Downlink)?;
    Some((SHAPER, Change::Shaper { rate: whole(wire.as_mbps_f64() * SHAPER.threshold / 100.0) }))
}

/// Limits of the transfers with which the wire carries less than it does when it is full.
fn below_the_wire(subject: &Subject<'_>) -> Option<(Rule, Change)> {
    let direction = subject.flow.direction;
    let transfers = transfers(subject, |flow| flow.direction == direction);
    let others = |summary: &Summary| {
        let others = summary.flows.iter().filter(|flow| {
            flow.direction == direction && !transfers.iter().any(|group| group.members.contains(&flow.name))
        });
        let asked = |flow: &FlowSummary| offer(subject.comparison, flow).unwrap_or(flow.goodput_mbps);
        Some(others.map(|flow| asked(flow).max(flow.goodput_mbps)).sum())
    };
    let count: usize = transfers.iter().map(|group| group.members.len()).sum();
    let left = subject.wire_mbps()? * WIRE_FULL.threshold / 100.0 - median(subject.scheme, others)?;
    (count > 0 && left > 0.0).then(|| (WIRE_FULL, limits(&transfers, |_| left / count as f64)))
}

/// Limits of the transfers to half of what they get: of all that share the air, or of those that leave through the same queue.
fn halved(subject: &Subject<'_>, same_queue: bool) -> Option<(Rule, Change)> {
    let (station, direction) = (&subject.flow.station, subject.flow.direction);
    let shares =
        |flow: &FlowSummary| !same_queue || (flow.station == *station && flow.direction == direction);
    let transfers = transfers(subject, shares);
    let goodput = |group: &Group| {
        let member = |flow: &FlowSummary| Some(flow.goodput_mbps);
        let middle = subject.comparison.middle(subject.scheme, group, &member);
        middle.map_or(0.0, |spread| spread.median * HALVED.threshold / 100.0)
    };
    (!transfers.is_empty()).then(|| (HALVED, limits(&transfers, goodput)))
}

/// The transfers without a limit beside the flow in focus that get something.
fn transfers<'a>(subject: &Subject<'a>, shares: impl Fn(&FlowSummary) -> bool) -> Vec<&'a Group> {
    let comparison = subject.comparison;
    let is_open = |flow: &FlowSummary| {
        let facts = comparison.facts.flow(&flow.name);
        is_transfer(flow)
            && flow.goodput_mbps > 0.0
            && facts.is_some_and(|facts| facts.rate.is_none())
            && shares(flow)
    };
    let all = comparison.others();
    all.filter(|group| comparison.members(subject.scheme, group).any(is_open)).collect()
}

fn limits(groups: &[&Group], mbps: impl Fn(&Group) -> f64) -> Change {
    let limit = |group: &&Group| Limit {
        entry: group.name.clone(),
        flows: group.members.clone(),
        rate: whole(mbps(group)),
    };
    Change::Limits { limits: groups.iter().map(limit).collect() }
}

fn fair_uplink(subject: &Subject<'_>) -> Option<(Rule, Change)> {
    subject.comparison.facts.site.has_plain_uplink.then_some((STAGE, Change::FairUplink))
}

/// Whether others on the channel hold the air for longer than the stations of the scenario.
fn is_others(subject: &Subject<'_>) -> bool {
    let own = |summary: &Summary| Some(summary.stations.iter().map(|one| one.airtime_share).sum::<f64>());
    let own = median(subject.scheme, own).unwrap_or(0.0);
    subject.comparison.facts.site.is_shared && subject.busy() > 2.0 * own
}

/// The entry whose stations at known distances hold most of the air, their share of it, and the change to half of their distance.
/// `counts` says which stations count.
fn nearest(subject: &Subject<'_>, counts: impl Fn(&str) -> bool) -> Option<(f64, Change)> {
    let comparison = subject.comparison;
    let distances = &comparison.facts.site.distances;
    let distance = |name: &String| distances.iter().find(|(one, _)| one == name).map(|(_, metres)| *metres);
    let groups = comparison.stations.all().iter().filter_map(|group| {
        let counted = group.members.iter().filter(|name| counts(name));
        let share: f64 = counted.map(|name| airtime(subject, name)).sum();
        Some((group, share, group.members.iter().filter_map(distance).reduce(f64::max)?))
    });
    let (group, share, distance) = groups.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let distance_m = distance * HALVED.threshold / 100.0;
    let change = Change::Nearer { entry: group.name.clone(), stations: group.members.clone(), distance_m };
    Some((share, change))
}

fn airtime(subject: &Subject<'_>, station: &str) -> f64 {
    median(subject.scheme, of_station(station, |station| Some(station.airtime_share))).unwrap_or(0.0)
}

/// The stations of one entry that hold much of the air, at half of their distance.
fn nearer(subject: &Subject<'_>) -> Option<(Rule, Change)> {
    let (share, change) = nearest(subject, |_| true)?;
    (100.0 * share >= SLOW_STATION.threshold).then_some((HALVED, change))
}

/// The slow stations of one entry that hold much of the air which bounds a transfer, at half of their distance.
fn slow_nearer(subject: &Subject<'_>) -> Option<(Rule, Change)> {
    subject.of_transfer().filter(|bottleneck| bottleneck.cause == Cause::Air)?;
    let rate = |name: &str| {
        median(subject.scheme, of_station(name, |station| station.mean_phy_rate_mbps)).unwrap_or(0.0)
    };
    let all = || subject.comparison.stations.all().iter().flat_map(|group| group.members.iter());
    let fastest = all().map(|name| rate(name)).fold(0.0, f64::max);
    let held: f64 = all().map(|name| airtime(subject, name)).sum();
    let (share, change) = nearest(subject, |name| rate(name) < fastest / 2.0)?;
    (share > 0.0 && 100.0 * share >= SLOW_STATION.threshold * held).then_some((SLOW_STATION, change))
}

/// Shorter absences of the station of the flow in focus, where its latest packets wait for half an absence.
fn shorter_absences(subject: &Subject<'_>) -> Option<(Rule, Change)> {
    let absences = &subject.comparison.facts.site.absences;
    let (station, length) = absences.iter().find(|(station, _)| *station == subject.flow.station)?;
    let late = subject.comparison.middle(subject.scheme, subject.group, &|flow| flow.latency_ms.p99)?.median;
    let length_ms = length.as_millis_f64();
    let change = Change::ShorterAbsences {
        station: station.clone(),
        length: Span::from_secs_f64(length_ms * SHORTER.threshold / 1e5),
    };
    (late >= length_ms / 2.0).then_some((SHORTER, change))
}

/// A rate in whole Mb/s, rounded down; below 10 Mb/s with one digit.
fn whole(mbps: f64) -> BitRate {
    let kbps = if mbps < 10.0 { (mbps * 10.0).floor() * 100.0 } else { mbps.floor() * 1e3 };
    BitRate::from_bps_f64(kbps.max(100.0) * 1e3)
}

impl Change {
    /// Words behind "with".
    pub(super) fn words(&self) -> String {
        match self {
            Self::Shaper { rate } => {
                format!(
                    "a shaper of {} Mb/s with a fair queue on the access point",
                    number(rate.as_mbps_f64())
                )
            }
            Self::Limits { limits } => {
                let limit = |limit: &Limit| {
                    format!("{} limited to {} Mb/s", limit.entry, number(limit.rate.as_mbps_f64()))
                };
                listed(&limits.iter().map(limit).collect::<Vec<_>>(), MOST_NAMES)
            }
            Self::FairUplink => "a fair queue on the stations".to_owned(),
            Self::OtherChannel => "a channel without the neighbours".to_owned(),
            Self::Nearer { entry, distance_m, .. } => format!("{entry} at {} m", number(*distance_m)),
            Self::ShorterAbsences { station, length } => {
                format!("absences of {station} of {} ms", number(length.as_millis_f64()))
            }
        }
    }

    /// The share of its goodput that each flow loses which is limited.
    fn costs(&self, subject: &Subject<'_>) -> Vec<String> {
        let Self::Limits { limits } = self else { return Vec::new() };
        let cost = |limit: &Limit| {
            let comparison = subject.comparison;
            let group = comparison.flows.all().iter().find(|group| group.members == limit.flows)?;
            let goodput = comparison.middle(subject.scheme, group, &|flow| Some(flow.goodput_mbps))?;
            let lost = 1.0 - limit.rate.as_mbps_f64() / goodput.median;
            (lost > 0.0).then(|| format!("{} {}", limit.entry, percent(lost)))
        };
        limits.iter().filter_map(cost).collect()
    }

    /// Arguments of `--set`.
    fn sets(&self) -> Vec<String> {
        match self {
            Self::Shaper { rate } => {
                vec![format!("access-point.shaper={{ rate = \"{rate}\", queue = \"fq-codel\" }}")]
            }
            Self::Limits { limits } => {
                limits.iter().map(|limit| format!("flow.{}.limit={}", limit.entry, limit.rate)).collect()
            }
            Self::FairUplink => vec!["uplink.queue=linux".to_owned()],
            Self::OtherChannel => Vec::new(),
            Self::Nearer { entry, distance_m, .. } => {
                vec![format!("station.{entry}.channel.distance={distance_m} m")]
            }
            Self::ShorterAbsences { station, length } => {
                vec![format!("station.{station}.away.length={length}")]
            }
        }
    }

    fn advice(self, subject: &Subject<'_>, rule: Rule) -> Advice {
        let (verb, figure) = match self {
            _ if subject.is_transfer() => ("raise", Measure::Goodput.name()),
            Self::ShorterAbsences { .. } => ("lower", Measure::Tail.name()),
            _ => ("lower", Measure::Latency.name()),
        };
        let sets = self.sets();
        let written: Vec<String> =
            sets.iter().take(MOST_NAMES).map(|set| format!(" --set '{set}'")).collect();
        let written =
            if written.is_empty() { String::new() } else { format!(" ({})", written.concat().trim()) };
        // Programs that are emulated run again with the same command only.
        let tried = if subject.comparison.is_emulated() { "" } else { "; compare --why runs it" };
        let costs = self.costs(subject);
        let costs = if costs.is_empty() {
            String::new()
        } else {
            format!(", which costs {}", listed(&costs, MOST_NAMES))
        };
        let sentence = format!(
            "To {verb} the {figure} of {} try {}{written}{costs}{tried}.",
            subject.name(),
            self.words()
        );
        Advice { change: self, scheme: subject.scheme.name.clone(), figure, rule: rule.name, sets, sentence }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_runs::{Made, compared};
    use super::*;
    use crate::facts::{Facts, FlowFacts, Site};

    /// Facts of a call and a download behind a wire of 250 Mb/s.
    fn facts(site: Site) -> Facts {
        let flow = |name: &str, rate| FlowFacts {
            name: name.to_owned(),
            group: name.to_owned(),
            delay: Span::from_millis(8),
            start: Span::ZERO,
            rate,
            deadline: None,
        };
        let flows = vec![flow("call", Some(BitRate::from_mbps(2))), flow("download", None)];
        Facts { wire: Some(BitRate::from_mbps(250)), flows, site, ..Facts::default() }
    }

    fn advised(made: Made, site: Site) -> Vec<Advice> {
        compared(vec![made], "call", "linux").with_facts(facts(site)).verdict().advice
    }

    fn made(stages: [f64; 6]) -> Made {
        Made::new("linux", 1).call(20.0).download(190.5).stages("call", stages)
    }

    #[test]
    fn a_full_wire_is_shaped_or_its_transfers_are_limited() {
        let advice = advised(made([58.0, 1.0, 1.0, 1.0, 0.5, 0.5]), Site::default());
        let rules: Vec<&str> = advice.iter().map(|advice| advice.rule).collect();
        assert_eq!(rules, ["shaper", "wire-full"]);
        assert_eq!(advice[0].change, Change::Shaper { rate: BitRate::from_mbps(240) });
        // 85 % of 250 Mb/s, less the 2 Mb/s of the call, rounded down.
        assert_eq!(advice[1].sets, ["flow.download.limit=210 Mbit/s"]);
        assert_eq!(
            advice[1].sentence,
            "To lower the p95 of call try download limited to 210 Mb/s (--set 'flow.download.limit=210 Mbit/s'); compare --why \
             runs it."
        );
        let shaped = Site { is_shaped: true, ..Site::default() };
        assert_eq!(advised(made([58.0, 1.0, 1.0, 1.0, 0.5, 0.5]), shaped).len(), 1);
    }

    #[test]
    fn nothing_is_advised_for_a_short_latency_or_without_a_largest_stage_of_the_wire() {
        assert_eq!(advised(made([8.0, 4.9, 0.0, 0.0, 0.0, 0.0]), Site::default()), []);
        assert_eq!(advised(made([8.0, 5.0, 0.0, 0.0, 0.0, 0.0]), Site::default()).len(), 1);
        // The wire holds most beyond its delay, but less than half.
        assert_eq!(advised(made([11.0, 2.0, 2.0, 2.0, 0.0, 0.0]), Site::default()), []);
    }

    #[test]
    fn on_the_air_transfers_are_halved_unless_others_hold_it() {
        let queue = [8.0, 20.0, 1.0, 1.0, 1.0, 1.0];
        let halved = advised(made(queue), Site::default());
        assert_eq!(halved[0].sets, ["flow.download.limit=95 Mbit/s"]);
        let cost =
            "(--set 'flow.download.limit=95 Mbit/s'), which costs download 50 %; compare --why runs it.";
        assert!(halved[0].sentence.ends_with(cost), "{}", halved[0].sentence);
        let shared = Site { is_shared: true, ..Site::default() };
        let own = |airtime| made(queue).air(0.9, 0.1).station("phone", airtime, 10.0, 0.1, 100.0);
        assert_eq!(advised(own(0.44), shared.clone())[0].change, Change::OtherChannel);
        assert_eq!(advised(own(0.45), shared)[0].rule, "halved");
    }

    #[test]
    fn without_transfers_the_stations_that_hold_the_air_come_nearer() {
        let queue = [8.0, 20.0, 1.0, 1.0, 1.0, 1.0];
        let call = Made::new("linux", 1).call(20.0).stages("call", queue);
        let site = Site { distances: vec![("phone".to_owned(), 12.0)], ..Site::default() };
        let with = |airtime| advised(call.clone().station("phone", airtime, 10.0, 0.1, 100.0), site.clone());
        assert_eq!(with(0.4)[0].sets, ["station.phone.channel.distance=6 m"]);
        assert_eq!(with(0.39), []);
    }

    #[test]
    fn a_transfer_that_the_air_bounds_gains_from_a_slow_station_that_comes_nearer() {
        let site = || Site { distances: vec![("slow".to_owned(), 40.0)], ..Site::default() };
        let advised = |share, rate| {
            let made = Made::new("linux", 1).call(20.0).download(190.5).air(0.95, 0.05);
            let made = made.station("slow", share, 20.0, 0.0, rate).station("fast", 0.4, 20.0, 0.0, 780.0);
            compared(vec![made], "download", "linux").with_facts(facts(site())).verdict().advice
        };
        let advice = advised(0.5, 60.0);
        assert_eq!(advice.len(), 1, "{advice:?}");
        assert_eq!(advice[0].sets, ["station.slow.channel.distance=20 m"]);
        assert_eq!((advice[0].figure, advice[0].rule), ("goodput", "slow-station"));
        assert!(
            advice[0].sentence.starts_with("To raise the goodput of download try slow at 20.0 m (--set"),
            "{advice:?}"
        );
        assert!(advised(0.5, 700.0).is_empty() && advised(0.1, 60.0).is_empty());
    }

    #[test]
    fn absences_are_shortened_where_late_packets_wait_for_them() {
        let absent = |millis| Site {
            absences: vec![("phone".to_owned(), Span::from_millis(millis))],
            ..Site::default()
        };
        let late = || Made::new("linux", 1).call(20.0).p99("call", 100.0);
        let advice = advised(late(), absent(200));
        assert_eq!(
            (advice[0].figure, advice[0].sets[0].as_str()),
            ("p99", "station.phone.away.length=20 ms")
        );
        assert_eq!(advised(late(), absent(201)), []);
    }

    #[test]
    fn rates_are_whole() {
        let rates = [(210.96, 210_000), (9.99, 9_900), (0.04, 100)];
        for (mbps, kbps) in rates {
            assert_eq!(whole(mbps), BitRate::from_kbps(kbps));
        }
    }
}
