//! The configuration of forward error correction.

use serde::{Deserialize, Serialize};

use airbound_units::ConfigError;

/// Which packets a parity packet covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FecKind {
    /// Each parity packet is the XOR of neighbours: repairs one loss in each row, at once (RFC 8627, Sec. 1.1.1).
    Row,
    /// Each parity packet is the XOR of packets at a distance: repairs a burst as long as there are columns (Sec. 1.1.2).
    #[default]
    Column,
    /// Half of them rows, half columns, decoded by turns (Sec. 1.1.4). Where they make a grid of D rows of L packets each (64 packets at
    /// an overhead of 1/4, 256 at 1/8) any three media packets are repaired. A smaller block has fewer columns than its rows are long: each
    /// then folds several columns of the grid, and any one loss, or a burst as long as there are columns, is sure.
    TwoDimensional,
    /// Each parity packet covers the whole block: any as many losses as there are parity packets (RFC 6865).
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
    /// A block takes in frames until it has a whole parity packet's worth of them, but so many at most: 2. Repair then waits for at most
    /// that many frames. 1 to 60.
    pub frames: u32,
    /// A block never has more media packets: 128. 1 to 200, since a Reed-Solomon code over bytes has 255 packets with parity at most.
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
    /// [`ConfigError::OutOfRange`] for the first that is out of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let overhead = self.overhead > 0.0 && self.overhead <= 1.0;
        ConfigError::check(overhead, "fec.overhead", self.overhead, "above 0, at most 1")?;
        ConfigError::check((1..=60).contains(&self.frames), "fec.frames", self.frames, "1 to 60")?;
        ConfigError::check((1..=200).contains(&self.packets), "fec.packets", self.packets, "1 to 200")
    }
}
