//! A sweep on the threads of this machine.

use super::metric::RunResult;
use super::run::Job;
use super::scheduler::Sweep;
use crate::error::RunsError;
use crate::jobs::{Supply, drive};
use crate::watch::{Step, Watch};

/// Makes all runs of a sweep on up to `threads` threads.
///
/// # Errors
/// The first failure, after which no further run begins, or [`RunsError::SweepInterrupted`].
pub fn local(sweep: &mut Sweep, threads: usize, watch: &dyn Watch) -> Result<(), RunsError> {
    let mut runs = Runs { sweep, watch };
    runs.report();
    let driven = drive(threads, &mut runs, |job| job.run(watch));
    let ended = if sweep.is_done() { driven } else { driven.and_then(|()| Err(sweep.interrupted())) };
    ended.map_err(|error| sweep.ended(error))
}

/// The runs of a sweep, until a stop is requested.
struct Runs<'a> {
    sweep: &'a mut Sweep,
    watch: &'a dyn Watch,
}

impl Runs<'_> {
    fn report(&self) {
        let progress = self.sweep.progress();
        self.watch.on_progress(Step::Sweeping, progress.done as u64, progress.runs as u64);
    }
}

impl Supply for Runs<'_> {
    type Job = Job;
    type Output = Option<RunResult>;
    type Error = RunsError;

    fn take(&mut self) -> Result<Option<Job>, RunsError> {
        if self.watch.is_stopped() { Ok(None) } else { self.sweep.take() }
    }

    fn accept(&mut self, job: Job, result: Option<RunResult>) -> Result<(), RunsError> {
        match result {
            Some(result) => self.sweep.accept(job.point, job.number, result)?,
            None => self.sweep.give_back(job.point, job.number),
        }
        self.report();
        Ok(())
    }
}
