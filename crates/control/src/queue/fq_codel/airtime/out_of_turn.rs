//! Service of a flow out of turn, for a scheduler on top, with the usual accounting and charging.

use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use super::super::plain::flow_key;
use super::{FqCodelAirtime, owner};
use crate::frame::{DropReason, Dropped, FlowId, Payload, StationId};
use crate::queue::{Backlog, Eligibility};

/// A flow queue: the packets of a flow for one station in one category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::queue) struct FlowQueue {
    pub(in crate::queue) station: StationId,
    pub(in crate::queue) category: Category,
    pub(in crate::queue) flow: FlowId,
    /// Its identity in the table of flows.
    key: u64,
}

impl FlowQueue {
    /// The flow queue of a packet.
    pub(in crate::queue) fn of<P: Payload>(packet: &P) -> Self {
        Self {
            station: packet.station(),
            category: packet.category(),
            flow: packet.flow(),
            key: flow_key(packet),
        }
    }
}

impl<P: Payload> FqCodelAirtime<P> {
    /// Enqueues a packet. Beyond the limits, flows of `spared` packets lose theirs last.
    pub(in crate::queue) fn enqueue_sparing(
        &mut self,
        now: Instant,
        packet: P,
        spared: impl Fn(&P) -> bool,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        let (station, category) = (packet.station(), packet.category());
        let key = flow_key(&packet);
        let before = dropped.len();
        self.waiting.of_mut(category).add(packet.size());
        self.flows.push(now, owner(station, category), key, packet, spared, dropped);
        for Dropped { packet, .. } in dropped.iter().skip(before) {
            self.waiting.of_mut(packet.category()).remove(packet.size());
        }
        self.stations.activate(station, category.index());
    }

    /// Arrival time of the oldest packet of a flow queue; `None` if it is empty.
    pub(in crate::queue) fn oldest_of(&self, queue: &FlowQueue) -> Option<Instant> {
        self.flows.find(queue.key).and_then(|flow| self.flows.first_enqueued(flow))
    }

    /// A backlog without that of a flow queue.
    pub(in crate::queue) fn backlog_without(&self, all: Backlog, queue: &FlowQueue) -> Backlog {
        let Some(flow) = self.flows.find(queue.key) else { return all };
        let own = self.flows.backlog(flow);
        Backlog { packets: all.packets.saturating_sub(own.packets), bytes: all.bytes - own.bytes }
    }

    /// Drops the oldest packet of the longest flow of a station, of flows that are not `spared`.
    pub(in crate::queue) fn drop_from(
        &mut self,
        station: StationId,
        category: Category,
        spared: impl Fn(&P) -> bool,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        if let Some(packet) = self.flows.take_from_longest(owner(station, category), spared) {
            self.waiting.of_mut(category).remove(packet.size());
            dropped.push(Dropped { packet, reason: DropReason::QueueFull });
        }
    }

    /// Number of packets in a flow queue.
    pub(in crate::queue) fn packets_of(&self, queue: &FlowQueue) -> usize {
        self.flows.find(queue.key).map_or(0, |flow| self.flows.packets(flow))
    }

    /// The deficit of a flow in bytes.
    pub(in crate::queue) fn byte_deficit(&self, queue: &FlowQueue) -> i64 {
        self.flows.find(queue.key).map_or(0, |flow| self.flows.deficit(flow))
    }

    /// The deficit of a station in nanoseconds of airtime.
    pub(in crate::queue) fn airtime_deficit(&self, station: StationId, category: Category) -> i64 {
        self.stations.deficit(station, category.index())
    }

    /// Limits the airtime debt of a station to `most`.
    pub(in crate::queue) fn forgive_station(&mut self, station: StationId, category: Category, most: Span) {
        self.stations.forgive(station, category.index(), most);
    }

    /// Clears the debt of a flow.
    pub(in crate::queue) fn forgive_flow(&mut self, queue: &FlowQueue) {
        if let Some(flow) = self.flows.find(queue.key) {
            self.flows.forgive(flow);
        }
    }

    /// Eligibility of a station, unless it is blocked or over its airtime queue limit.
    pub(in crate::queue) fn servable(&self, station: StationId, category: Category) -> Option<Eligibility> {
        self.stations.servable(station, category.index())
    }

    /// Takes the next packet of a flow queue, out of turn. CoDel applies as usual, and the flow's deficit is charged; its place
    /// among the new and old flows does not change. `None` if the queue is empty, if CoDel dropped all its packets, or if the
    /// airtime queue limit admits none.
    pub(in crate::queue) fn dequeue_of(
        &mut self,
        now: Instant,
        queue: &FlowQueue,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        self.now = self.now.max(now);
        let FlowQueue { station, category, key, .. } = *queue;
        if !self.stations.may_hand(station, category.index()) {
            return None;
        }
        let codel = self.codel_of(station);
        let flow = self.flows.find(key)?;
        let before = dropped.len();
        let packet = self.flows.pop(self.now, flow, &codel, dropped);
        self.note_left(category, packet.as_ref(), &dropped[before..]);
        packet
    }

    /// Whether all packets waiting for a station in a category belong to `queues`.
    pub(in crate::queue) fn holds_only<'a>(
        &self,
        station: StationId,
        category: Category,
        queues: impl Iterator<Item = &'a FlowQueue>,
    ) -> bool {
        let packets: usize = queues.map(|queue| self.packets_of(queue)).sum();
        self.flows.backlog_of(owner(station, category)).packets <= packets
    }
}
