//! Probe clusters: short bursts above the present rate, to test the capacity of the path.

use airbound_units::{BitRate, ByteCount, Span};

/// A burst to be sent at its own rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeCluster {
    /// Its number; the packets of the burst carry it in `PacketSent::probe`.
    pub id: u32,
    /// The send rate of its packets.
    pub rate: BitRate,
    /// Minimum number of its packets ...
    pub packets: u32,
    /// ... and of its bytes.
    pub bytes: ByteCount,
    /// Duration of `bytes` at `rate`.
    pub duration: Span,
}
