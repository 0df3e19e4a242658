//! LAST-PQ's delay controller.

use airbound_control::frame::FlowId;
use airbound_control::queue::{self, DelayConfig, Demand};
use airbound_units::{Instant, Span};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::refused;
use crate::value::config;
use crate::whole::{Whole, perhaps};

/// LAST-PQ's delay controller: the permitted queueing time of each flow under its latency demand (Sec. IV).
///
/// Parameters: ``window``, ``guard_interval``, ``oscillation``, ``decrease``, ``increase``, ``additive_increase``,
/// ``least_permitted``, ``least_completions``, ``memory``, ``hold`` (docs/understand/last-pq.md).
#[pyclass(module = "airbound.control")]
pub(crate) struct DelayController(queue::DelayController);

#[pymethods]
impl DelayController {
    #[new]
    #[pyo3(signature = (**keywords))]
    fn new(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        queue::DelayController::new(config::<DelayConfig>(keywords)?).map(Self).map_err(refused)
    }

    /// Sets the latency demand of a flow in ns; ``None`` removes it. Raises ``ArgumentError`` for a demand out of range.
    #[pyo3(signature = (now, flow, latency, percentile = 95.0))]
    fn set_demand(
        &mut self,
        now: Whole<Instant>,
        flow: Whole<FlowId>,
        latency: Option<Whole<Span>>,
        percentile: f64,
    ) -> PyResult<()> {
        let demand = perhaps(latency).map(|latency| Demand::new(latency, percentile));
        let demand = demand.transpose().map_err(refused)?;
        self.0.set_demand(now.0, flow.0, demand).map_err(refused)
    }

    /// A packet of a flow was acknowledged ``latency`` ns after its arrival in the queue.
    fn on_completion(&mut self, now: Whole<Instant>, flow: Whole<FlowId>, latency: Whole<Span>) {
        self.0.on_completion(now.0, flow.0, latency.0);
    }

    /// Closes the windows that have ended. ``oldest`` is the arrival time of the oldest queued packet by flow, ns.
    #[pyo3(signature = (now, oldest = None))]
    fn advance(&mut self, now: Whole<Instant>, oldest: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let waiting: std::collections::BTreeMap<Whole<FlowId>, Whole<Instant>> = match oldest {
            Some(oldest) => oldest.extract()?,
            None => Default::default(),
        };
        self.0.advance(now.0, |flow| perhaps(waiting.get(&Whole(flow)).copied()));
        Ok(())
    }

    /// The permitted queueing time of a flow, ns; ``None`` without a demand.
    fn permitted(&self, flow: Whole<FlowId>) -> Option<u64> {
        self.0.permitted(flow.0).map(Span::as_nanos)
    }

    /// The latency of the last window with a sample, ns.
    fn latency(&self, flow: Whole<FlowId>) -> Option<u64> {
        self.0.latency(flow.0).map(Span::as_nanos)
    }

    /// The least permitted latency of the recently active flows, ns.
    fn tightest(&self, now: Whole<Instant>) -> Option<u64> {
        self.0.tightest(now.0).map(Span::as_nanos)
    }

    /// The end of the current window, ns.
    #[getter]
    fn next_deadline(&self) -> Option<u64> {
        self.0.next_deadline().map(Instant::as_nanos)
    }
}
