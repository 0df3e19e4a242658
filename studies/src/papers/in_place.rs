//! A queue in the place of a paper's system: on the ground of a paper, the scheme `airbound` or another.

use airbound_scenario::Scheme;

use super::Paper;
use crate::{Trial, TrialError};

/// Keys of a queue and of rates.
const QUEUE: &str = "scheme.queue";
const RATE: &str = "scheme.rate";

/// A queue that takes the place of a paper's system in all of its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InPlace {
    /// As it was asked for.
    name: String,
    /// The value of `scheme.queue`, in TOML.
    value: String,
}

impl InPlace {
    /// The queue of that name, or of that TOML table, in place of `paper`'s system.
    ///
    /// # Errors
    /// A sentence: there is no such queue, its keys are wrong, or the paper's system is no queue and needs none.
    pub fn read(paper: Paper, queue: &str) -> Result<Self, String> {
        if paper == Paper::Plum {
            return Err("--as takes a queue, and Plum decides bitrates: nothing of it can be replaced".into());
        }
        let table = queue.trim_start().starts_with('{');
        let value = if table { queue.to_owned() } else { toml::Value::from(queue).to_string() };
        let ground = Trial::new("--as", include_str!("wqm/row.toml"), 1);
        ground.set(QUEUE, value.clone()).set(RATE, "\"minstrel-ht\"").read().map_err(|error| error.reason)?;
        Ok(Self { name: queue.to_owned(), value })
    }

    /// The queue as it was asked for.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The run with the queue where `paper`'s system is part of its scheme; any other run as it is.
    ///
    /// Law fills two slots: its rates give way to Minstrel-HT. The allocation decides rates of senders: it stays, above the queue.
    pub(super) fn apply(&self, paper: Paper, trial: &Trial) -> Result<Trial, TrialError> {
        let scheme = trial.read()?.scheme;
        if !is_part(paper, &scheme) {
            return Ok(trial.clone());
        }
        let mut trial = trial.clone();
        let keeps = |key: &str, slot: &str| key != slot && !key.starts_with(&format!("{slot}."));
        trial.sets.retain(|(key, _)| keeps(key, QUEUE));
        trial = trial.set(QUEUE, self.value.clone());
        if scheme.rate.is_law() {
            trial.sets.retain(|(key, _)| keeps(key, RATE));
            trial = trial.set(RATE, "\"minstrel-ht\"");
        }
        Ok(trial)
    }
}

/// Whether the paper's system is part of a scheme.
fn is_part(paper: Paper, scheme: &Scheme) -> bool {
    match paper {
        Paper::Wqm => scheme.queue.kind() == "wqm",
        Paper::LastPq => scheme.queue.kind() == "last-pq",
        Paper::Law => scheme.queue.is_law(),
        Paper::Allocation => matches!(scheme.sender.allocation(), Ok(Some(_))),
        Paper::Plum => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effort;
    use crate::papers::experiment::Results;

    #[test]
    fn the_system_gives_way_and_its_rivals_stay() {
        for paper in [Paper::Wqm, Paper::LastPq, Paper::Law, Paper::Allocation] {
            let ours = InPlace::read(paper, "airbound").expect("a queue");
            let results = Results::default();
            let effort = Effort { quick: true, ..Effort::default() };
            paper.studies().iter().for_each(|study| drop(study.part(effort, &results)));
            let mut results = results;
            let (mut replaced, mut kept) = (0, 0);
            for run in results.take_missing() {
                let before = run.trial.read().expect("a scenario").scheme;
                let after = ours.apply(paper, &run.trial).expect("a run").read().expect("a scenario").scheme;
                if is_part(paper, &before) {
                    replaced += 1;
                    assert_eq!((after.queue.name(), after.rate.is_law()), ("airbound", false));
                    assert!(after.queue.parameters().is_empty(), "{after:?}");
                    assert_eq!(after.sender, before.sender);
                } else {
                    kept += 1;
                    assert_eq!(after, before);
                }
            }
            assert!(
                replaced > 0 && (kept > 0 || paper == Paper::Allocation),
                "{paper:?}: {replaced}, {kept}"
            );
        }
    }

    #[test]
    fn a_wrong_queue_is_one_sentence() {
        let wrong = |paper, queue| InPlace::read(paper, queue).expect_err("refused");
        assert!(wrong(Paper::Wqm, "airbond").contains("\"airbound\""), "{}", wrong(Paper::Wqm, "airbond"));
        assert!(wrong(Paper::Wqm, "{ kind = \"airbound\", siez = true }").contains("siez"));
        assert!(wrong(Paper::Plum, "airbound").contains("bitrates"));
        assert!(InPlace::read(Paper::Law, "{ kind = \"airbound\", size = true }").is_ok());
    }
}
