//! The terminal of Airbound's programs: results on standard output, remarks, errors and progress on standard error.
//!
//! Each program has commands and errors of its own; how much is said ([`Verbosity`]), in which form ([`output`]), how progress is
//! shown ([`Progress`], [`Steps`]) and how Ctrl-C ends work ([`interrupt`]) is the same in all.
#![forbid(unsafe_code)]

pub mod interrupt;
mod open;
pub mod output;
mod progress;

pub use open::open;
pub use output::OutputError;
pub use progress::{Progress, Steps};

/// Amount and form of output.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Verbosity {
    /// Print JSON, and nothing else, on standard output
    #[arg(long, global = true, display_order = 900)]
    pub json: bool,
    /// Print errors only
    #[arg(long, short, global = true, display_order = 901)]
    pub quiet: bool,
}

impl Verbosity {
    /// Whether progress and remarks are wanted.
    #[must_use]
    pub const fn remarks(self) -> bool {
        !self.json && !self.quiet
    }
}
