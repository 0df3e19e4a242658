//! The bitrate of a stream that another program sends and paces: a host of games whose encoder takes a new rate at any time.
//!
//! Such a sender shares neither its packets nor its times. What is known comes each second from its client (loss, round trip, frames), or
//! from a receiver of ours on the same way, whose rate is that of [`crate::allocation`]. A change costs a host's encoder quality for some
//! frames, and users see it: a rate falls as soon as frames come late, and rises rarely.
//!
//! ```text
//!  client ── Feedback, each second ──►┐
//!                                     BitrateController ── Change: rate, reason ──► host
//!  relay ── allocated rate ──────────►┘        ▲──────────── set: what the host took ──┘
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `controller` | configuration, and one rate from either kind of evidence |
//! | `client` | a rule on what a client counts: queue, lost frames |
//! | `way` | least round trip and queue of the client's reports |
//!
//! ```
//! use airbound_senders::bitrate::{BitrateConfig, BitrateController, Feedback};
//! use airbound_units::{BitRate, Instant, Span};
//!
//! let config = BitrateConfig { start: BitRate::from_mbps(30), ..BitrateConfig::default() };
//! let mut controller = BitrateController::new(config)?;
//! let report = |millis| Feedback { round_trip: Some(Span::from_millis(millis)), frames: 60.0, ..Feedback::default() };
//! assert_eq!(controller.on_feedback(Instant::ZERO + Span::from_secs(1), &report(8)), None);
//! let change = controller.on_feedback(Instant::ZERO + Span::from_secs(2), &report(160)).expect("a queue of 152 ms");
//! assert!(change.rate < BitRate::from_mbps(30));
//! controller.set(Instant::ZERO + Span::from_secs(2), change.rate);
//! # Ok::<(), airbound_units::ConfigError>(())
//! ```

mod client;
mod controller;
mod feedback;
mod way;

pub use controller::{BitrateConfig, BitrateController, Change};
pub use feedback::{Feedback, Why};
