//! State of a Law link, for display and explanation.

use airbound_units::Span;
use airbound_wifi::rate::Rate;

use super::controller::LawState;
use crate::frame::StationId;

/// The present state of Law for one station. Symbols are those of table 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LawView {
    /// The station.
    pub station: StationId,
    /// State.
    pub state: LawState,
    /// Rate: the current one, which in the probing state is the probed one.
    pub rate: Rate,
    /// Its index as counted by equation 2.
    pub rate_index: u32,
    /// N_suc, consecutive successes.
    pub successes: u32,
    /// N_ret, consecutive software retransmissions.
    pub retransmissions: u32,
    /// N_prob, consecutive failed probes.
    pub failed_probes: u32,
    /// Thr_p.
    pub threshold: u32,
    /// Consecutive losses, for any reason.
    pub losses: u32,
    /// T_i of the current rate.
    pub tx_time: Option<Span>,
    /// S_i of the current rate, 0 to 1.
    pub success: Option<f64>,
    /// Len_max, of the whole link, in packets; `None`: infinite.
    pub len_max: Option<f64>,
    /// Packets in the driver queue, of the whole link.
    pub in_driver: usize,
    /// PSDUs in the hardware, of the whole link.
    pub in_hardware: usize,
    /// Counts since the beginning.
    pub counts: LawCounts,
}

/// Counts of a station since the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LawCounts {
    /// Software transmissions, retransmissions included.
    pub transmissions: u64,
    /// Failed transmissions: no MPDU arrived.
    pub failed: u64,
    /// Failed transmissions whose time limit expired before they reached the air.
    pub never_sent: u64,
    /// Software retransmissions.
    pub retransmissions: u64,
    /// Packets dropped because they exceeded Limit_q, in the queue or when returned.
    pub expired: u64,
    /// Packets dropped after their last software transmission.
    pub given_up: u64,
}
