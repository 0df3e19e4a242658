//! Runs and comparisons, without the interpreter's lock; the calling thread handles Ctrl-C and progress.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use airbound_cli::CliError;
use airbound_cli::jobs;
use airbound_cli::matrix::{Matrix, baseline};
use airbound_cli::request::{Named, RunRequest, Watch};
use airbound_cli::results::write_report;
use airbound_record::{Encoding, RunFolder, Tables};
use airbound_report::Comparison;
use airbound_units::Span;
use pyo3::prelude::*;

use crate::error::raised;
use crate::scenario::Scenario;
use crate::scheme::{self, Asked, Faults};

/// Interval of checking for signals and of reporting progress.
const GLANCE: Duration = Duration::from_millis(100);

/// State shared by the working threads and the calling one.
struct Shared {
    /// Simulated time so far, ns.
    done: AtomicU64,
    stopped: AtomicBool,
    /// Faults of schemes written in Python.
    faults: Faults,
}

impl Watch for Shared {
    fn advance(&self, span: Span) {
        self.done.fetch_add(span.as_nanos(), Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.faults.is_any()
    }
}

/// Runs `work` on a thread of its own, while this one reports the finished share to `progress`, and checks for Ctrl-C.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    total: Span,
    progress: Option<&Py<PyAny>>,
    faults: Faults,
    work: impl FnOnce(&dyn Watch) -> Result<T, CliError> + Send,
) -> PyResult<T> {
    let shared = Shared { done: AtomicU64::new(0), stopped: AtomicBool::new(false), faults };
    let glance = || -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = progress {
                let done = shared.done.load(Ordering::Relaxed) as f64 / total.as_nanos().max(1) as f64;
                progress.call1(py, (done.min(1.0),))?;
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
                    Err(RecvTimeoutError::Disconnected) => return Err(raised(CliError::Panic)),
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
    let encoding = if jobs::threads(None) > 1 { Encoding::Thread } else { Encoding::Inline };
    let session = RunRequest { named, seed, tables: tables(log_packets), encoding };
    watched(py, opened.length(), progress.as_ref(), faults, |watch| {
        session.run(&opened, &folder, capture.as_deref(), watch).map(|_| ())
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
    let matrix =
        Matrix { baseline: baseline(&opened, &schemes), schemes, seeds, tables: tables(log_packets) };
    let total = opened.length() * matrix.size() as u64;
    watched(py, total, progress.as_ref(), faults, |watch| {
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
        let load = |(label, folder): (String, PathBuf)| {
            Ok::<_, CliError>((label, airbound_report::Run::load(&RunFolder::open(&folder)?)?))
        };
        let runs = runs.into_iter().map(load).collect::<Result<Vec<_>, _>>()?;
        let comparison = Comparison::new(runs, focus.as_deref(), baseline.as_deref())?;
        if let Some(page) = page {
            write_report(&comparison, &page)?;
        }
        Ok(comparison.to_text(width))
    })
    .map_err(raised)
}
