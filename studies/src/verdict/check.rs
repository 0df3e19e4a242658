//! Verdicts of a set of random networks beside the oracle's answers.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use airbound_report::{Answer, Choice, Comparison, Keeping, Run};
use airbound_runs::{Named, Opened, facts_of};
use airbound_scenario::Traffic;
use serde::Serialize;

use super::networks::{SCHEMES, network};
use super::oracle::{Tally, truth};
use crate::trial::in_parallel;
use crate::{Trial, TrialError};

/// Seeds of the verdict, from 1 on.
const SEEDS: u64 = 5;

/// One network, judged twice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Network {
    /// Number in the set.
    pub number: u64,
    /// The first sentence of the verdict.
    pub sentence: String,
    /// The scheme that the verdict chooses.
    pub chosen: String,
    /// Whether the means of the verdict's seeds keep all demands.
    pub kept: bool,
    /// The scheme of the oracle.
    pub right: String,
    /// Whether the oracle says that all demands are kept.
    pub right_kept: bool,
    /// Sentences of the verdict that contradict its figures, or each other.
    pub contradictions: Vec<String>,
    /// The scenario file.
    pub scenario: String,
}

impl Network {
    /// Whether both answers are the same.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.chosen == self.right && self.kept == self.right_kept
    }
}

/// Counts over a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Score {
    /// Networks.
    pub all: usize,
    /// Verdicts that agree with the oracle.
    pub agree: usize,
    /// Networks for which the default is right.
    pub default: usize,
    /// Verdicts that contradict themselves.
    pub contradict: usize,
}

impl Score {
    /// Of networks.
    #[must_use]
    pub fn of(networks: &[Network]) -> Self {
        let count = |is: &dyn Fn(&Network) -> bool| networks.iter().filter(|network| is(network)).count();
        Self {
            all: networks.len(),
            agree: count(&Network::agrees),
            default: count(&|network| network.right == SCHEMES[0]),
            contradict: count(&|network| !network.contradictions.is_empty()),
        }
    }
}

/// Judges so many networks of a set, the oracle with `seeds` other seeds.
///
/// # Errors
/// A network cannot be run: a defect.
pub fn check(seed: u64, count: u64, seeds: u64, jobs: NonZeroUsize) -> Result<Vec<Network>, TrialError> {
    let numbers: Vec<u64> = (0..count).collect();
    in_parallel(&numbers, jobs, |number| judged(seed, *number, seeds))
}

fn judged(set: u64, number: u64, seeds: u64) -> Result<Network, TrialError> {
    let text = network(set, number);
    let name = format!("network-{set}-{number}");
    let defect = |reason: String| TrialError { name: name.clone(), reason };
    let scenario = Trial::new(&name, &text, 1).read()?;
    let opened = Opened::of(&name, scenario);
    let schemes = opened.schemes(&SCHEMES).map_err(|error| defect(error.to_string()))?;
    let streams = opened.scenario.flows.iter().filter_map(|flow| match &flow.traffic {
        Traffic::Vr(stream) => Some((flow.name.clone(), stream.rate.as_mbps_f64())),
        _ => None,
    });
    let rates: BTreeMap<String, f64> = streams.collect();
    let (mut runs, mut tallies) = (Vec::new(), Vec::new());
    for named in &schemes {
        let scheme = &named.label;
        let of_scheme: Vec<(&Named, u64)> = (1..=SEEDS + seeds).map(|seed| (named, seed)).collect();
        let mut summaries =
            opened.summaries(&of_scheme, 1, &()).map_err(|error| defect(error.to_string()))?;
        let of_oracle = summaries.split_off(SEEDS as usize);
        runs.extend(summaries.into_iter().map(|summary| (scheme.clone(), Run::from_summary(summary))));
        let mut tally = Tally::default();
        for summary in of_oracle {
            let summary = summary.to_json().map_err(|error| defect(error.to_string()))?;
            let summary = serde_json::from_str(&summary).map_err(|error| defect(error.to_string()))?;
            tally.add(&summary, &rates);
        }
        tallies.push((scheme.clone(), tally));
    }
    let right = truth(&tallies).ok_or_else(|| defect("no scheme was run".to_owned()))?;
    let comparison = Comparison::new(runs, Some("stream"), Some(SCHEMES[0]))
        .map_err(|error| defect(error.to_string()))?
        .with_facts(facts_of(&opened.scenario.to_toml()));
    let answer = comparison.verdict();
    let choice = answer.choice.as_ref().ok_or_else(|| defect("there is no choice".to_owned()))?;
    let chosen = choice.scheme.clone().unwrap_or_default();
    let own = choice.schemes.iter().find(|judged| judged.scheme == chosen);
    Ok(Network {
        number,
        sentence: choice.sentence.clone(),
        kept: own.is_some_and(|judged| judged.demands.iter().all(|demand| demand.excess <= 1.0)),
        chosen,
        right: right.scheme,
        right_kept: right.is_kept,
        contradictions: contradictions(choice, &answer),
        scenario: text,
    })
}

/// Sentences that cannot stand beside the figures, or beside each other.
fn contradictions(choice: &Choice, answer: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |is_wrong: bool, what: &str| {
        if is_wrong {
            found.push(what.to_owned());
        }
    };
    let chosen = choice.scheme.as_deref().unwrap_or_default();
    let own = choice.schemes.iter().find(|judged| judged.scheme == chosen);
    let all: Vec<&str> = answer.sentences().collect();
    let says = |text: &str| all.iter().any(|sentence| sentence.contains(text));
    note(choice.sentence.split_whitespace().count() > 20, "more than 20 words");
    note(own.is_none(), "the choice was not run");
    let is_none_kept =
        choice.schemes.iter().all(|judged| judged.demands.iter().any(|demand| demand.excess > 1.0));
    note(says("No scheme keeps") != is_none_kept, "whether any scheme keeps the demands");
    let first = choice.lines.first().filter(|_| choice.sentence.starts_with("Nothing is playable"));
    let first = first.unwrap_or(&choice.sentence);
    note(!first.contains(chosen), "the first sentence names another scheme");
    if let Some(own) = own {
        let largest = own.costs.first().map_or(0.0, |cost| cost.lost);
        note(first.contains(" loses ") && largest < 0.1 && !is_none_kept, "a cost that is none");
        note(first.contains("at little cost") && largest >= 0.1, "a cost that is left out");
        note(
            choice.keeping == Some(Keeping::Missed) && !is_none_kept,
            "a missed demand beside others that are kept",
        );
    }
    note(says(&format!("Left out: {chosen}")), "the choice is left out");
    let others = choice.schemes.iter().filter(|judged| judged.scheme != chosen);
    let wrong = others.filter(|judged| {
        let is_said = choice.lines.iter().any(|line| {
            line.starts_with("Also ") && line.split([' ', ',']).any(|word| word == judged.scheme)
        });
        is_said && judged.demands.iter().any(|demand| demand.excess > 1.0)
    });
    note(wrong.count() > 0, "another scheme is said to keep what it misses");
    found
}
