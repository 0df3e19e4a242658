//! Views of the engine for status and metrics.

use airbound_control::queue::{AnyQueue, Queue};
use airbound_linux::MacAddress;
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use serde::Serialize;

use super::{Engine, PeerCounts, RuleRecord};

/// A station.
#[derive(Debug, Clone, PartialEq)]
pub struct StationView {
    /// Its address.
    pub mac: MacAddress,
    /// Whether it is associated.
    pub present: bool,
    /// Whether it has no completions.
    pub stalled: bool,
    /// The average PHY rate of data to it, Mb/s.
    pub rate_mbps: Option<f64>,
    /// Packets held for it.
    pub held: usize,
    /// Estimated airtime of its packets below.
    pub below: Span,
    /// Bytes past the agent in the last second, if they were many.
    pub unseen: Option<ByteCount>,
    /// Bytes in the last second that passed before the agent knew the station's address, if they were many.
    pub unmeasured: Option<ByteCount>,
    /// Counters of its packets and frames by their fate.
    pub counts: PeerCounts,
}

/// A protected flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowView {
    /// Its number.
    pub flow: u32,
    /// The index of its rule.
    pub rule: u16,
    /// Its station.
    pub station: MacAddress,
    /// Its permitted queueing latency; `None` if the queue protects no flow.
    pub permitted: Option<Span>,
    /// Its latency in the last window with packets.
    pub latency: Option<Span>,
    /// Packets that left the queue, and those of them that were urgent.
    pub packets: u64,
    /// See [`FlowView::packets`].
    pub urgent: u64,
}

/// An access category.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CategoryView {
    /// The category.
    pub category: Category,
    /// Estimated airtime below, milliseconds.
    pub below_ms: f64,
    /// Airtime below at which releases stop, milliseconds.
    pub gate_ms: f64,
    /// WQM's buffer size in packets.
    pub buffer: Option<usize>,
}

impl Engine {
    /// All stations, by number.
    pub fn stations(&self) -> impl Iterator<Item = StationView> + '_ {
        self.peers.iter().map(|(_, peer)| StationView {
            mac: peer.mac,
            present: peer.present,
            stalled: peer.stalled,
            rate_mbps: peer.rate().map(|rate| rate.as_mbps_f64()),
            held: peer.held,
            below: peer.all_below(),
            unseen: peer.ledger.unseen.filter(|_| peer.present),
            unmeasured: peer.ledger.unmeasured.filter(|_| peer.present),
            counts: peer.counts,
        })
    }

    /// All flows that match a rule, by number.
    pub fn protected(&self) -> impl Iterator<Item = FlowView> + '_ {
        self.flows.protected().map(|(flow, station, rule)| {
            let protection = self.link.queue().protection(flow);
            FlowView {
                flow: flow.0,
                rule,
                station: self.peers.get(station).map(|peer| peer.mac).unwrap_or_default(),
                permitted: protection.map(|protection| protection.permitted),
                latency: protection.and_then(|protection| protection.latency),
                packets: protection.map_or(0, |protection| protection.packets),
                urgent: protection.map_or(0, |protection| protection.urgent),
            }
        })
    }

    /// The rules with counters and latencies.
    #[must_use]
    pub fn rules(&self) -> &[RuleRecord] {
        self.measures.all()
    }

    /// The access categories, background first.
    #[must_use]
    pub fn categories(&self) -> [CategoryView; 4] {
        Category::ALL.map(|category| CategoryView {
            category,
            below_ms: self.below.airtime[category.index()].as_millis_f64(),
            gate_ms: self.gate().0.as_millis_f64(),
            buffer: match self.link.queue() {
                AnyQueue::Wqm(queue) => Some(queue.buffer_size(category).packets()),
                _ => None,
            },
        })
    }

    /// Held packets.
    #[must_use]
    pub fn held(&self) -> usize {
        self.link.queue().backlog().total().packets
    }

    /// Known flows.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Estimated airtime below of stations that are not stalled, in a category.
    #[must_use]
    pub fn below(&self, category: Category) -> Span {
        self.below.airtime[category.index()]
    }

    /// The latest time passed in.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }
}
