//! Plum's optimiser.

use airbound_senders::conference::{Certificate, PlumConfig, Problem, User};
use airbound_units::BitRate;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::refused;
use crate::value::config;
use crate::whole::Whole;

/// Rates up and down in bit/s for each user, utility, mean and fairness of the QoE, and an upper bound of the utility where one is
/// proven.
type Solution = (Vec<(u64, u64)>, f64, f64, f64, Option<f64>);

/// The bitrates that maximise the utility of a session.
#[pyfunction]
#[pyo3(signature = (capacities, weights, least_up, **keywords))]
pub(crate) fn plum_allocation(
    py: Python<'_>,
    capacities: Vec<Whole<BitRate>>,
    weights: Option<Vec<f64>>,
    least_up: Whole<BitRate>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Solution> {
    let config = config::<PlumConfig>(keywords)?;
    config.check().map_err(refused)?;
    let weights = weights.unwrap_or_else(|| vec![1.0; capacities.len()]);
    if weights.len() != capacities.len() {
        let (given, users) = (weights.len(), capacities.len());
        return Err(refused(format!("{given} weights are given for {users} capacities; give one for each")));
    }
    let users = capacities.into_iter().zip(weights);
    let users: Vec<User> =
        users.map(|(Whole(capacity), weight)| User { capacity, weight, least_down: BitRate::ZERO }).collect();
    let problem = Problem {
        qoe: config.qoe,
        rho: config.rho,
        max_bitrate: config.max_bitrate,
        source_cap: config.source_cap(users.len()),
        least_up: least_up.0,
        least_down: config.least_down,
        users,
    };
    let found = py.detach(|| problem.solve()).map_err(refused)?;
    let bound = match found.certificate {
        Certificate::Global { bound } => Some(bound),
        Certificate::BestOf { .. } => None,
    };
    let shares = found.shares.iter().map(|share| (share.up.as_bps(), share.down.as_bps())).collect();
    let welfare = found.welfare;
    Ok((shares, welfare.utility, welfare.mean, welfare.fairness, bound))
}
