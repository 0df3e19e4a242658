//! Times and latency stages of packets on the hops that they have behind them.

use std::collections::BTreeMap;

use airbound_control::frame::FlowId;
use airbound_record::{Moments, Split};
use airbound_units::Instant;

use crate::packet::Packet;

/// An MPDU at its receiver, with what is known of its way.
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
    /// The moments of the hop that brought it, if the reordering buffer lets it go at `released` and it is at its destination, or
    /// the relay's, at `arrived`.
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

/// Times and latency stages of one packet before the hop that it is on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Journey {
    /// When it entered the queue of its first transmitter.
    pub(super) entered: Instant,
    /// When the reordering buffer of the last relay let it go.
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

/// The packets that relays have passed on, and that have not arrived. Without relays there are none, and it costs nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journeys(BTreeMap<(FlowId, u64), Journey>);

impl Journeys {
    /// A relay passes on the packet of number `number` within `flow`, whose `hop` ends there.
    pub(super) fn on_relayed(&mut self, flow: FlowId, number: u64, hop: &Moments) {
        let behind = self.0.get(&(flow, number));
        let entered = behind.map_or(hop.enqueued, |journey| journey.entered);
        let split = behind.map_or_else(|| Split::between(hop), |journey| journey.until(hop));
        self.0.insert(
            (flow, number),
            Journey { entered, left: hop.delivered, split: split.unwrap_or_default() },
        );
    }

    /// The packet is at its destination, or gone.
    pub(super) fn take(&mut self, flow: FlowId, number: u64) -> Option<Journey> {
        if self.0.is_empty() { None } else { self.0.remove(&(flow, number)) }
    }
}
