//! WQM's buffer size.

use airbound_control::queue::WqmConfig;
use airbound_control::queue::wqm::{BufferSize, Observation};
use airbound_units::{BitRate, ByteCount, Span};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::refused;
use crate::value::config;
use crate::whole::{Whole, perhaps};

/// WQM's buffer size (algorithm 1 of its paper), updated once per measurement interval.
///
/// Parameters: ``limit``, ``interval``, ``subframes``, ``floor``, ``max_packets``, ``step`` (docs/understand/wqm.md).
#[pyclass(module = "airbound.control")]
pub(crate) struct Wqm(BufferSize);

#[pymethods]
impl Wqm {
    #[new]
    #[pyo3(signature = (**keywords))]
    fn new(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        BufferSize::new(config::<WqmConfig>(keywords)?).map(Self).map_err(refused)
    }

    /// B: the buffer size in packets.
    #[getter]
    fn packets(&self) -> usize {
        self.0.packets()
    }

    /// The current B_min and B_max, packets.
    #[getter]
    fn bounds(&self) -> (usize, usize) {
        self.0.bounds()
    }

    /// The initial stage: B from the bandwidth-delay product at ``rate`` bit/s (equation 1). Further calls have no effect.
    #[pyo3(signature = (rate, subframes = None))]
    fn begin(&mut self, rate: Whole<BitRate>, subframes: Option<Whole<u16>>) {
        self.0.begin(rate.0, perhaps(subframes));
    }

    /// Ends an interval with ``backlog`` bytes queued, the PHY rate ``rate``, and the share ``free`` of the channel available.
    ///
    /// Returns the drain time in ns (``None`` if unknown), whether the buffer is bloated, and whether the buffer size changed.
    #[pyo3(signature = (backlog, rate = None, free = None, subframes = None))]
    fn on_interval(
        &mut self,
        backlog: Whole<ByteCount>,
        rate: Option<Whole<BitRate>>,
        free: Option<f64>,
        subframes: Option<Whole<u16>>,
    ) -> (Option<u64>, bool, bool) {
        let seen =
            Observation { backlog: backlog.0, rate: perhaps(rate), free, subframes: perhaps(subframes) };
        let update = self.0.on_interval(&seen);
        (update.drain_time.map(Span::as_nanos), update.bloated, update.changed)
    }
}
