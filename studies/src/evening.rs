//! Five lines on the ground of `evening`: schemes on three channels, each seed beside what it is measured against.
//!
//! A line passes on a channel if it does in nine of ten seeds. `ground` has the channels and the runs, `lines` the five lines, `report` the
//! tables.

mod ground;
mod lines;
mod report;

use std::num::NonZeroUsize;

use airbound_runs::RunsError;

pub use ground::Channel;
pub use lines::{Figures, LINES, Line, Reference};

/// Share of the seeds in which a line has to pass.
const ENOUGH: f64 = 0.9;

/// Schemes that are judged unless others are named: plain queues, then each paper's own.
pub const SCHEMES: [&str; 9] =
    ["fifo", "codel", "fq-codel", "linux", "last-pq", "wqm", "law", "linux+aggregation", "linux+plum"];

/// A judgement to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evening {
    /// Each as it was named, and in full.
    schemes: Vec<(String, String)>,
    channels: Vec<Channel>,
    seeds: u32,
    is_quick: bool,
}

/// The results of a scheme on a channel.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Cell {
    /// The scheme, as it was named.
    pub scheme: String,
    /// Name of the channel.
    pub channel: &'static str,
    /// Seeds in which each line passes, in the order of [`LINES`].
    pub passed: [u32; LINES.len()],
    /// Measured figures, by seed.
    pub figures: Vec<Figures>,
    /// Figures of the references, by seed.
    pub references: Vec<Reference>,
}

/// The results.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Scheme by scheme, each on all channels.
    pub cells: Vec<Cell>,
    evening: Evening,
    /// Number of runs.
    pub runs: usize,
}

impl Evening {
    /// Judges `schemes` on `channels`, all of them if none is named, with so many seeds from 1 on. A quick one has short runs.
    ///
    /// # Errors
    /// A name stands for nothing, or is there twice.
    pub fn new(
        schemes: &[String],
        channels: &[String],
        seeds: u32,
        is_quick: bool,
    ) -> Result<Self, EveningError> {
        let schemes: Vec<String> =
            if schemes.is_empty() { SCHEMES.map(str::to_owned).to_vec() } else { schemes.to_vec() };
        for (option, names) in [("--schemes", &schemes), ("--channels", &channels.to_vec())] {
            let twice = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
            if let Some((_, name)) = twice {
                return Err(EveningError::Input(format!("{option} names {name} twice; name each once")));
            }
        }
        let channels = if channels.is_empty() {
            Channel::ALL.to_vec()
        } else {
            channels
                .iter()
                .map(|name| {
                    Channel::named(name).ok_or_else(|| {
                        let known = Channel::ALL.map(|channel| channel.name).join(", ");
                        EveningError::Input(format!(
                            "--channels {name}: there is no such channel; channels are {known}"
                        ))
                    })
                })
                .collect::<Result<_, _>>()?
        };
        let named = |scheme: String| ground::full_name(&scheme).map(|full| (scheme, full));
        let schemes = schemes.into_iter().map(named).collect::<Result<_, _>>()?;
        Ok(Self { schemes, channels, seeds, is_quick })
    }

    /// Makes all runs, `jobs` at a time, and judges them. `progress` gets the number of runs that are done, and of all.
    ///
    /// # Errors
    /// A run cannot be made.
    pub fn judge(
        self,
        jobs: NonZeroUsize,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Judgement, EveningError> {
        let asked = |runs: &ground::Made| self.cells(runs);
        let make = |key: &ground::Key| ground::make(key, self.is_quick);
        let (cells, runs) = ground::Made::ask(jobs.get(), progress, asked, make)?;
        let cells = cells.ok_or_else(|| RunsError::Defect("runs are missing".to_owned()))?;
        Ok(Judgement { cells, evening: self, runs })
    }

    /// The cells, once all runs are made.
    fn cells(&self, runs: &ground::Made) -> Option<Vec<Cell>> {
        let of = |(scheme, full): &(String, String), channel: &Channel| {
            let mut by_seed = Vec::new();
            for seed in 1..=u64::from(self.seeds) {
                // All are asked for before one is missed.
                let key = |play| ground::Key { channel: channel.clone(), play, seed };
                let named = |name: &str| ground::Play::Scheme(name.to_owned());
                let [own, linux, fifo, alone] =
                    [named(full), named("linux+plain"), ground::Play::DeepFifo, ground::Play::CallAlone]
                        .map(|play| runs.get(&key(play)).cloned());
                by_seed.push(own.zip(linux).zip(fifo.zip(alone)));
            }
            let by_seed = by_seed.into_iter().collect::<Option<Vec<_>>>()?;
            let mut cell = Cell {
                scheme: scheme.clone(),
                channel: channel.name,
                passed: [0; LINES.len()],
                figures: Vec::new(),
                references: Vec::new(),
            };
            for ((own, linux), (fifo, alone)) in by_seed {
                let reference = Reference::of(&linux, &fifo, &alone);
                for (count, line) in cell.passed.iter_mut().zip(&LINES) {
                    *count += u32::from((line.passes)(&own, &reference));
                }
                cell.figures.push(own);
                cell.references.push(reference);
            }
            Some(cell)
        };
        let pairs = self.schemes.iter().flat_map(|scheme| self.channels.iter().map(move |one| (scheme, one)));
        let cells: Vec<Option<Cell>> = pairs.map(|(scheme, channel)| of(scheme, channel)).collect();
        cells.into_iter().collect()
    }

    /// Fewest seeds in which a line that passes does.
    fn least(&self) -> u32 {
        (ENOUGH * f64::from(self.seeds)).ceil() as u32
    }
}

/// Why there is no judgement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EveningError {
    /// A name is wrong.
    #[error("{0}")]
    Input(String),
    /// A run cannot be made, or a scheme stands for nothing.
    #[error(transparent)]
    Runs(#[from] RunsError),
}
