//! The header of every packet.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | kind |
//! | 1 | version (high four bits), key epoch (low four bits) |
//! | 2 to 3 | flags |
//! | 4 to 7 | session |
//! | 8 to 15 | sequence |
//! | 16 to 19 | time of sending in us, by the sender's clock; wraps |
//! | 20 to 27 | tag over all other bytes |
//!
//! Numbers are big-endian.

/// Length of the header.
pub const HEADER: usize = 28;
/// Bytes before the tag.
pub(super) const UNTAGGED: usize = 20;
/// The version written and read by this code.
const VERSION: u8 = 1;
/// Number of key epochs; they wrap.
pub(super) const EPOCHS: u8 = 16;

/// Kinds of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The client's first message.
    Hello = 1,
    /// The edge's answer.
    Answer = 2,
    /// A datagram, or half of one.
    Data = 3,
    /// Feedback of a client's receiver.
    Report = 4,
    /// A question that has to be echoed: for the path's MTU, for a new address, for a sign of life.
    Probe = 5,
    /// The answer to a probe.
    Echo = 6,
    /// The sender leaves.
    Close = 7,
}

/// Flag of [`Kind::Hello`]: the client keeps the state of an earlier session. Of [`Kind::Answer`]: the edge does, too.
pub(super) const RESUMES: u16 = 1;
/// Flag of [`Kind::Data`]: the first half of a datagram; the second has the next sequence number.
pub(super) const FIRST_HALF: u16 = 1;
/// Flag of [`Kind::Data`]: the second half.
pub(super) const SECOND_HALF: u16 = 2;

/// A header without its tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The kind of packet.
    pub kind: Kind,
    /// The epoch of the key, 0 to 15.
    pub epoch: u8,
    /// Flags of the kind.
    pub flags: u16,
    /// The session; 0 in a hello.
    pub session: u32,
    /// Ascending by one in each direction; the time in us since 1970 in a hello and its answer.
    pub sequence: u64,
    /// Time of sending in us; wraps.
    pub sent: u32,
}

impl Header {
    /// Reads the header of a packet; `None` for a packet of another protocol, version, or with unknown flags.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER] = bytes.first_chunk()?;
        let (kind, allowed) = match header[0] {
            1 => (Kind::Hello, RESUMES),
            2 => (Kind::Answer, RESUMES),
            3 => (Kind::Data, FIRST_HALF | SECOND_HALF),
            4 => (Kind::Report, 0),
            5 => (Kind::Probe, 0),
            6 => (Kind::Echo, 0),
            7 => (Kind::Close, 0),
            _ => return None,
        };
        let flags = u16::from_be_bytes([header[2], header[3]]);
        if header[1] / EPOCHS != VERSION || flags & !allowed != 0 || flags == FIRST_HALF | SECOND_HALF {
            return None;
        }
        Some(Self {
            kind,
            epoch: header[1] % EPOCHS,
            flags,
            session: u32::from_be_bytes(part(header, 4)),
            sequence: u64::from_be_bytes(part(header, 8)),
            sent: u32::from_be_bytes(part(header, 16)),
        })
    }

    /// Writes the header, its tag zero, to the begin of a packet of at least [`HEADER`] bytes.
    pub fn write(&self, packet: &mut [u8]) {
        let Some(header) = packet.first_chunk_mut::<HEADER>() else { return };
        *header = [0; HEADER];
        header[0] = self.kind as u8;
        header[1] = VERSION * EPOCHS + self.epoch % EPOCHS;
        header[2..4].copy_from_slice(&self.flags.to_be_bytes());
        header[4..8].copy_from_slice(&self.session.to_be_bytes());
        header[8..16].copy_from_slice(&self.sequence.to_be_bytes());
        header[16..20].copy_from_slice(&self.sent.to_be_bytes());
    }
}

/// The tag of a packet.
pub(super) fn tag_of(bytes: &[u8]) -> Option<u64> {
    bytes.get(UNTAGGED..HEADER)?.first_chunk().map(|tag| u64::from_be_bytes(*tag))
}

/// Writes the tag of a packet.
pub(super) fn put_tag(packet: &mut [u8], tag: u64) {
    if let Some(place) = packet.get_mut(UNTAGGED..HEADER) {
        place.copy_from_slice(&tag.to_be_bytes());
    }
}

/// `N` bytes from `at` on; zeros beyond the end.
pub(super) fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_as_it_was() {
        let header = Header {
            kind: Kind::Data,
            epoch: 13,
            flags: SECOND_HALF,
            session: 0x0102_0304,
            sequence: 0x0506_0708_090a_0b0c,
            sent: 0x0d0e_0f10,
        };
        let mut bytes = [0xff; HEADER + 3];
        header.write(&mut bytes);
        assert_eq!(Header::read(&bytes), Some(header));
        assert_eq!(bytes[..20], [3, 0x1d, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        assert_eq!(Header::read(&bytes[..HEADER - 1]), None);
    }

    #[test]
    fn other_versions_kinds_and_flags_are_refused() {
        let mut bytes = [0; HEADER];
        Header { kind: Kind::Report, epoch: 0, flags: 0, session: 1, sequence: 1, sent: 1 }.write(&mut bytes);
        for (at, value) in [(0, 0), (0, 8), (1, 0x20), (1, 0), (3, 1), (2, 0x80)] {
            let mut wrong = bytes;
            wrong[at] = value;
            assert_eq!(Header::read(&wrong), None, "byte {at} {value}");
        }
        bytes[0] = Kind::Data as u8;
        bytes[3] = 3;
        assert_eq!(Header::read(&bytes), None, "both halves");
    }
}
