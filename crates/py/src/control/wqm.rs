//! WQM's buffer size.

use airbound_control::queue::WqmConfig;
use airbound_control::queue::wqm::{BufferSize, Observation};
use airbound_units::{BitRate, ByteCount, Span};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::refused;
use crate::value::config;

#[pyclass(module = "airbound.control")]
pub(crate) struct Wqm(BufferSize);

#[pymethods]
impl Wqm {
    #[new]
    #[pyo3(signature = (**keywords))]
    fn new(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        BufferSize::new(config::<WqmConfig>(keywords)?).map(Self).map_err(refused)
    }

    #[getter]
    fn packets(&self) -> usize {
        self.0.packets()
    }

    #[getter]
    fn bounds(&self) -> (usize, usize) {
        self.0.bounds()
    }

    #[pyo3(signature = (rate, subframes = None))]
    fn begin(&mut self, rate: u64, subframes: Option<u16>) {
        self.0.begin(BitRate::from_bps(rate), subframes);
    }

    #[pyo3(signature = (backlog, rate = None, free = None, subframes = None))]
    fn on_interval(
        &mut self,
        backlog: u64,
        rate: Option<u64>,
        free: Option<f64>,
        subframes: Option<u16>,
    ) -> (Option<u64>, bool, bool) {
        let seen = Observation {
            backlog: ByteCount::new(backlog),
            rate: rate.map(BitRate::from_bps),
            free,
            subframes,
        };
        let update = self.0.on_interval(&seen);
        (update.drain_time.map(Span::as_nanos), update.bloated, update.changed)
    }
}
