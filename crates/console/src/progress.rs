//! Progress bars.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use airbound_runs::{Step, Watch};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::{Verbosity, interrupt, output};

/// Runs that are over sooner show no bar.
const PATIENCE: Duration = Duration::from_secs(2);

/// Progress of runs; Ctrl-C ends them, once [`interrupt::listen`] was called.
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    wanted: bool,
    shown: OnceLock<()>,
}

impl Progress {
    /// Nothing is done.
    #[must_use]
    pub fn new(verbosity: Verbosity) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::hidden());
        let wanted = verbosity.remarks() && output::is_watched();
        Self { bar, begun: Instant::now(), wanted, shown: OnceLock::new() }
    }

    fn begin(&self, name: &'static str, figures: &str) {
        // What is left of a step is not told by the time that another one took.
        self.bar.reset();
        self.bar.set_message(name);
        if let Ok(style) =
            ProgressStyle::with_template(&format!("{{msg}} {{wide_bar}} {figures}, {{eta}} left"))
        {
            self.bar.set_style(style.progress_chars("━╸ "));
        }
    }
}

impl Watch for Progress {
    fn is_stopped(&self) -> bool {
        interrupt::is_asked()
    }

    fn on_progress(&self, step: Step, done: u64, total: u64) {
        if !self.wanted {
            return;
        }
        let (name, figures) = match step {
            Step::Simulating => ("simulating", "{percent:>3} %"),
            Step::Checking => ("checking cells", "{pos} of {len}"),
            Step::Baselines => ("baselines", "{pos} of {len}"),
            Step::Law => ("Law", "{pos} of {len}"),
            _ => ("runs", "{pos} of {len}"),
        };
        if self.bar.message() != name {
            self.begin(name, figures);
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
        if self.begun.elapsed() > PATIENCE {
            self.shown.get_or_init(|| self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5)));
        }
    }
}

/// Progress of several long steps.
pub struct Steps(ProgressBar);

impl Steps {
    /// None of `count` has begun.
    #[must_use]
    pub fn new(verbosity: Verbosity, count: usize) -> Self {
        let wanted = verbosity.remarks() && output::is_watched();
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
    pub fn begin(&self, name: &str) {
        self.0.set_message(name.to_owned());
    }

    /// Shows how many of all steps are done.
    pub fn reach(&self, done: usize, count: usize) {
        self.0.set_length(count as u64);
        self.0.set_position(done as u64);
    }

    /// Ends the step; `tell` prints its result.
    pub fn end<T>(&self, tell: impl FnOnce() -> T) -> T {
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

/// By the mean so far: steps last for minutes, and the bar's own estimate, which forgets quickly, then grows without end.
fn left(state: &ProgressState, to: &mut dyn std::fmt::Write) {
    let (done, all) = (state.pos(), state.len().unwrap_or(0));
    if done > 0 {
        let left = state.elapsed().as_secs_f64() * all.saturating_sub(done) as f64 / done as f64;
        let _ = write!(to, ", {:#} left", HumanDuration(Duration::from_secs_f64(left)));
    }
}
