//! Records of a classic pcap file, or blocks of a pcapng file (draft-ietf-opsawg-pcapng).

use std::io::{self, Read};
use std::path::Path;

use airbound_units::Instant;

use crate::output::{blocks_header, capture_header};

/// Enhanced packet block.
const PACKET: u32 = 6;
/// Option of a block: a comment.
const COMMENT: u16 = 1;
/// Longer records are not written.
const LONGEST: usize = 1 << 16;

/// File format of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// A classic file: the air alone.
    Records,
    /// pcapng: the air, and dropped packets.
    Blocks,
}

/// An interface of a pcapng file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interface {
    /// 802.11 with radiotap headers.
    Air = 0,
    /// IPv4 packets that were dropped.
    Drops = 1,
}

/// A packet of a capture: its time in ns, its bytes, and its comment.
pub(super) struct Record {
    pub(super) at: u64,
    pub(super) frame: Vec<u8>,
    pub(super) comment: Option<String>,
}

impl Container {
    /// That of a file's name.
    pub(super) fn of(path: &Path) -> Self {
        if path.extension().is_some_and(|ending| ending == "pcapng") { Self::Blocks } else { Self::Records }
    }

    pub(super) fn header(self) -> Vec<u8> {
        match self {
            Self::Records => capture_header(),
            Self::Blocks => blocks_header(),
        }
    }

    /// Bytes in front of a packet, which [`Self::complete`] fills.
    pub(super) const fn head(self) -> usize {
        match self {
            Self::Records => 16,
            Self::Blocks => 28,
        }
    }

    /// Completes a record whose bytes stand behind its head.
    pub(super) fn complete(
        self,
        record: &mut Vec<u8>,
        interface: Interface,
        at: Instant,
        original: u32,
        comment: Option<&str>,
    ) {
        let captured = (record.len() - self.head()) as u32;
        let nanos = at.as_nanos();
        if self == Self::Records {
            let seconds = u32::try_from(nanos / 1_000_000_000).unwrap_or(u32::MAX);
            fill(record, &[seconds, (nanos % 1_000_000_000) as u32, captured, original]);
            return;
        }
        pad(record);
        if let Some(comment) = comment {
            record.extend(COMMENT.to_le_bytes());
            record.extend((comment.len() as u16).to_le_bytes());
            record.extend(comment.as_bytes());
            pad(record);
            record.extend([0; 4]);
        }
        let length = record.len() as u32 + 4;
        record.extend(length.to_le_bytes());
        let time = [(nanos >> 32) as u32, nanos as u32];
        fill(record, &[PACKET, length, interface as u32, time[0], time[1], captured, original]);
    }

    /// The next packet; `None` at the end.
    pub(super) fn next(self, file: &mut impl Read) -> io::Result<Option<Record>> {
        let mut head = vec![0; self.head()];
        match file.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let word = |place: usize| word(&head, 4 * place);
        let (length, behind, at) = match self {
            Self::Records => (word(2), 0, u64::from(word(0)) * 1_000_000_000 + u64::from(word(1))),
            Self::Blocks => (
                word(5),
                word(1).saturating_sub(28).saturating_sub(word(5)),
                u64::from(word(3)) << 32 | u64::from(word(4)),
            ),
        };
        let (length, behind) = (length as usize, behind as usize);
        if length + behind > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a record is too long"));
        }
        let mut frame = vec![0; length + behind];
        file.read_exact(&mut frame)?;
        let options = frame.split_off(length);
        Ok(Some(Record { at, frame, comment: comment(options.get(padding(length)..)) }))
    }
}

/// The comment, which is the first option if there is one.
fn comment(options: Option<&[u8]>) -> Option<String> {
    let options = options?;
    let length = usize::try_from(word(options, 0) >> 16).ok()?;
    let text =
        options.get(4..4 + length).filter(|_| word(options, 0) as u16 == COMMENT && options.len() > 8)?;
    String::from_utf8(text.to_vec()).ok()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let word = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    u32::from_le_bytes(word.unwrap_or_default())
}

fn fill(record: &mut [u8], words: &[u32]) {
    for (place, word) in record.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

const fn padding(length: usize) -> usize {
    length.wrapping_neg() % 4
}

fn pad(record: &mut Vec<u8>) {
    record.resize(record.len() + padding(record.len()), 0);
}
