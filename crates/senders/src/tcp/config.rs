//! Configuration of a connection.

use airbound_units::{ByteCount, Span};
use serde::{Deserialize, Serialize};

use crate::congestion::{Congestion, HystartKind};

/// Condition for pacing segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// As in Linux without the `fq` queueing discipline: for a congestion control with a rate of its own (BBR) only.
    #[default]
    Auto,
    /// Never. BBR is then limited by its window alone.
    Off,
    /// Always; CUBIC and Reno at 200 % of window per round trip in slow start and 120 % after.
    On,
}

/// When the receiver acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct DelayedAck {
    /// Upper limit on in-order segments covered by one acknowledgement. 1 acknowledges each segment. Default 2 (RFC
    /// 5681 section 4.2).
    pub segments: u32,
    /// Time for which an acknowledgement waits for the next segment. Default 40 ms (Linux `TCP_ATO_MIN`).
    pub timeout: Span,
    /// Number of segments acknowledged at once at the start and after a pause of `idle`. Default 16 (Linux
    /// `TCP_MAX_QUICKACKS`).
    pub quick_segments: u32,
    /// Pause after which segments are acknowledged at once again. Default 200 ms (Linux uses the receiver's own
    /// retransmission timeout, of which this is the floor).
    pub idle: Span,
    /// Whether segments that arrive at one instant, as from one A-MPDU, are merged before TCP takes them (Linux generic receive
    /// offload): up to 44 in order, stamped in one millisecond, get one acknowledgement. Default no.
    pub gro: bool,
    /// Segments from one that the sender pushes (PSH) to the next, from 1: a receiver whose application reads at once acknowledges a pushed
    /// one at once (Linux from 6.6 on, `tcp_measure_rcv_mss`). A sender of Linux that waits for its buffer pushes the last of a packet of
    /// 64 KiB, which has 45 (`tcp_sendmsg_locked`). Default none.
    pub pushed: Option<u32>,
}

impl Default for DelayedAck {
    fn default() -> Self {
        let (timeout, idle) = (Span::from_millis(40), Span::from_millis(200));
        Self { segments: 2, timeout, quick_segments: 16, idle, gro: false, pushed: None }
    }
}

/// A connection's parameters; defaults are Linux's. Text values carry units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TcpConfig {
    /// Congestion control that sets the window. Default CUBIC.
    pub congestion: Congestion,
    /// Payload of a full segment, 1 to 65 495 B. Default 1448 B: 1500 B less IPv4 (20), TCP (20) and timestamps
    /// (12).
    pub mss: ByteCount,
    /// Initial window in segments, 1 to 1000. Default 10 (RFC 6928).
    pub initial_window: u32,
    /// Window that the receiver advertises, 1 B to 1 GB. Default 3 MiB, half of Linux's largest receive buffer
    /// (`tcp_rmem`); the kernel's gradual opening of the window is not modelled.
    pub receive_window: ByteCount,
    /// Upper limit on bytes held by the sender, unacknowledged or unsent; at least one segment. Default 4 MiB (Linux
    /// `tcp_wmem`).
    pub send_buffer: ByteCount,
    /// When the receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Floor of the variance term of the retransmission timeout, 1 ms to 60 s. Default 200 ms (Linux
    /// `TCP_RTO_MIN`).
    pub min_rto: Span,
    /// Whether segments are spaced.
    pub pacing: Pacing,
    /// Condition on which CUBIC leaves slow start.
    pub hystart: HystartKind,
    /// Whether a short segment waits while another short one is unacknowledged (Nagle's algorithm with Minshall's
    /// change, as in Linux). Default no: streaming applications set `TCP_NODELAY`.
    pub nagle: bool,
    /// Whether the window shrinks while idle for longer than the timeout (Linux `tcp_slow_start_after_idle`).
    /// Default yes.
    pub slow_start_after_idle: bool,
    /// TCP small queues: the time of sending, at the rate at which Linux paces, that the connection may have below it before the next
    /// burst waits, and that a burst holds at most. 500 us to 1 s; default none: all that the window permits is below. Linux has 2^-10 s,
    /// under mac80211 2^-7 s (7.8 ms, `sk_pacing_shift`). The environment reports transmissions ([`super::TcpSender::on_left`]).
    pub small_queue: Option<Span>,
    /// Picks the first phase of BBR's gain cycle, which Linux draws at random.
    pub seed: u64,
}

impl Default for TcpConfig {
    fn default() -> Self {
        Self {
            congestion: Congestion::default(),
            mss: ByteCount::new(1448),
            initial_window: 10,
            receive_window: ByteCount::new(3 << 20),
            send_buffer: ByteCount::new(4 << 20),
            delayed_ack: DelayedAck::default(),
            min_rto: Span::from_millis(200),
            pacing: Pacing::Auto,
            hystart: HystartKind::Linux,
            nagle: false,
            slow_start_after_idle: true,
            small_queue: None,
            seed: 0,
        }
    }
}

impl TcpConfig {
    /// Checks every value and returns the segment size in bytes.
    pub(crate) fn checked_mss(&self) -> Result<u32, TcpConfigError> {
        let mss = match u32::try_from(self.mss.as_u64()) {
            Ok(mss @ 1..=65_495) => mss,
            _ => return Err(TcpConfigError::Mss { got: self.mss }),
        };
        if !(1..=1000).contains(&self.initial_window) {
            return Err(TcpConfigError::InitialWindow { got: self.initial_window });
        }
        if !(1..=1_000_000_000).contains(&self.receive_window.as_u64()) {
            return Err(TcpConfigError::ReceiveWindow { got: self.receive_window });
        }
        if self.send_buffer < self.mss {
            return Err(TcpConfigError::SendBuffer { got: self.send_buffer, mss: self.mss });
        }
        if !(Span::from_millis(1)..=Span::from_secs(60)).contains(&self.min_rto) {
            return Err(TcpConfigError::MinRto { got: self.min_rto });
        }
        let small_queues = Span::from_micros(500)..=Span::from_secs(1);
        if let Some(got) = self.small_queue.filter(|time| !small_queues.contains(time)) {
            return Err(TcpConfigError::SmallQueue { got });
        }
        let ack = &self.delayed_ack;
        if ack.segments == 0 {
            return Err(TcpConfigError::AckSegments);
        }
        if ack.pushed == Some(0) {
            return Err(TcpConfigError::AckPushed);
        }
        if ack.timeout > Span::from_millis(500) {
            return Err(TcpConfigError::AckTimeout { got: ack.timeout });
        }
        Ok(mss)
    }
}

/// Bytes that an application writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backlog {
    /// A number of bytes.
    Bytes(ByteCount),
    /// A backlog without end: a bulk transfer.
    Unlimited,
}

/// An invalid configuration of a connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TcpConfigError {
    /// Segment size out of range.
    #[error("tcp mss is {got}; it must be 1 B to 65495 B")]
    Mss {
        /// The value given.
        got: ByteCount,
    },
    /// Initial window out of range.
    #[error("tcp initial_window is {got} segments; it must be 1 to 1000")]
    InitialWindow {
        /// The value given.
        got: u32,
    },
    /// Receive window out of range.
    #[error("tcp receive_window is {got}; it must be 1 B to 1 GB")]
    ReceiveWindow {
        /// The value given.
        got: ByteCount,
    },
    /// Send buffer below one segment.
    #[error("tcp send_buffer is {got}; it must hold at least one segment of {mss}")]
    SendBuffer {
        /// The value given.
        got: ByteCount,
        /// The segment size.
        mss: ByteCount,
    },
    /// Timeout floor out of range.
    #[error("tcp min_rto is {got}; it must be 1 ms to 60 s")]
    MinRto {
        /// The value given.
        got: Span,
    },
    /// Time of a small queue out of range.
    #[error("small-queue is {got}; allowed is 500 us to 1 s")]
    SmallQueue {
        /// The value given.
        got: Span,
    },
    /// The delayed-acknowledgement count is zero.
    #[error("tcp delayed_ack.segments is 0; it must be at least 1")]
    AckSegments,
    /// The distance of pushed segments is zero.
    #[error("tcp delayed_ack.pushed is 0; it must be at least 1")]
    AckPushed,
    /// Delayed-acknowledgement timeout out of range.
    #[error("tcp delayed_ack.timeout is {got}; RFC 1122 allows at most 500 ms")]
    AckTimeout {
        /// The value given.
        got: Span,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_each_bad_value_is_named() {
        let good = TcpConfig::default();
        assert_eq!(good.checked_mss(), Ok(1448));
        type Change = fn(&mut TcpConfig);
        let cases: [(Change, &str); 10] = [
            (|c| c.small_queue = Some(Span::ZERO), "small-queue"),
            (|c| c.small_queue = Some(Span::from_secs(2)), "small-queue"),
            (|c| c.mss = ByteCount::ZERO, "mss"),
            (|c| c.initial_window = 0, "initial_window"),
            (|c| c.receive_window = ByteCount::ZERO, "receive_window"),
            (|c| c.send_buffer = ByteCount::new(1447), "send_buffer"),
            (|c| c.min_rto = Span::ZERO, "min_rto"),
            (|c| c.delayed_ack.segments = 0, "delayed_ack.segments"),
            (|c| c.delayed_ack.pushed = Some(0), "delayed_ack.pushed"),
            (|c| c.delayed_ack.timeout = Span::from_secs(1), "delayed_ack.timeout"),
        ];
        for (change, key) in cases {
            let mut config = good.clone();
            change(&mut config);
            let error = config.checked_mss().expect_err(key).to_string();
            assert!(error.contains(key), "{error}");
        }
    }
}
