//! The ways to run a household that are compared.

/// Name and queue of a way, and the demand by which the scenario names the streams; `None` leaves them unnamed.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) name: &'static str,
    pub(super) queue: &'static str,
    pub(super) demand: Option<&'static str>,
}

/// No flow is protected.
const LINUX: Way = Way { name: "Linux", queue: "\"linux\"", demand: None };
/// The scenario names the streams.
const NAMED: Way = Way { name: "LAST-PQ, named", queue: "\"last-pq\"", demand: Some("\"20 ms\"") };
/// The queue has to find them.
pub(super) const AUTO: Way = Way { name: "LAST-PQ, auto", queue: "\"last-pq-auto\"", demand: None };

pub(super) const WAYS: [Way; 3] = [LINUX, NAMED, AUTO];
