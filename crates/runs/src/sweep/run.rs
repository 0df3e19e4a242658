//! One run of a sweep: here, or described in full for another process or machine.

use std::sync::{Arc, Mutex, PoisonError};

use airbound_scenario::{Overrides, Scenario, Scheme};
use airbound_sim::Run;
use serde::{Deserialize, Serialize};

use super::key::Key;
use super::metric::{self, RunResult};
use super::plan::{Plan, Prepared};
use crate::error::RunsError;
use crate::watch::{LONGEST_PIECE, Watch, to_the_end};

/// The point of a job, prepared by whoever runs the first of its seeds.
pub(crate) type Shared = Arc<Mutex<Option<Arc<Prepared>>>>;

/// A run that is to be made.
#[derive(Debug, Clone)]
pub struct Job {
    /// The point.
    pub point: usize,
    /// The seed's number, from 0.
    pub number: usize,
    pub(crate) shared: Shared,
    pub(crate) plan: Arc<Plan>,
}

/// A job in full: what goes to another machine.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Order {
    key: String,
    name: String,
    seed: u64,
    /// Resolved, with its scheme.
    scenario: String,
}

impl Job {
    fn prepared(&self) -> Result<Arc<Prepared>, RunsError> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = &*shared {
            return Ok(Arc::clone(prepared));
        }
        let prepared = Arc::new(self.plan.prepare(self.point)?);
        *shared = Some(Arc::clone(&prepared));
        Ok(prepared)
    }

    fn seed(&self) -> u64 {
        self.plan.grid.seeds[self.number]
    }

    /// Simulates; `None` if `watch` stopped it on the way.
    ///
    /// # Errors
    /// [`RunsError::Cell`] if the scenario has changed since the plan was checked, [`RunsError::Run`] on a defect of the simulator.
    pub fn run(&self, watch: &dyn Watch) -> Result<Option<RunResult>, RunsError> {
        let prepared = self.prepared()?;
        let Prepared { scenario, scheme } = &*prepared;
        let name = self.plan.grid.scenario_name();
        simulate(&name, scenario, scheme, self.seed(), watch).map_err(|problem| self.failed(problem))
    }

    /// The run as a text that [`execute`] understands on any machine on which the files of its traces lie under the same names.
    ///
    /// # Errors
    /// As [`Job::run`].
    pub fn order(&self) -> Result<String, RunsError> {
        let prepared = self.prepared()?;
        let Prepared { scenario, scheme } = &*prepared;
        let scenario = Scenario { scheme: scheme.in_full(), ..Scenario::clone(scenario) };
        let order = Order {
            key: self.plan.key(self.point).to_string(),
            name: self.plan.grid.scenario_name(),
            seed: self.seed(),
            scenario: scenario.to_toml(),
        };
        serde_json::to_string(&order).map_err(|error| RunsError::Remote(error.to_string()))
    }

    /// Returns the error of the failed run: `problem` with cell, settings and seed.
    pub(crate) fn failed(&self, problem: String) -> RunsError {
        let (cell, _) = self.plan.place(self.point);
        RunsError::Run { cell, settings: self.plan.describe(self.point), seed: self.seed(), problem }
    }
}

/// Does what [`Job::order`] describes, and returns the results as text for [`super::Sweep::accept_text`].
///
/// # Errors
/// The text is none of this version, a trace differs from that of the machine that gave the order, or the run failed.
pub fn execute(order: &str) -> Result<String, RunsError> {
    let wrong = |problem: String| RunsError::Remote(problem);
    let order: Order = serde_json::from_str(order)
        .map_err(|error| wrong(format!("the order is not of this version of airbound: {error}")))?;
    let scenario = Scenario::parse(&order.scenario, &order.name, &Overrides::none())
        .map_err(|error| wrong(error.to_string()))?;
    if Key::of_point(&scenario, &scenario.scheme).to_string() != order.key {
        return Err(wrong(format!(
            "{} is another scenario here than where it was ordered: another version of airbound, or another content of a trace",
            order.name
        )));
    }
    let result = simulate(&order.name, &scenario, &scenario.scheme, order.seed, &()).map_err(wrong)?;
    serde_json::to_string(&result.unwrap_or_default()).map_err(|error| wrong(error.to_string()))
}

fn simulate(
    name: &str,
    scenario: &Scenario,
    scheme: &Scheme,
    seed: u64,
    watch: &dyn Watch,
) -> Result<Option<RunResult>, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let mut run = Run::new(name, scenario, scheme, seed).map_err(|error| text(&error))?;
    if !to_the_end(&mut run, LONGEST_PIECE, |_, _| !watch.is_stopped()) {
        return Ok(None);
    }
    let (outcome, _) = run.finish().map_err(|error| text(&error))?;
    Ok(Some(metric::results(&outcome.summary, scenario)))
}
