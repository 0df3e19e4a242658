//! Exceptions with the messages of the command line.

use airbound_runs::RunsError;
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};

pyo3::create_exception!(
    airbound,
    ScenarioError,
    PyValueError,
    "A scenario, a change to it, or a scheme is invalid; the message says what, where, and what is allowed."
);
pyo3::create_exception!(
    airbound,
    SchemeError,
    PyRuntimeError,
    "A scheme written in Python failed in a run; its own exception, with its trace, is the cause."
);
pyo3::create_exception!(
    airbound,
    ArgumentError,
    PyValueError,
    "An argument of a call is out of range, such as a time that runs backwards or a packet above the MTU; nothing has happened."
);
pyo3::create_exception!(
    airbound,
    ActionError,
    PyValueError,
    "An action of an environment has another number of values, or a value out of range; the message says which, and what is allowed."
);
pyo3::create_exception!(
    airbound,
    RunError,
    PyRuntimeError,
    "A run cannot be written, read or finished; the message says why."
);

/// The error of runs as an exception.
pub(crate) fn raised(error: RunsError) -> PyErr {
    let sentence = error.to_string();
    match error {
        RunsError::Scenario(_)
        | RunsError::Build(_)
        | RunsError::PluginName(_)
        | RunsError::Arena(_)
        | RunsError::CaptureOfPipes
        | RunsError::NoFolderName { .. }
        | RunsError::NoComparison { .. }
        | RunsError::Stranger { .. }
        | RunsError::Index { .. }
        | RunsError::Cell { .. } => ScenarioError::new_err(sentence),
        RunsError::Io { .. } | RunsError::SweepHalted { .. } => PyOSError::new_err(sentence),
        _ => RunError::new_err(sentence),
    }
}
