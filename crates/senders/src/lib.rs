//! End-host controllers of Airbound: TCP, real-time media, rate allocation and conferences, as pure state machines.
//!
//! | module | content |
//! |---|---|
//! | [`tcp`] | the two ends of a TCP connection as in Linux |
//! | [`congestion`] | window control of TCP: CUBIC, Reno, BBR, and the trait for others |
//! | [`rtp`] | real-time media: Google congestion control, parity packets, retransmission on request |
//! | [`allocation`] | low-delay rate allocation from the aggregation level that receivers see |
//! | [`conference`] | bitrates of a conference over a forwarding server: Plum and its rivals |
//!
//! # Contract
//! A controller is a plain struct, built from a `Config` that serde reads and the constructor checks. Observations
//! enter by `on_...(now, observation)`, decisions leave by `poll_...(now)` or as a returned value, and
//! `next_deadline()` is the instant of the next call if nothing else happens before. A controller reads no clock,
//! draws no random number of its own, does no I/O and never panics, whatever the order of calls: an earlier `now` is
//! treated as the latest one seen. The same calls give the same answers on every machine.
//!
//! The caller owns the network: `examples/tcp_over_a_pipe.rs` joins two ends of TCP by a bottleneck, and
//! `examples/allocated_rates.rs` lets reports of two stations steer their rates.

pub mod allocation;
pub mod conference;
pub mod congestion;
pub mod rtp;
pub mod tcp;
