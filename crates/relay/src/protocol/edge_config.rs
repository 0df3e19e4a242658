//! Parameters of an edge, the keys and numbers of its clients, its counters.

use airbound_senders::allocation::Share;
use airbound_senders::stream::StreamConfig;
use airbound_units::{BitRate, Span};

use super::key::Key;
use super::mtu::LARGEST_DATAGRAM;

/// Parameters of an edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeConfig {
    /// Rates and reports. `receivers` is the largest number of clients.
    pub stream: StreamConfig,
    /// The largest datagram that is tried, bytes: 1472. 1200 to 65,507.
    pub largest: u16,
    /// Time without a packet after which a client is gone: 30 s.
    pub idle: Span,
}

impl Default for EdgeConfig {
    fn default() -> Self {
        // The share of one of 256 slow stations is below a megabit a second.
        let least = BitRate::from_kbps(200);
        let share = Share::EqualAirtime;
        let judged_frames = 4;
        // Senders that probe for their rates, such as the library's, try 1.5 times what they sent at each report, and two reports pass
        // before the edge has followed: 1.5 cubed is 3.4, less what its queue takes.
        let headroom = 3.0;
        let usual = StreamConfig::default();
        let stream = StreamConfig { receivers: 256, share, least, judged_frames, headroom, ..usual };
        Self { stream, largest: LARGEST_DATAGRAM, idle: Span::from_secs(30) }
    }
}

/// A key of a client. A client has one for each epoch in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientKey {
    /// The client.
    pub name: String,
    /// The epoch, 0 to 15.
    pub epoch: u8,
    /// The key.
    pub key: Key,
}

/// The number of a client of an edge, as long as its keys are in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u16);

/// Counters of an edge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EdgeCounts {
    /// Packets of strangers: of another protocol, or that name no known key or session.
    pub strangers: u64,
    /// Packets with a wrong tag.
    pub forged: u64,
    /// Packets received before, or too old to know.
    pub replayed: u64,
    /// Datagrams of the backend for a client that is not there.
    pub undeliverable: u64,
}
