//! Latency demands of flows.

use airbound_units::{Instant, Span};

use super::contract::AggregateBound;
use super::last_pq::Demand;
use crate::classify::Pattern;
use crate::error::ConfigError;
use crate::frame::FlowId;

/// State of a flow with a demand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Protection {
    /// The demand.
    pub demand: Demand,
    /// Present permitted queueing time (l_pq).
    pub permitted: Span,
    /// Measured latency of the last window that had one.
    pub latency: Option<Span>,
    /// Packets that left the queue since the demand was first set.
    pub packets: u64,
    /// Number of these packets sent as urgent, ahead of all others.
    pub urgent: u64,
    /// When automatic protection began, and the pattern found; `None` for configured demands.
    pub found: Option<(Instant, Pattern)>,
}

/// Interface of queues that support latency demands of flows.
pub trait Demands {
    /// Checks whether the queue can accept a demand.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if it cannot be accepted.
    fn check(&self, demand: &Demand) -> Result<(), ConfigError>;

    /// Sets the demand of a flow, changes it, or removes it with `None`.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if the demand cannot be accepted; the previous demand remains.
    fn set(&mut self, now: Instant, flow: FlowId, demand: Option<Demand>) -> Result<(), ConfigError>;

    /// The state of a flow with a demand; `None` if it has none.
    fn protection(&self, flow: FlowId) -> Option<Protection>;

    /// The bound on aggregates of stations without a demand of their own.
    fn tightest(&self, now: Instant) -> AggregateBound;
}
