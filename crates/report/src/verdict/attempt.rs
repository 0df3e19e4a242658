//! Advice that was followed: the same runs with one change of the site.

use airbound_record::Summary;
use serde::Serialize;

use super::cost::{costs, words};
use super::measure::{Measure, able, is_tie, rank};
use super::{Advice, Change};
use crate::comparison::{Comparison, is_adaptive};
use crate::grid::wrapped;
use crate::run::Run;

/// The result of runs with advised changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    /// The change.
    pub change: Change,
    /// Percentile of the latency, "p95" or "p99", or "goodput".
    pub figure: &'static str,
    /// Its median without the change, ms or Mb/s.
    pub before: f64,
    /// Its median with it.
    pub after: f64,
    /// Whether the runs show that it helps.
    pub helps: bool,
    /// The sentence.
    pub sentence: String,
}

impl Attempt {
    /// Judges `runs` with the change against those of `comparison`, as a scheme beside another: by the rules of the choice, with its
    /// costs. `None` if the flow in focus got nothing.
    #[must_use]
    pub fn of(comparison: &Comparison, advice: &Advice, runs: Vec<Summary>) -> Option<Self> {
        const AFTER: &str = "the change";
        let measures = [Measure::Tail, Measure::Goodput];
        let measure =
            measures.into_iter().find(|one| one.name() == advice.figure).unwrap_or(Measure::Latency);
        let before = comparison.summaries_of(&advice.scheme).cloned();
        let before = before.map(|summary| (advice.scheme.clone(), Run::from_summary(summary)));
        let after = runs.into_iter().map(|summary| (AFTER.to_owned(), Run::from_summary(summary)));
        let both =
            Comparison::new(before.chain(after).collect(), Some(&comparison.focus), Some(&advice.scheme));
        let both = both.ok()?.with_facts(comparison.facts.clone());
        let focus = both.focus()?;
        let all: Vec<_> = both.schemes.iter().collect();
        let ranked = rank(&both, &all, focus, measure);
        let of = |name: &str| ranked.iter().find(|one| one.scheme.name == name);
        let (old, new) = (of(&advice.scheme)?, of(AFTER)?);
        let spared = Some(focus).filter(|focus| !both.example(focus).is_some_and(is_adaptive));
        let refused = able(&both, focus, measure).1.into_iter().find(|(name, _)| *name == AFTER);
        let is_first = ranked.first().is_some_and(|first| first.scheme.name == AFTER);
        let helps = is_first && !is_tie(new, old, measure) && refused.is_none();
        let verb = if helps { "It helps" } else { "It does not help" };
        let but = refused.map(|(_, reason)| format!("; but it {reason}")).unwrap_or_default();
        let sentence = format!(
            "{verb}: with {} the {} of {} under {} goes from {} to {}{but}{}.",
            advice.change.words(),
            advice.figure,
            focus.name,
            advice.scheme,
            measure.bare(old.value.median),
            measure.show(new.value.median),
            words(&both, new.scheme, &costs(&both, new.scheme, spared), focus)
        );
        let (before, after) = (old.value.median, new.value.median);
        Some(Self { change: advice.change.clone(), figure: advice.figure, before, after, helps, sentence })
    }

    /// The sentence for a terminal, at most `width` columns wide.
    #[must_use]
    pub fn to_text(&self, width: u16) -> String {
        wrapped(&format!("=> {}", self.sentence), usize::from(width))
    }
}

impl Comparison {
    /// The same with the result of advice that was followed, which joins the verdict of the page.
    #[must_use]
    pub fn with_attempt(mut self, attempt: &Attempt) -> Self {
        self.tried.push(attempt.sentence.clone());
        self
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::BitRate;

    use super::super::test_runs::{Made, compared};
    use super::*;

    fn followed(before: Vec<Made>, after: Vec<Made>) -> Attempt {
        let advice = Advice {
            change: Change::Shaper { rate: BitRate::from_mbps(240) },
            scheme: "linux".to_owned(),
            figure: "p95",
            rule: "shaper",
            sets: Vec::new(),
            sentence: String::new(),
        };
        let runs = compared(after, "call", "linux").summaries_of("linux").cloned().collect();
        Attempt::of(&compared(before, "call", "linux"), &advice, runs).expect("packets")
    }

    fn run(seed: u64, p95: f64) -> Made {
        Made::new("linux", seed).call(p95).download(100.0)
    }

    #[test]
    fn a_lower_latency_is_a_help_with_its_cost() {
        let helped = followed(vec![run(1, 66.0)], vec![run(1, 31.0).goodput("download", 84.0)]);
        assert!(helped.helps);
        assert_eq!(
            helped.sentence,
            "It helps: with a shaper of 240 Mb/s with a fair queue on the access point the p95 of call under linux goes from 66.0 to \
             31.0 ms; it costs download 16 % of the goodput under linux."
        );
        assert!(!followed(vec![run(1, 66.0)], vec![run(1, 60.0)]).helps, "less than one seed shows");
    }

    #[test]
    fn ranges_over_seeds_must_not_overlap_and_the_flow_must_not_starve() {
        let seeds = |latencies: [f64; 2]| (1..).zip(latencies).map(|(seed, p95)| run(seed, p95)).collect();
        assert!(followed(seeds([30.0, 40.0]), seeds([20.0, 29.0])).helps);
        assert!(!followed(seeds([30.0, 40.0]), seeds([20.0, 30.0])).helps);
        let starved = followed(vec![run(1, 66.0)], vec![run(1, 10.0).goodput("call", 1.7)]);
        assert!(!starved.helps);
        assert!(starved.sentence.contains("; but it delivers 1.70 of 2.00 Mb/s"), "{}", starved.sentence);
    }
}
