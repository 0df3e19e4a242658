//! PHY rates.

use airbound_control::frame::RateChain;
use pyo3::prelude::*;

use crate::error::ArgumentError;

/// A PHY rate of the standard, such as ``Rate("VHT80 MCS7 2SS SGI")``. Raises ``ArgumentError`` for an unknown rate.
#[pyclass(frozen, eq, hash, from_py_object, module = "airbound")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Rate(pub(crate) airbound_wifi::rate::Rate);

#[pymethods]
impl Rate {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        text.parse()
            .map(Self)
            .map_err(|error: airbound_wifi::rate::RateError| ArgumentError::new_err(error.to_string()))
    }
    /// The rate, bit/s.
    #[getter]
    fn bits_per_s(&self) -> u64 {
        self.0.bit_rate().as_bps()
    }
    /// ``"OFDM"``, ``"HT"``, ``"VHT"`` or ``"HE"``.
    #[getter]
    fn format(&self) -> String {
        self.0.format().to_string()
    }
    /// The modulation and coding scheme index.
    #[getter]
    fn mcs(&self) -> u8 {
        self.0.mcs()
    }
    /// The number of spatial streams, 1 to 4.
    #[getter]
    fn streams(&self) -> u8 {
        self.0.streams()
    }
    /// The channel width, MHz.
    #[getter]
    fn width_mhz(&self) -> u32 {
        self.0.width().megahertz()
    }
    /// The guard interval, ns.
    #[getter]
    fn guard_interval_ns(&self) -> u64 {
        self.0.guard_interval().span().as_nanos()
    }
    fn __str__(&self) -> String {
        self.0.to_string()
    }
    fn __repr__(&self) -> String {
        format!("Rate({:?})", self.0.to_string())
    }
    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        Ok((slf.get_type().into_any().unbind(), (slf.get().__str__(),)))
    }
}

/// The steps of a chain: pairs of rate and tries.
pub(crate) fn steps(series: &RateChain) -> Vec<(Rate, u8)> {
    series.steps().iter().map(|step| (Rate(step.rate), step.tries)).collect()
}
