//! The rows of a run's tables.
//!
//! The timestamp of an event that did not happen is [`Instant::MAX`] in a row and null in the file. Numbers of flows and
//! stations index the lists of names in the metadata of each file ([`crate::RunInfo`]).

use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::stage::Stage;

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Arrived.
    Delivered,
    /// In the network at the end of the run.
    Queued,
    /// Dropped; the number (0 to 253) indexes [`crate::RunInfo::drop_reasons`].
    Dropped(u8),
}

/// One packet, written when its fate is known: `packets.parquet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRow {
    /// Number of the packet, unique in the run, rising with creation within a flow.
    pub packet: u64,
    /// Number of the flow.
    pub flow: u32,
    /// Number of the station.
    pub station: u16,
    /// Access category: 0 background, 1 best effort, 2 video, 3 voice.
    pub category: u8,
    /// Size of the IP packet.
    pub size: ByteCount,
    /// Sent by the source, the start of the latency.
    pub sent: Instant,
    /// Entered the queues of the Wi-Fi transmitter; of a relayed packet, here and below, of the last one.
    pub enqueued: Instant,
    /// The aggregate that first carried it began to contend for the medium.
    pub contending: Instant,
    /// Its first transmission began.
    pub first_tx: Instant,
    /// Its last (the successful) transmission began.
    pub last_tx: Instant,
    /// Its last transmission ended at the receiver.
    pub received: Instant,
    /// Released by the receiver's reordering buffer.
    pub delivered: Instant,
    /// Arrived at its destination, the end of the latency: `delivered`, or later if a wire follows.
    pub arrived: Instant,
    /// Completed by the transmitter: acknowledged or dropped.
    pub completed: Instant,
    /// Fate of the packet.
    pub fate: Fate,
    /// Number of transmissions.
    pub tries: u8,
    /// Number of the transmission opportunity of its last transmission; 0 without one.
    pub txop: u64,
}

/// State of a sender after an acknowledgement or a receiver's report: `senders.parquet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderRow {
    /// Number of the flow.
    pub flow: u32,
    /// The acknowledgement or the report arrived.
    pub at: Instant,
    /// The round trip that it measured; `None` if it measured none, and of real-time video.
    pub rtt: Option<Span>,
    /// The smoothed round trip; `None` before the first sample.
    pub smoothed_rtt: Option<Span>,
    /// Congestion window. TCP only, as the next two.
    pub cwnd: Option<ByteCount>,
    /// Slow-start threshold; `None` also before the first loss.
    pub ssthresh: Option<ByteCount>,
    /// Segments believed to be in the network.
    pub in_flight: Option<u32>,
    /// Pacing rate of TCP, target rate of real-time video; `None` if segments are not spaced.
    pub rate: Option<BitRate>,
}

/// One hop of a packet to a relay: `hops.parquet`. The last hop, or the one on which it was dropped, is in its [`PacketRow`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopRow {
    /// Number of the packet, whose hops are in order.
    pub packet: u64,
    /// Number of the sending transmitter, see [`crate::RunInfo::transmitters`].
    pub transmitter: u16,
    /// Number of the relay as a transmitter.
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
    /// Released by the relay's reordering buffer.
    pub delivered: Instant,
    /// Acknowledged to the transmitter, at which time the relay queues the packet.
    pub completed: Instant,
    /// Number of transmissions on this hop.
    pub tries: u8,
    /// Number of the transmission opportunity of the last transmission.
    pub txop: u64,
}

/// Kind of content of a transmission opportunity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TxopKind {
    /// Data, aggregated or not.
    Data = 0,
    /// Data of a neighbour network, whose frames are not modelled individually.
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
    /// Number of the receiving transmitter.
    pub receiver: u16,
    /// Access category: 0 background, 1 best effort, 2 video, 3 voice.
    pub category: u8,
    /// Kind of its content.
    pub kind: TxopKind,
    /// The transmitter began to contend.
    pub contending: Instant,
    /// First symbol, of RTS or data.
    pub start: Instant,
    /// Last symbol of the acknowledgement, or the end of its timeout.
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
    /// Arrived completely.
    Delivered = 0,
    /// Arrived completely, but after its deadline.
    Late = 1,
    /// Not sent, since the previous frame was not sent yet.
    Skipped = 2,
    /// Sent, but did not arrive completely.
    Lost = 3,
    /// In the network at the end of the run.
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
    /// Completion of its packets: `delivered`, or earlier if a reference frame was still missing. Real-time video only.
    pub complete: Instant,
    /// Whether it is a key frame. Real-time video only, as all following fields.
    pub key: Option<bool>,
    /// Number of its media packets.
    pub packets: Option<u32>,
    /// Media packets of which the network lost the first transmission.
    pub lost: Option<u32>,
    /// Media packets recovered by forward error correction.
    pub recovered: Option<u32>,
    /// Media packets received by retransmission.
    pub retransmitted: Option<u32>,
    /// The way in which its last packet arrived; `None` if it was not completed.
    pub completed_by: Option<PacketWay>,
}

impl FrameRow {
    /// A skipped frame, which has no other values.
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

/// The way in which a packet of real-time media arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketWay {
    /// By its first transmission.
    FirstTime = 0,
    /// Recovered by forward error correction.
    Recovered = 1,
    /// By an end-to-end retransmission.
    Retransmitted = 2,
}

/// One flow in one window of time: `series.parquet`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesRow {
    /// Start of the window.
    pub window_start: Instant,
    /// Number of the flow.
    pub flow: u32,
    /// Rate sent by the source, Mb/s of payload.
    pub offered_mbps: f64,
    /// Rate received, Mb/s of payload.
    pub goodput_mbps: f64,
    /// Median latency of packets that arrived in the window, ms; `None` without packets.
    pub latency_p50_ms: Option<f64>,
    /// 95th percentile of their latency, ms.
    pub latency_p95_ms: Option<f64>,
    /// Largest latency, ms.
    pub latency_max_ms: Option<f64>,
    /// Packets dropped in the window.
    pub dropped: u64,
    /// Packets of the flow in the transmitter's queues at the end of the window.
    pub queue_packets: u64,
    /// Mean PHY rate of the flow's station, Mb/s; `None` without transmissions.
    pub phy_rate_mbps: Option<f64>,
    /// Airtime share of transmissions to and from the flow's station.
    pub airtime_share: f64,
}

/// The distribution of a row of `distributions.parquet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The latency of packets.
    Latency,
    /// One stage of the latency.
    Stage(Stage),
    /// The latency of video frames.
    Frame,
    /// Round trips measured by a TCP sender.
    RoundTrip,
    /// The completion time of video frames whose last packet was no retransmission.
    FirstTimeFrame,
}

impl Component {
    /// All components; the index is the number in the file.
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

    /// Index in [`Component::ALL`].
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
    /// The distribution.
    pub component: Component,
    /// Lower bound of the bucket.
    pub low: Span,
    /// Upper bound of the bucket.
    pub high: Span,
    /// Number of samples.
    pub count: u64,
    /// Exact mean of the whole distribution, the same in all its rows.
    pub mean: Span,
}
