//! Google congestion control: the send rate of real-time media.
//!
//! Follows draft-ietf-rmcat-gcc-02 ("the draft") and, where libwebrtc has changed since, the documentation of libwebrtc: the sender does
//! all computation, from transport-wide feedback; a trendline filter replaces the draft's Kalman filter; probes find the capacity. Each
//! module lists the sources of its constants in a table.
//!
//! ```text
//!  frames ─▶ Pacer ── poll ──▶ network ──▶ FeedbackCollector::on_packet
//!              ▲ ▲       │                             │ poll: every 50 to 250 ms
//!      pacing  │ │probes │ on_sent                     ▼
//!              │ │       ▼                     TransportFeedback
//!             ┌┴─┴───────────────────────────────┐     │
//!             │ Gcc                              │◀────┘ on_feedback
//!             │  groups ─▶ trendline ─▶ AIMD ─┐  │
//!             │  throughput ────────────▲     ├──┼──▶ target_rate: encoder, parity, retransmissions
//!             │  probe results ─────────┘     │  │
//!             │  losses ──────▶ loss-based ───┘  │
//!             └──────────────────────────────────┘
//! ```
//!
//! # Contract
//! 1. Every sent packet, of any kind, has the next transport-wide sequence number and is reported by `on_sent`.
//! 2. After each `on_…` call `next_probe` until there is none, give the clusters to [`Pacer::start_probe`], and set
//!    [`Pacer::set_rate`] to `pacing`.
//! 3. Then call `next_deadline`, and `on_deadline` at that time. Early and late calls are harmless; an earlier time counts as the latest
//!    one seen.
//!
//! # Not implemented
//! REMB and receiver-side estimation, the congestion window with its pushback (off by default in libwebrtc), ECN, separate detectors for audio, estimates of the network itself, and probes after a changed allocation:
//! there is one stream, whose rate is the target.

mod aimd;
mod alr;
mod collector;
mod config;
mod controller;
mod feedback;
mod in_flight;
mod link_capacity;
mod loss_model;
mod loss_ranges;
mod pacer;
mod packet_groups;
mod probe;
mod probe_result;
mod prober;
mod throughput;
mod trendline;

use airbound_units::{BitRate, ByteCount};

pub use collector::{FeedbackCollector, FeedbackConfig};
pub use config::{GccConfig, LossResponse};
pub use controller::Gcc;
pub use feedback::{ARRIVAL_STEP, PacketResult, TransportFeedback};
pub use pacer::{LONGEST_QUEUE, Pacer, Pacing, Priority};
pub use probe::ProbeCluster;

/// A packet that has just been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSent {
    /// Its transport-wide sequence number, increasing by one with each packet of any kind.
    pub sequence: u64,
    /// Its size, by the same measure as all rates (usually the IP packet).
    pub size: ByteCount,
    /// The probe cluster that it belongs to.
    pub probe: Option<u32>,
}

/// State of the path according to the packets' delay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Usage {
    /// Delays neither grow nor fall.
    #[default]
    Normal,
    /// Delays grow: a queue builds up.
    Overuse,
    /// Delays fall: a queue drains.
    Underuse,
}

/// Estimates and detector state of the congestion control, for plots.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GccMetrics {
    /// The state of the over-use detector.
    pub usage: Usage,
    /// The trendline's slope times its gain and number of groups, in ms: the value compared with the threshold.
    pub trend: f64,
    /// The adaptive threshold, in ms.
    pub threshold: f64,
    /// The delay-based estimate.
    pub delay_based: BitRate,
    /// The loss-based estimate.
    pub loss_based: BitRate,
    /// The rate at which acknowledged packets arrived; `None` in the first half second.
    pub acknowledged: Option<BitRate>,
    /// Whether the source is application-limited.
    pub application_limited: bool,
    /// Share of packets lost, see [`Gcc::loss_fraction`].
    pub loss_fraction: f64,
}
