//! Times and latency stages of packets on their previous hops.

use std::collections::BTreeMap;

use airbound_control::frame::FlowId;
use airbound_record::{Moments, Split};
use airbound_units::Instant;

use crate::packet::Packet;

/// An MPDU at its receiver, with the times of its hop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) packet: Packet,
    pub(crate) last_transmission: Instant,
    pub(crate) received: Instant,
    pub(crate) completed: Instant,
    pub(crate) tries: u8,
    pub(crate) txop: u64,
}

impl Arrival {
    /// The moments of its last hop, if the reordering buffer releases it at `released` and it reaches its destination, or the
    /// relay's, at `arrived`.
    pub(crate) const fn moments(&self, released: Instant, arrived: Instant) -> Moments {
        Moments {
            sent: self.packet.sent,
            enqueued: self.packet.enqueued,
            contending: self.packet.contending,
            first_tx: self.packet.first_transmission,
            last_tx: self.last_transmission,
            received: self.received,
            delivered: released,
            arrived,
        }
    }
}

/// Times and latency stages of one packet before its present hop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Journey {
    /// When it entered the queue of its first transmitter.
    pub(super) entered: Instant,
    /// When the reordering buffer of the last relay released it.
    left: Instant,
    /// Its stages until then.
    split: Split,
}

impl Journey {
    /// The stages up to the end of the hop of these moments.
    pub(super) fn until(&self, hop: &Moments) -> Option<Split> {
        Some(self.split + Split::between(&hop.from_relay(self.left))?)
    }
}

/// Packets forwarded by relays that have not arrived. Empty, and without cost, if there are no relays.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journeys(BTreeMap<(FlowId, u64), Journey>);

impl Journeys {
    /// Notes that a relay forwards packet `number` of `flow`, whose `hop` ends there.
    pub(super) fn on_relayed(&mut self, flow: FlowId, number: u64, hop: &Moments) {
        let behind = self.0.get(&(flow, number));
        let entered = behind.map_or(hop.enqueued, |journey| journey.entered);
        let split = behind.map_or_else(|| Split::between(hop), |journey| journey.until(hop));
        self.0.insert(
            (flow, number),
            Journey { entered, left: hop.delivered, split: split.unwrap_or_default() },
        );
    }

    /// Whether no packet is on its way behind a relay.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the record of a packet that has arrived or is lost.
    pub(super) fn take(&mut self, flow: FlowId, number: u64) -> Option<Journey> {
        if self.0.is_empty() { None } else { self.0.remove(&(flow, number)) }
    }
}
