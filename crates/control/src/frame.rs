//! Packets, MPDUs, transmit descriptors and reports: the values exchanged by queues, links and rate controls.
//!
//! The environment supplies the packet type: simulated packets in the simulator, held kernel packets in the agent.

mod descriptor;
mod rate_chain;

pub use descriptor::{Mpdu, TxDescriptor, TxReport};
pub use rate_chain::{Attempt, RateChain};

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

/// The peer a packet is sent to, as the transmitter numbers it. Dense from 0: it indexes tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub u16);

impl StationId {
    /// The number as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A flow: the packets of one five-tuple. Dense from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// A packet as the controllers see it.
///
/// The packet itself keeps its arrival time in the queue and its expected airtime, as the socket buffer does in Linux, so that no queue
/// needs a copy of its own.
pub trait Payload: Clone {
    /// The flow it belongs to.
    fn flow(&self) -> FlowId;
    /// The peer it is sent to next.
    fn station(&self) -> StationId;
    /// The access category it travels in.
    fn category(&self) -> Category;
    /// Its length from the IP header on (802.11: the MSDU without LLC/SNAP).
    fn size(&self) -> ByteCount;
    /// Number of frames it is sent in: more than one for a super-packet of segmentation offload. 1 or more.
    #[inline]
    fn frames(&self) -> u16 {
        1
    }
    /// When it entered the queue; the value last given to [`Payload::set_enqueued`].
    fn enqueued(&self) -> Instant;
    /// Notes when it entered the queue. Called once, by the queue that accepts it.
    fn set_enqueued(&mut self, now: Instant);
    /// The airtime it was expected to take when it left the queue; the value last given to
    /// [`Payload::set_airtime_estimate`] (kernel: `tx_time_est`).
    fn airtime_estimate(&self) -> Span;
    /// Notes the airtime it is expected to take.
    fn set_airtime_estimate(&mut self, estimate: Span);
    /// Marks it as having experienced congestion (RFC 3168), and returns whether it can carry the mark; a queue drops it otherwise.
    #[inline]
    fn mark(&mut self) -> bool {
        false
    }
}

/// A packet that holds only the fields that controllers use: for environments that keep the packet itself elsewhere under its number,
/// and for tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainPacket {
    /// A number of the caller's choice.
    pub number: usize,
    /// See [`Payload::flow`].
    pub flow: FlowId,
    /// See [`Payload::station`].
    pub station: StationId,
    /// See [`Payload::category`].
    pub category: Category,
    /// See [`Payload::size`].
    pub size: ByteCount,
    /// See [`Payload::enqueued`].
    pub enqueued: Instant,
    /// See [`Payload::airtime_estimate`].
    pub estimate: Span,
}

impl PlainPacket {
    /// A best-effort packet of 1500 B with number 0.
    #[must_use]
    pub const fn new(station: StationId, flow: FlowId) -> Self {
        Self {
            number: 0,
            flow,
            station,
            category: Category::Be,
            size: ByteCount::new(1500),
            enqueued: Instant::ZERO,
            estimate: Span::ZERO,
        }
    }
}

impl Payload for PlainPacket {
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

/// Why a packet was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The queue was at its limit of packets.
    QueueFull,
    /// The queue was at its limit of bytes.
    MemoryLimit,
    /// Active queue management (CoDel, PIE) signalled congestion.
    Congestion,
    /// The packet outlived the time limit of its queue.
    Expired,
    /// The last permitted transmission failed.
    RetryLimit,
    /// It arrived after the receiver's reordering buffer had stopped waiting for it.
    Late,
    /// It was lost on the wire, at a full queue or in transit.
    Wire,
}

impl DropReason {
    /// All reasons, in the order of their [`DropReason::code`].
    pub const ALL: [Self; 7] = [
        Self::QueueFull,
        Self::MemoryLimit,
        Self::Congestion,
        Self::Expired,
        Self::RetryLimit,
        Self::Late,
        Self::Wire,
    ];

    /// The stable name used in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::MemoryLimit => "memory_limit",
            Self::Congestion => "congestion",
            Self::Expired => "expired",
            Self::RetryLimit => "retry_limit",
            Self::Late => "late",
            Self::Wire => "wire",
        }
    }

    /// The stable number used in records: the index in [`DropReason::ALL`].
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// A packet that was given up, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped<P> {
    /// The packet.
    pub packet: P,
    /// Why it was given up.
    pub reason: DropReason,
}
