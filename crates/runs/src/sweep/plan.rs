//! A grid whose every cell has been checked.

use std::sync::Arc;

use airbound_scenario::{Scenario, Scheme};
use airbound_sim::Run;

use super::grid::Grid;
use super::key::Key;
use super::metric;
use crate::error::RunsError;
use crate::jobs;
use crate::watch::{Step, Watch};

/// All that will be run. A *point* is a cell under a scheme; points are numbered cell by cell, and within a cell in the order of the
/// schemes.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The grid that was asked for.
    pub grid: Grid,
    /// Key of each point, from which those of its runs derive.
    keys: Vec<Key>,
    /// The scenarios of the first cells, as they were checked.
    scenarios: Vec<Arc<Scenario>>,
}

/// Stations and flows of all scenarios that a plan keeps: some 10 MB. Later cells are read again when their runs are due.
const KEPT: usize = 10_000;

/// A point, ready to be run.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) scheme: Scheme,
}

impl Plan {
    /// Reads the scenario of every cell, and builds a run of it under every scheme, on up to `threads` threads.
    ///
    /// # Errors
    /// The first cell, in order, that is no scenario, or whose schemes or flow are wrong.
    pub fn check(grid: Grid, threads: usize, watch: &dyn Watch) -> Result<Self, RunsError> {
        let cells: Vec<usize> = (0..grid.design.cells()).collect();
        let progress = |done, of| watch.on_progress(Step::Checking, done as u64, of as u64);
        let checked = jobs::counted(threads, &cells, &progress, |cell| {
            if watch.is_stopped() {
                let runs = cells.len() * grid.schemes.len() * grid.seeds.len();
                return Err(RunsError::SweepInterrupted { kept: 0, runs });
            }
            check_cell(&grid, *cell)
        })?;
        let (scenarios, keys): (Vec<_>, Vec<_>) = checked.into_iter().unzip();
        let scenarios = scenarios.into_iter().map_while(|scenario| scenario).collect();
        Ok(Self { keys: keys.into_iter().flatten().collect(), scenarios, grid })
    }

    /// Returns the number of points.
    pub(crate) fn points(&self) -> usize {
        self.keys.len()
    }

    /// Returns the largest possible number of runs.
    #[must_use]
    pub fn most_runs(&self) -> usize {
        self.points() * self.grid.seeds.len()
    }

    /// Cell and scheme of a point.
    pub(crate) fn place(&self, point: usize) -> (usize, usize) {
        let schemes = self.grid.schemes.len().max(1);
        (point / schemes, point % schemes)
    }

    /// The point of a cell and a scheme.
    pub(crate) fn point(&self, cell: usize, scheme: usize) -> usize {
        cell * self.grid.schemes.len() + scheme
    }

    pub(crate) fn key(&self, point: usize) -> Key {
        self.keys[point]
    }

    /// Returns the key of the run of a point with a seed; `number` counts seeds from 0.
    pub(crate) fn run_key(&self, point: usize, number: usize) -> Key {
        self.keys[point].with_seed(self.grid.seeds[number])
    }

    /// The settings of a point in words.
    pub(crate) fn describe(&self, point: usize) -> String {
        let (cell, scheme) = self.place(point);
        format!("{}, scheme {}", self.grid.describe(cell), self.grid.schemes[scheme])
    }

    pub(crate) fn prepare(&self, point: usize) -> Result<Prepared, RunsError> {
        let (cell, scheme) = self.place(point);
        let wrong = |problem: String| wrong(&self.grid, cell, None, problem);
        let kept = self.scenarios.get(cell).map(Arc::clone);
        let is_kept = kept.is_some();
        let scenario = match kept {
            Some(scenario) => scenario,
            None => Arc::new(self.grid.scenario_of(cell).map_err(|error| wrong(error.to_string()))?),
        };
        let scheme = scenario.scheme.with_name(&self.grid.schemes[scheme]);
        let scheme = scheme.map_err(|error| wrong(error.to_string()))?;
        // A trace may have been exchanged since the cell was checked; its results would stand under the wrong key.
        if !is_kept && Key::of_point(&scenario, &scheme) != self.keys[point] {
            return Err(wrong("the scenario or a trace of it has changed since the sweep began".to_owned()));
        }
        Ok(Prepared { scenario, scheme })
    }
}

fn wrong(grid: &Grid, cell: usize, scheme: Option<&str>, problem: String) -> RunsError {
    let settings = grid.describe(cell);
    let settings = scheme.map_or(settings.clone(), |scheme| format!("{settings}, scheme {scheme}"));
    RunsError::Cell { cell, settings, problem }
}

/// The keys of the points of a cell, and its scenario if it is to be kept.
fn check_cell(grid: &Grid, cell: usize) -> Result<(Option<Arc<Scenario>>, Vec<Key>), RunsError> {
    let scenario = grid.scenario_of(cell).map_err(|error| wrong(grid, cell, None, error.to_string()))?;
    let flows = metric::flow_names(&scenario);
    if !flows.contains(&grid.flow) {
        let flows = flows.into_iter().take(20).collect::<Vec<_>>().join(", ");
        let problem = format!("flow \"{}\" is not there; flows are {flows}", grid.flow);
        return Err(wrong(grid, cell, None, problem));
    }
    let name = grid.scenario_name();
    let key = |label: &String| {
        let refused = |problem: String| wrong(grid, cell, Some(label), problem);
        let scheme = scenario.scheme.with_name(label).map_err(|error| refused(error.to_string()))?;
        Run::new(&name, &scenario, &scheme, 1).map_err(|error| refused(error.to_string()))?;
        Ok(Key::of_point(&scenario, &scheme))
    };
    let keys = grid.schemes.iter().map(key).collect::<Result<_, RunsError>>()?;
    // Cells are alike: so many of the size of this one.
    let is_kept = (cell + 1) * (scenario.stations.len() + scenario.flows.len()) <= KEPT;
    // Traces are large, and may be exchanged before their runs are due.
    let is_kept = is_kept && scenario.traces().next().is_none();
    Ok((is_kept.then(|| Arc::new(scenario)), keys))
}
