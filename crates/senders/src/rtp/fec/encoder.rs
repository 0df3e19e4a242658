//! The sender's side: when a block is full, and which parity packets follow it.

use airbound_units::{ByteCount, ConfigError};

use super::config::{FecConfig, FecKind};
use super::layout::layout;

/// RTP header 12, one CSRC 4, fixed part of the FEC header 8, base sequence number 2, L and D 1 each (RFC 8627, Sec. 4.2.2.2: a row or a
/// column is told by these, whatever its length). Reed-Solomon packets are given the same room.
const REPAIR_HEADERS: u64 = 28;
/// A parity packet carries what follows the RTP header of the longest packet that it covers.
const RTP_HEADER: u64 = 12;

/// A media packet that is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaPacket {
    /// Its media sequence number.
    pub sequence: u64,
    /// Its size, by whatever measure; that of the parity packets follows.
    pub size: ByteCount,
}

/// A parity packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParityPacket {
    /// The number of its block: counts from 0.
    pub block: u64,
    /// Its number in the block: counts from 0.
    pub index: u32,
    /// The code.
    pub kind: FecKind,
    /// The media packets that it covers, in order.
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
    /// The part of a parity packet that earlier blocks had a right to and did not get.
    credit: f64,
}

impl FecEncoder {
    /// Nothing has been sent.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of the configuration is.
    pub fn new(config: FecConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { config, block: Vec::new(), frames: 0, blocks: 0, credit: 0.0 })
    }

    /// A media packet is sent; `frame_ends` if it is the last of its frame. Returns the parity packets to be sent after it: none while
    /// the block is not full.
    ///
    /// A block ends with a frame, so that a parity packet never waits for the next capture. The number of its parity packets is its
    /// share, the fraction carried over to the next block, but at least one: small frames cost more than [`FecConfig::overhead`].
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
