//! The choice for a network without a demand: by the figure that the users of the flow in focus care for.

use super::cost;
use super::judged::{Choice, Judged, empty, named};
use super::keep::late;
use super::listed;
use super::measure::{Measure, Ranked, able, ends, rank, tied};
use super::percent;
use super::rules::{LITTLE, LOSES, SPOILED};
use crate::comparison::{Comparison, is_adaptive};
use crate::grid::number;
use crate::groups::Group;

/// Names in one list.
const MOST_NAMES: usize = 4;

/// The scheme with the best figure of a flow without a demand.
pub(super) fn choice(comparison: &Comparison, flow: &Group, judged: &[Judged]) -> Option<Choice> {
    let mut measure = Measure::for_flow(comparison, flow);
    let (served, mut refused) = able(comparison, flow, measure);
    let mut ranked = rank(comparison, &served, flow, measure);
    let mut ties = tied(&ranked, measure);
    if measure == Measure::Missed && comparison.example(flow).is_some_and(is_adaptive) {
        // Frames are in time at any bitrate, if the sender lowers it far enough.
        let alike: Vec<_> = ranked.iter().take(ties).map(|one| one.scheme).collect();
        let by_bitrate = rank(comparison, &alike, flow, Measure::Goodput);
        let best = tied(&by_bitrate, Measure::Goodput);
        if best < by_bitrate.len() {
            let late = ranked.iter().skip(ties);
            let late = late.map(|one| (one.scheme.name.as_str(), missing(measure.show(one.value.median))));
            refused.extend(late);
            (measure, ranked, ties) = (Measure::Goodput, by_bitrate, best);
        }
    }
    let best = ranked.first()?;
    let of = |scheme: &str| judged.iter().find(|judged| judged.scheme == scheme);
    let is_default = |one: &&Ranked<'_>| comparison.baseline.as_deref() == Some(one.scheme.name.as_str());
    let kept = ranked.iter().take(ties).find(is_default);
    // A little is no reason for what costs others much.
    let costs = of(&best.scheme.name).map_or(&[][..], |judged| &judged.costs);
    let dear = cost::words(comparison, best.scheme, costs, flow);
    let base = ranked.iter().find(is_default).filter(|_| kept.is_none() && !dear.is_empty());
    let spared = base.and_then(|base| Some((base, little(measure, base.value.median - best.value.median)?)));
    let chosen = kept.or(spared.as_ref().map(|(base, _)| *base)).unwrap_or(best);
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
        // The default, else one that differs.
        let apart = || others().find(|one| ranked.iter().skip(ties).any(|two| std::ptr::eq(*one, two)));
        let other = others().find(is_default).or_else(apart).or_else(|| others().next());
        let cost = of(&chosen.scheme.name).and_then(Judged::named_cost);
        let cost = cost.map(|cost| format!("; {} loses {}", cost.flow, percent(cost.lost)));
        let other = other.map(|one| format!(", {} {}", one.scheme.name, measure.show(one.value.median)));
        let alike: Vec<String> = ranked
            .iter()
            .take(ties)
            .filter(|one| spared.is_none() && one.scheme.name != chosen.scheme.name)
            .map(words)
            .collect();
        if !alike.is_empty() {
            lines.push(format!("The runs do not tell it from {}.", listed(&alike, MOST_NAMES)));
        }
        let is_late = measure == Measure::Missed && 100.0 * chosen.value.median >= SPOILED.threshold;
        let begin = if is_late {
            format!("No scheme keeps the deadline of {subject}, nearest {}", chosen.scheme.name)
        } else {
            format!("{verb} {} for {subject}", chosen.scheme.name)
        };
        format!(
            "{begin}: {} {}{}{}.",
            measure.name(),
            measure.show(chosen.value.median),
            other.unwrap_or_default(),
            cost.unwrap_or_default(),
        )
    };
    if let Some((_, gain)) = spared {
        lines.push(format!("{gain} do not speak for {}{dear}.", best.scheme.name));
    }
    lines.extend(of(&chosen.scheme.name).into_iter().flat_map(|chosen| named(comparison, chosen)));
    if !refused.is_empty() {
        let refused: Vec<String> = refused.iter().map(|(name, why)| format!("{name} {why}")).collect();
        lines.push(format!("Left out: {}.", refused.join("; ")));
    }
    Some(Choice { scheme: Some(chosen.scheme.name.clone()), sentence, lines, ..empty(None, measure.name()) })
}

/// The figure of the flow in focus under a single scheme.
pub(super) fn alone(comparison: &Comparison, flow: &Group) -> Option<Choice> {
    let scheme = comparison.schemes.first()?;
    let measure = Measure::for_flow(comparison, flow);
    let value = scheme.spread(|summary| measure.of(comparison, summary, flow));
    let goodput = scheme.spread(|summary| comparison.goodput_of(summary, flow))?.median;
    let lost = scheme.spread(|summary| comparison.mean_of(summary, flow, &|flow| flow.loss_rate));
    let lost = lost.map(|lost| lost.median).filter(|lost| 100.0 * lost > LOSES.threshold);
    let (name, rate) = (&flow.name, format!("at {} Mb/s", number(goodput)));
    let figure = match (measure, value.map(|value| value.median)) {
        (_, None) => format!("{name} gets nothing"),
        (Measure::Utility, Some(utility)) => format!("the utility of the session is {}", number(utility)),
        (Measure::Missed, Some(share)) => {
            format!("{} of the frames of {name} are {} {rate}", percent(share), late(comparison, flow))
        }
        (Measure::Goodput, Some(_)) => format!("the goodput of {name} is {} Mb/s", number(goodput)),
        (_, Some(ms)) => {
            let lost = lost.map(|lost| format!("; {} are lost", percent(lost)));
            format!("the p95 of {name} is {} ms {rate}{}", number(ms), lost.unwrap_or_default())
        }
    };
    Some(Choice { sentence: format!("Under {} {figure}.", scheme.name), ..empty(None, measure.name()) })
}

fn missing(share: String) -> String {
    format!("misses {share} of the frames")
}

/// Words on a gain that costs to others outweigh; `None` of a larger one.
fn little(measure: Measure, gained: f64) -> Option<String> {
    match measure {
        Measure::Latency if gained < LITTLE.threshold => Some(format!("Less than {} ms", LITTLE.threshold)),
        Measure::Missed if 100.0 * gained < SPOILED.threshold => {
            Some(format!("Less than {} % of the frames", SPOILED.threshold))
        }
        _ => None,
    }
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
    fn of_frames_in_time_those_of_the_higher_bitrate_are_chosen() {
        let made = |name: &str, late, mbps| {
            Made::new(name, 1).call(9.0).kind("call", "rtc").stalls("call", late).goodput("call", mbps)
        };
        let choice = |runs: Vec<Made>| chosen(&compared(runs, "call", "linux"));
        let collapsed = choice(vec![made("linux", 0.0, 2.0), made("wqm", 0.0, 0.2), made("law", 0.3, 2.0)]);
        assert_eq!(collapsed.sentence, "Keep linux for call: goodput 2.00 Mb/s, wqm 0.200 Mb/s.");
        assert_eq!(collapsed.lines[0], "Left out: law misses 30 % of the frames.");
        let low = choice(vec![made("linux", 0.0, 0.2), made("pie", 0.01, 2.0)]);
        assert_eq!(low.sentence, "Choose pie for call: goodput 2.00 Mb/s, linux 0.200 Mb/s.");
        // Few frames are no reason for a bitrate.
        let dear = choice(vec![made("linux", 0.15, 2.0), made("pie", 0.06, 0.2), made("law", 0.0, 0.2)]);
        assert_eq!(dear.scheme.as_deref(), Some("law"), "{}", dear.sentence);
        assert_eq!(dear.sentence, "Choose law for call: missed frames 0 %, linux 15 %; call loses 90 %.");
    }

    #[test]
    fn frames_that_no_scheme_brings_in_time_are_said_first() {
        let made =
            |name: &str, p95, late| Made::new(name, 1).vr(p95, 0.1).without_demand().stalls("vr", late);
        let runs = vec![made("linux", 854.0, 0.77), made("wqm", 300.0, 0.4), made("codel", 200.0, 0.57)];
        let choice = chosen(&compared(runs, "vr", "linux"));
        assert_eq!(
            choice.sentence,
            "No scheme keeps the deadline of vr, nearest wqm: missed frames 40 %, linux 77 %."
        );
        assert_eq!((choice.by, choice.scheme.as_deref()), ("missed frames", Some("wqm")));
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
