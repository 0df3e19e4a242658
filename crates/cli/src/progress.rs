//! A bar for those who wait.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use airbound_units::Span;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::args::Verbosity;
use crate::request::Watch;
use crate::{interrupt, output};

/// Runs that are over sooner show no bar.
const PATIENCE: Duration = Duration::from_secs(2);

/// Progress of several runs, in simulated time.
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    wanted: bool,
    shown: OnceLock<()>,
}

impl Progress {
    /// Nothing of `total` is done.
    pub(crate) fn new(verbosity: Verbosity, total: Span) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total.as_nanos() / 1000), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("simulating {wide_bar} {percent:>3} %, {eta} left") {
            bar.set_style(style.progress_chars("━╸ "));
        }
        let wanted = !verbosity.json && !verbosity.quiet && output::is_watched();
        Self { bar, begun: Instant::now(), wanted, shown: OnceLock::new() }
    }
}

impl Watch for Progress {
    fn advance(&self, span: Span) {
        if self.wanted && self.begun.elapsed() > PATIENCE {
            self.shown.get_or_init(|| {
                self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
            });
        }
        self.bar.inc(span.as_nanos() / 1000);
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_asked()
    }
}

/// Which of several long steps is under way.
pub(crate) struct Steps(ProgressBar);

impl Steps {
    /// None of `count` has begun.
    pub(crate) fn new(verbosity: Verbosity, count: usize) -> Self {
        let wanted = !verbosity.json && !verbosity.quiet && output::is_watched();
        let target =
            if wanted { ProgressDrawTarget::stderr_with_hz(5) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(count as u64), target);
        if let Ok(style) =
            ProgressStyle::with_template("{msg} {wide_bar} {pos} of {len} done, {elapsed}{left}")
        {
            bar.set_style(style.progress_chars("━╸ ").with_key("left", left));
        }
        if wanted {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Self(bar)
    }

    /// The next step begins.
    pub(crate) fn begin(&self, name: &str) {
        self.0.set_message(name.to_owned());
    }

    /// So many of all steps are done.
    pub(crate) fn reach(&self, done: usize, count: usize) {
        self.0.set_length(count as u64);
        self.0.set_position(done as u64);
    }

    /// It has ended; `tell` prints what it brought.
    pub(crate) fn end<T>(&self, tell: impl FnOnce() -> T) -> T {
        self.0.inc(1);
        self.0.suspend(tell)
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Progress of a sweep: it checks its cells, then makes its runs.
pub(crate) struct Counts {
    bar: ProgressBar,
    begun: Instant,
    wanted: bool,
    shown: OnceLock<()>,
}

impl Counts {
    /// Nothing is done.
    pub(crate) fn new(verbosity: Verbosity) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {pos} of {len}, {eta} left") {
            bar.set_style(style.progress_chars("━╸ "));
        }
        let wanted = !verbosity.json && !verbosity.quiet && output::is_watched();
        Self { bar, begun: Instant::now(), wanted, shown: OnceLock::new() }
    }

    fn show(&self, what: &'static str, done: usize, of: usize) {
        if !self.wanted || self.begun.elapsed() < PATIENCE {
            return;
        }
        self.shown.get_or_init(|| {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        });
        if self.bar.message() != what {
            // What is left of the runs is not told by the time that the checks took.
            self.bar.reset();
            self.bar.set_message(what);
        }
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
    }
}

impl airbound_sweep::Watch for Counts {
    fn is_stopped(&self) -> bool {
        crate::interrupt::is_asked()
    }

    fn checked(&self, done: usize, of: usize) {
        self.show("checking cells", done, of);
    }

    fn progress(&self, progress: &airbound_sweep::Progress) {
        self.show("runs", progress.done, progress.runs);
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// By the mean so far: steps last for minutes, and the bar's own estimate, which forgets quickly, then grows without end.
fn left(state: &ProgressState, to: &mut dyn std::fmt::Write) {
    let (done, all) = (state.pos(), state.len().unwrap_or(0));
    if done > 0 {
        let left = state.elapsed().as_secs_f64() * all.saturating_sub(done) as f64 / done as f64;
        let _ = write!(to, ", {:#} left", HumanDuration(Duration::from_secs_f64(left)));
    }
}
