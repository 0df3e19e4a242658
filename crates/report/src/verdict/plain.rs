//! The choice for a network without a demand: by the figure that the users of the flow in focus care for.

use super::cost::{self, costs};
use super::judged::{Choice, empty, named};
use super::listed;
use super::measure::{Measure, Ranked, able, ends, rank, tied};
use super::percent;
use super::rules::{COST, LITTLE};
use crate::comparison::{Comparison, SchemeRuns};
use crate::groups::Group;

/// Names in one list.
const MOST_NAMES: usize = 4;

/// The scheme with the best figure of a flow without a demand.
pub(super) fn choice(comparison: &Comparison, flow: &Group) -> Option<Choice> {
    let measure = Measure::for_flow(comparison, flow);
    let (served, refused) = able(comparison, flow, measure);
    let ranked = rank(comparison, &served, flow, measure);
    let best = ranked.first()?;
    let ties = tied(&ranked, measure);
    let is_default = |one: &&Ranked<'_>| comparison.baseline.as_deref() == Some(one.scheme.name.as_str());
    let kept = ranked.iter().take(ties).find(is_default);
    // Some milliseconds are no reason for what costs others much.
    let dear = kept.is_none().then(|| too_dear(comparison, &ranked, best, flow, measure)).flatten();
    let chosen = kept.or(dear).unwrap_or(best);
    let words = |one: &Ranked<'_>| format!("{} {}", one.scheme.name, measure.show_spread(one.value));
    let subject = if measure == Measure::Utility { "the session" } else { &flow.name };
    let mut lines = Vec::new();
    let sentence = if ties == ranked.len() && ranked.len() > 1 {
        let (low, high) = ends(&ranked);
        let (low, high) = (measure.bare(low), measure.show(high));
        let span = if high.starts_with(&low) { high } else { format!("{low} to {high}") };
        if comparison.seeds() > 1 {
            lines.push(format!("Their ranges over {} seeds overlap.", comparison.seeds()));
        }
        format!("Keep {}: no scheme differs for {subject}, {} {span}.", chosen.scheme.name, measure.name())
    } else {
        let verb = if is_default(&chosen) { "Keep" } else { "Choose" };
        let others = || ranked.iter().filter(|one| one.scheme.name != chosen.scheme.name);
        let other = others().find(is_default).or_else(|| others().next());
        let cost = named_loss(comparison, chosen.scheme, flow);
        let other = other.map(|one| format!(", {} {}", one.scheme.name, measure.show(one.value.median)));
        let alike: Vec<String> = ranked
            .iter()
            .take(ties)
            .filter(|one| dear.is_none() && one.scheme.name != chosen.scheme.name)
            .map(words)
            .collect();
        if !alike.is_empty() {
            lines.push(format!("The runs do not tell it from {}.", listed(&alike, MOST_NAMES)));
        }
        format!(
            "{verb} {} for {subject}: {} {}{}{cost}.",
            chosen.scheme.name,
            measure.name(),
            measure.show(chosen.value.median),
            other.unwrap_or_default(),
        )
    };
    if dear.is_some() {
        let costs = cost::words(comparison, best.scheme, flow);
        lines
            .push(format!("Less than {} ms do not speak for {}{costs}.", LITTLE.threshold, best.scheme.name));
    }
    let costs = costs(comparison, chosen.scheme, Some(flow));
    lines.extend(named(comparison, &chosen.scheme.name, &costs));
    if !refused.is_empty() && measure != Measure::Goodput {
        let refused: Vec<String> = refused.iter().map(|(name, why)| format!("{name} {why}")).collect();
        lines.push(format!("Left out: {}.", refused.join("; ")));
    }
    Some(Choice { scheme: Some(chosen.scheme.name.clone()), sentence, lines, ..empty(None, measure.name()) })
}

/// The largest named loss of others, as words behind a semicolon.
fn named_loss(comparison: &Comparison, scheme: &SchemeRuns, flow: &Group) -> String {
    let costs = costs(comparison, scheme, Some(flow));
    let named = costs.first().filter(|cost| 100.0 * cost.lost >= COST.threshold);
    named.map_or(String::new(), |cost| format!("; {} loses {}", cost.flow, percent(cost.lost)))
}

/// The default, if the best scheme lowers a latency by little and costs others much.
fn too_dear<'a, 'b>(
    comparison: &Comparison,
    ranked: &'a [Ranked<'b>],
    best: &Ranked<'_>,
    flow: &Group,
    measure: Measure,
) -> Option<&'a Ranked<'b>> {
    let base = ranked.iter().find(|one| comparison.baseline.as_ref() == Some(&one.scheme.name))?;
    let gained = base.value.median - best.value.median;
    let is_little = measure == Measure::Latency && gained < LITTLE.threshold;
    (is_little && !cost::words(comparison, best.scheme, flow).is_empty()).then_some(base)
}

#[cfg(test)]
mod tests {
    use super::super::test_runs::{Made, compared};
    use super::*;

    fn chosen(comparison: &Comparison) -> Choice {
        comparison.verdict().choice.expect("a choice")
    }

    #[test]
    fn without_a_demand_the_lower_latency_is_chosen_beside_the_default() {
        let pair = |p95, mbps| {
            let linux = Made::new("linux", 1).call(20.0).download(100.0);
            let choice =
                chosen(&compared(vec![linux, Made::new("pie", 1).call(p95).download(mbps)], "call", "linux"));
            (choice.scheme.expect("a scheme"), choice.sentence, choice.lines)
        };
        let apart = pair(10.0, 80.0);
        assert_eq!(apart.0, "pie");
        assert_eq!(apart.1, "Choose pie for call: p95 10.0 ms, linux 20.0 ms; download loses 20 %.");
        let close = pair(18.1, 100.0);
        assert_eq!(
            (&close.0[..], &close.1[..]),
            ("linux", "Keep linux: no scheme differs for call, p95 18.1 to 20.0 ms.")
        );
        // Some milliseconds are no reason for what costs others.
        let dear = pair(15.1, 80.0);
        assert_eq!(dear.1, "Keep linux for call: p95 20.0 ms, pie 15.1 ms.");
        assert!(
            dear.2[0].starts_with("Less than 5 ms do not speak for pie; it costs download 20 %"),
            "{:?}",
            dear.2
        );
        assert_eq!(pair(15.0, 80.0).0, "pie");
    }

    #[test]
    fn ranges_that_overlap_tell_no_difference_and_the_default_stays() {
        let runs = |name: &str, latencies: [f64; 3]| {
            (1..).zip(latencies).map(|(seed, p95)| Made::new(name, seed).call(p95)).collect::<Vec<_>>()
        };
        let all = [runs("linux", [20.0, 22.0, 24.0]), runs("wqm", [18.0, 19.0, 21.0])].concat();
        let choice = chosen(&compared(all, "call", "linux"));
        assert_eq!(choice.scheme.as_deref(), Some("linux"));
        assert_eq!(choice.lines[0], "Their ranges over 3 seeds overlap.");
        let all = [runs("linux", [21.9, 22.0, 22.1]), runs("wqm", [18.9, 19.0, 19.1])].concat();
        assert_eq!(chosen(&compared(all, "call", "linux")).scheme.as_deref(), Some("wqm"));
    }

    #[test]
    fn a_scheme_that_starves_or_loses_is_not_chosen_for_its_latency() {
        let starved = Made::new("codel", 1).call(2.0).goodput("call", 0.5);
        let lossy = Made::new("wqm", 1).call(3.0).loss("call", 0.05);
        let all = vec![Made::new("linux", 1).call(20.0), starved, lossy, Made::new("pie", 1).call(10.0)];
        let choice = chosen(&compared(all, "call", "linux"));
        assert_eq!(choice.scheme.as_deref(), Some("pie"));
        let left_out = "Left out: codel delivers 0.500 of 2.00 Mb/s; wqm loses 5.0 % of the packets.";
        assert!(choice.lines.iter().any(|line| line == left_out), "{:?}", choice.lines);
    }

    #[test]
    fn a_transfer_wants_goodput_and_a_later_call_is_said() {
        let linux = Made::new("linux", 1).download(80.0).call(10.0);
        let fifo = Made::new("fifo", 1).download(100.0).call(30.0);
        let choice = chosen(&compared(vec![linux, fifo], "download", "linux"));
        assert_eq!((choice.scheme.as_deref(), choice.by), (Some("fifo"), "goodput"));
        assert!(choice.lines.iter().any(|line| line == "It raises the p95 of call from 10.0 to 30.0 ms."));
    }

    #[test]
    fn frames_that_are_late_under_the_choice_are_said() {
        let made =
            |name: &str, p95, late| Made::new(name, 1).call(p95).frames("call", 30.0).stalls("call", late);
        let late = |share| {
            let choice =
                chosen(&compared(vec![made("linux", 50.0, 0.9), made("pie", 20.0, share)], "call", "linux"));
            choice.lines.into_iter().find(|line| line.contains("frames"))
        };
        assert_eq!(late(0.43).as_deref(), Some("43 % of the frames of call are late or lost under pie."));
        assert_eq!(late(0.09), None);
    }
}
