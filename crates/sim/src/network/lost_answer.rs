//! Data that arrives while its acknowledgement is lost: the receiver has it, and the sender does not know.
//!
//! The packet is delivered once, with its first arrival. Further copies cost airtime and are discarded, as receivers do by sequence number
//! (802.11-2020, 10.3.2.14 and 10.25.6.4). A packet that its sender gives up meanwhile is not lost.

use std::collections::BTreeSet;

use airbound_control::frame::{DropReason, FlowId, StationId, TxDescriptor};
use airbound_units::Instant;
use airbound_wifi::block_ack::AckBitmap;

use super::{Network, Shared};
use crate::packet::Packet;

/// A packet on one hop: its next node, its flow, its number in it.
type Hop = (StationId, FlowId, u64);

const fn hop(packet: &Packet) -> Hop {
    (packet.to, packet.flow, packet.number)
}

/// Packets that their next node has, and which their sender still holds.
#[derive(Debug, Default)]
pub(super) struct Unacknowledged(pub(super) BTreeSet<Hop>);

impl Unacknowledged {
    /// Number of packets that are in two places.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Notes the MPDUs of a descriptor that arrived, and whether the sender knows. Returns those that arrived for the first time.
    pub(super) fn note(
        &mut self,
        descriptor: &TxDescriptor<Packet>,
        arrived: AckBitmap,
        answered: bool,
    ) -> AckBitmap {
        let mut fresh = AckBitmap::NONE;
        for (place, mpdu) in descriptor.mpdus.iter().enumerate().filter(|(place, _)| arrived.get(*place)) {
            let hop = hop(&mpdu.packet);
            let is_known = if answered { self.0.remove(&hop) } else { !self.0.insert(hop) };
            if !is_known {
                fresh.set(place);
            }
        }
        fresh
    }

    /// The MPDUs of a descriptor that arrived: the answer to a BlockAckReq.
    pub(super) fn of(&self, descriptor: &TxDescriptor<Packet>) -> AckBitmap {
        let mut arrived = AckBitmap::NONE;
        let mpdus = descriptor.mpdus.iter().enumerate();
        for (place, _) in mpdus.filter(|(_, mpdu)| self.0.contains(&hop(&mpdu.packet))) {
            arrived.set(place);
        }
        arrived
    }

    /// Forgets a packet. Returns whether its next node has it.
    fn take(&mut self, packet: &Packet) -> bool {
        self.0.remove(&hop(packet))
    }
}

impl Network {
    /// Accounts for a packet that its sender gives up: it is lost unless its next node has it.
    pub(super) fn lose(&mut self, shared: &mut Shared, at: Instant, packet: &Packet, reason: DropReason) {
        if self.unacknowledged.0.is_empty() || !self.unacknowledged.take(packet) {
            self.forget(shared, packet, reason);
            self.parts.meters.on_dropped(at, packet, reason);
            return;
        }
        if let Some(id) = self.parts.flows[packet.flow.0 as usize].endpoint {
            self.note_gone(shared, id, packet);
        }
    }
}
