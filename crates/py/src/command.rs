//! The command `airbound`, for the script that the package installs.

use std::ffi::OsString;

use airbound_cli::Host;
use pyo3::prelude::*;

/// Executes a command line, prints its output, and returns the exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| airbound_cli::main(arguments, Host::Python))
}
