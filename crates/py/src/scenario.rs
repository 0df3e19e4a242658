//! Scenarios: reading, changing, inspecting.

use std::collections::BTreeMap;
use std::path::PathBuf;

use airbound_runs::{Opened, RunsError};
use airbound_scenario::{self as scenario, Overrides, find_shipped, reading::shortened};
use pyo3::prelude::*;

use crate::error::{ArgumentError, ScenarioError, raised};
use crate::value::to_toml;

/// The shipped scenarios: pairs of name and title.
#[pyfunction]
pub(crate) fn shipped() -> Vec<(&'static str, &'static str)> {
    airbound_scenario::shipped().iter().map(|scenario| (scenario.name, scenario.title())).collect()
}

/// The words that a scenario may choose from, such as ``"queues"``: pairs of name and meaning.
#[pyfunction]
pub(crate) fn catalogue() -> BTreeMap<&'static str, Vec<(&'static str, &'static str)>> {
    scenario::catalogue().into_iter().map(|chapter| (chapter.name, chapter.words)).collect()
}

/// The error of a value below `name`, as an error of the scenario.
fn of_value(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    if error.is_instance_of::<ArgumentError>(py) {
        ScenarioError::new_err(format!("{}: {}", shortened(name), error.value(py)))
    } else {
        error
    }
}

/// Source of a scenario.
#[derive(Debug, Clone)]
enum Source {
    /// The name of a shipped scenario.
    Shipped(String),
    /// A file.
    File(String),
    /// Its text and its name.
    Text(String, String),
}

impl Source {
    fn open(&self, overrides: &Overrides) -> Result<Opened, scenario::ScenarioError> {
        Ok(match self {
            Self::Shipped(name) => {
                Opened { name: name.clone(), scenario: find_shipped(name)?.load(overrides)? }
            }
            Self::File(path) => Opened::of(path, scenario::Scenario::load(path.as_ref(), overrides)?),
            Self::Text(text, name) => {
                Opened { name: name.clone(), scenario: scenario::Scenario::parse(text, name, overrides)? }
            }
        })
    }
}

/// The description of a simulation. Immutable and always valid: :meth:`set` returns a changed one.
///
/// All constructors raise :class:`ScenarioError` with file, line, key, the problem and the allowed values.
#[pyclass(frozen, module = "airbound")]
#[derive(Clone)]
pub(crate) struct Scenario {
    source: Source,
    overrides: Overrides,
    pub(crate) opened: Opened,
}

impl Scenario {
    fn of(source: Source, overrides: Overrides) -> PyResult<Self> {
        let opened = source.open(&overrides).map_err(|error| raised(error.into()))?;
        Ok(Self { source, overrides, opened })
    }
}

#[pymethods]
impl Scenario {
    /// The shipped scenario of a name; :func:`airbound.shipped` lists them.
    #[staticmethod]
    fn shipped(name: String) -> PyResult<Self> {
        Self::of(Source::Shipped(name), Overrides::none())
    }

    /// The scenario of a file (docs/reference/scenario-keys.md).
    #[staticmethod]
    fn from_file(path: PathBuf) -> PyResult<Self> {
        Self::of(Source::File(path.to_string_lossy().into_owned()), Overrides::none())
    }

    /// The scenario of the text of a file. Its paths are relative to the working directory.
    #[staticmethod]
    #[pyo3(signature = (text, name = "scenario"))]
    fn from_text(text: String, name: &str) -> PyResult<Self> {
        Self::of(Source::Text(text, name.to_owned()), Overrides::none())
    }

    /// The scenario of nested dicts and lists. Underscores in keys stand for hyphens.
    #[staticmethod]
    #[pyo3(signature = (table, name = "scenario"))]
    fn from_dict(table: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let text = toml::to_string(&to_toml(table).map_err(|error| of_value(table.py(), name, error))?)
            .map_err(|error| {
                ScenarioError::new_err(format!("{name}: the table cannot be written as TOML: {error}"))
            })?;
        Self::of(Source::Text(text, name.to_owned()), Overrides::none())
    }

    /// The scenario with one value changed: ``set("flow.bulk.count", 1)``, ``set("air.width", "80 MHz")``.
    fn set(&self, key: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut overrides = self.overrides.clone();
        let value = to_toml(value).map_err(|error| of_value(value.py(), key, error))?;
        overrides.set(&format!("{key}={value}")).map_err(|error| raised(error.into()))?;
        Self::of(self.source.clone(), overrides)
    }

    /// The scenario with this trace for the first station with a trace channel.
    fn with_trace(&self, path: PathBuf) -> PyResult<Self> {
        let mut overrides = self.overrides.clone();
        overrides.trace(&path.to_string_lossy());
        Self::of(self.source.clone(), overrides)
    }

    /// The name in results.
    #[getter]
    fn name(&self) -> &str {
        &self.opened.name
    }

    /// The title, one line.
    #[getter]
    fn title(&self) -> &str {
        &self.opened.scenario.title
    }

    /// The description.
    #[getter]
    fn description(&self) -> &str {
        &self.opened.scenario.description
    }

    /// The default seed of runs: an integer from 0 to 2^63 - 1.
    #[getter]
    fn seed(&self) -> u64 {
        self.opened.scenario.seed
    }

    /// The measured time after the warm-up, ns.
    #[getter]
    fn duration_ns(&self) -> u64 {
        self.opened.scenario.duration.as_nanos()
    }

    /// The time simulated before the measurement, ns.
    #[getter]
    fn warm_up_ns(&self) -> u64 {
        self.opened.scenario.warm_up.as_nanos()
    }

    /// The schemes compared by default.
    #[getter]
    fn schemes(&self) -> Vec<String> {
        self.opened.scenario.schemes.clone()
    }

    /// The name of the default scheme of runs.
    #[getter]
    fn own_scheme(&self) -> PyResult<String> {
        self.opened.scheme(None).map(|named| named.label).map_err(raised)
    }

    /// The focus flow.
    #[getter]
    fn focus(&self) -> Option<String> {
        self.opened.focus()
    }

    /// The names of the stations.
    #[getter]
    fn stations(&self) -> Vec<String> {
        self.opened.scenario.stations.iter().map(|station| station.name.clone()).collect()
    }

    /// The names of the flows.
    #[getter]
    fn flows(&self) -> Vec<String> {
        self.opened.scenario.flows.iter().map(|flow| flow.name.clone()).collect()
    }

    /// The text of the scenario with all defaults. Reading it gives the same scenario.
    fn to_toml(&self) -> String {
        self.opened.scenario.to_toml()
    }

    /// The scenario with all defaults as JSON.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.opened.scenario)
            .map_err(|error| raised(RunsError::Defect(format!("the scenario is not JSON: {error}"))))
    }

    fn __repr__(&self) -> String {
        let scenario = &self.opened.scenario;
        format!(
            "Scenario({:?}: {} stations, {} flows, {} after {})",
            self.opened.name,
            scenario.stations.len(),
            scenario.flows.len(),
            scenario.duration,
            scenario.warm_up
        )
    }
}
