//! Runs of an experiment: played to their end under an observer, which comes back with what it kept.

use std::any::Any;

use airbound_sim::{Observer, Outcome, Run};

use crate::error::RunsError;

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
/// struct Lost(u64);
/// impl Observer for Lost {
///     fn wants(&self) -> Events {
///         Events { packets: true, ..Events::NONE }
///     }
///     fn on_event(&mut self, event: Event<'_>) {
///         self.0 += u64::from(matches!(event, Event::Packet(row) if row.tries == 0));
///     }
/// }
///
/// let opened = Opened::by_name("hello", &Overrides::from_pairs(&[("duration", "100 ms")]))?;
/// let run = Run::new(&opened.name, &opened.scenario, &opened.scenario.scheme, 1)?;
/// let (outcome, lost) = experiment::play(run, Lost(0))?;
/// assert_eq!(lost.0, 0);
/// assert!(outcome.summary.flows[0].packets.delivered > 0);
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
