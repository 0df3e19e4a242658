//! Connections of emulated runs: which one a page is about, and which are too small to be shown one by one.

use std::collections::BTreeMap;

use airbound_record::{FlowSummary, Summary};
use airbound_units::Span;

use crate::comparison::{Comparison, SchemeRuns};
use crate::groups::Group;
use crate::run::{Folded, Run};

/// A connection is small if it sent at most so many packets, and at most this share of the packets of the largest one: the exchange of
/// a page, a refused attempt, a control connection.
const SMALL_PACKETS: u64 = 30;
const SMALL_SHARE: f64 = 0.01;
/// So few are shown all the same: a line in their place saves nothing.
const FEW: usize = 4;

/// The flows of applications in a run, each with the bytes that it delivered.
fn applications(summary: &Summary) -> impl Iterator<Item = (&FlowSummary, u64)> {
    summary.flows.iter().filter_map(|flow| Some((flow, summary.application(&flow.name)?.delivered_bytes)))
}

/// The flow that a page of emulated runs is about: of those that all runs have, a protected connection, else any; of several the one that
/// delivered most bytes in the first run. `None` without a connection.
#[must_use]
pub fn leading(runs: &[(String, Run)]) -> Option<String> {
    let (_, first) = runs.first()?;
    let is_everywhere = |name: &str| runs.iter().all(|(_, run)| run.summary.application(name).is_some());
    let most = |all: &dyn Fn(&FlowSummary) -> bool| {
        let candidates = applications(&first.summary).filter(|(flow, _)| all(flow));
        // Of equals the first one.
        let larger = |one: &(&FlowSummary, u64), other: &(&FlowSummary, u64)| one.1 >= other.1;
        let most = candidates.reduce(|one, other| if larger(&one, &other) { one } else { other });
        most.map(|(flow, _)| flow.name.clone())
    };
    most(&|flow| flow.demand.is_some() && is_everywhere(&flow.name))
        .or_else(|| most(&|flow| is_everywhere(&flow.name)))
        .or_else(|| most(&|_| true))
}

/// Ports that Linux gives to clients (`net.ipv4.ip_local_port_range`): by chance another one in each run.
const BY_CHANCE: std::ops::RangeInclusive<u16> = 32_768..=60_999;

/// Names a connection alike in all emulated runs where its port was given by chance: the only one of its station, direction and transport
/// in each of several runs that no other run has by its full name. `laptop down udp 37215` is then `laptop down udp`.
pub fn align(runs: &mut [(String, Run)]) {
    let mut counts = BTreeMap::<String, usize>::new();
    for (_, run) in runs.iter() {
        for (flow, _) in applications(&run.summary) {
            *counts.entry(flow.name.clone()).or_default() += 1;
        }
    }
    let without_port = |flow: &FlowSummary| {
        let (start, port) = flow.name.rsplit_once(' ')?;
        let is_own = counts.get(&flow.name) == Some(&1);
        let is_by_chance = port.parse().is_ok_and(|port| BY_CHANCE.contains(&port));
        (is_own && is_by_chance).then(|| start.to_owned())
    };
    let candidates: Vec<BTreeMap<String, Vec<String>>> = runs
        .iter()
        .map(|(_, run)| {
            let mut found = BTreeMap::<String, Vec<String>>::new();
            for (flow, _) in applications(&run.summary) {
                if let Some(short) = without_port(flow) {
                    found.entry(short).or_default().push(flow.name.clone());
                }
            }
            found
        })
        .collect();
    let Some((first, others)) = candidates.split_first().filter(|(_, others)| !others.is_empty()) else {
        return;
    };
    let is_one = |found: &BTreeMap<String, Vec<String>>, short: &String| {
        found.get(short).is_some_and(|names| names.len() == 1)
    };
    let alike = first.keys().filter(|short| {
        is_one(first, short)
            && others.iter().all(|other| is_one(other, short))
            && !counts.contains_key(*short)
    });
    for short in alike {
        for ((_, run), found) in runs.iter_mut().zip(&candidates) {
            if let Some([name]) = found.get(short).map(Vec::as_slice) {
                run.rename(name, short);
            }
        }
    }
}

/// Leaves small connections out of emulated runs, where there are more than a few of them: those that are small in each run which has
/// them, but for protected ones and for `focus`. The tables then say how many are missing.
pub fn fold(runs: &mut [(String, Run)], focus: Option<&str>) {
    let mut small = BTreeMap::<String, bool>::new();
    for (_, run) in runs.iter() {
        let largest = applications(&run.summary).map(|(flow, _)| flow.packets.sent).max().unwrap_or(0);
        let limit = SMALL_PACKETS.min((largest as f64 * SMALL_SHARE) as u64);
        for (flow, _) in applications(&run.summary) {
            let is_small =
                flow.packets.sent <= limit && flow.demand.is_none() && focus != Some(flow.name.as_str());
            *small.entry(flow.name.clone()).or_insert(true) &= is_small;
        }
    }
    small.retain(|_, is_small| *is_small);
    if small.len() <= FEW {
        return;
    }
    for (_, run) in runs {
        let is_folded = |flow: &FlowSummary| small.contains_key(&flow.name);
        let folded = || run.summary.flows.iter().filter(|flow| is_folded(flow));
        let (count, most) = (folded().count(), folded().map(|flow| flow.packets.sent).max());
        run.folded = most.map(|most| Folded { count, most });
        run.summary.flows.retain(|flow| !is_folded(flow));
    }
}

impl Comparison {
    /// The words on connections that were left out; empty without any.
    pub(crate) fn folded_note(&self) -> String {
        let all = || self.schemes.iter().flat_map(|scheme| &scheme.runs).filter_map(|run| run.folded);
        let Some(most) = all().map(|folded| folded.most).max() else { return String::new() };
        let counts = || all().map(|folded| folded.count);
        let (low, high) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
        let count = if low == high { high.to_string() } else { format!("{low} to {high}") };
        let packets =
            if most == 1 { "a single packet".to_owned() } else { format!("at most {most} packets") };
        format!("And {count} connections of {packets}: --full shows them.")
    }

    /// Number of seconds that the share of a demand met is of; `None` for simulated flows, for several runs, and for groups.
    pub(crate) fn demand_seconds(&self, scheme: &SchemeRuns, group: &Group) -> Option<u64> {
        let ([run], [flow]) = (scheme.runs.as_slice(), group.members.as_slice()) else { return None };
        run.summary.application(flow)?.demand_seconds
    }

    /// Whether any run is an emulation, which has neither seeds nor a duration to choose.
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        let mut runs = self.schemes.iter().flat_map(|scheme| &scheme.runs);
        runs.any(|run| run.summary.emulation.is_some())
    }

    /// Whether these are emulations in which no program sent anything.
    pub(crate) fn is_idle(&self) -> bool {
        let mut emulations =
            self.schemes.iter().flat_map(SchemeRuns::summaries).map(|summary| summary.emulation.as_ref());
        self.is_emulated()
            && emulations.all(|emulation| emulation.is_none_or(|emulation| emulation.flows.is_empty()))
    }

    /// One-way delay of a group on the wire, without queueing; `None` of flows that the scenario does not have.
    pub(crate) fn wire_delay(&self, group: &Group) -> Option<Span> {
        let of_scenario = self.facts.flow(group.members.first()?).map(|flow| flow.delay);
        of_scenario.or_else(|| self.is_program(group).then_some(self.facts.delay))
    }

    /// Whether a group is connections of real programs.
    pub(crate) fn is_program(&self, group: &Group) -> bool {
        let mut runs = self.schemes.iter().flat_map(SchemeRuns::summaries);
        let first = group.members.first().map_or("", String::as_str);
        runs.any(|summary| summary.application(first).is_some())
    }
}

#[cfg(test)]
mod tests {
    use airbound_record::{ApplicationFlow, EmulationSummary};

    use super::*;
    use crate::facts::Facts;
    use crate::verdict::test_runs::one_run;

    /// A run whose application flows have these names, packets and bytes; those named with "vr" have a demand.
    fn emulated(scheme: &str, flows: &[(&str, u64, u64)]) -> (String, Run) {
        let mut summary = one_run().schemes[0].runs[0].summary.clone();
        let stream = summary.flows.remove(0);
        summary.flows = vec![FlowSummary { name: "own".to_owned(), demand: None, ..stream.clone() }];
        let mut emulation = EmulationSummary::default();
        for (name, sent, bytes) in flows {
            let mut flow = FlowSummary { name: (*name).to_owned(), ..stream.clone() };
            flow.packets.sent = *sent;
            flow.demand = flow.demand.filter(|_| name.contains("vr"));
            summary.flows.push(flow);
            let (sent_bytes, delivered_bytes) = (*bytes, *bytes);
            let name = (*name).to_owned();
            let demand_seconds = Some(5);
            emulation.flows.push(ApplicationFlow {
                name,
                sent_bytes,
                delivered_bytes,
                demand_seconds,
                ..Default::default()
            });
        }
        summary.emulation = Some(emulation);
        (scheme.to_owned(), Run::from_summary(summary))
    }

    #[test]
    fn the_protected_connection_leads_else_the_one_with_most_bytes() {
        let flows = [("up tcp 5201", 13, 900), ("down tcp 5201", 200_000, 300_000_000)];
        assert_eq!(leading(&[emulated("fifo", &flows)]).as_deref(), Some("down tcp 5201"));
        let protected = [flows[1], ("down vr", 400, 500_000), ("up vr", 400, 20_000)];
        assert_eq!(leading(&[emulated("fifo", &protected)]).as_deref(), Some("down vr"));
        // The largest one of the first run has another name in the second.
        let two = [emulated("a", &[flows[1], ("call", 900, 9000)]), emulated("b", &[("call", 900, 9000)])];
        assert_eq!(leading(&two).as_deref(), Some("call"));
        assert_eq!(
            leading(&[emulated("a", &[flows[0]]), emulated("b", &[])]).as_deref(),
            Some("up tcp 5201")
        );
        let simulated = one_run().schemes[0].clone();
        assert_eq!(leading(&[(simulated.name, simulated.runs[0].clone())]), None);
    }

    #[test]
    fn a_port_by_chance_does_not_tell_runs_apart() {
        let names = |runs: &[(String, Run)]| -> Vec<Vec<String>> {
            let of =
                |(_, run): &(String, Run)| run.summary.flows.iter().map(|flow| flow.name.clone()).collect();
            runs.iter().map(of).collect()
        };
        let page = ("a down tcp 8080", 9, 900);
        let run = |scheme: &str, port: &str| {
            emulated(
                scheme,
                &[page, (&format!("a down udp {port}"), 900, 9000), (&format!("a up udp {port}"), 800, 90)],
            )
        };
        let mut runs = [run("fifo", "37215"), run("linux", "50001")];
        align(&mut runs);
        let expected = ["own", "a down tcp 8080", "a down udp", "a up udp"];
        assert_eq!(names(&runs), [expected, expected]);
        assert_eq!(leading(&runs).as_deref(), Some("a down udp"));
        // A service has its port in all runs, or is no client's; two of a kind cannot be told apart.
        for ports in [["51820", "51820"], ["9", "61001"]] {
            let mut runs = [run("fifo", ports[0]), run("linux", ports[1])];
            let before = names(&runs);
            align(&mut runs);
            assert_eq!(names(&runs), before);
        }
        let two = [("a up udp 40000", 9, 9), ("a up udp 40001", 9, 9)];
        let mut runs = [emulated("fifo", &two), emulated("linux", &[("a up udp 40002", 9, 9)])];
        align(&mut runs);
        assert_eq!(names(&runs)[1], ["own", "a up udp 40002"]);
    }

    /// The flows that are shown, and the words on the others.
    fn folded(mut runs: Vec<(String, Run)>, focus: &str) -> (Vec<String>, String, String) {
        fold(&mut runs, Some(focus));
        let comparison = Comparison::new(runs, Some(focus), None).expect("a flow");
        let text = comparison.to_text(200);
        (comparison.flow_names(), comparison.folded_note(), text)
    }

    #[test]
    fn a_program_has_the_delay_of_the_wire_and_its_demand_is_drawn_there() {
        let flows = [("down vr", 400, 500_000), ("down tcp", 300, 300_000)];
        let comparison =
            Comparison::new(vec![emulated("fifo", &flows)], Some("down vr"), None).expect("a flow");
        let comparison = comparison.with_facts(Facts { delay: Span::from_millis(25), ..Facts::default() });
        let groups: Vec<&Group> = comparison.focus_first().collect();
        let delays: Vec<_> = groups.iter().map(|group| comparison.wire_delay(group)).collect();
        assert_eq!(delays, [Some(Span::from_millis(25)), None, Some(Span::from_millis(25))]);
        let level = |place: usize| comparison.demand(groups[place]);
        assert_eq!(
            level(0),
            Some(("demand 20 ms + 25.0 ms of wire".to_owned(), 45.0, 0.050_000_000_000_000_044))
        );
        assert_eq!((level(1), level(2)), (None, None), "no line without a demand");
    }

    #[test]
    fn an_emulation_of_nothing_is_not_judged() {
        let comparison = Comparison::new(vec![emulated("fifo", &[])], None, None).expect("a flow");
        let verdict = comparison.verdict();
        assert_eq!(
            verdict.sentences().collect::<Vec<_>>(),
            ["No program sent anything over the air: nothing is judged."]
        );
        let page =
            Comparison::new(vec![emulated("fifo", &[("ping", 9, 900)])], Some("ping"), None).expect("a flow");
        assert!(!page.is_idle() && page.to_html().expect("a page").contains("<h1>Real programs over made"));
    }

    #[test]
    fn connections_of_few_packets_are_one_line() {
        let call = ("call", 9000, 9_000_000);
        let pages: Vec<String> = (2..59).map(|number| format!("page #{number}")).collect();
        let mut flows = vec![call, ("ping", 100, 8400), ("vr", 1, 60)];
        flows.extend(
            pages.iter().enumerate().map(|(number, name)| (name.as_str(), 1 + number as u64 % 12, 900)),
        );
        let (shown, note, text) = folded(vec![emulated("fifo", &flows)], "call");
        assert_eq!(shown, ["own", "call", "ping", "vr"]);
        assert_eq!(note, "And 57 connections of at most 12 packets: --full shows them.");
        assert!(text.contains(&note) && !text.contains("page #"), "{text}");
        let page = Comparison::new(vec![emulated("fifo", &flows)], None, None).expect("a flow");
        assert!(page.to_text(200).contains("page #2"), "without folding all are there");
        // The flow that is asked for stays.
        assert!(folded(vec![emulated("fifo", &flows)], "page #2").0.contains(&"page #2".to_owned()));
        // One that is large in another run stays in both.
        let mut other = flows.clone();
        other[3].1 = 5000;
        let (shown, note, _) = folded(vec![emulated("fifo", &flows), emulated("linux", &other)], "call");
        assert_eq!(shown, ["own", "call", "ping", "vr", "page #2"]);
        assert!(note.starts_with("And 56 connections"), "{note}");
    }

    #[test]
    fn few_connections_and_short_programs_are_shown() {
        let control =
            [("up", 13, 900), ("down", 200_000, 300_000_000), ("up #2", 9000, 9000), ("down #2", 9, 900)];
        assert_eq!(folded(vec![emulated("fifo", &control)], "down").0.len(), 5);
        let pings =
            [("a", 20, 900), ("b", 20, 900), ("c", 20, 900), ("d", 20, 900), ("e", 20, 900), ("f", 2, 90)];
        assert_eq!(folded(vec![emulated("fifo", &pings)], "a").0.len(), 7);
    }

    #[test]
    fn demands_of_simulated_flows_beside_a_program_are_not_judged() {
        let judged = |focus: &str| {
            let (scheme, mut run) = emulated("fifo", &[("down tcp 5201", 400, 500_000)]);
            let stream = one_run().schemes[0].runs[0].summary.flows[0].clone();
            run.summary.flows[0].demand = stream.demand;
            let comparison = Comparison::new(vec![(scheme, run)], Some(focus), None).expect("a flow");
            comparison.demanding().map(|group| group.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(judged("own"), ["own"]);
        assert!(judged("down tcp 5201").is_empty());
    }

    #[test]
    fn a_demand_of_a_short_run_says_of_how_many_seconds() {
        let runs = vec![emulated("fifo", &[("down vr", 400, 500_000)])];
        let comparison = Comparison::new(runs, Some("down vr"), None).expect("a flow");
        assert!(comparison.is_emulated() && !one_run().is_emulated());
        let text = comparison.demands().expect("a demand").to_text(200);
        assert!(text.contains("of seconds") && text.contains("   5"), "{text}");
        let simulated = one_run();
        assert!(!simulated.demands().expect("a demand").to_text(200).contains("of seconds"));
    }
}
