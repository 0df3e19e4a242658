//! The sender's side: the end of a block, and the parity packets that follow it.

use airbound_units::{ByteCount, ConfigError};

use super::config::{FecConfig, FecKind};
use super::layout::layout;

/// RTP header 12, one CSRC 4, fixed part of the FEC header 8, base sequence number 2, L and D 1 each (RFC 8627, Sec. 4.2.2.2: these
/// describe a row or a column of any length). Reed-Solomon packets use the same size.
const REPAIR_HEADERS: u64 = 28;
/// A parity packet carries the length of the longest covered packet without its RTP header.
const RTP_HEADER: u64 = 12;

/// A media packet to be protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaPacket {
    /// Its media sequence number.
    pub sequence: u64,
    /// Its size, in any measure; the size of parity packets uses the same.
    pub size: ByteCount,
}

/// A parity packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParityPacket {
    /// Number of its block, from 0.
    pub block: u64,
    /// Index in the block, from 0.
    pub index: u32,
    /// The code.
    pub kind: FecKind,
    /// The covered media packets, in order.
    pub covers: Vec<u64>,
    /// Its size, by the measure of [`MediaPacket::size`].
    pub size: ByteCount,
}

/// Makes blocks of frames, and parity packets for them.
#[derive(Debug, Clone)]
pub struct FecEncoder {
    config: FecConfig,
    block: Vec<MediaPacket>,
    frames: u32,
    blocks: u64,
    /// The fraction of a parity packet carried over from earlier blocks.
    credit: f64,
}

impl FecEncoder {
    /// Creates an encoder without packets.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for a value of the configuration out of range.
    pub fn new(config: FecConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { config, block: Vec::new(), frames: 0, blocks: 0, credit: 0.0 })
    }

    /// Takes a media packet that is sent; `frame_ends` if it is the last of its frame. Returns the parity packets to be sent after it:
    /// none while the block is not complete.
    ///
    /// A block ends with a frame, so that a parity packet never waits for the next capture. The number of its parity packets is its
    /// share, with the fraction carried over to the next block, but at least one: small frames cost more than [`FecConfig::overhead`].
    pub fn on_media(&mut self, packet: MediaPacket, frame_ends: bool) -> Vec<ParityPacket> {
        self.block.push(packet);
        self.frames += u32::from(frame_ends);
        let share = self.credit + self.block.len() as f64 * self.config.overhead;
        let full = self.block.len() >= self.config.packets;
        let enough = frame_ends && (share >= 1.0 || self.frames >= self.config.frames);
        if !full && !enough {
            return Vec::new();
        }
        let count = share.max(1.0);
        self.credit = (share - libm::floor(count)).clamp(0.0, 1.0);
        self.frames = 0;
        let media = std::mem::take(&mut self.block);
        let block = self.blocks;
        self.blocks = self.blocks.wrapping_add(1);
        layout(self.config.kind, media.len(), count as usize)
            .into_iter()
            .zip(0..)
            .map(|(covers, index)| parity(self.config.kind, block, index, &media, &covers))
            .collect()
    }
}

fn parity(kind: FecKind, block: u64, index: u32, media: &[MediaPacket], covers: &[usize]) -> ParityPacket {
    let covered = || covers.iter().filter_map(|&place| media.get(place));
    let longest = covered().map(|packet| packet.size).max().unwrap_or_default();
    let size = longest + ByteCount::new(REPAIR_HEADERS - RTP_HEADER);
    ParityPacket { block, index, kind, covers: covered().map(|packet| packet.sequence).collect(), size }
}
