//! End-host controllers of Airbound: TCP, real-time media, rate allocation and conferences, as pure state machines.
//!
//! | module | content |
//! |---|---|
//! | [`tcp`] | the two ends of a TCP connection as in Linux |
//! | [`congestion`] | window control of TCP: CUBIC, Reno, BBR, and the trait for others |
//! | [`rtp`] | real-time media: Google congestion control, forward error correction, retransmission on request |
//! | [`allocation`] | low-delay rate allocation from the aggregation level that receivers see |
//! | [`bitrate`] | the bitrate of a stream that another program sends |
//! | [`stream`] | the two ends of an application's stream under that allocation: feedback, pacing, reasons |
//! | [`diagnosis`] | why a program stutters, from round trips and counters of its machine |
//! | [`conference`] | bitrates of a conference over a forwarding server: Plum and its comparison schemes |
//!
//! # Contract
//! A controller is a plain struct, built from a `Config` that serde reads and the constructor checks. Observations
//! enter by `on_...(now, observation)`, decisions leave by `poll_...(now)` or as a returned value, and
//! `next_deadline()` is the instant of the next call if nothing else happens before. A controller reads no clock,
//! draws no random number of its own, does no I/O and never panics, whatever the order of calls: an earlier `now` is
//! treated as the latest one seen. The same calls give the same answers on every machine.
//!
//! ```
//! use airbound_senders::tcp::{Backlog, TcpConfig, TcpReceiver, TcpSender};
//! use airbound_units::{ByteCount, Instant, Span};
//!
//! let config = TcpConfig::default();
//! let mut sender = TcpSender::new(config.clone())?;
//! let mut receiver = TcpReceiver::new(&config)?;
//! let mut now = Instant::ZERO;
//! sender.write(now, Backlog::Bytes(ByteCount::new(100_000)));
//! while !sender.is_idle() {
//!     let segments: Vec<_> = std::iter::from_fn(|| sender.poll_transmit(now)).collect();
//!     now += Span::from_millis(50);
//!     for segment in segments {
//!         if let Some(ack) = receiver.on_segment(now, segment.seq, segment.len, segment.sent) {
//!             sender.on_ack(now, &ack);
//!         }
//!     }
//!     if let Some(ack) = receiver.on_deadline(now) {
//!         sender.on_ack(now, &ack);
//!     }
//!     sender.on_deadline(now);
//! }
//! assert_eq!(receiver.delivered(), ByteCount::new(100_000));
//! # Ok::<(), airbound_senders::tcp::TcpConfigError>(())
//! ```
//!
//! The caller owns the network: `examples/tcp_over_a_pipe.rs` joins two ends of TCP by a bottleneck, and
//! `examples/allocated_rates.rs` lets reports of two stations steer their rates.

pub mod allocation;
pub mod bitrate;
pub mod conference;
pub mod congestion;
pub mod diagnosis;
pub mod rtp;
pub mod stream;
pub mod tcp;
