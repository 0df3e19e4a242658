//! One TCP: what is in flight, what was lost, when to send, and the receiver that answers.

mod acknowledgement;
mod config;
mod connection;
mod prr;
mod rack;
mod ranges;
mod rate_sample;
mod receiver;
mod rto;
mod scoreboard;
mod segment;
mod transmission;

#[cfg(test)]
mod operations;

pub use config::{Backlog, ConfigError, Congestion, DelayedAck, Hystart, Pacing, TcpConfig};
pub use connection::{SenderMetrics, TcpSender};
pub use receiver::TcpReceiver;
pub use segment::{Ack, SEGMENT_HEADERS, SackBlock, Segment};

/// An acknowledgement of `acked` segments in an open, window-limited connection.
#[cfg(test)]
pub(super) fn test_event(acked: u32) -> super::congestion::AckEvent {
    use airbound_units::Instant;
    super::congestion::AckEvent {
        now: Instant::ZERO,
        phase: super::congestion::Phase::Open,
        acked,
        delivered: acked,
        lost: 0,
        in_flight: 0,
        prior_in_flight: acked,
        window_limited: true,
        rtt: None,
        smoothed_rtt: None,
        min_rtt: None,
        first_unacked: 0,
        next_unsent: 0,
        total_delivered: 0,
        rate: super::congestion::RateSample::default(),
        next_release: Instant::ZERO,
    }
}
