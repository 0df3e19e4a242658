//! A sweep on the threads of this machine.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::error::SweepError;
use crate::sweep::{Progress, Sweep};

/// Observer of a sweep under way, which can stop it.
pub trait Watch: Sync {
    /// Whether to stop; what is done by then is kept.
    fn is_stopped(&self) -> bool;
    /// So many of all cells have been checked.
    fn checked(&self, done: usize, of: usize);
    /// Receives the progress of the runs.
    fn progress(&self, progress: &Progress);
}

/// State that the threads share.
struct State<'a> {
    sweep: &'a mut Sweep,
    failed: Option<SweepError>,
}

/// Makes all runs of a sweep on up to `threads` threads.
///
/// # Errors
/// The first failure, after which no further run begins, or [`SweepError::Interrupted`].
pub fn local(sweep: &mut Sweep, threads: usize, watch: &dyn Watch) -> Result<(), SweepError> {
    watch.progress(&sweep.progress());
    let state = Mutex::new(State { sweep, failed: None });
    let changed = Condvar::new();
    std::thread::scope(|scope| {
        // No more threads than runs: some sweeps have one.
        for _ in 0..threads.max(1) {
            scope.spawn(|| work(&state, &changed, watch));
        }
    });
    let State { sweep, failed } = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    match failed {
        Some(error) => Err(error),
        None if !sweep.is_done() => {
            let Progress { done, runs, .. } = sweep.progress();
            Err(SweepError::Interrupted { kept: done, runs })
        }
        None => Ok(()),
    }
}

fn work(state: &Mutex<State<'_>>, changed: &Condvar, watch: &dyn Watch) {
    let mut held = state.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if held.failed.is_some() || watch.is_stopped() {
            break;
        }
        let job = match held.sweep.take() {
            Ok(Some(job)) => job,
            Ok(None) if held.sweep.is_done() => break,
            Ok(None) => {
                // The last runs of others decide whether there are more.
                held = changed.wait(held).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            Err(error) => {
                held.failed.get_or_insert(error);
                break;
            }
        };
        drop(held);
        let result = job.run(&|| watch.is_stopped());
        held = state.lock().unwrap_or_else(PoisonError::into_inner);
        let accepted = match result {
            Ok(Some(result)) => held.sweep.accept(job.point, job.number, result),
            Ok(None) => {
                held.sweep.give_back(job.point, job.number);
                Ok(())
            }
            Err(error) => Err(error),
        };
        if let Err(error) = accepted {
            held.failed.get_or_insert(error);
        }
        watch.progress(&held.sweep.progress());
        changed.notify_all();
    }
    drop(held);
    changed.notify_all();
}
