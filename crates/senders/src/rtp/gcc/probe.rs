//! Probe clusters: short bursts at a rate above the present one, to learn whether the path carries it.

use airbound_units::{BitRate, ByteCount, Span};

/// A burst that is to be sent at its own rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeCluster {
    /// Its number; the packets of the burst carry it in `PacketSent::probe`.
    pub id: u32,
    /// The rate at which its packets are sent.
    pub rate: BitRate,
    /// It has at least so many packets ...
    pub packets: u32,
    /// ... and at least so many bytes.
    pub bytes: ByteCount,
    /// The time that `bytes` take at `rate`.
    pub duration: Span,
}
