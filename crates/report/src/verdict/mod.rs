//! The verdict of a comparison: which scheme to choose, where the time goes, and what is wrong with the runs.
//!
//! Numbers in, sentences out: everything is computed from summaries, stages of latencies and [`Facts`](crate::Facts) of the scenario. Each
//! sentence has a [`Rule`] with its threshold in one table ([`RULES`]); docs/understand/verdicts.md explains them.

mod advice;
mod alike;
mod attempt;
mod bitrate;
mod bottleneck;
mod choice;
mod cost;
mod health;
mod judged;
mod keep;
mod measure;
mod plain;
mod rules;
mod short;
#[cfg(test)]
pub(crate) mod test_runs;
mod trial;

use serde::Serialize;

pub use advice::{Advice, Change, Limit};
pub use alike::Alike;
pub use attempt::Attempt;
pub use cost::Cost;
pub use judged::{Choice, Judged};
pub(crate) use keep::missed_frames;
pub use keep::{DemandResult, Keeping};
pub use rules::{RULES, Rule};
pub use trial::Trial;

use crate::comparison::{Comparison, SchemeRuns};
use crate::grid::wrapped;
use crate::groups::Group;

/// The verdict of a comparison, or of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Answer {
    /// The scheme to choose; `None` of a single scheme without a demand.
    pub choice: Option<Choice>,
    /// The bottleneck of the flow in focus under the chosen scheme; `None` if it delivered nothing.
    pub bottleneck: Option<Bottleneck>,
    /// Changes of the site that may lower the latency of the flow in focus; runs with them are what proves them.
    pub advice: Vec<Advice>,
    /// Remarks on the health of the runs.
    pub health: Vec<Finding>,
}

/// Cause of most of a flow's latency, or bound of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Queueing at the bottleneck of the wire.
    Wire,
    /// Propagation on the wire.
    Distance,
    /// The access point's queue.
    Queue,
    /// The queue of a sending station.
    StationQueue,
    /// Waiting for the air.
    Contention,
    /// Transmissions that fail.
    Retries,
    /// The transmission itself: a low rate.
    Rate,
    /// The receiver's reordering buffer.
    Reordering,
    /// The air is full.
    Air,
    /// The sender: neither air nor wire is full.
    Sender,
    /// No single one.
    Several,
}

/// Figure that a bottleneck bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// The mean latency, ms.
    MeanLatency,
    /// The goodput of a transfer, Mb/s.
    Goodput,
}

/// The bottleneck of the flow in focus.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bottleneck {
    /// The cause.
    pub cause: Cause,
    /// Figure that it bounds.
    pub figure: Figure,
    /// The flow, or the group of flows.
    pub flow: String,
    /// The flow, or the members of the group.
    #[serde(skip)]
    pub members: Vec<String>,
    /// The scheme of the runs.
    pub scheme: String,
    /// Name of the rule.
    pub rule: &'static str,
    /// Share of the mean latency, 0 to 1, or of the capacity in use.
    pub share: f64,
    /// The sentence.
    pub sentence: String,
}

/// A remark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the rule.
    pub rule: &'static str,
    /// Schemes that it is about.
    pub schemes: Vec<String>,
    /// The sentence.
    pub sentence: String,
}

impl Comparison {
    /// The reason why a scheme is not chosen for the latency of a group: it starves the group, or loses more of it than others.
    pub(crate) fn refusal(&self, scheme: &SchemeRuns, group: &Group) -> Option<String> {
        let (_, refused) = measure::able(self, group, measure::Measure::Latency);
        refused.into_iter().find(|(name, _)| *name == scheme.name).map(|(_, reason)| reason)
    }

    /// The verdict.
    #[must_use]
    pub fn verdict(&self) -> Answer {
        if self.is_idle() {
            let sentence = "No program sent anything over the air: nothing is judged.".to_owned();
            let choice = Some(Choice { sentence, ..judged::empty(None, "nothing") });
            return Answer { choice, ..Answer::default() };
        }
        let choice = choice::choice(self);
        let chosen = choice.as_ref().and_then(|choice| choice.scheme.as_deref());
        let chosen = chosen.or(self.baseline.as_deref());
        let scheme = self.schemes.iter().find(|scheme| Some(scheme.name.as_str()) == chosen);
        let scheme = scheme.or(self.schemes.first());
        let bottleneck = scheme.and_then(|scheme| bottleneck::bottleneck(self, scheme));
        let advice = scheme.map(|scheme| advice::advice(self, scheme)).unwrap_or_default();
        let mut health = alike::identical(self);
        health.extend(short::short_aggregates(self));
        health.extend(health::findings(self));
        Answer { choice, bottleneck, advice, health }
    }
}

impl Answer {
    /// All sentences: the choice with its lines, bottleneck, advice, remarks.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        let choice =
            self.choice.iter().flat_map(|choice| std::iter::once(&choice.sentence).chain(&choice.lines));
        let choice = choice.map(String::as_str);
        let bottleneck = self.bottleneck.iter().map(|bottleneck| bottleneck.sentence.as_str());
        let advice = self.advice.iter().map(|advice| advice.sentence.as_str());
        choice
            .chain(bottleneck)
            .chain(advice)
            .chain(self.health.iter().map(|finding| finding.sentence.as_str()))
    }

    /// The schemes of each finding that some decided alike for a reason that no number tells.
    pub fn alike(&self) -> impl Iterator<Item = &[String]> {
        let alike = self.health.iter().filter(|finding| finding.rule == rules::IDENTICAL.name);
        alike
            .filter(|finding| finding.sentence.ends_with(alike::ASKED))
            .map(|finding| finding.schemes.as_slice())
    }

    /// Text for a terminal, at most `width` columns wide; empty without sentences.
    #[must_use]
    pub fn to_text(&self, width: u16) -> String {
        let mut text = String::new();
        for sentence in self.sentences() {
            text += &wrapped(&format!("=> {sentence}"), usize::from(width));
        }
        text
    }
}

/// Names as a list: "a", "a and b", "a, b and c", with at most `most` of them.
fn listed(names: &[String], most: usize) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        _ if names.len() > most => {
            format!("{} and {} more", names[..most].join(", "), names.len() - most)
        }
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A share in whole percent, with a digit below 10 %.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent > 0.0 && percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A share between two others: "5 %" or "5 to 8 %".
fn percents(low: f64, high: f64) -> String {
    let (low, high) = (percent(low), percent(high));
    if low == high { low } else { format!("{} to {high}", low.trim_end_matches(" %")) }
}

/// Median of a value over the seeds of a scheme.
fn median(scheme: &SchemeRuns, value: impl Fn(&airbound_record::Summary) -> Option<f64>) -> Option<f64> {
    scheme.spread(value).map(|spread| spread.median)
}
