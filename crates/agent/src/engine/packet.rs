//! The engine's input from the kernel: packets that wait for a verdict, and completed frames.

use airbound_control::frame::{FlowId, Payload, StationId};
use airbound_linux::MacAddress;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

/// NFQUEUE's number of a held packet. Each gets exactly one verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u32);

/// A hash of a flow's addresses, protocol and ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey(pub u64);

/// A packet that waits for a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Its number.
    pub ticket: Ticket,
    /// The receiving station; `None` if unknown. Packets to unknown stations and to group addresses are not held.
    pub station: Option<MacAddress>,
    /// Its flow.
    pub flow: FlowKey,
    /// The index of the rule that matches.
    pub rule: Option<u16>,
    /// The access category in which mac80211 will send it.
    pub category: Category,
    /// Its length from the IP header on.
    pub size: ByteCount,
    /// Number of frames that it becomes: more than one for a super-packet of segmentation offload. 0 counts as 1.
    pub segments: u16,
}

/// The content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// This packet, or a segment of it.
    Packet(Ticket),
    /// A packet that went through without a verdict.
    Bypassed {
        /// The index of the rule that matches.
        rule: Option<u16>,
        /// The time since the kernel queued it for the radio.
        took: Span,
    },
    /// A packet that the agent did not release.
    Other,
    /// The kernel does not identify the packet.
    Unknown,
}

/// A frame that was acknowledged or given up by the radio. Unknown values are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The receiving station.
    pub station: MacAddress,
    /// The packet that it carried.
    pub carried: Carried,
    /// Its access category.
    pub category: Option<Category>,
    /// Its length from the IP header on, which identifies the packet of [`Carried::Unknown`].
    pub size: Option<ByteCount>,
    /// Whether it was acknowledged.
    pub acknowledged: bool,
    /// The PHY rate of its last transmission.
    pub rate: Option<BitRate>,
    /// Number of transmissions; 0 if unknown.
    pub tries: u8,
    /// The airtime of all tries.
    pub airtime: Option<Span>,
    /// The time of the report.
    pub at: Instant,
}

/// The access point's record of a station.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StationFacts {
    /// Its address.
    pub station: MacAddress,
    /// The PHY rate of data to it.
    pub rate: Option<BitRate>,
    /// Whether frames to it are aggregated (HT and later).
    pub aggregates: bool,
    /// Bytes sent to it since it associated.
    pub sent: Option<u64>,
}

/// A held packet, the payload of `control`'s queues.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) ticket: Ticket,
    pub(super) flow: FlowId,
    pub(super) station: StationId,
    pub(super) category: Category,
    pub(super) rule: Option<u16>,
    pub(super) segments: u16,
    pub(super) size: ByteCount,
    /// Its arrival, for measurements; a queue may overwrite `enqueued`.
    pub(super) arrived: Instant,
    enqueued: Instant,
    estimate: Span,
}

impl Held {
    pub(super) fn new(now: Instant, arrival: &Arrival, station: StationId, flow: FlowId) -> Self {
        Self {
            ticket: arrival.ticket,
            flow,
            station,
            category: arrival.category,
            rule: arrival.rule,
            segments: arrival.segments.max(1),
            size: arrival.size,
            arrived: now,
            enqueued: now,
            estimate: Span::ZERO,
        }
    }
}

impl Payload for Held {
    fn flow(&self) -> FlowId {
        self.flow
    }
    fn station(&self) -> StationId {
        self.station
    }
    fn category(&self) -> Category {
        self.category
    }
    fn size(&self) -> ByteCount {
        self.size
    }
    fn frames(&self) -> u16 {
        self.segments
    }
    fn enqueued(&self) -> Instant {
        self.enqueued
    }
    fn set_enqueued(&mut self, now: Instant) {
        self.enqueued = now;
    }
    fn airtime_estimate(&self) -> Span {
        self.estimate
    }
    fn set_airtime_estimate(&mut self, estimate: Span) {
        self.estimate = estimate;
    }
}
