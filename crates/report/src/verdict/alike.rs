//! Schemes that decided exactly as another, and why.

use airbound_record::Summary;
use serde::Serialize;

use super::health::finding;
use super::rules::{EMPTY_QUEUE, IDENTICAL};
use super::{Finding, listed};
use crate::comparison::{Comparison, SchemeRuns};
use crate::grid::wrapped;

/// Names in one list.
const MOST_NAMES: usize = 4;
/// End of the sentence where no number tells the reason, and the queue below the schemes may be it.
pub(super) const ASKED: &str =
    "; compare --why asks whether the queue below theirs took the packets before they could order them.";

/// The test of why two schemes decided alike: the same runs without a queue below theirs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alike {
    /// The schemes.
    pub schemes: [String; 2],
    /// Whether they differ without the queue below theirs, which is then the reason.
    pub confirmed: bool,
    /// The sentence.
    pub sentence: String,
}

impl Alike {
    /// Judges runs of two schemes, of the same seed, in which no queue stands below theirs.
    #[must_use]
    pub fn of(schemes: [&str; 2], [one, other]: [&Summary; 2]) -> Self {
        let confirmed = bare(one) != bare(other);
        let [first, second] = schemes;
        let change = "without a queue below theirs (access-point.path.driver-queue = 0)";
        let sentence = if confirmed {
            format!(
                "{first} and {second} differ {change}: that queue took the packets before they could order them."
            )
        } else {
            format!("{first} and {second} decide alike {change}, too: that queue is not the reason.")
        };
        Self { schemes: schemes.map(str::to_owned), confirmed, sentence }
    }

    /// The sentence for a terminal, at most `width` columns wide.
    #[must_use]
    pub fn to_text(&self, width: u16) -> String {
        wrapped(&format!("=> {}", self.sentence), usize::from(width))
    }
}

impl Comparison {
    /// The same with the result of a test of schemes that decided alike, which joins the verdict of the page.
    #[must_use]
    pub fn with_alike(mut self, alike: &Alike) -> Self {
        self.tried.push(alike.sentence.clone());
        self
    }
}

/// A summary without the names of its scheme.
fn bare(summary: &Summary) -> Summary {
    Summary { scheme: Default::default(), ..summary.clone() }
}

/// Pairs of schemes whose runs have the same figures.
pub(super) fn identical(comparison: &Comparison) -> Vec<Finding> {
    let same = |one: &SchemeRuns, other: &SchemeRuns| {
        one.runs.len() == other.runs.len()
            && one.summaries().zip(other.summaries()).all(|(a, b)| bare(a) == bare(b))
    };
    let mut findings = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for (place, one) in comparison.schemes.iter().enumerate() {
        let alike = comparison.schemes[place + 1..].iter().filter(|other| same(one, other));
        let alike: Vec<&SchemeRuns> = alike.filter(|other| !told.contains(&other.name.as_str())).collect();
        if alike.is_empty() {
            continue;
        }
        told.extend(alike.iter().map(|other| other.name.as_str()));
        let mut names = vec![one.name.clone()];
        names.extend(alike.iter().map(|other| other.name.clone()));
        let empty = waiting(comparison, one).filter(|share| 100.0 * share < EMPTY_QUEUE.threshold);
        let why = empty.map(|share| {
            format!(
                "; at most {} of the latency of a flow is spent in a queue that they order",
                super::percent(share)
            )
        });
        let summaries = || std::iter::once(one).chain(alike.iter().copied()).flat_map(SchemeRuns::summaries);
        let why = why.or_else(|| {
            let late =
                "; all send in the order of arrival, and none dropped a packet before its queue was full";
            let idle = "; no flow has a demand, without which last-pq decides as linux";
            let reason = [(drops_late(summaries()), late), (asks_for_nothing(summaries()), idle)];
            reason.into_iter().find(|(holds, _)| *holds).map(|(_, words)| words.to_owned())
        });
        let asked = if comparison.facts.site.has_lower_queue { ASKED } else { "." };
        let why = why.map_or_else(|| asked.to_owned(), |why| why + ".");
        let sentence = format!("{} decided alike: all figures are the same{why}", listed(&names, MOST_NAMES));
        findings.push(finding(IDENTICAL, &names, sentence));
    }
    findings
}

/// Whether these runs have queues in the order of arrival, which differ in early drops only, and made none.
fn drops_late<'a>(mut runs: impl Iterator<Item = &'a Summary>) -> bool {
    runs.all(|run| {
        matches!(run.scheme.queue.as_str(), "fifo" | "codel" | "pie")
            && run.flows.iter().all(|flow| !flow.drops.contains_key("congestion"))
    })
}

/// Whether these are runs of LAST-PQ and of the queue that it is without a demand, and no flow has one.
fn asks_for_nothing<'a>(mut runs: impl Iterator<Item = &'a Summary>) -> bool {
    runs.all(|run| {
        matches!(run.scheme.queue.as_str(), "linux" | "last-pq")
            && run.flows.iter().all(|flow| flow.demand.is_none())
    })
}

/// The largest share of queueing in the mean latency of a flow; `None` without stages.
fn waiting(comparison: &Comparison, scheme: &SchemeRuns) -> Option<f64> {
    let shares = comparison.flows.all().iter().filter_map(|group| {
        let stages = comparison.mean_split(scheme, group)?;
        let total: f64 = stages.iter().sum();
        (total > 0.0).then(|| stages[1] / total)
    });
    shares.reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::test_runs::{Made, compared};
    use super::*;
    use crate::facts::{Facts, Site};

    fn sentence(made: Vec<Made>) -> Option<String> {
        let health = compared(made, "call", "linux").verdict().health;
        health.into_iter().find(|finding| finding.rule == IDENTICAL.name).map(|finding| finding.sentence)
    }

    fn linux() -> Made {
        Made::new("linux", 1).call(10.0)
    }

    fn pie() -> Made {
        Made::new("pie", 1).call(11.0)
    }

    #[test]
    fn schemes_that_decided_alike() {
        let again = || Made::new("wqm", 1).call(10.0);
        assert_eq!(sentence(vec![linux(), pie()]), None);
        assert_eq!(
            sentence(vec![linux(), again()]).as_deref(),
            Some("linux and wqm decided alike: all figures are the same.")
        );
        let stages = [50.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(
            sentence(vec![linux().stages("call", stages), again().stages("call", stages)]).as_deref(),
            Some(
                "linux and wqm decided alike: all figures are the same; at most 1.8 % of the latency of a flow is spent in a \
                 queue that they order."
            )
        );
    }

    #[test]
    fn queues_in_the_order_of_arrival_differ_in_early_drops() {
        let made = |name: &str, drops: &str| Made::new(name, 1).call(10.0).drops("call", drops);
        let alike = "fifo and pie decided alike: all figures are the same; all send in the order of arrival, and none \
                     dropped a packet before its queue was full.";
        let fifo = || made("fifo", "queue_full");
        assert_eq!(sentence(vec![fifo(), made("pie", "queue_full")]).as_deref(), Some(alike));
        let early = || vec![made("codel", "congestion"), made("pie", "congestion")];
        assert!(sentence(early()).is_some_and(|text| text.ends_with("the same.")));
    }

    #[test]
    fn last_pq_without_a_demand_is_linux() {
        let alike = "linux and last-pq decided alike: all figures are the same; no flow has a demand, without which \
                     last-pq decides as linux.";
        let last = || Made::new("last-pq", 1);
        assert_eq!(sentence(vec![linux(), last().call(10.0)]).as_deref(), Some(alike));
        let both = vec![linux().vr(9.0, 1.0), last().call(10.0).vr(9.0, 1.0)];
        assert!(sentence(both).is_some_and(|text| text.ends_with("the same.")));
    }

    #[test]
    fn a_queue_below_may_be_the_reason_and_a_run_without_it_decides() {
        let site = Site { has_lower_queue: true, ..Site::default() };
        let with = |made| {
            compared(made, "call", "linux")
                .with_facts(Facts { site: site.clone(), ..Facts::default() })
                .verdict()
        };
        let both = with(vec![linux(), Made::new("fifo", 1).call(10.0)]);
        assert!(both.health[0].sentence.ends_with(ASKED), "{}", both.health[0].sentence);
        assert_eq!(both.alike().collect::<Vec<_>>(), [["linux", "fifo"]]);
        // Nothing is asked where a number tells the reason.
        assert_eq!(with(vec![linux(), Made::new("last-pq", 1).call(10.0)]).alike().count(), 0);
        let runs = compared(vec![linux(), pie()], "call", "linux");
        let run = |scheme| runs.summaries_of(scheme).next().expect("a run");
        assert!(Alike::of(["linux", "pie"], [run("linux"), run("pie")]).confirmed);
        let same = Alike::of(["linux", "fifo"], [run("linux"), run("linux")]);
        assert!(!same.confirmed && same.sentence.ends_with("that queue is not the reason."));
    }
}
