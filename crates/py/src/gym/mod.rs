//! Episodes for learning: many at once, advanced by one call.

mod workers;

use airbound_runs::{Named, Opened, RunsError};
use airbound_sim::{Decision, Episode, EpisodeError, Knob};
use airbound_units::Span;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{ActionError, ScenarioError, raised};
use crate::scenario::Scenario;
use crate::scheme::{self, Asked, Faults};
use workers::Workers;

fn exception(error: EpisodeError) -> PyErr {
    let sentence = error.to_string();
    match error {
        EpisodeError::Count { .. } | EpisodeError::Value { .. } => ActionError::new_err(sentence),
        _ => ScenarioError::new_err(sentence),
    }
}

/// Parameters of all episodes.
#[derive(Clone)]
struct Setting {
    opened: Opened,
    named: Named,
    decision: Decision,
    step: Span,
}

impl Setting {
    fn begin(&self, seed: u64) -> Result<Episode, EpisodeError> {
        let parts = (&self.named.scheme, &self.named.plugins);
        Episode::new(&self.opened.name, &self.opened.scenario, parts, self.decision, self.step, seed)
    }
}

/// Episodes of one scenario, numbered from 0, each with a seed of its own. Values and measurements are arrays of bytes in the
/// machine's order: 64-bit integers without sign, and 32-bit floats.
#[pyclass(frozen, module = "airbound.gym")]
pub(crate) struct Stepper {
    setting: Setting,
    knobs: Vec<Knob>,
    workers: Workers,
    faults: Faults,
}

#[pymethods]
impl Stepper {
    #[new]
    fn new(
        scenario: &Scenario,
        scheme: Asked,
        decision: &str,
        step: u64,
        episodes: usize,
        threads: usize,
    ) -> PyResult<Self> {
        let opened = scenario.opened.clone();
        let faults = Faults::default();
        let named = scheme::named(&opened, scheme, &faults)?;
        let decision = Decision::named(decision).ok_or_else(|| {
            let names = Decision::ALL.map(Decision::name).join(", ");
            ScenarioError::new_err(format!("decision is {decision}; allowed are {names}"))
        })?;
        let setting = Setting { opened, named, decision, step: Span::from_nanos(step) };
        // The first one says what is wrong with all of them.
        let knobs = setting.begin(setting.opened.scenario.seed).map_err(exception)?.knobs().to_vec();
        Ok(Self { setting, knobs, workers: Workers::new(episodes, threads), faults })
    }

    /// Greatest value of a measurement, in its unit.
    #[classattr]
    const GREATEST: f64 = airbound_sim::GREATEST;

    /// The gauges of each flow.
    #[staticmethod]
    fn gauges() -> Vec<&'static str> {
        airbound_sim::GAUGES.to_vec()
    }

    /// The values to decide at each step: name, least and greatest value.
    #[getter]
    fn knobs(&self) -> Vec<(String, u64, u64)> {
        self.knobs.iter().map(|Knob { name, least, most }| (name.clone(), *least, *most)).collect()
    }

    /// Begins an episode anew where a seed is given.
    fn reset(&self, py: Python<'_>, seeds: Vec<Option<u64>>) -> PyResult<()> {
        let setting = self.setting.clone();
        let begun = self.workers.each(py, move |number, episode| {
            if let Some(Some(seed)) = seeds.get(number) {
                *episode = Some(setting.begin(*seed)?);
            }
            Ok(())
        })?;
        self.faults.raise(py)?;
        begun.into_iter().collect::<Result<(), _>>().map_err(exception)
    }

    /// Advances the episodes whose byte in `moves` is not 0 by a step, with the values of all episodes, one after the other. Returns the
    /// measurements of all, and a byte for each: 1 if it has room for another step.
    fn step<'py>(
        &self,
        py: Python<'py>,
        values: &[u8],
        moves: Vec<u8>,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let values: Vec<u64> = values.as_chunks().0.iter().copied().map(u64::from_ne_bytes).collect();
        let width = self.knobs.len();
        let actions = || values.chunks(width).zip(&moves).filter(|(_, moves)| **moves != 0);
        for (action, _) in actions() {
            Knob::check(&self.knobs, action).map_err(exception)?;
        }
        let results = self.workers.each(py, move |number, episode| {
            let Some(episode) = episode else { return Ok((Vec::new(), false)) };
            let action = values.get(number * width..(number + 1) * width).unwrap_or_default();
            let more =
                if moves.get(number).is_some_and(|moves| *moves != 0) { episode.step(action)? } else { true };
            let mut measured = Vec::new();
            episode.measured(&mut measured);
            Ok((measured, more))
        })?;
        self.faults.raise(py)?;
        let results = results.into_iter().collect::<Result<Vec<_>, _>>().map_err(exception)?;
        let more: Vec<u8> = results.iter().map(|(_, more)| u8::from(*more)).collect();
        let measured = results.iter().flat_map(|(measured, _)| measured);
        let measured: Vec<u8> = measured.flat_map(|value| value.to_ne_bytes()).collect();
        Ok((PyBytes::new(py, &measured), PyBytes::new(py, &more)))
    }

    /// Runs the named episodes to their ends, which they have to be begun for, and returns their summaries as JSON.
    fn finish(&self, py: Python<'_>, numbers: Vec<usize>) -> PyResult<Vec<String>> {
        let summaries = self.workers.each(py, move |number, episode| {
            let ended = numbers.contains(&number).then(|| episode.take()).flatten();
            ended.map(|episode| {
                let outcome = episode.finish().map_err(|error| error.to_string())?;
                serde_json::to_string(&outcome.summary).map_err(|error| error.to_string())
            })
        })?;
        self.faults.raise(py)?;
        let summaries = summaries.into_iter().flatten().collect::<Result<_, _>>();
        summaries.map_err(|error| raised(RunsError::Defect(error)))
    }
}
