//! Runs and comparisons, without the interpreter's lock; the calling thread handles Ctrl-C and progress.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use airbound_record::{RunFolder, Tables};
use airbound_report::Comparison;
use airbound_runs::folder::write_report;
use airbound_runs::output;
use airbound_runs::{Matrix, Named, RunRequest, RunsError, Step, Watch, encoding, facts_of, jobs};
use pyo3::prelude::*;

use crate::error::{RunError, raised};
use crate::scenario::Scenario;
use crate::scheme::{self, Asked, Faults};

/// Interval of checking for signals and of reporting progress.
const GLANCE: Duration = Duration::from_millis(100);

/// Message for a thread that panicked.
pub(crate) const PANIC: &str =
    "the message above is a defect of airbound; please report it with the command that led to it";

/// State shared by the working threads and the calling one.
struct Shared {
    /// The finished share, 0 to 1, as the bits of a float.
    share: AtomicU64,
    stopped: AtomicBool,
    /// Faults of schemes written in Python.
    faults: Faults,
}

impl Watch for Shared {
    fn on_progress(&self, _step: Step, done: u64, total: u64) {
        let share = done as f64 / total.max(1) as f64;
        self.share.store(share.to_bits(), Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.faults.is_any()
    }
}

/// Runs `work` on a thread of its own, while this one reports the finished share to `progress`, and checks for Ctrl-C.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    faults: Faults,
    work: impl FnOnce(&dyn Watch) -> Result<T, RunsError> + Send,
) -> PyResult<T> {
    let shared = Shared { share: AtomicU64::new(0), stopped: AtomicBool::new(false), faults };
    let glance = || -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = progress {
                let share = f64::from_bits(shared.share.load(Ordering::Relaxed));
                progress.call1(py, (share.min(1.0),))?;
            }
            Ok(())
        })
    };
    py.detach(|| {
        std::thread::scope(|scope| {
            let (finish, finished) = sync_channel(1);
            let shared = &shared;
            scope.spawn(move || {
                // After an interruption the receiver is gone.
                let _ = finish.send(work(shared));
            });
            loop {
                match finished.recv_timeout(GLANCE) {
                    Ok(outcome) => {
                        // The exception of a scheme is more specific than the interruption of the run.
                        Python::attach(|py| shared.faults.raise(py))?;
                        return outcome.map_err(raised);
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(interruption) = glance() {
                            shared.stopped.store(true, Ordering::Relaxed);
                            return Err(interruption);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => return Err(RunError::new_err(PANIC)),
                }
            }
        })
    })
}

const fn tables(log_packets: bool) -> Tables {
    if log_packets { Tables::ALL } else { Tables::SMALL }
}

/// Simulates a scenario with one scheme and writes the run to a folder.
#[pyfunction]
#[pyo3(signature = (scenario, scheme, seed, folder, log_packets, capture, progress))]
#[expect(clippy::too_many_arguments, reason = "called by the package alone, by name")]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    scheme: Asked,
    seed: Option<u64>,
    folder: PathBuf,
    log_packets: bool,
    capture: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let opened = scenario.opened.clone();
    let faults = Faults::default();
    let named = scheme::named(&opened, scheme, &faults)?;
    let seed = seed.unwrap_or(opened.scenario.seed);
    let encoding = encoding(1, jobs::threads(None));
    let request = RunRequest { named, seed, tables: tables(log_packets), encoding };
    watched(py, progress.as_ref(), faults, |watch| {
        request.run(&opened, &folder, capture.as_deref(), watch).map(|_| ())
    })
}

/// Simulates a scenario with several schemes and seeds, and writes the comparison to a folder.
#[pyfunction]
#[pyo3(signature = (scenario, schemes, seeds, folder, log_packets, jobs, progress))]
#[expect(clippy::too_many_arguments, reason = "called by the package alone, by name")]
pub(crate) fn compare(
    py: Python<'_>,
    scenario: &Scenario,
    schemes: Vec<Asked>,
    seeds: u32,
    folder: PathBuf,
    log_packets: bool,
    jobs: Option<u16>,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let opened = scenario.opened.clone();
    let faults = Faults::default();
    let named = |asked| scheme::named(&opened, asked, &faults);
    let schemes: Vec<Named> = schemes.into_iter().map(named).collect::<PyResult<_>>()?;
    let matrix = Matrix { seeds, tables: tables(log_packets), ..Matrix::of(&opened, schemes) };
    watched(py, progress.as_ref(), faults, |watch| {
        matrix.run(&opened, jobs::threads(jobs), &folder, watch).map(|_| ())
    })
}

/// Makes one report of stored runs: pairs of label and folder. Returns it as text for a terminal of `width` columns.
#[pyfunction]
#[pyo3(signature = (runs, page, focus, baseline, width))]
pub(crate) fn report(
    py: Python<'_>,
    runs: Vec<(String, PathBuf)>,
    page: Option<PathBuf>,
    focus: Option<String>,
    baseline: Option<String>,
    width: u16,
) -> PyResult<String> {
    py.detach(|| {
        let comparison = compared(runs, focus.as_deref(), baseline.as_deref())?;
        if let Some(page) = page {
            write_report(&comparison, &page)?;
        }
        Ok(comparison.to_text(width))
    })
    .map_err(raised)
}

/// Writes a page; a file that is no page of Airbound is left alone, with ``RunError``.
#[pyfunction]
#[pyo3(signature = (page, html))]
pub(crate) fn write_page(page: PathBuf, html: &str) -> PyResult<()> {
    output::write_page(&page, html).map_err(raised)
}

/// The verdict on stored runs, pairs of label and folder, as JSON.
#[pyfunction]
#[pyo3(signature = (runs, focus, baseline))]
pub(crate) fn verdict(
    py: Python<'_>,
    runs: Vec<(String, PathBuf)>,
    focus: Option<String>,
    baseline: Option<String>,
) -> PyResult<String> {
    py.detach(|| {
        let verdict = compared(runs, focus.as_deref(), baseline.as_deref())?.verdict();
        serde_json::to_string(&verdict)
            .map_err(|error| RunsError::Defect(format!("the verdict is no JSON: {error}")))
    })
    .map_err(raised)
}

/// Name and members of each group of flows of stored runs, that of the flow in focus first.
#[pyfunction]
#[pyo3(signature = (runs, focus))]
pub(crate) fn groups(
    py: Python<'_>,
    runs: Vec<(String, PathBuf)>,
    focus: Option<String>,
) -> PyResult<Vec<(String, Vec<String>)>> {
    py.detach(|| Ok(compared(runs, focus.as_deref(), None)?.flow_groups())).map_err(raised)
}

/// Stored runs side by side, with the facts of the first one's scenario.
fn compared(
    runs: Vec<(String, PathBuf)>,
    focus: Option<&str>,
    baseline: Option<&str>,
) -> Result<Comparison, RunsError> {
    let load = |(label, folder): (String, PathBuf)| {
        Ok::<_, RunsError>((label, airbound_report::Run::load(&RunFolder::open(&folder)?)?))
    };
    let runs = runs.into_iter().map(load).collect::<Result<Vec<_>, _>>()?;
    let facts = runs.first().map(|(_, run)| facts_of(&run.scenario)).unwrap_or_default();
    let leading = airbound_report::leading(&runs);
    let focus = focus.or(leading.as_deref());
    Ok(Comparison::new(runs, focus, baseline)?.with_facts(facts))
}
