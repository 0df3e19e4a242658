//! Errors between a scenario and its results.

use std::io;
use std::path::{Path, PathBuf};

use airbound_record::RecordError;
use airbound_report::ReportError;
use airbound_scenario::ScenarioError;
use airbound_sim::{BuildError, Imbalance};

use crate::law_bound::BoundError;

/// Why runs were refused, or ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunsError {
    /// A scenario, a change to it, or a grid is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The parameters of the scheme are wrong.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A plugin's name is taken, or cannot be one.
    #[error("{0}")]
    PluginName(String),
    /// Something of an arena is named that is not there, or twice.
    #[error("{0}")]
    Arena(String),
    /// A scheme is named more than once.
    #[error("--schemes names {0} twice; name each scheme once")]
    SchemeTwice(String),
    /// A conference without a client on the air has nothing to capture.
    #[error("--pcap records the air, and no client of this session is on it; leave out --pcap")]
    CaptureOfPipes,
    /// The flow whose packets are to be measured is not there.
    #[error("--flow {flow}: there is no such flow; flows are {known}")]
    NoFlow {
        /// The name that was asked for.
        flow: String,
        /// The first flows of the scenario.
        known: String,
    },
    /// The scenario has no flow whose packets could be measured.
    #[error("{scenario} has no flow whose packets could be measured")]
    Flowless {
        /// Its name.
        scenario: String,
    },
    /// No bound can be chosen for Law.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// One cell of a grid is no scenario that can be run.
    #[error("{problem} (cell {cell}: {settings})")]
    Cell {
        /// Number of the cell, from 0.
        cell: usize,
        /// Its settings, such as `flow.vr.rate = 10 Mbit/s, scheme linux`.
        settings: String,
        /// The problem, with its place.
        problem: String,
    },
    /// A run of a sweep failed, which is a defect of the simulator.
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
    /// Packets were lost by the simulator itself.
    #[error(transparent)]
    Imbalance(#[from] Imbalance),
    /// A run cannot be written or read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A report cannot be made.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A path does not end with the name of a folder.
    #[error("{} is no name of a folder", .path.display())]
    NoFolderName {
        /// The path.
        path: PathBuf,
    },
    /// A path does not end with the name of a file.
    #[error("\"{}\" is no name of a file", .path.display())]
    NoFileName {
        /// The path.
        path: PathBuf,
    },
    /// A file would replace another that is not an earlier output of its kind.
    #[error("{} is not an earlier {kind} of airbound, and is left alone; choose another file, or move it away", .path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// Kind of the output, such as "capture".
        kind: &'static str,
    },
    /// A file is no capture.
    #[error("{} is no capture of airbound run (--pcap)", .path.display())]
    NoCapture {
        /// The file.
        path: PathBuf,
    },
    /// A file would replace a symbolic link or its target.
    #[error("{} is a symbolic link, which is neither followed nor replaced; name the file itself", .path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// Seeds that are counted up exceed the largest one.
    #[error(
        "{count} seeds counted up from {first} exceed the largest one, {}; lower the first seed or their number",
        i64::MAX
    )]
    Seeds {
        /// The first seed.
        first: u64,
        /// Number of seeds.
        count: u32,
    },
    /// The output folder of a run holds a comparison.
    #[error("{} holds a comparison of airbound, which a run does not replace; choose another folder with --out, or remove it", .path.display())]
    Comparison {
        /// The folder.
        path: PathBuf,
    },
    /// The output folder of a comparison holds a run.
    #[error("{} holds a run of airbound, which a comparison does not replace; choose another folder with --out, or remove it", .path.display())]
    SingleRun {
        /// The folder.
        path: PathBuf,
    },
    /// The output folder of a comparison holds something else.
    #[error(
        "{} is not empty and not a comparison of airbound; choose another folder with --out, or empty it",
        .path.display()
    )]
    NoComparison {
        /// The folder.
        path: PathBuf,
    },
    /// The output folder of an arena holds something else.
    #[error(
        "{} is not empty and not an arena of airbound; choose another folder with --out, or empty it",
        .path.display()
    )]
    NoArena {
        /// The folder.
        path: PathBuf,
    },
    /// The output folder of a comparison holds a file that no comparison has.
    #[error(
        "{} holds {}, which no comparison of airbound left there; choose another folder with --out, or move it away",
        .path.display(), .stranger.display()
    )]
    Stranger {
        /// The folder.
        path: PathBuf,
        /// The file's name.
        stranger: PathBuf,
    },
    /// The index of a comparison cannot be understood.
    #[error("{} does not have the form of this version: {reason}", .path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// The first place that differs.
        reason: String,
    },
    /// The output folder of a sweep holds something else.
    #[error(
        "{} is not empty and not a sweep of airbound; choose another folder with --out, or empty it",
        .path.display()
    )]
    NoSweep {
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
    /// A file of results could not be encoded or written.
    #[error("cannot write {}: {reason}", .path.display())]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// Reason of the encoder or of the operating system.
        reason: String,
    },
    /// A file of results that is damaged, or not ours.
    #[error("{} cannot be used: {reason}; remove it, and its runs are made again", .path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Reason why it cannot be used.
        reason: String,
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
    /// A state that cannot occur.
    #[error("{0}; this is a defect of airbound")]
    Defect(String),
    /// A stop was requested during runs, of which nothing remains.
    #[error("interrupted; what was not finished is removed")]
    Interrupted,
    /// Results of a sweep could not be written.
    #[error("{cause}; {kept} of at most {runs} runs are kept, and the same command goes on from there")]
    SweepHalted {
        /// The reason.
        cause: Box<RunsError>,
        /// Runs whose results are on disk.
        kept: usize,
        /// Runs that the sweep has at most.
        runs: usize,
    },
    /// A stop was requested during a sweep.
    #[error("interrupted; {kept} of at most {runs} runs are kept, and the same command goes on from there")]
    SweepInterrupted {
        /// Runs whose results are on disk.
        kept: usize,
        /// Runs that the sweep has at most.
        runs: usize,
    },
}

impl RunsError {
    /// Returns a constructor of [`RunsError::Io`] for `map_err`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.to_owned(), source }
    }
}
