//! The state of a run in progress, for time series that the record does not contain.

use airbound_control::classify::Verdict;
use airbound_control::frame::FlowId;
use airbound_control::link::{LawView, Link};
use airbound_control::queue::{AnyQueue, Backlog};
use airbound_senders::allocation::Allocation;
use airbound_senders::tcp::SenderMetrics;
use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::edca::Category;

use crate::endpoint::AnyEndpoint;
use crate::flow::ACCESS_POINT;
use crate::network::Network;

/// The state of a run.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Packets in the access point's link, packets kept for retransmission included.
    pub backlog: Backlog,
    /// Limit of best-effort packets in the access point's queue, if a controller sizes it.
    pub buffer_size: Option<usize>,
    /// State of each station in the access point's link, if it is Law's.
    pub law: Vec<LawView>,
    /// Verdicts on the flows through the access point, if it separates bulk transfers from Law.
    pub verdicts: Vec<(FlowId, Verdict)>,
    /// TCP senders, by the flow of their data.
    pub senders: Vec<(FlowId, SenderMetrics)>,
    /// Allocated rates, by station; empty without an allocator.
    pub allocations: Vec<Allocation>,
    /// Senders of real-time video, by the flow of their media.
    pub videos: Vec<(FlowId, VideoSnapshot)>,
}

/// The state of a sender of real-time video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VideoSnapshot {
    /// The rate that congestion control allows for all data.
    pub allowed: BitRate,
    /// The encoder's target rate of coded video.
    pub coded: BitRate,
    /// The round trip that congestion control measured, if any.
    pub round_trip: Option<Span>,
    /// Bytes in the pacer.
    pub pacer: ByteCount,
}

impl Snapshot {
    pub(crate) fn of(simulation: &Network) -> Self {
        let parts = &simulation.parts;
        let senders = parts.endpoints.iter().filter_map(|endpoint| match endpoint {
            AnyEndpoint::Tcp(connection) => Some((connection.data, connection.sender.metrics())),
            _ => None,
        });
        let link = &parts.transmitters[ACCESS_POINT.index()].link;
        let buffer_size = match link.queue() {
            AnyQueue::Wqm(queue) => Some(queue.buffer_size(Category::Be).packets()),
            _ => None,
        };
        let law = link.law().map_or_else(Vec::new, |law| law.views().collect());
        let videos = parts.endpoints.iter().filter_map(|endpoint| {
            let AnyEndpoint::Rtp(session) = endpoint else { return None };
            let sender = &session.stream.sender;
            let view = VideoSnapshot {
                allowed: sender.control().target(),
                coded: session.source.coded_rate(),
                round_trip: sender.control().path().round_trip,
                pacer: sender.pacer().queue_size(),
            };
            Some((session.media, view))
        });
        let allocations = parts.endpoints.iter().filter_map(|endpoint| match endpoint {
            AnyEndpoint::Allocation(allocation) => Some(allocation.allocations()),
            _ => None,
        });
        Self {
            backlog: link.backlog(),
            buffer_size,
            law,
            verdicts: link.verdicts(),
            senders: senders.collect(),
            allocations: allocations.flatten().collect(),
            videos: videos.collect(),
        }
    }
}
