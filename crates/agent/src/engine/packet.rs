//! The engine's input from the kernel: packets that the kernel holds, and frames that left the radio.

use airbound_control::frame::{FlowId, Payload, StationId};
use airbound_linux::MacAddress;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

/// The kernel's number of a held packet. Each gets exactly one verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u32);

/// A hash of what makes a flow: addresses, protocol, ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey(pub u64);

/// A packet that waits for a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Its number.
    pub ticket: Ticket,
    /// To whom it goes; `None` if that is not known, or if it is for a group. Such packets are not held.
    pub station: Option<MacAddress>,
    /// Its flow.
    pub flow: FlowKey,
    /// Which rule of the configuration protects it, counted from 0.
    pub rule: Option<u16>,
    /// The access category in which mac80211 will send it.
    pub category: Category,
    /// Its length from the IP header on.
    pub size: ByteCount,
    /// In how many frames it will leave: more than one for a super-packet of segmentation offload. 0 counts as 1.
    pub segments: u16,
}

/// The content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// This packet, or a part of it.
    Packet(Ticket),
    /// Nothing that the agent released.
    Other,
    /// That is not known.
    Unknown,
}

/// A frame that left the radio, for good or ill. What is not known is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// To whom it went.
    pub station: MacAddress,
    /// The packet that it carried, where the kernel can tell.
    pub carried: Carried,
    /// In which category.
    pub category: Option<Category>,
    /// Its length from the IP header on, to find the packet where [`Carried::Unknown`].
    pub size: Option<ByteCount>,
    /// Whether it was acknowledged.
    pub acknowledged: bool,
    /// The PHY rate of its last transmission.
    pub rate: Option<BitRate>,
    /// Number of transmissions; 0 if that is not known.
    pub tries: u8,
    /// The airtime of all tries.
    pub airtime: Option<Span>,
    /// When it was reported.
    pub at: Instant,
}

/// A station as the access point sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StationFacts {
    /// Its address.
    pub station: MacAddress,
    /// The PHY rate at which data goes to it.
    pub rate: Option<BitRate>,
    /// Whether frames to it are aggregated (HT and later).
    pub aggregates: bool,
}

/// A held packet as the queues of `control` see it.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) ticket: Ticket,
    pub(super) flow: FlowId,
    pub(super) station: StationId,
    pub(super) category: Category,
    pub(super) rule: Option<u16>,
    pub(super) segments: u16,
    pub(super) size: ByteCount,
    /// When it came. A queue may overwrite `enqueued`, a measurement needs the truth.
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
