//! Arenas of bitrate rules, those of Python among them.

use std::sync::Arc;

use airbound_runs::arena::{Arena, OwnRules, Place};
use airbound_runs::jobs;
use airbound_senders::rtp::rate::CustomRule;
use airbound_sim::Make;
use pyo3::prelude::*;

use crate::error::raised;
use crate::runs::watched;
use crate::scheme::{Class, Faults, PyRule};

/// Holds an arena: names of rules, and classes of those that are not built in, by name. Returns the standings as text for a terminal of
/// `width` columns, as JSON, and as a page.
#[pyfunction]
#[pyo3(signature = (rules, own, schemes, places, quick, seeds, jobs, width, progress))]
#[expect(clippy::too_many_arguments, reason = "called by the package alone, by name")]
pub(crate) fn arena(
    py: Python<'_>,
    rules: Vec<String>,
    own: Vec<(String, Py<PyAny>)>,
    schemes: Vec<String>,
    places: Vec<String>,
    quick: bool,
    seeds: Option<u32>,
    jobs: Option<u16>,
    width: u16,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String, String)> {
    let faults = Faults::default();
    let make = |(name, class): (String, Py<PyAny>)| {
        let class = Arc::new(Class::new(name.clone(), class, &faults));
        let make: Make<dyn CustomRule> = Arc::new(move |site| Box::new(PyRule::new(&class, site)));
        (name, make)
    };
    let own: OwnRules = own.into_iter().map(make).collect();
    let usual = Place::usual(quick);
    let places = if places.is_empty() { usual } else { places };
    let (usual, duration) = Arena::extent(quick);
    let arena =
        Arena::new(&rules, own, &schemes, &places, seeds.unwrap_or(usual), duration).map_err(raised)?;
    let standings = watched(py, progress.as_ref(), faults, |watch| arena.hold(jobs::threads(jobs), watch))?;
    let page = standings.to_html().map_err(raised)?;
    Ok((standings.to_text(width), standings.to_json().to_string(), page))
}
