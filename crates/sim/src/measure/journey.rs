//! What packets met on the hops that they have behind them.

use std::collections::BTreeMap;

use airbound_control::payload::FlowId;
use airbound_record::{PacketRow, Split};
use airbound_units::{Instant, Span};

/// What one packet met before the hop that it is on.
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
    /// The stages up to the end of the hop that `row` tells of.
    pub(super) fn until(&self, row: &PacketRow) -> Option<Split> {
        Some(self.split + Split::from_relay(Some(self.left), row)?)
    }
}

/// The packets that relays have passed on, and that have not arrived. Without relays there are none, and it costs nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journeys(BTreeMap<(FlowId, u64), Journey>);

impl Journeys {
    /// A relay passes on the packet of number `number` within `flow`; `row` tells of the hop that ends there.
    pub(super) fn on_relayed(&mut self, flow: FlowId, number: u64, row: &PacketRow) {
        let behind = self.0.get(&(flow, number));
        let entered = behind.map_or(row.enqueued, |journey| journey.entered);
        let split = behind.map_or_else(|| Split::of(row), |journey| journey.until(row)).unwrap_or_default();
        self.0.insert((flow, number), Journey { entered, left: row.delivered, split });
    }

    /// The packet is at its destination, or gone.
    pub(super) fn take(&mut self, flow: FlowId, number: u64) -> Option<Journey> {
        if self.0.is_empty() { None } else { self.0.remove(&(flow, number)) }
    }
}

/// The Wi-Fi latency of a packet: from its first queue to its last acknowledgement.
pub(super) fn wifi_latency(journey: Option<&Journey>, row: &PacketRow) -> Span {
    row.completed - journey.map_or(row.enqueued, |journey| journey.entered)
}
