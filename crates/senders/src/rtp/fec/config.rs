//! The configuration of forward error correction.

use serde::{Deserialize, Serialize};

use airbound_units::ConfigError;

/// The media packets covered by a parity packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FecKind {
    /// Each parity packet is the XOR of consecutive packets: repairs one loss in each row at once (RFC 8627, Sec. 1.1.1).
    Row,
    /// Each parity packet is the XOR of packets at a fixed distance: repairs a burst up to the number of columns (Sec. 1.1.2).
    #[default]
    Column,
    /// Half of the parity packets are rows, half columns, decoded in alternation (Sec. 1.1.4). If they form a grid of D rows of L packets
    /// each (64 packets at an overhead of 1/4, 256 at 1/8) any three media packets are repaired. A smaller block has fewer columns than its
    /// rows are long: each then combines several columns of the grid, and only one loss, or a burst up to the number of columns, is certain
    /// to be repaired.
    TwoDimensional,
    /// Each parity packet covers the whole block: repairs any losses up to the number of parity packets (RFC 6865).
    ReedSolomon,
}

/// Amount and layout of the protection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FecConfig {
    /// The layout: columns.
    pub kind: FecKind,
    /// Parity packets for each media packet: 1/8. Above 0, at most 1.
    pub overhead: f64,
    /// Upper limit on frames of a block, which grows until its share of parity is a whole packet: 2. Repair waits for at most this many
    /// frames. 1 to 60.
    pub frames: u32,
    /// Upper limit on media packets of a block: 128. 1 to 200, since a Reed-Solomon code over bytes has at most 255 packets with parity.
    pub packets: usize,
}

impl Default for FecConfig {
    fn default() -> Self {
        Self { kind: FecKind::Column, overhead: 0.125, frames: 2, packets: 128 }
    }
}

impl FecConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let overhead = self.overhead > 0.0 && self.overhead <= 1.0;
        ConfigError::check(overhead, "fec.overhead", self.overhead, "above 0, at most 1")?;
        ConfigError::check((1..=60).contains(&self.frames), "fec.frames", self.frames, "1 to 60")?;
        ConfigError::check((1..=200).contains(&self.packets), "fec.packets", self.packets, "1 to 200")
    }
}
