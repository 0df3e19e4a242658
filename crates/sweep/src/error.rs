//! Errors of a sweep.

use std::io;
use std::path::{Path, PathBuf};

use airbound_report::ReportError;
use airbound_scenario::ScenarioError;

/// Why a sweep was refused, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The grid file is wrong.
    #[error(transparent)]
    Grid(#[from] ScenarioError),
    /// One of its cells is no scenario that can be run.
    #[error("{problem} (cell {cell}: {settings})")]
    Cell {
        /// Number of the cell, from 0.
        cell: usize,
        /// Its settings, such as `flow.vr.rate = 10 Mbit/s, scheme linux`.
        settings: String,
        /// The problem, with its place.
        problem: String,
    },
    /// A run failed, which is a defect of the simulator.
    #[error("the run of cell {cell} ({settings}) with seed {seed} failed: {problem}")]
    Run {
        /// Number of the cell, from 0.
        cell: usize,
        /// Its settings.
        settings: String,
        /// The seed.
        seed: u64,
        /// The failure.
        problem: String,
    },
    /// The order or the result of a run on another machine cannot be used, or that run failed.
    #[error("a run on another machine: {0}")]
    Remote(String),
    /// The output folder holds something else.
    #[error(
        "{} is not empty and not a sweep of airbound; choose another folder with --out, or empty it",
        .path.display()
    )]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// The output folder holds results that are no part of this sweep.
    #[error(
        "{} holds {runs} runs that are no part of this sweep; choose another folder with --out, or drop them with --replace",
        .path.display()
    )]
    Others {
        /// The folder.
        path: PathBuf,
        /// Number of these runs.
        runs: usize,
    },
    /// Another process works in the folder.
    #[error("another airbound is sweeping into {}; wait for it, or choose another folder with --out", .path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The operating system refused something.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The operation that failed, as a verb phrase.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file of results that is damaged, or not ours.
    #[error("{} cannot be used: {reason}; remove it, and its runs are made again", .path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Reason why it cannot be used.
        reason: String,
    },
    /// The report cannot be made.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A stop was requested.
    #[error("interrupted; {kept} of at most {runs} runs are kept, and the same command goes on from there")]
    Interrupted {
        /// Runs whose results are on disk.
        kept: usize,
        /// Runs that the sweep has at most.
        runs: usize,
    },
}

impl SweepError {
    /// For `map_err`: what was tried with which file.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}
