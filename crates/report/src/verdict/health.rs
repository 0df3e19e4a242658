//! Remarks on the health of runs: full air, flows that are not served, figures that rest on too little.

use std::collections::{BTreeMap, BTreeSet};

use airbound_record::{FlowSummary, StationSummary, Summary};

use super::rules::{
    AIR_BUSY, BELOW_OFFER, COLLISIONS, LOST, NEVER_SENDS, RETRIES, Rule, SHORT_RUN, SINGLES, SLOW_STATION,
};
use super::{Finding, listed, median, percents};
use crate::comparison::{Comparison, SchemeRuns};
use crate::grid::{Spread, number};

/// Names in one list.
const MOST_NAMES: usize = 4;

/// All remarks.
pub(super) fn findings(comparison: &Comparison) -> Vec<Finding> {
    let mut findings: Vec<Finding> = never_sends(comparison).into_iter().collect();
    findings.extend(below_offer(comparison));
    findings.extend(air_busy(comparison));
    findings.extend(collisions(comparison));
    findings.extend(retries(comparison));
    findings.extend(slow_station(comparison));
    findings.extend(singles(comparison));
    findings.extend(lost(comparison));
    findings.extend(short_run(comparison));
    findings
}

pub(super) fn finding(rule: Rule, schemes: &[String], sentence: String) -> Finding {
    Finding { rule: rule.name, schemes: schemes.to_vec(), sentence }
}

/// The schemes whose median value exceeds a share in percent, with the least and the largest of these.
fn above(
    comparison: &Comparison,
    threshold: f64,
    value: impl Fn(&Summary) -> Option<f64>,
) -> Option<(Vec<String>, f64, f64)> {
    let mut names = Vec::new();
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for scheme in &comparison.schemes {
        if let Some(share) = median(scheme, &value).filter(|share| 100.0 * share > threshold) {
            names.push(scheme.name.clone());
            (low, high) = (low.min(share), high.max(share));
        }
    }
    (!names.is_empty()).then_some((names, low, high))
}

fn under(comparison: &Comparison, schemes: &[String]) -> String {
    if comparison.schemes.len() > 1 && schemes.len() == comparison.schemes.len() {
        "under every scheme".to_owned()
    } else {
        format!("under {}", listed(schemes, MOST_NAMES))
    }
}

fn air_busy(comparison: &Comparison) -> Option<Finding> {
    let (names, low, high) = above(comparison, AIR_BUSY.threshold, |summary| Some(summary.air.busy_share))?;
    let sentence = format!("The air is {} busy {}.", percents(low, high), under(comparison, &names));
    Some(finding(AIR_BUSY, &names, sentence))
}

fn collisions(comparison: &Comparison) -> Option<Finding> {
    let (names, low, high) = above(comparison, COLLISIONS.threshold, |summary| summary.air.collision_rate)?;
    let sentence =
        format!("{} of the transmissions collide {}.", percents(low, high), under(comparison, &names));
    Some(finding(COLLISIONS, &names, sentence))
}

/// Names of all stations, in order of appearance; runs that have the same ones have them in these places.
fn stations(comparison: &Comparison) -> Vec<String> {
    let mut known = BTreeSet::new();
    let all = comparison.schemes.iter().flat_map(SchemeRuns::summaries).flat_map(|run| &run.stations);
    all.filter(|station| known.insert(station.name.as_str())).map(|station| station.name.clone()).collect()
}

pub(super) fn of_station(
    name: &str,
    value: impl Fn(&StationSummary) -> Option<f64>,
) -> impl Fn(&Summary) -> Option<f64> {
    at_station((0, name), value)
}

/// The same of a station that is likely in a place.
fn at_station(
    (place, name): (usize, &str),
    value: impl Fn(&StationSummary) -> Option<f64>,
) -> impl Fn(&Summary) -> Option<f64> {
    move |summary| {
        let likely = summary.stations.get(place).filter(|station| station.name == name);
        likely.or_else(|| summary.stations.iter().find(|station| station.name == name)).and_then(&value)
    }
}

fn retries(comparison: &Comparison) -> Option<Finding> {
    let all = stations(comparison);
    let (mut poor, mut schemes) = (Vec::new(), Vec::new());
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    for (place, station) in all.into_iter().enumerate() {
        let value = at_station((place, &station), |station| station.retry_rate);
        if let Some((names, least, most)) = above(comparison, RETRIES.threshold, value) {
            poor.push(station);
            (low, high) = (low.min(least), high.max(most));
            schemes.extend(names.into_iter().filter(|name| !schemes.contains(name)).collect::<Vec<_>>());
        }
    }
    (!poor.is_empty()).then(|| {
        let sentence = format!(
            "{} of the MPDUs to or from {} are sent again {}.",
            percents(low, high),
            listed(&comparison.stations.together(&poor), MOST_NAMES),
            under(comparison, &schemes)
        );
        finding(RETRIES, &schemes, sentence)
    })
}

fn slow_station(comparison: &Comparison) -> Vec<Finding> {
    let names = stations(comparison);
    let rate = |scheme, (place, name): (usize, &String)| {
        median(scheme, at_station((place, name), |station| station.mean_phy_rate_mbps))
    };
    let all = || names.iter().enumerate();
    let fastest = |scheme| all().filter_map(|named| rate(scheme, named)).fold(0.0, f64::max);
    let fastest: Vec<f64> = comparison.schemes.iter().map(fastest).collect();
    let mut findings: Vec<Finding> = Vec::new();
    for (place, station) in all() {
        let (mut schemes, mut sentence) = (Vec::new(), String::new());
        for (scheme, fastest) in comparison.schemes.iter().zip(fastest.iter().copied()) {
            let airtime = median(scheme, at_station((place, station), |station| Some(station.airtime_share)));
            if let (Some(airtime), Some(own)) = (airtime, rate(scheme, (place, station)))
                && 100.0 * airtime >= SLOW_STATION.threshold
                && own < fastest / 2.0
            {
                if schemes.is_empty() {
                    sentence = format!(
                        "{station} takes {} of the airtime at a mean rate of {} Mb/s, where the fastest station has {} Mb/s",
                        super::percent(airtime),
                        number(own),
                        number(fastest)
                    );
                }
                schemes.push(scheme.name.clone());
            }
        }
        if let Some(first) = schemes.first().cloned() {
            let under = under(comparison, &[first]);
            findings.push(finding(SLOW_STATION, &schemes, format!("{sentence} {under}.")));
        }
    }
    findings
}

/// The offer of a flow, Mb/s: as much as its source sent, or would if it did not adapt; `None` of a transfer without a limit.
pub(super) fn offer(comparison: &Comparison, flow: &FlowSummary) -> Option<f64> {
    /// Kinds whose source sends as much as it gets through.
    const TRANSFERS: [&str; 2] = ["tcp", "tcp-short"];
    let sent = (!TRANSFERS.contains(&flow.kind.as_str())).then_some(flow.offered_mbps);
    let asked = comparison.facts.flow(&flow.name).and_then(|facts| facts.rate).map(|rate| rate.as_mbps_f64());
    match (sent, asked) {
        (Some(sent), Some(asked)) => Some(sent.max(asked)),
        (one, other) => one.or(other),
    }
}

fn below_offer(comparison: &Comparison) -> Option<Finding> {
    let (mut starved, mut schemes) = (Vec::new(), Vec::<String>::new());
    for group in comparison.flows.all() {
        // Members below, and the least goodput with its offer, under the scheme that has most members below.
        let mut worst: Option<(usize, f64, f64, &str)> = None;
        for scheme in &comparison.schemes {
            let mut values = BTreeMap::<&str, Vec<(f64, f64)>>::new();
            for flow in comparison.members(scheme, group).filter(|flow| flow.packets.sent > 0) {
                if let Some(offer) = offer(comparison, flow) {
                    values.entry(&flow.name).or_default().push((flow.goodput_mbps, offer));
                }
            }
            let middle =
                |values: Vec<f64>| Spread::of(values.into_iter().map(Some)).map(|found| found.median);
            let below = values.into_values().filter_map(|seeds| {
                let (goodput, offer): (Vec<f64>, Vec<f64>) = seeds.into_iter().unzip();
                let (goodput, offer) = (middle(goodput)?, middle(offer)?);
                (100.0 * goodput < BELOW_OFFER.threshold * offer).then_some((goodput, offer))
            });
            let below: Vec<(f64, f64)> = below.collect();
            let Some((goodput, offer)) = below.iter().copied().min_by(|one, other| one.0.total_cmp(&other.0))
            else {
                continue;
            };
            if !schemes.contains(&scheme.name) {
                schemes.push(scheme.name.clone());
            }
            let is_worse = worst.is_none_or(|(most, least, ..)| {
                below.len() > most || (below.len() == most && goodput < least)
            });
            if is_worse {
                worst = Some((below.len(), goodput, offer, &scheme.name));
            }
        }
        if let Some((count, goodput, offer, scheme)) = worst {
            let (name, goodput, offer) = (&group.name, number(goodput), number(offer));
            starved.push(if group.is_many() {
                let all = group.members.len();
                let how_many = if count == all { "all".to_owned() } else { format!("{count} of") };
                format!("{how_many} {all} {name}, one with {goodput} of {offer} Mb/s, under {scheme}")
            } else {
                format!("{name} {goodput} of {offer} Mb/s under {scheme}")
            });
        }
    }
    (!starved.is_empty()).then(|| {
        let sentence = format!("Below half of its offer: {}.", listed(&starved, MOST_NAMES));
        finding(BELOW_OFFER, &schemes, sentence)
    })
}

fn never_sends(comparison: &Comparison) -> Option<Finding> {
    let mut sends = BTreeMap::<&str, bool>::new();
    for flow in comparison.schemes.iter().flat_map(SchemeRuns::summaries).flat_map(|run| &run.flows) {
        *sends.entry(&flow.name).or_default() |= flow.packets.sent as f64 >= NEVER_SENDS.threshold;
    }
    let silent = |name: &String| sends.get(name.as_str()) == Some(&false);
    let names: Vec<String> = comparison.flow_names().into_iter().filter(silent).collect();
    if names.is_empty() {
        return None;
    }
    let end = comparison.facts.end;
    let late = |name: &String| {
        let start = comparison.facts.flow(name)?.start;
        end.filter(|end| start >= *end)
            .map(|end| format!(": it starts at {start}, and the run ends at {end}"))
    };
    let why = if let [only] = names.as_slice() { late(only) } else { None };
    let verb = if names.len() == 1 { "sends" } else { "send" };
    let shown = listed(&comparison.flows.together(&names), MOST_NAMES);
    let sentence = format!("{shown} never {verb} a packet{}.", why.unwrap_or_default());
    Some(finding(NEVER_SENDS, &[], sentence))
}

/// Schemes that hardly aggregate where another one does.
fn singles(comparison: &Comparison) -> Option<Finding> {
    /// Least airtime of a station whose aggregates say something.
    const AIRTIME: f64 = 0.05;
    for (place, station) in stations(comparison).into_iter().enumerate() {
        let value = at_station((place, &station), |station| {
            station.mean_ampdu.filter(|_| station.airtime_share >= AIRTIME)
        });
        let means: Vec<(String, f64)> = comparison
            .schemes
            .iter()
            .filter_map(|scheme| Some((scheme.name.clone(), median(scheme, &value)?)))
            .collect();
        let Some((best, most)) = means.iter().max_by(|one, other| one.1.total_cmp(&other.1)) else {
            continue;
        };
        let few: Vec<&(String, f64)> = means.iter().filter(|(_, mean)| *mean < SINGLES.threshold).collect();
        if few.is_empty() || *most < 2.0 * SINGLES.threshold {
            continue;
        }
        let names: Vec<String> = few.iter().map(|(name, _)| name.clone()).collect();
        let least = few.iter().map(|(_, mean)| *mean).fold(f64::INFINITY, f64::min);
        let sentence = format!(
            "Hardly any aggregation under {}: {} packets in a transmission to or from {station}, {} under {best}.",
            listed(&names, MOST_NAMES),
            number(least),
            number(*most)
        );
        return Some(finding(SINGLES, &names, sentence));
    }
    None
}

fn lost(comparison: &Comparison) -> Option<Finding> {
    let focus = comparison.focus()?;
    let loss = |summary: &Summary| comparison.mean_of(summary, focus, &|flow| flow.loss_rate);
    let (names, low, high) = above(comparison, LOST.threshold, loss)?;
    let sentence = format!(
        "{} of the packets of {} are lost {}, which no latency shows.",
        percents(low, high),
        focus.name,
        under(comparison, &names)
    );
    Some(finding(LOST, &names, sentence))
}

fn short_run(comparison: &Comparison) -> Option<Finding> {
    const PRINTED: [(&str, f64); 4] = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];
    let focus = comparison.focus()?;
    let delivered =
        |summary: &Summary| comparison.middle_of(summary, focus, &|flow| Some(flow.packets.delivered as f64));
    let runs = comparison.schemes.iter().flat_map(SchemeRuns::summaries);
    let least = runs.filter_map(delivered).min_by(f64::total_cmp).filter(|least| *least > 0.0)?;
    let of = if focus.is_many() { "half of its members deliver at most" } else { "a run delivers" };
    let weak: Vec<String> = PRINTED
        .iter()
        .filter(|(_, share)| least * (1.0 - share) < SHORT_RUN.threshold - 1e-6)
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let longer =
        if comparison.is_emulated() { "let the program run for longer" } else { "lengthen duration" };
    (!weak.is_empty()).then(|| {
        let verb = if weak.len() == 1 { "rests" } else { "rest" };
        let sentence = format!(
            "{} of {} {verb} on fewer than {} packets: {of} {least:.0} of them; {longer}.",
            listed(&weak, MOST_NAMES),
            focus.name,
            SHORT_RUN.threshold
        );
        finding(SHORT_RUN, &[], sentence)
    })
}

#[cfg(test)]
mod tests {
    use airbound_units::{BitRate, Span};

    use super::super::test_runs::{Made, compared};
    use super::*;
    use crate::facts::{Facts, FlowFacts};

    /// The sentence of a rule, if it speaks.
    fn said(made: Vec<Made>, rule: Rule) -> Option<String> {
        said_with(made, rule, Facts::default())
    }

    fn said_with(made: Vec<Made>, rule: Rule, facts: Facts) -> Option<String> {
        let health = compared(made, "call", "linux").with_facts(facts).verdict().health;
        health.into_iter().find(|finding| finding.rule == rule.name).map(|finding| finding.sentence)
    }

    fn linux() -> Made {
        Made::new("linux", 1).call(10.0)
    }

    fn pie() -> Made {
        Made::new("pie", 1).call(11.0)
    }

    #[test]
    fn full_air_and_collisions() {
        let air = |busy, collide| vec![linux().air(busy, collide), pie().air(0.5, 0.1)];
        assert_eq!(said(air(0.9, 0.33), AIR_BUSY), None);
        assert_eq!(said(air(0.9, 0.33), COLLISIONS), None);
        assert_eq!(said(air(0.95, 0.4), AIR_BUSY).as_deref(), Some("The air is 95 % busy under linux."));
        assert_eq!(
            said(air(0.95, 0.4), COLLISIONS).as_deref(),
            Some("40 % of the transmissions collide under linux.")
        );
        let both = vec![linux().air(0.95, 0.0), pie().air(0.97, 0.0)];
        assert_eq!(said(both, AIR_BUSY).as_deref(), Some("The air is 95 to 97 % busy under every scheme."));
    }

    #[test]
    fn stations_that_are_poor_or_slow() {
        let with = |airtime, retry, rate| {
            vec![linux().station("phone", airtime, 8.0, retry, rate).station("tv", 0.1, 8.0, 0.1, 200.0)]
        };
        assert_eq!(said(with(0.6, 0.3, 101.0), RETRIES), None);
        assert_eq!(said(with(0.6, 0.3, 101.0), SLOW_STATION), None);
        assert_eq!(said(with(0.39, 0.3, 20.0), SLOW_STATION), None);
        assert_eq!(
            said(with(0.6, 0.4, 20.0), RETRIES).as_deref(),
            Some("40 % of the MPDUs to or from phone are sent again under linux.")
        );
        assert_eq!(
            said(with(0.6, 0.4, 20.0), SLOW_STATION).as_deref(),
            Some(
                "phone takes 60 % of the airtime at a mean rate of 20.0 Mb/s, where the fastest station has 200 Mb/s under linux."
            )
        );
    }

    #[test]
    fn flows_that_are_not_served() {
        assert_eq!(said(vec![linux().goodput("call", 1.0)], BELOW_OFFER), None);
        assert_eq!(
            said(vec![linux().goodput("call", 0.9)], BELOW_OFFER).as_deref(),
            Some("Below half of its offer: call 0.900 of 2.00 Mb/s under linux.")
        );
        // A transfer asks for its limit, if it has one; a flow that adapts for its highest rate.
        let slow = || vec![linux().download(5.0)];
        assert_eq!(said(slow(), BELOW_OFFER), None);
        let asks = |name: &str, mbps| FlowFacts {
            name: name.to_owned(),
            group: name.to_owned(),
            delay: Span::ZERO,
            start: Span::ZERO,
            rate: Some(BitRate::from_mbps(mbps)),
            deadline: None,
        };
        let facts = Facts { flows: vec![asks("download", 25)], ..Facts::default() };
        assert!(said_with(slow(), BELOW_OFFER, facts).is_some());
        let facts = Facts { flows: vec![asks("call", 5)], ..Facts::default() };
        assert!(said_with(vec![linux()], BELOW_OFFER, facts).is_some());
    }

    #[test]
    fn a_flow_that_never_sends() {
        assert_eq!(said(vec![linux()], NEVER_SENDS), None);
        let silent = || vec![linux().packets("call", 0)];
        assert_eq!(said(silent(), NEVER_SENDS).as_deref(), Some("call never sends a packet."));
        let late = FlowFacts {
            name: "call".to_owned(),
            group: "call".to_owned(),
            delay: Span::ZERO,
            start: Span::from_secs(30),
            rate: None,
            deadline: None,
        };
        let facts = Facts { end: Some(Span::from_secs(22)), flows: vec![late], ..Facts::default() };
        assert_eq!(
            said_with(silent(), NEVER_SENDS, facts).as_deref(),
            Some("call never sends a packet: it starts at 30 s, and the run ends at 22 s.")
        );
    }

    #[test]
    fn aggregates_of_one_packet_beside_longer_ones() {
        let with = |one, other| {
            vec![
                linux().station("phone", 0.2, one, 0.1, 100.0),
                Made::new("fq-codel", 1).call(30.0).station("phone", 0.2, other, 0.1, 100.0),
            ]
        };
        assert_eq!(said(with(2.9, 1.02), SINGLES), None);
        assert_eq!(said(with(18.0, 1.5), SINGLES), None);
        let idle = Made::new("fq-codel", 1).call(30.0).station("phone", 0.04, 1.0, 0.1, 100.0);
        assert_eq!(said(vec![linux().station("phone", 0.2, 18.0, 0.1, 100.0), idle], SINGLES), None);
        assert_eq!(
            said(with(18.0, 1.02), SINGLES).as_deref(),
            Some(
                "Hardly any aggregation under fq-codel: 1.02 packets in a transmission to or from phone, 18.0 under linux."
            )
        );
    }

    #[test]
    fn losses_that_latencies_hide() {
        assert_eq!(said(vec![linux().loss("call", 0.01)], LOST), None);
        assert_eq!(
            said(vec![linux().loss("call", 0.06)], LOST).as_deref(),
            Some("6.0 % of the packets of call are lost under linux, which no latency shows.")
        );
    }

    #[test]
    fn percentiles_of_too_few_packets() {
        assert_eq!(said(vec![linux().packets("call", 10_000)], SHORT_RUN), None);
        assert_eq!(
            said(vec![linux().packets("call", 9_999)], SHORT_RUN).as_deref(),
            Some(
                "p99.9 of call rests on fewer than 10 packets: a run delivers 9999 of them; lengthen duration."
            )
        );
        let few = said(vec![linux().packets("call", 400)], SHORT_RUN).expect("a sentence");
        assert!(few.starts_with("p99 and p99.9 of call rest on"), "{few}");
    }
}
