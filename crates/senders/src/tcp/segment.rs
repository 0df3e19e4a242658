//! Packets of a connection: segments, and acknowledgements in the reverse direction.

use airbound_units::{ByteCount, Instant};

/// Bytes that IPv4 (20), TCP (20) and the timestamp option (12) add to a segment's payload.
pub const SEGMENT_HEADERS: ByteCount = ByteCount::new(52);

/// Bytes of a stream sent in one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first byte in the stream.
    pub seq: u64,
    /// Payload in bytes, at least 1.
    pub len: u32,
    /// Whether these bytes were sent before.
    pub retransmission: bool,
    /// Time of sending, its timestamp option, which the receiver echoes.
    pub sent: Instant,
}

impl Segment {
    /// Size on the wire, IP header included.
    #[must_use]
    pub fn size(&self) -> ByteCount {
        ByteCount::new(u64::from(self.len)) + SEGMENT_HEADERS
    }
}

/// Bytes that arrived beyond a gap: from `start` up to, not including, `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

/// State of the receiver, sent as an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Every byte before this one arrived.
    pub cumulative: u64,
    /// Selective acknowledgements, the most recent first (RFC 2018); the first reports a duplicate where it lies
    /// below `cumulative` or inside the second (RFC 2883).
    pub sack: [SackBlock; 3],
    /// Number of valid blocks in `sack`, 0 to 3.
    pub sack_count: u8,
    /// Bytes that may be sent beyond `cumulative`.
    pub window: ByteCount,
    /// The echoed timestamp: the send time of the segment most recent in order at the receiver (RFC 7323 section 4.3).
    pub echoed: Instant,
}

impl Ack {
    /// The valid blocks.
    #[must_use]
    pub fn blocks(&self) -> &[SackBlock] {
        self.sack.get(..usize::from(self.sack_count)).unwrap_or(&self.sack)
    }

    /// Size on the wire: headers, and 4 + 8 B for each block of the SACK option.
    #[must_use]
    pub fn size(&self) -> ByteCount {
        match self.blocks().len() as u64 {
            0 => SEGMENT_HEADERS,
            blocks => SEGMENT_HEADERS + ByteCount::new(4 + 8 * blocks),
        }
    }
}
