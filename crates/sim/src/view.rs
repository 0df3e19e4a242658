//! What can be seen of a run under way, for time series that no record keeps.

use airbound_control::link::Link;
use airbound_control::payload::FlowId;
use airbound_control::queue::Backlog;
use airbound_control::sender::SenderMetrics;

use crate::engine::{ACCESS_POINT, Simulation};

/// A look at a run.
#[derive(Debug, Clone)]
pub struct View {
    /// What waits in the access point's link, packets kept for retransmission included.
    pub backlog: Backlog,
    /// TCP senders, by the flow whose data they send.
    pub senders: Vec<(FlowId, SenderMetrics)>,
}

impl View {
    pub(crate) fn of(simulation: &Simulation) -> Self {
        let parts = &simulation.parts;
        let senders =
            parts.connections.iter().map(|connection| (connection.data, connection.sender.metrics()));
        Self { backlog: parts.nodes[ACCESS_POINT.index()].link.backlog(), senders: senders.collect() }
    }
}
