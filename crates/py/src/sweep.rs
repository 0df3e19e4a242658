//! Sweeps: started here, run by threads of this process or by workers that execute orders.

use std::path::PathBuf;

use airbound_runs::sweep::{self, Changes, Folder, Grid, Percent, Plan, Progress, local};
use airbound_runs::{RunsError, jobs};
use pyo3::prelude::*;

use crate::error::{ScenarioError, raised};
use crate::runs::watched;
use crate::scheme::Faults;

/// A sweep in progress. No method may be called after `finish`.
#[pyclass(module = "airbound._native")]
pub(crate) struct Sweep {
    sweep: Option<sweep::Sweep>,
    name: String,
}

impl Sweep {
    fn open(&mut self) -> PyResult<&mut sweep::Sweep> {
        self.sweep.as_mut().ok_or_else(|| ScenarioError::new_err("the sweep is finished"))
    }
}

#[pymethods]
impl Sweep {
    /// Checks every cell of a grid, and starts a sweep in a folder or continues it.
    #[new]
    #[pyo3(signature = (grid, folder, until, seeds, replace))]
    fn new(
        py: Python<'_>,
        grid: &str,
        folder: PathBuf,
        until: Option<&str>,
        seeds: Option<u32>,
        replace: bool,
    ) -> PyResult<Self> {
        let until: Option<Percent> = until
            .map(|text| {
                text.parse::<Percent>()
                    .map_err(|problem| ScenarioError::new_err(format!("until is {text}; {problem}")))
            })
            .transpose()?;
        let grid = Grid::open(grid, &Changes { until, seeds }).map_err(|error| raised(error.into()))?;
        let name = grid.name.clone();
        let sweep = watched(py, None, Faults::default(), |watch| {
            let plan = Plan::check(grid, jobs::threads(None), watch)?;
            sweep::Sweep::begin(plan, Folder::open(&folder)?, replace)
        })?;
        Ok(Self { sweep: Some(sweep), name })
    }

    /// Name of the grid.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Whether all runs are finished.
    fn is_done(&mut self) -> PyResult<bool> {
        Ok(self.open()?.is_done())
    }

    /// Number of finished runs, of those finished before this sweep, and of all runs known so far.
    fn progress(&mut self) -> PyResult<(usize, usize, usize)> {
        let Progress { done, known, runs, .. } = self.open()?.progress();
        Ok((done, known, runs))
    }

    /// Executes all runs with threads of this process.
    #[pyo3(signature = (jobs, progress))]
    fn local(&mut self, py: Python<'_>, jobs: Option<u16>, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let sweep = self.open()?;
        watched(py, progress.as_ref(), Faults::default(), |watch| local(sweep, jobs::threads(jobs), watch))
    }

    /// Returns the next run: point, number of the seed, and the order for `execute`; `None` if there is none at
    /// present.
    fn take(&mut self, py: Python<'_>) -> PyResult<Option<(usize, usize, String)>> {
        let sweep = self.open()?;
        py.detach(|| {
            let Some(job) = sweep.take()? else { return Ok::<_, RunsError>(None) };
            Ok(Some((job.point, job.number, job.order()?)))
        })
        .map_err(raised)
    }

    /// Takes the result of `execute` for a run.
    fn accept(&mut self, py: Python<'_>, point: usize, number: usize, result: &str) -> PyResult<()> {
        let sweep = self.open()?;
        py.detach(|| sweep.accept_text(point, number, result)).map_err(raised)
    }

    /// Notes that a run was lost and has to be repeated.
    fn give_back(&mut self, point: usize, number: usize) -> PyResult<()> {
        self.open()?.give_back(point, number);
        Ok(())
    }

    /// Writes intervals and report; returns the findings as text for a terminal of `width` columns, and as JSON.
    fn finish(&mut self, py: Python<'_>, width: u16) -> PyResult<(String, String)> {
        self.open()?;
        let Some(sweep) = self.sweep.take() else {
            return Err(ScenarioError::new_err("the sweep is finished"));
        };
        let found = py.detach(|| {
            sweep.finish().map(|(findings, _)| (findings.to_text(width), findings.to_json().to_string()))
        });
        found.map_err(raised)
    }
}

/// Executes the run of an order, and returns its results as text. Called by workers.
#[pyfunction]
pub(crate) fn execute(py: Python<'_>, order: &str) -> PyResult<String> {
    py.detach(|| sweep::execute(order)).map_err(raised)
}
