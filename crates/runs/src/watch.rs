//! Progress of runs, and requests to stop them.

use std::sync::atomic::{AtomicU64, Ordering};

use airbound_sim::Run;
use airbound_units::{Instant, Span};

use crate::error::RunsError;

/// Kind of work whose progress is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Runs, in nanoseconds of simulated time.
    Simulating,
    /// The cells of a grid that are read and checked.
    Checking,
    /// The runs of a sweep.
    Sweeping,
    /// The runs of the baselines from which a bound is chosen.
    Baselines,
    /// The runs of Law with the bounds that were chosen.
    Law,
}

/// Observes work under way, and may stop it. `()` observes nothing and never stops.
pub trait Watch: Sync {
    /// Whether to stop. Runs ask after at most 100 ms of simulated time.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Receives the progress of a step: `done` of `total`. The total of a sweep falls when cells are done early. Called by all threads,
    /// so that an earlier count may come later.
    fn on_progress(&self, _step: Step, _done: u64, _total: u64) {}
}

impl Watch for () {}

/// Simulated time of several runs that are made at once.
pub(crate) struct Meter<'a> {
    watch: &'a dyn Watch,
    done: AtomicU64,
    total: u64,
}

impl<'a> Meter<'a> {
    pub(crate) const fn new(watch: &'a dyn Watch, total: Span) -> Self {
        Self { watch, done: AtomicU64::new(0), total: total.as_nanos() }
    }

    /// Advances a run to its end.
    ///
    /// # Errors
    /// [`RunsError::Interrupted`] once the watch says so.
    pub(crate) fn simulate(&self, run: &mut Run) -> Result<(), RunsError> {
        let length = run.end().since(Instant::ZERO);
        let piece = Span::from_nanos((length.as_nanos() / PIECES).max(1)).min(LONGEST_PIECE);
        self.simulate_seen(run, piece, |_| {})
    }

    /// The same in pieces, after each of which `see` looks at the run.
    pub(crate) fn simulate_seen(
        &self,
        run: &mut Run,
        piece: Span,
        mut see: impl FnMut(&Run),
    ) -> Result<(), RunsError> {
        let went_on = to_the_end(run, piece, |run, span| {
            see(run);
            let done = self.done.fetch_add(span.as_nanos(), Ordering::Relaxed) + span.as_nanos();
            self.watch.on_progress(Step::Simulating, done, self.total);
            !self.watch.is_stopped()
        });
        if went_on { Ok(()) } else { Err(RunsError::Interrupted) }
    }
}

/// Least number of pieces of a run whose progress is shown.
const PIECES: u64 = 200;
/// Longest simulated time without a look at whether to stop.
pub(crate) const LONGEST_PIECE: Span = Span::from_millis(100);

/// Advances a run to its end in pieces, after each of which `goes_on` receives the time that was simulated and says whether to go on.
/// Returns whether the end was reached.
pub(crate) fn to_the_end(run: &mut Run, piece: Span, mut goes_on: impl FnMut(&Run, Span) -> bool) -> bool {
    loop {
        let before = run.now();
        let more = run.advance(piece);
        let span = run.now() - before;
        let goes_on = goes_on(run, span);
        if !more || !goes_on {
            return !more;
        }
    }
}
