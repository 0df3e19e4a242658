//! What can be seen of a run under way, for time series that no record keeps.

use airbound_control::allocation::Allocation;
use airbound_control::link::Link;
use airbound_control::payload::FlowId;
use airbound_control::queue::{AnyQueue, Backlog};
use airbound_control::sender::SenderMetrics;
use airbound_wifi::edca::Category;

use crate::engine::{ACCESS_POINT, Simulation};

/// A look at a run.
#[derive(Debug, Clone)]
pub struct View {
    /// What waits in the access point's link, packets kept for retransmission included.
    pub backlog: Backlog,
    /// How many best-effort packets the access point's queue may hold, where a controller sizes it.
    pub buffer_size: Option<usize>,
    /// TCP senders, by the flow whose data they send.
    pub senders: Vec<(FlowId, SenderMetrics)>,
    /// What the rate allocator has decided, by station; empty without one.
    pub allocations: Vec<Allocation>,
}

impl View {
    pub(crate) fn of(simulation: &Simulation) -> Self {
        let parts = &simulation.parts;
        let senders =
            parts.connections.iter().map(|connection| (connection.data, connection.sender.metrics()));
        let link = &parts.nodes[ACCESS_POINT.index()].link;
        let buffer_size = match link.queue() {
            AnyQueue::Wqm(queue) => Some(queue.buffer_size(Category::Be).packets()),
            _ => None,
        };
        let proxy = parts.proxy.iter().flat_map(|proxy| proxy.allocator.allocations());
        Self {
            backlog: link.backlog(),
            buffer_size,
            senders: senders.collect(),
            allocations: proxy.collect(),
        }
    }
}
