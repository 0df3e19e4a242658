//! TCP as in Linux, with CUBIC, Reno or BBR as congestion control.
//!
//! Two plain state machines communicate over a network that the caller models. [`TcpSender`] holds written data,
//! decides when to send which bytes, and repairs losses. [`TcpReceiver`] holds received data and decides when to
//! acknowledge it. Neither reads a clock or a socket, neither panics for any order of calls or any content of an
//! acknowledgement, and the same calls give the same results on every machine.
//!
//! ```text
//!  write ──► TcpSender ── poll_transmit ──► Segment ──► network ──► on_segment ──► TcpReceiver ──► delivered
//!               ▲  next_deadline / on_deadline                    next_deadline / on_deadline │
//!               └────── on_ack ◄──────────── network ◄─────────── Ack ◄───────────────────────┘
//! ```
//!
//! # Contract
//! 1. After `write`, `on_ack` and `on_deadline`, call `poll_transmit` until it returns `None`.
//! 2. Then call `next_deadline`, and `on_deadline` at that time if nothing else happened before. An early call does
//!    nothing, a late one is permitted.
//! 3. With [`TcpConfig::small_queue`] report each segment that has left the transmitter below, or was dropped there
//!    ([`TcpSender::on_left`]), and call `poll_transmit` again.
//! 4. Time never runs backwards between calls; an earlier `now` is treated as the latest one seen.
//!
//! # Not implemented
//! There is no handshake and no closing: both ends begin established, with the window scale, SACK and timestamp
//! options agreed, sequence numbers count from 0 in 64 bits, and the receiver's first advertised window is its
//! configured one. There is no ECN and no congestion-window cache between connections. The receiving application
//! reads at once, so the advertised window is constant. The receiver neither merges segments (GRO) nor compresses
//! selective acknowledgements: each segment out of order is answered. Timers are exact, not in ticks of a kernel. There
//! is no F-RTO (RFC 5682): exact timestamps tell spurious timeouts earlier.
//!
//! # Sources
//! | part | follows |
//! |---|---|
//! | SACK scoreboard, DSACK | RFC 2018, RFC 2883, RFC 6675 |
//! | loss detection, tail loss probe | RFC 8985 (RACK-TLP), as in Linux `tcp_recovery.c` |
//! | window during recovery | RFC 6937 with RFC 9937's choice of reduction bound, as in Linux `tcp_input.c` |
//! | retransmission timeout | RFC 6298 with Linux's variance floor of 200 ms |
//! | undo of spurious recoveries | Eifel (RFC 3522, RFC 4015) by timestamps, and by DSACK |
//! | window validation | Linux `tcp_output.c` (RFC 2861 with its corrections), slow start after idle |
//! | small queues, off by default | Linux `tcp_small_queue_check`, `tcp_tso_autosize` |
//! | delayed acknowledgements | RFC 1122, RFC 5681, Linux's quick acknowledgements |
//! | congestion control | RFC 9438, RFC 5681, BBR v1 as in Linux `tcp_bbr.c`, HyStart as in Linux or RFC 9406 |
//! | delivery rate | draft-cheng-iccrg-delivery-rate-estimation |

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
mod small_queue;
mod throttle;
mod transmission;

#[cfg(test)]
mod operations;

pub use config::{Backlog, DelayedAck, Pacing, TcpConfig, TcpConfigError};
pub use connection::{SenderMetrics, TcpSender};
pub use receiver::TcpReceiver;
pub use segment::{Ack, SEGMENT_HEADERS, SackBlock, Segment};
