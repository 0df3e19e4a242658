//! Experiments: runs that an analysis asks for, each made once, several at a time.
//!
//! [`Runs`] makes what an analysis asks for, [`Opened::summaries`] runs of schemes and seeds. [`play`] plays one run to its end under an observer, which comes back with what it kept.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use airbound_record::Summary;
use airbound_sim::{Observer, Outcome, Run};

use crate::error::RunsError;
use crate::jobs;
use crate::opened::{Named, Opened};
use crate::watch::{Meter, Watch};

/// Plays a run to its end under `observer`, and returns its results and the observer.
///
/// # Errors
/// [`RunsError::Imbalance`] on a defect of the simulator.
///
/// ```
/// use airbound_runs::{Opened, experiment};
/// use airbound_scenario::Overrides;
/// use airbound_sim::{Event, Events, Observer, Run};
///
/// struct Packets(u64);
/// impl Observer for Packets {
///     fn wants(&self) -> Events {
///         Events { packets: true, ..Events::NONE }
///     }
///     fn on_event(&mut self, event: Event<'_>) {
///         self.0 += u64::from(matches!(event, Event::Packet(_)));
///     }
/// }
///
/// let opened = Opened::by_name("hello", &Overrides::from_pairs(&[("duration", "100 ms")]))?;
/// let run = Run::new(&opened.name, &opened.scenario, &opened.scenario.scheme, 1)?;
/// let (outcome, packets) = experiment::play(run, Packets(0))?;
/// assert!(packets.0 >= outcome.summary.flows[0].packets.delivered);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn play<O: Observer>(mut run: Run, observer: O) -> Result<(Outcome, O), RunsError> {
    run.observe(Box::new(observer));
    end(run)
}

/// Plays a run under an observer of this type to its end, and returns its results and the observer.
///
/// # Errors
/// [`RunsError::Imbalance`] on a defect of the simulator.
pub fn end<O: Observer>(run: Run) -> Result<(Outcome, O), RunsError> {
    let (outcome, observer) = run.finish()?;
    let observer: Box<dyn Any> = observer;
    match observer.downcast() {
        Ok(observer) => Ok((outcome, *observer)),
        Err(_) => Err(RunsError::Defect("the run lost its observer".to_owned())),
    }
}

impl Opened {
    /// Makes runs of schemes with seeds on up to `threads` threads, and returns their summaries in that order.
    ///
    /// # Errors
    /// A scheme is wrong, or [`RunsError::Interrupted`] once `watch` says so.
    pub fn summaries(
        &self,
        runs: &[(&Named, u64)],
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<Vec<Summary>, RunsError> {
        let meter = Meter::new(watch, self.length() * runs.len() as u64);
        jobs::all(threads, runs, |(named, seed)| {
            let mut run = self.build(named, *seed)?;
            meter.simulate(&mut run)?;
            Ok(run.finish()?.0.summary)
        })
    }
}

/// Runs by what they are: a key `K`, such as a scenario with a seed, and results `M`.
///
/// An analysis asks for runs with [`Runs::get`]; it names them in no other place. [`Runs::ask`] repeats it until all that it asks for are
/// made: first without any, so that it has to bear that.
///
/// ```
/// use airbound_runs::experiment::Runs;
///
/// let sum = |runs: &Runs<u64, u64>| (1..4).filter_map(|seed| runs.get(&seed)).sum::<u64>();
/// let made = Runs::ask(2, &|_, _| (), sum, |seed| Ok::<_, ()>(seed * seed));
/// assert_eq!(made, Ok((14, 3)));
/// ```
#[derive(Debug)]
pub struct Runs<K, M> {
    made: BTreeMap<K, M>,
    missing: RefCell<Vec<K>>,
}

impl<K, M> Default for Runs<K, M> {
    fn default() -> Self {
        Self { made: BTreeMap::new(), missing: RefCell::default() }
    }
}

impl<K: Ord + Clone + Sync, M: Send> Runs<K, M> {
    /// Makes the runs that `analyse` asks for, equal ones once, on up to `threads` threads; returns what it comes to, and the number of
    /// runs. `progress` receives how many are made of those asked for so far.
    ///
    /// # Errors
    /// The first of `make`, in the order of asking.
    pub fn ask<A, E: Send>(
        threads: usize,
        progress: &(dyn Fn(usize, usize) + Sync),
        analyse: impl Fn(&Self) -> A,
        make: impl Fn(&K) -> Result<M, E> + Sync,
    ) -> Result<(A, usize), E> {
        let mut runs = Self::default();
        loop {
            let answer = analyse(&runs);
            let wanted = runs.take_missing();
            let before = runs.made.len();
            if wanted.is_empty() {
                return Ok((answer, before));
            }
            let progress = |done, of| progress(before + done, before + of);
            progress(0, wanted.len());
            let made = jobs::counted(threads, &wanted, &progress, &make)?;
            runs.made.extend(wanted.into_iter().zip(made));
        }
    }

    /// Returns the results of a run; `None` if it was not made, which is noted.
    pub fn get(&self, run: &K) -> Option<&M> {
        let made = self.made.get(run);
        if made.is_none() {
            self.missing.borrow_mut().push(run.clone());
        }
        made
    }

    /// Returns the results of several runs; `None` if there are none, or one is missing.
    pub fn all(&self, runs: &[K]) -> Option<Vec<&M>> {
        let made: Vec<Option<&M>> = runs.iter().map(|run| self.get(run)).collect();
        made.into_iter().collect::<Option<Vec<&M>>>().filter(|made| !made.is_empty())
    }

    /// Takes the runs that were asked for and not made, each once, in the order of asking.
    pub fn take_missing(&mut self) -> Vec<K> {
        let mut known = BTreeSet::new();
        self.missing.take().into_iter().filter(|run| known.insert(run.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Runs;

    #[test]
    fn an_analysis_may_ask_for_more_when_it_has_results() {
        let analyse = |runs: &Runs<u64, u64>| Some(runs.all(&[3, 1, 3])?.len() as u64 + runs.get(&7)?);
        let seen = std::sync::Mutex::new(Vec::new());
        let progress = |done, of| seen.lock().expect("no panic").push((done, of));
        assert_eq!(Runs::ask(1, &progress, analyse, |run| Ok::<_, u64>(*run)), Ok((Some(10), 3)));
        assert_eq!(*seen.lock().expect("no panic"), [(0, 2), (1, 2), (2, 2), (2, 3), (3, 3)]);
        assert_eq!(Runs::ask(1, &progress, analyse, |run| if *run > 1 { Err(*run) } else { Ok(0) }), Err(3));
        assert_eq!(Runs::<u64, u64>::default().all(&[]), None);
    }
}
