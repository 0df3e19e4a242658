//! Latency demands of flows: the part of a queue that works with them.

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
    /// Permitted queueing time at the moment (l_pq).
    pub permitted: Span,
    /// Its latency in the last window in which there was one.
    pub latency: Option<Span>,
    /// Packets that left the queue since the demand was first set.
    pub packets: u64,
    /// Of these, those that left it as urgent ones, before everyone else.
    pub urgent: u64,
    /// Since when it is protected for its pattern, and that pattern; `None` if somebody named it.
    pub found: Option<(Instant, Pattern)>,
}

/// Latency demands of flows, where a queue works with them.
pub trait Demands {
    /// Checks whether the queue can work with a demand.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if it cannot.
    fn check(&self, demand: &Demand) -> Result<(), ConfigError>;

    /// Sets the demand of a flow, changes it, or removes it with `None`.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if the queue cannot work with the demand; the demand before stays.
    fn set(&mut self, now: Instant, flow: FlowId, demand: Option<Demand>) -> Result<(), ConfigError>;

    /// The state of a flow with a demand; `None` if it has none.
    fn protection(&self, flow: FlowId) -> Option<Protection>;

    /// The bound on aggregates of stations without a demand of their own.
    fn tightest(&self, now: Instant) -> AggregateBound;
}
