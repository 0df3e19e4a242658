//! The stages of a latency.

/// The six stages of a latency, in the order of a downlink packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// On wires, before the Wi-Fi transmitter and after the receiver.
    Wired,
    /// In queues of the transmitter, until the packet's aggregate begins to contend.
    Queueing,
    /// In contention for the medium, until the first transmission.
    Contention,
    /// In the successful transmission.
    Airtime,
    /// From the first to the successful transmission.
    Retries,
    /// In the receiver's reordering buffer.
    Reordering,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 6] =
        [Self::Wired, Self::Queueing, Self::Contention, Self::Airtime, Self::Retries, Self::Reordering];

    /// The name used in files and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wired => "wired",
            Self::Queueing => "queueing",
            Self::Contention => "contention",
            Self::Airtime => "airtime",
            Self::Retries => "retries",
            Self::Reordering => "reordering",
        }
    }
}
