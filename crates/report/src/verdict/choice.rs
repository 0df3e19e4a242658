//! Which scheme to choose for a flow, and what it costs the others.

use airbound_record::{FlowSummary, Summary};

use super::rules::{CHOICE, COST, DELAYS, DELIVERS, LITTLE, LOSES, MEETS};
use super::{Choice, listed, percent};
use crate::comparison::{Comparison, SchemeRuns, is_transfer, relative_change};
use crate::grid::{Spread, number};
use crate::groups::Group;

/// Flows beside the one in focus whose demands are judged.
const MOST_FLOWS: usize = 5;
/// Names in one list.
const MOST_NAMES: usize = 4;
/// Rise of a p95 that matters to anybody, ms.
const FELT_MS: f64 = 5.0;

/// Figure by which schemes are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// Utility of a conference.
    Utility,
    /// Share of the seconds in which a demand was met.
    Met,
    /// Share of video frames that missed their deadline.
    Missed,
    /// Goodput of a transfer.
    Goodput,
    /// 95th percentile of the latency.
    Latency,
    /// 99th percentile of the latency.
    Tail,
}

impl Measure {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Utility => "utility",
            Self::Met => "demand met",
            Self::Missed => "missed frames",
            Self::Goodput => "goodput",
            Self::Latency => "p95",
            Self::Tail => "p99",
        }
    }

    const fn is_share(self) -> bool {
        matches!(self, Self::Met | Self::Missed)
    }

    const fn wants_more(self) -> bool {
        matches!(self, Self::Utility | Self::Met | Self::Goodput)
    }

    /// The figure of a flow, or of a group: shares are those of all seconds and frames, goodput is that of all members, the latency
    /// the median of theirs.
    fn of(self, comparison: &Comparison, summary: &Summary, flow: &Group) -> Option<f64> {
        match self {
            Self::Utility => Some(summary.session.as_ref()?.utility),
            Self::Met => comparison.mean_of(summary, flow, &|flow| flow.demand?.met_share),
            Self::Missed => comparison.mean_of(summary, flow, &|flow| flow.rtc?.deadline_miss_rate),
            Self::Goodput => comparison.goodput_of(summary, flow),
            Self::Latency => comparison.middle_of(summary, flow, &|flow| flow.latency_ms.p95),
            Self::Tail => comparison.middle_of(summary, flow, &|flow| flow.latency_ms.p99),
        }
    }

    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Utility => number(value),
            Self::Met | Self::Missed => percent(value),
            Self::Goodput => format!("{} Mb/s", number(value)),
            Self::Latency | Self::Tail => format!("{} ms", number(value)),
        }
    }

    /// The value without its unit, in front of one with it.
    pub(super) fn bare(self, value: f64) -> String {
        if self.is_share() { self.show(value) } else { number(value) }
    }

    /// The value with its range over the seeds.
    fn show_spread(self, spread: Spread) -> String {
        let (median, low, high) = (self.show(spread.median), self.show(spread.low), self.show(spread.high));
        if low == high { median } else { format!("{median} ({low} to {high})") }
    }
}

/// A scheme with its value.
pub(super) struct Ranked<'a> {
    pub(super) scheme: &'a SchemeRuns,
    pub(super) value: Spread,
}

/// The choices for the flow in focus, and for each other flow with a demand.
pub(super) fn choices(comparison: &Comparison) -> Vec<Choice> {
    let Some(focus) = comparison.focus() else { return Vec::new() };
    let has = |flow: &Group, measure: Measure| {
        let value = |summary: &Summary| measure.of(comparison, summary, flow);
        comparison.schemes.iter().any(|scheme| scheme.spread(value).is_some())
    };
    let measure = if has(focus, Measure::Utility) {
        Measure::Utility
    } else if has(focus, Measure::Met) {
        Measure::Met
    } else if has(focus, Measure::Missed) {
        Measure::Missed
    } else if comparison.example(focus).is_some_and(is_transfer) {
        Measure::Goodput
    } else {
        Measure::Latency
    };
    let mut choices: Vec<Choice> = choose(comparison, focus, measure).into_iter().collect();
    let others = comparison.others().filter(|other| has(other, Measure::Met));
    choices.extend(others.take(MOST_FLOWS).filter_map(|other| choose(comparison, other, Measure::Met)));
    choices
}

fn choose(comparison: &Comparison, flow: &Group, measure: Measure) -> Option<Choice> {
    let (able, refused) = able(comparison, flow, measure);
    let mut ranked = rank(comparison, &able, flow, measure);
    if comparison.schemes.len() == 1 {
        return only(comparison, flow, measure, ranked.first()?);
    }
    let mut measure = measure;
    let mut ties = tied(&ranked, measure);
    // Where all meet a demand equally often, and not nearly always, the latency decides.
    let is_met = |ranked: &Ranked<'_>| 100.0 * ranked.value.median >= MEETS.threshold;
    if measure == Measure::Met && ties == ranked.len() && !ranked.first().is_some_and(is_met) {
        measure = Measure::Latency;
        ranked = rank(comparison, &able, flow, measure);
        ties = tied(&ranked, measure);
    }
    let best = ranked.first()?;
    if ranked.len() < 2 && refused.is_empty() {
        return None;
    }
    let baseline = comparison.baseline.as_deref();
    let tied: Vec<&Ranked<'_>> = ranked.iter().take(ties).collect();
    let kept = tied.iter().find(|one| Some(one.scheme.name.as_str()) == baseline);
    // Some milliseconds are no reason for what costs others much.
    let dear = kept.is_none().then(|| too_dear(comparison, &ranked, best, flow, measure)).flatten();
    let chosen: &Ranked<'_> = kept.copied().or(dear).unwrap_or(best);
    let names: Vec<String> = tied
        .iter()
        .filter(|one| dear.is_none() && one.scheme.name != chosen.scheme.name)
        .map(|one| one.scheme.name.clone())
        .collect();
    let seeds = comparison.seeds();
    let subject = if measure == Measure::Utility { "the session" } else { &flow.name };
    let mut sentence = if ties == ranked.len() && ranked.len() > 1 {
        let how = if seeds > 1 {
            format!("their ranges over {seeds} seeds overlap")
        } else {
            format!("one seed shows less than {} % between them", CHOICE.threshold)
        };
        let all: Vec<String> = ranked.iter().map(|one| one.scheme.name.clone()).collect();
        let (low, high) = ends(&ranked);
        let (low, high) = (measure.show(low), measure.show(high));
        let span = if low == high { low } else { format!("{low} to {high}") };
        format!(
            "For {subject} the runs tell no difference between {}: {} {span}; {how}",
            listed(&all, MOST_NAMES),
            measure.name()
        )
    } else {
        let verb = if is_baseline(comparison, chosen.scheme) { "Keep" } else { "Choose" };
        // How often a demand was met follows.
        let shown = if measure == Measure::Met { Measure::Latency } else { measure };
        let mut text = format!(
            "{verb} {} for {subject}{}",
            chosen.scheme.name,
            beside(comparison, &ranked, chosen, flow, shown)
        );
        if !names.is_empty() {
            let how = if seeds > 1 { "the seeds do" } else { "one seed does" };
            text += &format!("; {how} not tell it from {}", listed(&names, MOST_NAMES));
        }
        text
    };
    if measure != Measure::Utility {
        sentence += &demand(comparison, chosen.scheme, &ranked, flow);
    }
    if dear.is_some() {
        sentence += &format!("; less than {} ms do not speak for {}", LITTLE.threshold, best.scheme.name);
    }
    sentence += &costs(comparison, if dear.is_some() { best.scheme } else { chosen.scheme }, flow);
    if seeds == 1 && ties < ranked.len() {
        sentence += "; one seed, so --seeds 5 says how sure that is";
    }
    sentence.push('.');
    if !refused.is_empty() && measure != Measure::Goodput {
        let refused: Vec<String> = refused.iter().map(|(name, why)| format!("{name} {why}")).collect();
        sentence += &format!(" Left out: {}.", refused.join("; "));
    }
    Some(Choice {
        flow: flow.name.clone(),
        scheme: Some(chosen.scheme.name.clone()),
        ties: names,
        by: measure.name(),
        sentence,
    })
}

/// The baseline, if the best scheme lowers a latency by little and costs others much of their goodput.
fn too_dear<'a, 'b>(
    comparison: &Comparison,
    ranked: &'a [Ranked<'b>],
    best: &Ranked<'_>,
    flow: &Group,
    measure: Measure,
) -> Option<&'a Ranked<'b>> {
    let base = ranked.iter().find(|one| is_baseline(comparison, one.scheme))?;
    let gained = base.value.median - best.value.median;
    let is_little = measure == Measure::Latency && gained < LITTLE.threshold;
    (is_little && !losers(comparison, best.scheme, base.scheme, flow).is_empty()).then_some(base)
}

/// The sentence on a single scheme, where a demand asks for one.
fn only(comparison: &Comparison, flow: &Group, measure: Measure, ranked: &Ranked<'_>) -> Option<Choice> {
    let latency = comparison.middle(ranked.scheme, flow, &|flow| Some(flow.demand?.latency_ms))?.median;
    (measure == Measure::Met).then(|| Choice {
        flow: flow.name.clone(),
        scheme: None,
        ties: Vec::new(),
        by: measure.name(),
        sentence: format!(
            "{} meets the demand of {latency} ms of {} on the Wi-Fi in {} of the seconds.",
            ranked.scheme.name,
            flow.name,
            measure.show_spread(ranked.value)
        ),
    })
}

/// Schemes that serve the flow, and why others do not: a flow that starves, or loses much, has low latencies.
pub(super) fn able<'a>(
    comparison: &'a Comparison,
    flow: &Group,
    measure: Measure,
) -> (Vec<&'a SchemeRuns>, Vec<(&'a str, String)>) {
    let all: Vec<&SchemeRuns> = comparison.schemes.iter().collect();
    if matches!(measure, Measure::Utility | Measure::Goodput | Measure::Missed) {
        return (all, Vec::new());
    }
    let goodput = |scheme: &SchemeRuns| {
        super::median(scheme, |summary| comparison.goodput_of(summary, flow)).unwrap_or(0.0)
    };
    let loss = |scheme: &SchemeRuns| {
        let lost = |summary: &Summary| comparison.mean_of(summary, flow, &|flow| flow.loss_rate);
        super::median(scheme, lost).unwrap_or(0.0)
    };
    let most = all.iter().map(|scheme| goodput(scheme)).fold(0.0, f64::max);
    let least = all.iter().map(|scheme| loss(scheme)).fold(1.0, f64::min);
    let (mut able, mut refused) = (Vec::new(), Vec::new());
    for scheme in all {
        let (goodput, loss) = (goodput(scheme), loss(scheme));
        if 100.0 * goodput < DELIVERS.threshold * most {
            let reason = format!("delivers {} of {} Mb/s", number(goodput), number(most));
            refused.push((scheme.name.as_str(), reason));
        } else if 100.0 * (loss - least) > LOSES.threshold {
            refused.push((scheme.name.as_str(), format!("loses {} of the packets", percent(loss))));
        } else {
            able.push(scheme);
        }
    }
    (able, refused)
}

/// The schemes with a value, the best first.
pub(super) fn rank<'a>(
    comparison: &Comparison,
    schemes: &[&'a SchemeRuns],
    flow: &Group,
    measure: Measure,
) -> Vec<Ranked<'a>> {
    let mut ranked: Vec<Ranked<'_>> = schemes
        .iter()
        .filter_map(|scheme| {
            let value = scheme.spread(|summary| measure.of(comparison, summary, flow))?;
            Some(Ranked { scheme, value })
        })
        .collect();
    ranked.sort_by(|one, other| {
        let order = one.value.median.total_cmp(&other.value.median);
        if measure.wants_more() { order.reverse() } else { order }
    });
    ranked
}

/// Number of schemes, from the best on, that the runs do not tell from it.
fn tied(ranked: &[Ranked<'_>], measure: Measure) -> usize {
    let Some(best) = ranked.first() else { return 0 };
    ranked.iter().take_while(|other| is_tie(best, other, measure)).count()
}

pub(super) fn is_tie(best: &Ranked<'_>, other: &Ranked<'_>, measure: Measure) -> bool {
    if best.scheme.runs.len() > 1 && other.scheme.runs.len() > 1 {
        return best.value.low <= other.value.high && other.value.low <= best.value.high;
    }
    let (one, two) = (best.value.median, other.value.median);
    let scale = if measure.is_share() { 1.0 } else { one.abs().max(two.abs()) };
    100.0 * (one - two).abs() < CHOICE.threshold * scale || one == two
}

/// Least and largest median.
fn ends(ranked: &[Ranked<'_>]) -> (f64, f64) {
    let medians = || ranked.iter().map(|one| one.value.median);
    (medians().fold(f64::INFINITY, f64::min), medians().fold(f64::NEG_INFINITY, f64::max))
}

/// The figure of a scheme and of the baseline, or of the next scheme.
fn beside(
    comparison: &Comparison,
    ranked: &[Ranked<'_>],
    chosen: &Ranked<'_>,
    flow: &Group,
    measure: Measure,
) -> String {
    let shown = |one: &Ranked<'_>| {
        let value = one.scheme.spread(|summary| measure.of(comparison, summary, flow));
        value.map(|spread| measure.show_spread(spread))
    };
    let Some(own) = shown(chosen) else { return String::new() };
    let others = || ranked.iter().filter(|one| one.scheme.name != chosen.scheme.name);
    let other = others().find(|one| is_baseline(comparison, one.scheme)).or_else(|| others().next());
    let other =
        other.and_then(|one| Some(format!(", {} {}", one.scheme.name, shown(one)?))).unwrap_or_default();
    format!(": {} {own}{other}", measure.name())
}

/// The words on the demand of the flow.
fn demand(comparison: &Comparison, chosen: &SchemeRuns, ranked: &[Ranked<'_>], flow: &Group) -> String {
    let met =
        |scheme: &SchemeRuns| super::median(scheme, |summary| Measure::Met.of(comparison, summary, flow));
    let demanded = comparison.middle(chosen, flow, &|flow| Some(flow.demand?.latency_ms));
    let Some(latency) = demanded.map(|spread| spread.median) else { return String::new() };
    let Some(share) = met(chosen) else { return String::new() };
    let beside = ranked.iter().map(|one| one.scheme).find(|scheme| is_baseline(comparison, scheme));
    let beside = beside
        .filter(|scheme| scheme.name != chosen.name)
        .and_then(|scheme| Some(format!(" ({} {})", scheme.name, percent(met(scheme)?))));
    let is_met = |scheme: &SchemeRuns| met(scheme).is_some_and(|share| 100.0 * share >= MEETS.threshold);
    let nowhere = if ranked.iter().any(|one| is_met(one.scheme)) {
        String::new()
    } else {
        format!(", and in {} % under no scheme", MEETS.threshold)
    };
    let beside = beside.unwrap_or_default();
    format!(
        "; its demand of {latency} ms on the Wi-Fi is met in {} of the seconds{beside}{nowhere}",
        percent(share)
    )
}

fn is_baseline(comparison: &Comparison, scheme: &SchemeRuns) -> bool {
    comparison.baseline.as_ref() == Some(&scheme.name)
}

/// Other flows that a scheme costs something, against the baseline.
struct Losers {
    /// Those that lose goodput, with the share.
    slower: Vec<String>,
    /// Those whose latency rises, with both values.
    later: Vec<String>,
}

impl Losers {
    fn is_empty(&self) -> bool {
        self.slower.is_empty() && self.later.is_empty()
    }
}

fn losers(comparison: &Comparison, chosen: &SchemeRuns, base: &SchemeRuns, flow: &Group) -> Losers {
    let mut losers = Losers { slower: Vec::new(), later: Vec::new() };
    for other in comparison.flows.all().iter().filter(|other| !other.is(flow)) {
        // A cost is one under every seed.
        let goodput = |summary: &Summary| comparison.goodput_of(summary, other);
        if let Some(change) = relative_change(chosen, base, goodput).filter(|c| c.high <= -COST.threshold) {
            losers.slower.push(format!("{} {}", other.name, percent(-change.median / 100.0)));
        }
        let p95 = |summary: &Summary| {
            let of = |flow: &FlowSummary| if is_transfer(flow) { None } else { flow.latency_ms.p95 };
            comparison.middle_of(summary, other, &of)
        };
        if relative_change(chosen, base, p95).is_some_and(|change| change.low >= DELAYS.threshold)
            && let (Some(from), Some(to)) = (super::median(base, p95), super::median(chosen, p95))
            && to - from >= FELT_MS
        {
            losers.later.push(format!("{} from {} to {} ms", other.name, number(from), number(to)));
        }
    }
    losers
}

/// The words on what the scheme costs other flows, against the baseline.
pub(super) fn costs(comparison: &Comparison, chosen: &SchemeRuns, flow: &Group) -> String {
    let mut text = String::new();
    let Some(base) = comparison.base().filter(|base| base.name != chosen.name) else { return text };
    let losers = losers(comparison, chosen, base, flow);
    if losers.is_empty() && comparison.flows.all().len() > 1 {
        text = format!("; no other flow loses {} % of its goodput against {}", COST.threshold, base.name);
    }
    if !losers.slower.is_empty() {
        text +=
            &format!("; it costs {} of the goodput under {}", listed(&losers.slower, MOST_NAMES), base.name);
    }
    if !losers.later.is_empty() {
        text += &format!("; it raises the p95 of {}", listed(&losers.later, MOST_NAMES));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::test_runs::{Made, compared};
    use super::*;

    fn first(comparison: &Comparison) -> Choice {
        comparison.verdict().choices.remove(0)
    }

    #[test]
    fn the_lower_latency_is_chosen_beside_the_baseline_with_its_cost() {
        let linux = Made::new("linux", 1).vr(44.4, 0.12).download(100.0);
        let last = Made::new("last-pq", 1).vr(17.9, 0.75).download(91.0);
        let choice = first(&compared(vec![linux, last], "vr", "linux"));
        assert_eq!(choice.scheme.as_deref(), Some("last-pq"));
        assert_eq!(
            choice.sentence,
            "Choose last-pq for vr: p95 17.9 ms, linux 44.4 ms; its demand of 20 ms on the Wi-Fi is met in 75 % of the seconds (linux 12 %), and in \
             95 % under no scheme; it costs download 9.0 % of the goodput under linux; one seed, so --seeds 5 says how sure that is."
        );
    }

    #[test]
    fn ranges_that_overlap_tell_no_difference_and_the_baseline_stays() {
        let runs = |name: &str, latencies: [f64; 3]| {
            (1..).zip(latencies).map(|(seed, p95)| Made::new(name, seed).call(p95)).collect::<Vec<_>>()
        };
        let all = [runs("linux", [20.0, 22.0, 24.0]), runs("wqm", [18.0, 19.0, 21.0])].concat();
        let choice = first(&compared(all, "call", "linux"));
        assert_eq!(choice.scheme.as_deref(), Some("linux"));
        assert_eq!(choice.ties, ["wqm"]);
        assert!(choice.sentence.contains("no difference between wqm and linux"), "{}", choice.sentence);
        assert!(choice.sentence.contains("ranges over 3 seeds overlap"), "{}", choice.sentence);
        // The same medians, apart.
        let all = [runs("linux", [21.9, 22.0, 22.1]), runs("wqm", [18.9, 19.0, 19.1])].concat();
        let choice = first(&compared(all, "call", "linux"));
        assert_eq!((choice.scheme.as_deref(), choice.ties.len()), (Some("wqm"), 0));
        assert!(
            choice.sentence.starts_with("Choose wqm for call: p95 19.0 ms (18.9 ms to 19.1 ms)"),
            "{}",
            choice.sentence
        );
    }

    #[test]
    fn some_milliseconds_are_no_reason_for_what_costs_others() {
        let pair = |p95, mbps| {
            let linux = Made::new("linux", 1).call(10.0).download(100.0);
            let choice =
                first(&compared(vec![linux, Made::new("fq", 1).call(p95).download(mbps)], "call", "linux"));
            (choice.scheme, choice.sentence)
        };
        let (scheme, sentence) = pair(5.1, 2.0);
        assert_eq!(scheme.as_deref(), Some("linux"));
        assert_eq!(
            sentence,
            "Keep linux for call: p95 10.0 ms, fq 5.10 ms; less than 5 ms do not speak for fq; it costs download 98 % of the goodput \
             under linux; one seed, so --seeds 5 says how sure that is."
        );
        assert_eq!(pair(5.0, 2.0).0.as_deref(), Some("fq"), "as much as 5 ms");
        assert_eq!(pair(5.1, 100.0).0.as_deref(), Some("fq"), "at no cost");
    }

    #[test]
    fn one_seed_cannot_tell_what_lies_close() {
        let pair = |p95| vec![Made::new("linux", 1).call(20.0), Made::new("pie", 1).call(p95)];
        let close = first(&compared(pair(18.1), "call", "linux"));
        assert!(close.sentence.contains("one seed shows less than 10 %"), "{}", close.sentence);
        assert_eq!(close.scheme.as_deref(), Some("linux"));
        let apart = first(&compared(pair(17.9), "call", "linux"));
        assert_eq!(apart.scheme.as_deref(), Some("pie"), "{}", apart.sentence);
    }

    #[test]
    fn a_scheme_that_starves_or_loses_is_not_chosen_for_its_latency() {
        let starved = Made::new("codel", 1).call(2.0).goodput("call", 0.5);
        let lossy = Made::new("wqm", 1).call(3.0).loss("call", 0.05);
        let all = vec![Made::new("linux", 1).call(20.0), starved, lossy, Made::new("pie", 1).call(10.0)];
        let choice = first(&compared(all, "call", "linux"));
        assert_eq!(choice.scheme.as_deref(), Some("pie"));
        assert!(
            choice
                .sentence
                .ends_with("Left out: codel delivers 0.500 of 2.00 Mb/s; wqm loses 5.0 % of the packets."),
            "{}",
            choice.sentence
        );
    }

    #[test]
    fn a_transfer_wants_goodput_and_a_later_call_is_a_cost() {
        let linux = Made::new("linux", 1).download(80.0).call(10.0);
        let fifo = Made::new("fifo", 1).download(100.0).call(30.0);
        let choice = first(&compared(vec![linux, fifo], "download", "linux"));
        assert_eq!((choice.scheme.as_deref(), choice.by), (Some("fifo"), "goodput"));
        assert!(
            choice.sentence.contains("it raises the p95 of call from 10.0 to 30.0 ms"),
            "{}",
            choice.sentence
        );
    }

    #[test]
    fn each_demand_has_a_choice() {
        let linux = Made::new("linux", 1).call(10.0).vr(40.0, 0.2);
        let last = Made::new("last-pq", 1).call(10.0).vr(18.0, 0.97);
        let choices = compared(vec![linux, last], "call", "linux").verdict().choices;
        let chosen: Vec<_> = choices.iter().map(|c| (c.flow.as_str(), c.scheme.as_deref())).collect();
        assert_eq!(chosen, [("call", Some("linux")), ("vr", Some("last-pq"))]);
        assert!(
            choices[1].sentence.contains("is met in 97 % of the seconds (linux 20 %);"),
            "{}",
            choices[1].sentence
        );
    }

    #[test]
    fn figures_that_are_the_same_stand_once() {
        let choice = first(&compared(
            vec![Made::new("linux", 1).call(9.0), Made::new("pie", 1).call(9.0)],
            "call",
            "linux",
        ));
        assert_eq!(
            choice.sentence,
            "For call the runs tell no difference between linux and pie: p95 9.00 ms; one seed shows less than 10 % between them."
        );
    }
}
