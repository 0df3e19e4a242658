//! Controllers for the caller's own observations; see `airbound.control`.

mod allocation;
mod delay;
mod law;
mod plum;
mod stream;
mod wqm;

pub(crate) use allocation::RateAllocator;
pub(crate) use delay::DelayController;
pub(crate) use law::{Grant, Law};
pub(crate) use plum::plum_allocation;
pub(crate) use stream::{StreamDecision, StreamReceiver, StreamSender};
pub(crate) use wqm::Wqm;

use pyo3::PyErr;

use crate::error::ArgumentError;

/// The exception for a value refused by a core.
fn refused(error: impl std::fmt::Display) -> PyErr {
    ArgumentError::new_err(error.to_string())
}
