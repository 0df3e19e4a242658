//! The rows of the tables that a run leaves.
//!
//! A timestamp that was never reached is [`Instant::MAX`] in a row and null in the file. Numbers of flows and
//! stations index the lists of names in the metadata of each file ([`crate::RunInfo`]).

use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::stage::Stage;

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrived.
    Delivered,
    /// It was still under way when the run ended.
    Queued,
    /// It was dropped; the number (0 to 253) indexes [`crate::RunInfo::drop_reasons`].
    Dropped(u8),
}

/// One packet, written when its fate is known: `packets.parquet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRow {
    /// Number of the packet, unique in the run, rising with creation within a flow.
    pub packet: u64,
    /// Number of the flow.
    pub flow: u32,
    /// Number of the station at the Wi-Fi end.
    pub station: u16,
    /// Access category: 0 background, 1 best effort, 2 video, 3 voice.
    pub category: u8,
    /// Size of the IP packet.
    pub size: ByteCount,
    /// Given to the network by the source. The latency begins here.
    pub sent: Instant,
    /// Entered the queues of the Wi-Fi transmitter: of a relayed packet, here and below, the last one.
    pub enqueued: Instant,
    /// The aggregate that first carried it began to contend for the medium.
    pub contending: Instant,
    /// Its first transmission began.
    pub first_tx: Instant,
    /// Its last (the successful) transmission began.
    pub last_tx: Instant,
    /// Its last transmission ended at the receiver.
    pub received: Instant,
    /// The receiver's reordering buffer let it go.
    pub delivered: Instant,
    /// Arrived at its destination: `delivered`, or later where a wire follows. The latency ends here.
    pub arrived: Instant,
    /// The transmitter was done with it: it got the acknowledgement, or dropped the packet.
    pub completed: Instant,
    /// Fate of the packet.
    pub fate: Fate,
    /// Number of transmissions.
    pub tries: u8,
    /// Number of the transmission opportunity of its last try; 0 if it was never sent.
    pub txop: u64,
}

/// One hop of a packet that ended at a relay: `hops.parquet`. The last hop, or the one on which it was dropped, is in its
/// [`PacketRow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopRow {
    /// Number of the packet; its hops come in the order in which it took them.
    pub packet: u64,
    /// Number of the sending transmitter, see [`crate::RunInfo::transmitters`].
    pub transmitter: u16,
    /// The relay: number of the transmitter.
    pub receiver: u16,
    /// Entered the queues of the transmitter.
    pub enqueued: Instant,
    /// The aggregate that first carried it on this hop began to contend for the medium.
    pub contending: Instant,
    /// Its first transmission on this hop began.
    pub first_tx: Instant,
    /// Its last (the successful) transmission on this hop began.
    pub last_tx: Instant,
    /// That transmission ended at the relay.
    pub received: Instant,
    /// The relay's reordering buffer let it go.
    pub delivered: Instant,
    /// The transmitter got the acknowledgement. The relay queues the packet then.
    pub completed: Instant,
    /// Number of transmissions on this hop.
    pub tries: u8,
    /// Number of the transmission opportunity of the last try.
    pub txop: u64,
}

/// Kind of content of a transmission opportunity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TxopKind {
    /// Data, aggregated or not.
    Data = 0,
    /// Data by somebody whose frames are not modelled one by one (a neighbour network).
    Neighbour = 1,
    /// A beacon or another management frame.
    Management = 2,
}

/// One transmission opportunity or collision of one transmitter: `txops.parquet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TxopRow {
    /// Number of the transmission opportunity, from 1.
    pub txop: u64,
    /// Number of the sending transmitter, see [`crate::RunInfo::transmitters`].
    pub transmitter: u16,
    /// For whom: number of the transmitter that listens.
    pub receiver: u16,
    /// Access category: 0 background, 1 best effort, 2 video, 3 voice.
    pub category: u8,
    /// Kind of its content.
    pub kind: TxopKind,
    /// The transmitter began to contend.
    pub contending: Instant,
    /// The first symbol (of RTS or data).
    pub start: Instant,
    /// The last symbol (of the block acknowledgement, or of the time-out).
    pub end: Instant,
    /// PHY rate of the data.
    pub rate: BitRate,
    /// Number of MPDUs.
    pub mpdus: u16,
    /// Number of acknowledged MPDUs.
    pub acked: u16,
    /// Size of the PSDU.
    pub size: ByteCount,
    /// Whether another transmission overlapped.
    pub collided: bool,
}

/// Fate of a video frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameFate {
    /// Arrived whole.
    Delivered = 0,
    /// Arrived whole, but after its deadline.
    Late = 1,
    /// Never sent, since the one before was still unsent.
    Skipped = 2,
    /// Sent, but a part of it never arrived.
    Lost = 3,
    /// Still under way when the run ended.
    Unfinished = 4,
}

/// One video frame: `frames.parquet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameRow {
    /// Number of the flow.
    pub flow: u32,
    /// Number of the frame within its flow.
    pub frame: u64,
    /// Created by the encoder.
    pub created: Instant,
    /// Its first packet was sent.
    pub first_packet: Instant,
    /// Its last byte arrived.
    pub delivered: Instant,
    /// Size of the frame.
    pub size: ByteCount,
    /// Fate of the frame.
    pub fate: FrameFate,
    /// All its packets were there: `delivered`, or earlier where a frame that it builds on was missing still. Real-time video only.
    pub complete: Instant,
    /// Whether it can be decoded without the frames before it. Real-time video only, as all that follows.
    pub key: Option<bool>,
    /// Number of its media packets.
    pub packets: Option<u32>,
    /// Of them, those that the network lost when they were sent for the first time.
    pub lost: Option<u32>,
    /// Of them, those that forward error correction recovered.
    pub recovered: Option<u32>,
    /// Of them, those that a retransmission brought.
    pub retransmitted: Option<u32>,
    /// Way in which the packet came that made it complete; `None` if it never was.
    pub completed_by: Option<PacketWay>,
}

impl FrameRow {
    /// A frame that was left out, and so a frame of which nothing else is known.
    #[must_use]
    pub const fn skipped(flow: u32, frame: u64, created: Instant) -> Self {
        Self {
            flow,
            frame,
            created,
            first_packet: Instant::MAX,
            delivered: Instant::MAX,
            size: ByteCount::ZERO,
            fate: FrameFate::Skipped,
            complete: Instant::MAX,
            key: None,
            packets: None,
            lost: None,
            recovered: None,
            retransmitted: None,
            completed_by: None,
        }
    }
}

/// Way in which a packet of real-time media came to its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketWay {
    /// As it was sent for the first time.
    FirstTime = 0,
    /// Recovered by forward error correction.
    Recovered = 1,
    /// In a retransmission from end to end.
    Retransmitted = 2,
}

/// One flow in one window of time: `series.parquet`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesRow {
    /// Beginning of the window.
    pub window_start: Instant,
    /// Number of the flow.
    pub flow: u32,
    /// Rate sent by the source in the window, Mb/s of payload.
    pub offered_mbps: f64,
    /// Rate that arrived in the window, Mb/s of payload.
    pub goodput_mbps: f64,
    /// Median latency of packets that arrived in the window, ms; `None` if none did.
    pub latency_p50_ms: Option<f64>,
    /// 95th percentile of the same.
    pub latency_p95_ms: Option<f64>,
    /// Largest of the same.
    pub latency_max_ms: Option<f64>,
    /// Packets dropped in the window.
    pub dropped: u64,
    /// Packets of the flow in the transmitter's queues at the end of the window.
    pub queue_packets: u64,
    /// Mean PHY rate of the flow's station in the window, Mb/s; `None` if nothing was sent.
    pub phy_rate_mbps: Option<f64>,
    /// Share of the window that transmissions to and from the flow's station took.
    pub airtime_share: f64,
}

/// Which distribution a row of `distributions.parquet` belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The latency of packets.
    Latency,
    /// One stage of it.
    Stage(Stage),
    /// The latency of whole video frames.
    Frame,
    /// Round trips that a TCP sender measured.
    RoundTrip,
    /// The time until video frames were complete whose last packet was no retransmission.
    FirstTimeFrame,
}

impl Component {
    /// All components; the position is the number in the file.
    pub const ALL: [Self; 10] = [
        Self::Latency,
        Self::Stage(Stage::Wired),
        Self::Stage(Stage::Queueing),
        Self::Stage(Stage::Contention),
        Self::Stage(Stage::Airtime),
        Self::Stage(Stage::Retries),
        Self::Stage(Stage::Reordering),
        Self::Frame,
        Self::RoundTrip,
        Self::FirstTimeFrame,
    ];

    /// The name used in metadata and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Stage(stage) => stage.name(),
            Self::Frame => "frame",
            Self::RoundTrip => "round_trip",
            Self::FirstTimeFrame => "frame_first_time",
        }
    }

    /// Position in [`Component::ALL`].
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Latency => 0,
            Self::Stage(stage) => 1 + stage as u8,
            Self::Frame => 7,
            Self::RoundTrip => 8,
            Self::FirstTimeFrame => 9,
        }
    }
}

/// One bucket of a latency distribution: `distributions.parquet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DistributionRow {
    /// Number of the flow.
    pub flow: u32,
    /// Which distribution.
    pub component: Component,
    /// Shortest span that falls in the bucket.
    pub low: Span,
    /// Longest span that falls in the bucket.
    pub high: Span,
    /// Number of samples in it.
    pub count: u64,
    /// Exact mean of the whole distribution, the same in all its rows.
    pub mean: Span,
}
