//! A sweep under way: which run comes next, and what is done with its results.
//!
//! Nothing here knows threads or machines. Whoever drives it calls [`Sweep::take`] until there is nothing to take, runs what came,
//! hands each result to [`Sweep::accept`] in any order, and gives back what was lost. A cell's rounds are decided by its own results
//! alone, and a partition is written when its last cell is done, its rows in the order of the plan: the files do not depend on who
//! was first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::Serialize;

use super::folder::{BATCH_CELLS, Folder};
use super::journal;
use super::key::Key;
use super::metric::RunResult;
use super::plan::Plan;
use super::point::Point;
use super::report::{self, Findings};
use super::results::Placed;
use super::run::Job;
use super::shard::Shard;
use crate::error::RunsError;

/// Progress of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Runs whose results are there.
    pub done: usize,
    /// Of these, runs that were there before.
    pub known: usize,
    /// Runs that there are at most, as far as is known now.
    pub runs: usize,
    /// Points that are done.
    pub points_done: usize,
    /// All points.
    pub points: usize,
}

/// A sweep under way.
pub struct Sweep {
    plan: Arc<Plan>,
    folder: Folder,
    known: BTreeMap<Key, RunResult>,
    /// The next shard to be opened.
    next: usize,
    open: BTreeMap<usize, Shard>,
    /// Point and number of the seed of what may be run now.
    ready: VecDeque<(usize, usize)>,
    /// Point and number of the seed of each run that was taken and has not come back.
    outstanding: BTreeSet<(usize, usize)>,
    points: Vec<Option<Point>>,
    progress: Progress,
}

impl Sweep {
    /// Begins, or goes on where an earlier one in this folder stopped.
    ///
    /// # Errors
    /// The folder holds something else, or runs that this plan does not have (and `replace` does not allow to drop them).
    pub fn begin(plan: Plan, folder: Folder, replace: bool) -> Result<Self, RunsError> {
        let known = folder.take_over(&plan, replace)?;
        let progress =
            Progress { done: 0, known: 0, runs: plan.most_runs(), points_done: 0, points: plan.points() };
        let sweep = Self {
            points: vec![None; plan.points()],
            plan: Arc::new(plan),
            folder,
            known,
            next: 0,
            open: BTreeMap::new(),
            ready: VecDeque::new(),
            outstanding: BTreeSet::new(),
            progress,
        };
        let written = sweep.folder.write_index(&report::index(&sweep.plan, false));
        written.map_err(|error| sweep.ended(error))?;
        Ok(sweep)
    }

    /// Returns its progress.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        self.progress
    }

    /// Whether every point is done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.progress.points_done == self.progress.points
    }

    pub(crate) fn interrupted(&self) -> RunsError {
        RunsError::SweepInterrupted { kept: self.kept(), runs: self.progress.runs }
    }

    /// Number of runs whose results are on disk.
    fn kept(&self) -> usize {
        self.progress.done + self.known.len()
    }

    /// Returns the error of a sweep that `error` ends early. A new folder without any result is emptied; otherwise the error says how
    /// many runs are kept.
    pub(crate) fn ended(&self, error: RunsError) -> RunsError {
        let kept = self.kept();
        if kept == 0 {
            self.folder.discard();
        }
        match error {
            RunsError::SweepInterrupted { .. } if kept == 0 => RunsError::Interrupted,
            RunsError::Io { .. } | RunsError::Unwritten { .. } if kept > 0 => {
                RunsError::SweepHalted { cause: Box::new(error), kept, runs: self.progress.runs }
            }
            other => other,
        }
    }

    fn shards(&self) -> usize {
        self.plan.grid.design.cells().div_ceil(BATCH_CELLS) * self.plan.grid.schemes.len()
    }

    fn shard_of(&self, point: usize) -> usize {
        let (cell, scheme) = self.plan.place(point);
        cell / BATCH_CELLS * self.plan.grid.schemes.len() + scheme
    }

    /// The next run; `None` if there is none for now: all points are done, or the results of runs under way decide.
    ///
    /// # Errors
    /// Results that are there cannot be read, or a partition cannot be written.
    pub fn take(&mut self) -> Result<Option<Job>, RunsError> {
        while self.ready.is_empty() && self.next < self.shards() {
            self.open_next().map_err(|error| self.ended(error))?;
        }
        let Some((point, number)) = self.ready.pop_front() else { return Ok(None) };
        self.outstanding.insert((point, number));
        let shared = self.open.get(&self.shard_of(point)).and_then(|shard| {
            shard.points.iter().find(|open| open.point == point).map(|open| Arc::clone(&open.shared))
        });
        let shared = shared.unwrap_or_default();
        Ok(Some(Job { point, number, shared, plan: Arc::clone(&self.plan) }))
    }

    /// Takes the result of a run. One that came already, or that nobody took, is passed over: a worker that was given up for lost may
    /// come back.
    ///
    /// # Errors
    /// It cannot be written down.
    pub fn accept(&mut self, point: usize, number: usize, result: RunResult) -> Result<(), RunsError> {
        self.write_down(point, number, result).map_err(|error| self.ended(error))
    }

    fn write_down(&mut self, point: usize, number: usize, result: RunResult) -> Result<(), RunsError> {
        let was_lost = self.ready.iter().position(|ready| *ready == (point, number));
        if !self.outstanding.remove(&(point, number)) {
            match was_lost {
                Some(at) => drop(self.ready.remove(at)),
                None => return Ok(()),
            }
        }
        let shard_number = self.shard_of(point);
        let key = self.plan.run_key(point, number);
        let Some(shard) = self.open.get_mut(&shard_number) else { return Ok(()) };
        let journal = match &mut shard.journal {
            Some(journal) => journal,
            None => shard.journal.insert(self.folder.journal(shard_number)?),
        };
        journal.append(key, &result)?;
        let Some(place) = shard.points.iter().position(|open| open.point == point) else { return Ok(()) };
        if let Some(slot) = shard.points[place].results.get_mut(number) {
            *slot = Some(result);
            self.progress.done += 1;
        }
        self.settle(shard_number, place);
        self.close(shard_number)
    }

    /// Takes the result of a run as [`super::execute`] returns it.
    ///
    /// # Errors
    /// The text is none of this version, or it cannot be written down.
    pub fn accept_text(&mut self, point: usize, number: usize, text: &str) -> Result<(), RunsError> {
        let result: RunResult = serde_json::from_str(text).map_err(|error| {
            RunsError::Remote(format!("the result is not of this version of airbound: {error}"))
        })?;
        if !journal::is_sound(&result) {
            return Err(RunsError::Remote(
                "the result has other figures than this version of airbound".to_owned(),
            ));
        }
        self.accept(point, number, result)
    }

    /// Notes that a run that was taken is lost: it will be taken again.
    pub fn give_back(&mut self, point: usize, number: usize) {
        if self.outstanding.remove(&(point, number)) {
            self.ready.push_front((point, number));
        }
    }

    /// Opens the next shard: from its partition, or with the first round of its points.
    fn open_next(&mut self) -> Result<(), RunsError> {
        let number = self.next;
        self.next += 1;
        let schemes = self.plan.grid.schemes.len();
        let (batch, scheme) = (number / schemes, number % schemes);
        let cells = batch * BATCH_CELLS..((batch + 1) * BATCH_CELLS).min(self.plan.grid.design.cells());
        let shard = Shard::new(cells.map(|cell| self.plan.point(cell, scheme)));
        let places = shard.points.len();
        self.open.insert(number, shard);
        // What is in the data set has been checked to belong to this plan.
        let stored = self.folder.read(&self.plan, number)?;
        let is_stored = stored.is_some();
        let before = stored.map(|stored| std::mem::replace(&mut self.known, stored));
        for place in 0..places {
            self.settle(number, place);
        }
        if let Some(before) = before {
            self.known = before;
        }
        let is_whole = self.open.get(&number).is_some_and(|shard| shard.left == 0);
        if is_stored && is_whole {
            self.open.remove(&number);
            return Ok(());
        }
        self.close(number)
    }

    /// Goes on with a point as far as its results allow.
    fn settle(&mut self, number: usize, place: usize) {
        let Some(shard) = self.open.get_mut(&number) else { return };
        let open = &mut shard.points[place];
        if open.done.is_some() {
            return;
        }
        let (known, progress) = (&mut self.known, &mut self.progress);
        let wanted = open.settle(&self.plan, |key| {
            let result = known.remove(&key);
            let count = usize::from(result.is_some());
            progress.done += count;
            progress.known += count;
            result
        });
        let point = open.point;
        if let Some(done) = &open.done {
            progress.points_done += 1;
            progress.runs -= self.plan.grid.seeds.len() - done.runs;
            shard.left -= 1;
            self.points[point] = Some(done.clone());
        }
        self.ready.extend(wanted.into_iter().map(|number| (point, number)));
    }

    /// Writes the partition of a shard whose points are all done.
    fn close(&mut self, number: usize) -> Result<(), RunsError> {
        if self.open.get(&number).is_none_or(|shard| shard.left > 0) {
            return Ok(());
        }
        let Some(shard) = self.open.remove(&number) else { return Ok(()) };
        let runs: Vec<Placed<'_>> = shard
            .points
            .iter()
            .flat_map(|open| {
                let results = open.results.iter().enumerate();
                results.filter_map(|(number, result)| Some((open.point, number, result.as_ref()?)))
            })
            .collect();
        self.folder.write(&self.plan, number, &runs)?;
        shard.journal.map_or(Ok(()), journal::Journal::remove)
    }

    /// Writes the intervals, the report and the index of a sweep that is done, and says what it found.
    ///
    /// # Errors
    /// Points are missing, or something cannot be written.
    pub fn finish(mut self) -> Result<(Findings, Folder), RunsError> {
        let interrupted = self.interrupted();
        let points: Option<Vec<Point>> = std::mem::take(&mut self.points).into_iter().collect();
        let points = points.ok_or(interrupted)?;
        let findings = Findings::new(Arc::clone(&self.plan), points);
        self.write(&findings).map_err(|error| self.ended(error))?;
        Ok((findings, self.folder))
    }

    /// Writes all that follows from the data set.
    fn write(&self, findings: &Findings) -> Result<(), RunsError> {
        findings.write_intervals(&self.folder.intervals())?;
        self.folder.write_report(&findings.to_html()?)?;
        self.folder.write_index(&report::index(findings.plan(), true))?;
        self.folder.close_journals()
    }
}
