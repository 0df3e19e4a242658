//! Running a scenario that is written in code, and many of them at a time.

use std::num::NonZeroUsize;
use std::path::Path;

use airbound_runs::experiment;
use airbound_scenario::{Overrides, Scenario};
use airbound_sim::{NoObserver, Observer, Outcome, Run};
use airbound_units::Span;

/// A run to be made: a scenario as text, and a seed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Trial {
    /// Name of the run in messages.
    pub name: String,
    /// The scenario, as in a scenario file.
    pub scenario: String,
    /// Keys of the scenario with the values that take the place of the file's, as `--set` has them.
    pub sets: Vec<(String, String)>,
    /// The seed.
    pub seed: u64,
}

/// A scenario of this crate cannot be run: a defect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the validation run {name} cannot be made: {reason}")]
pub struct TrialError {
    /// The run.
    pub name: String,
    /// Cause of the failure.
    pub reason: String,
}

impl Trial {
    /// A scenario as it is written.
    pub fn new(name: impl Into<String>, scenario: impl Into<String>, seed: u64) -> Self {
        Self { name: name.into(), scenario: scenario.into(), sets: Vec::new(), seed }
    }

    /// Sets a further key, as `--set` does.
    pub(crate) fn set(mut self, key: &str, value: impl Into<String>) -> Self {
        self.sets.push((key.to_owned(), value.into()));
        self
    }

    /// Reads its scenario.
    ///
    /// # Errors
    /// The scenario is wrong.
    pub(crate) fn read(&self) -> Result<Scenario, TrialError> {
        let mut overrides = Overrides::none();
        for (key, value) in &self.sets {
            overrides.set_from(key, value, &format!("{}: {key}", self.name), Path::new(""));
        }
        let scenario = Scenario::parse(&self.scenario, &self.name, &overrides);
        scenario.map_err(|error| TrialError { name: self.name.clone(), reason: error.to_string() })
    }

    /// Runs it.
    ///
    /// # Errors
    /// The scenario is wrong, or the books of the run do not balance.
    pub fn run(&self) -> Result<Outcome, TrialError> {
        self.observed(NoObserver).map(|(outcome, _)| outcome)
    }

    /// Runs it under the eyes of an observer, and gives that back.
    ///
    /// # Errors
    /// As [`Trial::run`].
    pub fn observed<O: Observer>(&self, observer: O) -> Result<(Outcome, O), TrialError> {
        self.looking(observer, None, |_| ())
    }

    /// Runs it under the eyes of an observer, and looks at it at equal distances of simulated time.
    ///
    /// # Errors
    /// As [`Trial::run`].
    pub fn looking<O: Observer>(
        &self,
        observer: O,
        every: Option<Span>,
        mut look: impl FnMut(&Run),
    ) -> Result<(Outcome, O), TrialError> {
        let wrong = |reason: String| TrialError { name: self.name.clone(), reason };
        let scenario = self.read()?;
        let mut run = Run::new(&self.name, &scenario, &scenario.scheme, self.seed)
            .map_err(|error| wrong(error.to_string()))?;
        run.observe(Box::new(observer));
        if let Some(every) = every.filter(|every| !every.is_zero()) {
            while run.advance(every) {
                look(&run);
            }
        }
        experiment::end(run).map_err(|error| wrong(error.to_string()))
    }
}

/// Applies `work` to all items, `jobs` at a time. The results are in the order of the items whatever the number of jobs.
///
/// # Errors
/// The first error in that order.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    jobs: NonZeroUsize,
    work: impl Fn(&T) -> Result<R, TrialError> + Sync,
) -> Result<Vec<R>, TrialError> {
    airbound_runs::jobs::all(jobs.get(), items, work)
}

/// Runs all trials, `jobs` at a time.
///
/// # Errors
/// The first that cannot be run.
pub(crate) fn run_all(trials: &[Trial], jobs: NonZeroUsize) -> Result<Vec<Outcome>, TrialError> {
    in_parallel(trials, jobs, Trial::run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_scenario_is_named() {
        let trial = Trial::new("odd", "x = 1", 1);
        let error = trial.run().expect_err("no scenario").to_string();
        assert!(error.contains("odd"), "{error}");
    }
}
