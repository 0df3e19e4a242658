//! Packets between a client and the server, and their storage in transit.

use airbound_senders::conference::plum::Notice;
use airbound_senders::tcp::{Ack, SEGMENT_HEADERS, Segment};
use airbound_units::{BitRate, Instant};

use super::stream::{FeedbackPacket, MediaPacket};
use crate::path::Way;

/// The content of a packet.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content {
    /// Data of the stream in this direction.
    Segment(Segment),
    /// An acknowledgement of the stream in the other direction.
    Ack(Ack),
    /// A packet of the stream in this direction, over RTP.
    Media(MediaPacket),
    /// Feedback on the stream in the other direction, over RTCP.
    Feedback(FeedbackPacket),
    /// A decision of Plum.
    Notice(Notice),
    /// The uplink of a client may have this rate, and is probed.
    Probe(BitRate),
    /// Acknowledges a decision.
    Answer(u32),
}

impl Content {
    /// When it was sent, for data of a stream.
    pub(super) const fn sent(&self) -> Option<Instant> {
        match self {
            Self::Segment(segment) => Some(segment.sent),
            Self::Media(packet) => Some(packet.sent),
            _ => None,
        }
    }
}

/// A packet in transit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    pub(super) client: usize,
    pub(super) way: Way,
    pub(super) content: Content,
    /// Its number among the packets of its client on the access link in this direction.
    pub(super) number: u64,
    /// When it entered the queue of the access link.
    pub(super) enqueued: Instant,
}

impl Packet {
    /// Creates a packet that has not reached its access link.
    pub(super) const fn new(client: usize, way: Way, content: Content) -> Self {
        Self { client, way, content, number: 0, enqueued: Instant::MAX }
    }

    /// Size from the IP header on.
    pub(super) fn size(&self) -> u32 {
        let bytes = match &self.content {
            Content::Segment(segment) => return segment.len + SEGMENT_HEADERS.as_u64() as u32,
            Content::Ack(ack) => ack.size().as_u64(),
            Content::Media(packet) => packet.size.as_u64(),
            Content::Feedback(feedback) => feedback.size.as_u64(),
            Content::Notice(_) | Content::Probe(_) | Content::Answer(_) => Notice::SIZE,
        };
        bytes as u32
    }
}

/// A packet's place in the [`Store`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PacketId(pub(super) u32);

/// All packets in transit, so that queues hold numbers.
#[derive(Debug, Default)]
pub(super) struct Store {
    places: Vec<Option<Packet>>,
    free: Vec<u32>,
}

impl Store {
    pub(super) fn put(&mut self, packet: Packet) -> PacketId {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(packet);
                PacketId(place)
            }
            None => {
                self.places.push(Some(packet));
                PacketId(self.places.len() as u32 - 1)
            }
        }
    }

    pub(super) fn take(&mut self, id: PacketId) -> Option<Packet> {
        let packet = self.places.get_mut(id.0 as usize)?.take();
        if packet.is_some() {
            self.free.push(id.0);
        }
        packet
    }

    /// The packet with this number.
    pub(super) fn get(&self, id: PacketId) -> Option<&Packet> {
        self.places.get(id.0 as usize)?.as_ref()
    }

    /// Number of packets in transit.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
