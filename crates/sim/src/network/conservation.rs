//! Conservation at the end of a run: each packet was delivered, dropped for a given reason, or is still queued, exactly
//! once.

use airbound_control::link::Link;

use super::Network;
use crate::endpoint::AnyEndpoint;

/// Packets are not conserved: a defect of the simulator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "packets are not conserved: {sent} sent, but {delivered} delivered + {dropped} dropped + {queued} still queued; this \
     is a defect of the simulator, please report it with the scenario and the seed"
)]
pub struct Imbalance {
    /// Packets sent by sources.
    pub sent: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets found in queues, hardware, buffers and on wires.
    pub queued: u64,
}

impl Network {
    /// Counts the packets in transit.
    fn queued(&self) -> u64 {
        let nodes: usize = self
            .parts
            .transmitters
            .iter()
            .map(|node| {
                let hardware: usize =
                    node.hardware.iter().flatten().map(|waiting| waiting.descriptor.mpdus.len()).sum();
                node.link.backlog().packets + hardware + node.ingress.in_transit()
            })
            .sum();
        let reordering: usize = self.recipients.iter().map(|agreement| agreement.reorder.held()).sum();
        let shaped: usize = self.parts.endpoints.iter().map(AnyEndpoint::held).sum();
        let in_two_places = self.unacknowledged.len() + self.settled;
        (nodes + reordering + shaped + self.relaying - in_two_places) as u64 + self.parts.meters.on_wire_up()
    }

    /// Checks conservation.
    ///
    /// # Errors
    /// [`Imbalance`] if a packet was lost or counted twice.
    pub(crate) fn check_conservation(&self) -> Result<(), Imbalance> {
        let (sent, delivered, dropped) = self.parts.meters.totals();
        let queued = self.queued();
        if delivered + dropped + queued == sent {
            Ok(())
        } else {
            Err(Imbalance { sent, delivered, dropped, queued })
        }
    }
}
